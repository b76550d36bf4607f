package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// build is how both sides of a pair are built and compared.
type build struct {
	name     string
	old, new string   // compilers
	flags    []string // for debug information
	of       string   // the build whose libraries are described or run, or "" if both are built
	language string   // "c" if only for C
	// the old types are those of the program, which does not have all: blind spots are no fault
	program bool
	static  bool // static libraries are compared
	// the types are those of the headers, which do not declare all: blind spots are no fault
	headers bool
}

// builds are tried for each pair.
var builds = []build{
	{name: "gcc", old: "gcc", new: "gcc", flags: []string{"-gdwarf-5"}},
	{name: "gcc-4", old: "gcc", new: "gcc", flags: []string{"-gdwarf-4"}},
	{name: "units", old: "gcc", new: "gcc", flags: []string{"-gdwarf-5", "-fdebug-types-section"}},
	{name: "clang", old: "clang", new: "clang", flags: []string{"-gdwarf-5"}},
	{name: "clang-4", old: "clang", new: "clang", flags: []string{"-gdwarf-4"}},
	{name: "gcc-clang", old: "gcc", new: "clang", flags: []string{"-gdwarf-5"}},
	{name: "btf", old: "gcc", new: "gcc", flags: []string{"-gbtf"}, language: "c"},
	{name: "ctf", old: "gcc", new: "gcc", flags: []string{"-gctf"}, language: "c"},
	{name: "baseline", old: "gcc", new: "gcc", flags: []string{"-gdwarf-5"}, of: "gcc"},
	{name: "app", old: "gcc", new: "gcc", flags: []string{"-gdwarf-5"}, of: "gcc", program: true},
	{name: "static", old: "gcc", new: "gcc", flags: []string{"-gdwarf-5"}, of: "gcc", static: true},
	{name: "stripped", old: "gcc", new: "gcc", flags: []string{"-g0"}},
	{name: "headers", old: "gcc", new: "gcc", flags: []string{"-g0"}, of: "stripped", headers: true},
}

// command runs a program in the folder of a side.
func (p *pair) command(ctx context.Context, side string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = filepath.Join(p.dir, side)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// compiler returns the command for the language of the pair.
func (p *pair) compiler(cc string) string {
	if p.cxx() {
		return strings.NewReplacer("gcc", "g++", "clang", "clang++").Replace(cc)
	}
	return cc
}

// standard returns the flag for the language of the pair.
func (p *pair) standard() []string {
	if p.cxx() {
		return []string{"-std=c++17"}
	}
	return nil
}

// library builds one side, and returns the path of the library.
func (p *pair) library(ctx context.Context, b build, side string) (string, error) {
	cc := b.old
	if side == "new" {
		cc = b.new
	}
	out := filepath.Join(p.dir, b.name, side, "libx.so.1")
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return "", err
	}
	flags := strings.Fields(p.key("cflags", side))
	if cc == "clang" {
		for i, f := range flags {
			if f == "-femit-class-debug-always" {
				flags[i] = "-fstandalone-debug"
			}
		}
	}
	args := slices.Concat(
		[]string{p.compiler(cc), "-w", "-O2", "-fPIC", "-shared"}, p.standard(),
		b.flags, flags, p.sources(),
		[]string{"-Wl,-soname,libx.so.1", "-Wl,--build-id", "-o", out},
		strings.Fields(p.key("ldflags", side)),
	)
	if p.has("x.map") {
		args = append(args, "-Wl,--version-script=x.map")
	}
	return out, p.command(ctx, side, args...)
}

// archive builds one side as a static library, and returns its path.
func (p *pair) archive(ctx context.Context, b build, side string) (string, error) {
	out := filepath.Join(p.dir, b.name+"-"+side+".a")
	args := []string{"ar", "rcs", out}
	for i, source := range p.sources() {
		object := fmt.Sprintf("%d.o", i)
		compile := slices.Concat(
			[]string{p.compiler(b.old), "-w", "-O2", "-fPIC"}, p.standard(),
			b.flags, strings.Fields(p.key("cflags", side)), []string{"-c", source, "-o", object},
		)
		if err := p.command(ctx, side, compile...); err != nil {
			return "", err
		}
		args = append(args, object)
	}
	return out, p.command(ctx, side, args...)
}

// program builds the program with the old library.
func (p *pair) program(ctx context.Context, library string) (string, error) {
	out := filepath.Join(p.dir, "use")
	source := "use.c"
	if p.cxx() {
		source = "use.cc"
	}
	args := slices.Concat(
		[]string{p.compiler("gcc"), "-w", "-O1", "-g"}, p.standard(),
		[]string{source, "-o", out, "-Wl,--no-as-needed", library},
	)
	for _, f := range strings.Fields(p.key("cflags", "old")) {
		if strings.HasPrefix(f, "-m") || strings.HasPrefix(f, "-std") || strings.HasPrefix(f, "-D") {
			args = append(args, f)
		}
	}
	return out, p.command(ctx, "old", args...)
}

// execute runs the program with the library of a folder, and returns what happened.
func execute(ctx context.Context, program, folder string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = []string{"LD_LIBRARY_PATH=" + folder}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "printed " + strings.TrimSpace(out.String()), nil
	case ctx.Err() != nil:
		return "did not end", nil
	case !errors.As(err, &exit):
		return "", err
	}
	what := exit.String()
	if line := lastLine(errs.String()); line != "" {
		what += ": " + line
	}
	return what, nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := lines[len(lines)-1]
	return line[strings.LastIndexByte(line, '/')+1:]
}
