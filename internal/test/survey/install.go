package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// compile resolves requirements with uv, and returns the file of pins. It returns errLeft if there
// is no set of wheels, or if it is too large.
func (s *survey) compile(
	ctx context.Context, dir string, wanted []string, python, date string,
) (pins string, err error) {
	list, err := s.resolve(ctx, dir, wanted, python, date, "pylock.toml")
	if err != nil {
		return "", err
	}
	size, err := downloads(list, python)
	if err != nil {
		return "", err
	}
	if !s.spend(size) {
		return "", fmt.Errorf("%w: %d MB", errLeft, size>>20)
	}
	return s.resolve(ctx, dir, wanted, python, date, "requirements.txt")
}

// resolve writes what uv resolves to a file, in the format that its name says. It returns errLeft
// if there is no set of wheels.
func (s *survey) resolve(
	ctx context.Context, dir string, wanted []string, python, date, file string,
) (string, error) {
	in, out := filepath.Join(dir, "wanted.in"), filepath.Join(dir, file)
	if err := os.WriteFile(in, []byte(strings.Join(wanted, "\n")+"\n"), 0o600); err != nil {
		return "", err
	}
	args := []string{"pip", "compile", "-q", in, "--python-version", python,
		"--only-binary", ":all:", "--no-header", "--no-annotate", "-o", out}
	if date != "" {
		args = append(args, "--exclude-newer", date)
	}
	_, err := s.command(ctx, dir, "uv", args...)
	if err != nil && !errors.Is(err, errSlow) {
		err = fmt.Errorf("%w: %w", errLeft, err)
	}
	return out, err
}

// withWheels returns the projects that have a set of wheels.
func (s *survey) withWheels(
	ctx context.Context, dir string, projects []string, python, date string,
) (out []string, err error) {
	for _, p := range projects {
		_, err := s.resolve(ctx, dir, []string{p}, python, date, "pylock.toml")
		switch {
		case err == nil:
			out = append(out, p)
		case !errors.Is(err, errLeft):
			return nil, err
		}
	}
	return out, nil
}

// downloads returns the bytes of the wheels in a pylock.toml that are installed on this system.
func downloads(list, python string) (size int64, err error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return 0, err
	}
	var lock struct {
		Packages []struct {
			Wheels []struct {
				Name, URL string
				Size      int64
			}
		}
	}
	if err := toml.Unmarshal(text, &lock); err != nil {
		return 0, err
	}
	on := systems["linux"]
	on.Python = python
	for _, p := range lock.Packages {
		most := int64(0)
		for _, w := range p.Wheels {
			name, err := pkgmeta.ParseWheelName(cmp.Or(w.Name, path.Base(w.URL)))
			if err != nil {
				return 0, err
			}
			for _, tag := range name.Tags {
				if _, ok := packages.Rate(tag, on); ok {
					most = max(most, w.Size)
				}
			}
		}
		size += most
	}
	return size, nil
}

// install makes an environment with pinned packages, in DIR/venv. Its sources are compiled once:
// each process that opens an object imports them.
func (s *survey) install(ctx context.Context, dir, pins, python string) error {
	venv := filepath.Join(dir, "venv")
	if _, err := s.command(ctx, dir, "uv", "venv", "-q", "--python", python, venv); err != nil {
		return err
	}
	_, err := s.command(ctx, dir, "uv", "pip", "install", "-q", "--python", venv, "--no-deps",
		"--compile-bytecode", "--only-binary", ":all:", "-r", pins)
	return err
}

// download returns a wheel that pip selects.
func (s *survey) download(ctx context.Context, dir string, w drawn) (string, error) {
	args := []string{"-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:",
		"--python-version", w.Python, "-d", filepath.Join(dir, "wheel")}
	for _, tag := range w.tags {
		args = append(args, "--platform", tag)
	}
	if _, err := s.command(ctx, dir, "python3", append(args, w.String())...); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(dir, "wheel", "*.whl"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("%s: pip downloaded %s", w, strings.Join(files, " "))
	}
	return files[0], nil
}
