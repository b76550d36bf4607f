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
	ctx context.Context, dir, wanted, python, date string,
) (pins string, err error) {
	args := []string{"pip", "compile", "-q", wanted, "--python-version", python,
		"--only-binary", ":all:"}
	if date != "" {
		args = append(args, "--exclude-newer", date)
	}
	list := filepath.Join(dir, "pylock.toml")
	if _, err := s.command(ctx, dir, "uv", append(args, "-o", list)...); errors.Is(err, errSlow) {
		return "", err
	} else if err != nil {
		return "", fmt.Errorf("%w: %w", errLeft, err)
	}
	size, err := downloads(list, python)
	if err != nil {
		return "", err
	}
	if !s.spend(size) {
		return "", fmt.Errorf("%w: %d MB", errLeft, size>>20)
	}
	pins = filepath.Join(dir, "requirements.txt")
	_, err = s.command(ctx, dir, "uv", append(args, "--no-header", "--no-annotate", "-o", pins)...)
	return pins, err
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
