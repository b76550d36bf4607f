// Command knownbad tries each pair of releases in a list of those that do not work together.
//
// It installs the package with the release of the other one that works, and with each that does
// not, by uv in new environments without regard to their requirements on each other, and imports
// the module with LD_BIND_NOW=1. The error of the first that fails is written into the list. It
// fails if a pair that should work does not, or the other way around. It runs the code of the
// packages, so run it in a container. It needs uv, its interpreters, and a package index.
//
//	knownbad FILE [PACKAGE...]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: knownbad FILE [PACKAGE...]")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		log.Fatal("knownbad: ", err)
	}
}

func run(ctx context.Context, file string, only []string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var list []packages.KnownBad
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	var failed error
	for i := range list {
		k := &list[i]
		if len(only) > 0 && !slices.Contains(only, k.Package) {
			continue
		}
		if err := try(ctx, k); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", k.ID(), err))
		}
	}
	if text, err = json.MarshalIndent(list, "", "  "); err != nil {
		return err
	}
	return errors.Join(failed, os.WriteFile(file, append(text, '\n'), 0o644)) //nolint:gosec // source
}

// try imports the module with all releases of a pair.
func try(ctx context.Context, k *packages.KnownBad) error {
	problem, err := imported(ctx, k, k.Good)
	if err == nil && problem != "" {
		err = fmt.Errorf("it does not work with %s %s either: %s", k.With, k.Good, problem)
	}
	if err != nil {
		return err
	}
	for n, version := range k.Tried {
		problem, err := imported(ctx, k, version)
		if err == nil && problem == "" {
			err = fmt.Errorf("it works with %s %s", k.With, version)
		}
		if err != nil {
			return err
		}
		log.Printf("%s: with %s %s: %s", k.ID(), k.With, version, problem)
		if n == 0 {
			k.Error = problem
		}
	}
	return nil
}

// imported returns the last line of the error of the import; "" if it works.
func imported(ctx context.Context, k *packages.KnownBad, version string) (string, error) {
	dir, err := os.MkdirTemp("", "knownbad-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	venv, override := filepath.Join(dir, "v"), filepath.Join(dir, "override.txt")
	with := k.With + "==" + version
	if err := os.WriteFile(override, []byte(with+"\n"), 0o600); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"venv", "-q", "-p", k.Python, venv},
		{
			"pip", "install", "-q", "-p", venv, "--only-binary", ":all:", "--override", override,
			"setuptools<70", k.Package + "==" + k.Version, with,
		},
	} {
		if out, err := exec.CommandContext(ctx, "uv", args...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("uv %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	site := filepath.Join(venv, "lib", "python"+k.Python, "site-packages")
	program := "import " + k.Module
	if strings.Contains(k.Module, "/") { // a library
		program = fmt.Sprintf("import ctypes; ctypes.CDLL(%q)", filepath.Join(site, k.Module))
	}
	//nolint:gosec // the list is part of the sources
	c := exec.CommandContext(ctx, filepath.Join(venv, "bin", "python"), "-c", program)
	c.Env = append(os.Environ(), "LD_BIND_NOW=1", "QT_QPA_PLATFORM=offscreen")
	out, err := c.CombinedOutput()
	if err == nil {
		return "", nil
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.ReplaceAll(lines[len(lines)-1], site+"/", ""), nil
}
