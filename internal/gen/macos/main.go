// Command macosgen makes the embedded tables of analyzer/platform/macos: the symbols of libSystem,
// for which architectures, and the first macOS that has them where that is known (libsystem.txt),
// and the first macOS of frameworks (frameworks.txt).
//
// It reads the Python package ziglang, which contains the public headers of Darwin's C library and
// a list of the symbols that the newest libSystem exports. clang reads the headers. The frameworks
// are requirements of the Python package pyobjc.
//
//	pip download --no-deps ziglang==0.17.1 pyobjc==12.2.2
//	macosgen -ziglang ziglang-0.17.1-….whl -pyobjc pyobjc-12.2.2-….whl -out FOLDER [-clang clang]
//
// The same wheels and clang always give the same bytes; the first line of each table names its
// wheel. The tables contain names and numbers only, nothing of the text of the sources. They do not
// have symbols that the newest libSystem no longer exports, symbols of frameworks, or the first
// release of symbols whose declaration has no availability attribute.
package main

import (
	"archive/zip"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/internal/symboltable"
)

// Places in the wheel.
const (
	headers = "ziglang/lib/libc/include/any-darwin-any/"
	stubs   = "ziglang/lib/libc/darwin/libSystem.tbd"
)

// archs are the architectures that the table distinguishes.
var archs = []string{"arm64", "x86_64"}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "macosgen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("macosgen", flag.ContinueOnError)
	wheel := flags.String("ziglang", "", "the wheel of ziglang")
	pyobjc := flags.String("pyobjc", "", "the wheel of pyobjc")
	clang := flags.String("clang", "clang", "the compiler that reads the headers")
	out := flags.String("out", "data", "folder of the tables")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "macosgen")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tbd, names, err := unpack(*wheel, dir)
	if err != nil {
		return fmt.Errorf("%s: %w", *wheel, err)
	}
	exports, err := readStubs(tbd)
	if err != nil {
		return err
	}
	since := map[string]machoobj.Version{}
	for _, arch := range archs {
		dump, err := syntaxTree(*clang, arch, dir, names)
		if err != nil {
			return err
		}
		readTree(dump, since)
	}
	text, err := table(exports, since, filepath.Base(*wheel))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(*out, "libsystem.txt"), []byte(text), 0o644); err != nil {
		return err
	}
	text, err = frameworks(*pyobjc)
	if err != nil {
		return fmt.Errorf("%s: %w", *pyobjc, err)
	}
	return os.WriteFile(filepath.Join(*out, "frameworks.txt"), []byte(text), 0o644)
}

// unpack writes the headers into a folder, and gives their names and the list of symbols.
func unpack(wheel, dir string) (tbd []byte, names []string, err error) {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return nil, nil, err
	}
	defer z.Close()
	for _, f := range z.File {
		name, header := strings.CutPrefix(f.Name, headers)
		if !(header && strings.HasSuffix(name, ".h")) && f.Name != stubs {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, nil, err
		}
		content, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			return nil, nil, err
		}
		if !header {
			tbd = content
			continue
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return nil, nil, err
		}
		if err := os.WriteFile(to, content, 0o644); err != nil {
			return nil, nil, err
		}
		names = append(names, name)
	}
	if tbd == nil || len(names) == 0 {
		return nil, nil, fmt.Errorf("it has no %s or no headers", stubs)
	}
	slices.Sort(names)
	return tbd, names, nil
}

// syntaxTree lets clang print what all headers together declare. Headers that need others, which
// the wheel does not have, give errors; what they declare is left out.
func syntaxTree(clang, arch, dir string, names []string) (io.Reader, error) {
	var source strings.Builder
	for _, n := range names {
		fmt.Fprintf(&source, "#include <%s>\n", n)
	}
	cmd := exec.Command(clang, "-target", arch+"-apple-macos10.4", "-isystem", dir, "-x", "c",
		"-fsyntax-only", "-fblocks", "-w", "-ferror-limit=0", "-Xclang", "-ast-dump",
		"-fno-color-diagnostics", "-")
	cmd.Stdin = strings.NewReader(source.String())
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil && out.Len() == 0 {
		return nil, fmt.Errorf("%s: %w", clang, err)
	}
	return &out, nil
}

// fewest are symbols and first versions of the smallest table that makes sense.
const fewest = 500

// table has the first version ("-" if it is not known) and the architectures of each symbol.
func table(
	exports map[string][]string, since map[string]machoobj.Version, from string,
) (string, error) {
	fields := map[string]string{}
	dated := 0
	for name, archs := range exports {
		version := "-"
		if v := since[name]; v != 0 {
			version = v.String()
			dated++
		}
		fields[name] = version + " " + strings.Join(archs, " ")
	}
	if len(exports) < fewest || dated < fewest {
		return "", fmt.Errorf("there are %d symbols, %d with a version: too few", len(exports), dated)
	}
	return symboltable.Format("the symbols of libSystem, from "+from, fields), nil
}
