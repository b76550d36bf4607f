package abi

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/needs"
)

// sample is a type with a value, and how its value becomes a number.
type sample struct{ name, declare, value, number string }

// samples have values that are wrong or crash where another type is expected.
var samples = []sample{
	{"char", "typedef signed char @;", "-3", "v"},
	{"uchar", "typedef unsigned char @;", "253", "v"},
	{"short", "typedef short @;", "-700", "v"},
	{"int", "typedef int @;", "-70000", "v"},
	{"uint", "typedef unsigned @;", "4000000000u", "(long)v"},
	{"long", "typedef long @;", "-70000000001", "v"},
	{"float", "typedef float @;", "2.5f", "(long)(v * 2)"},
	{"double", "typedef double @;", "3.25", "(long)(v * 4)"},
	{"toLong", "typedef const long *@;", "&eleven", "*v"},
	{"toToLong", "typedef const long *const *@;", "&to_eleven", "**v"},
	{"text", "typedef const char *@;", "\"xyz\"", "(long)__builtin_strlen(v)"},
	{"pair", "typedef struct { int a, b; } @;", "{5, -6}", "v.a * 10 + v.b"},
	{"wide", "typedef struct { long a, b, c; } @;", "{7, 8, -9}", "v.a + v.b + v.c"},
	{"call", "typedef int (*@)(int);", "twice", "v(21)"},
}

// context is how a library uses the types. @ stands for the type, # for the number of the pair.
type context struct {
	name            string
	header, library string
	program         string // prints what it gets
}

var contexts = []context{
	{"parameter", "long f#(@ v);", "long f#(@ v) { return NUMBER; }",
		"@ v = VALUE; printf(\"%ld\\n\", f#(v));"},
	{"result", "@ f#(void);", "static const @ v# = VALUE; @ f#(void) { return v#; }",
		"@ v = f#(); printf(\"%ld\\n\", (long)(NUMBER));"},
	{"member", "struct s# { int before; @ v; int after; }; long f#(const struct s# *s);",
		"long f#(const struct s# *s) { @ v = s->v; return (NUMBER) + s->after; }",
		"struct s# s = { 1, VALUE, 1000 }; printf(\"%ld\\n\", f#(&s));"},
	{"variable", "extern @ f#; long g#(void);",
		"@ f# = VALUE; long g#(void) { @ v = f#; return NUMBER; }",
		"@ v = VALUE; f# = v; printf(\"%ld\\n\", g#());"},
	{"callback", "typedef long (*c#)(@ v); long f#(c# c);",
		"long f#(c# c) { @ v = VALUE; return c(v); }",
		"printf(\"%ld\\n\", f#(on#));"},
	{"pointer", "long f#(const @ *p);", "long f#(const @ *p) { @ v = *p; return NUMBER; }",
		"@ v[2] = { VALUE, VALUE }; printf(\"%ld\\n\", f#(v));"},
}

const preamble = `#include <stdio.h>
#include <stdlib.h>
static const long eleven = 11;
static const long *const to_eleven = &eleven;
static int twice(int n) { return 2 * n; }
`

// TestRun builds a library with one type and with another one, runs a program that was built with
// the first against the second, and compares what happens with the verdict: where the program
// crashes or prints something else, the comparison says that it breaks, in each format of types.
func TestRun(t *testing.T) {
	needs.Program(t, "gcc", "gcc", "no program is run with another library")
	for _, c := range contexts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			runContext(t, c)
		})
	}
}

func runContext(t *testing.T, c context) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	build := func(out string, args ...string) string {
		out = filepath.Join(dir, out)
		args = append([]string{"-w", "-O1", "-fPIC", "-o", out}, args...)
		if b, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, b)
		}
		return out
	}
	var pairs [][2]sample
	for _, a := range samples {
		for _, b := range samples {
			pairs = append(pairs, [2]sample{a, b})
		}
	}
	program := preamble
	var cases strings.Builder
	for n, p := range pairs {
		program += fill(c.header, p[0], n) + "\n"
		if c.name == "callback" {
			program += fill("static long on#(@ v) { return NUMBER; }", p[0], n) + "\n"
		}
		cases.WriteString(fmt.Sprintf("case %d: { %s break; }\n", n, fill(c.program, p[0], n)))
	}
	types := func(side string) (out string) {
		for n, p := range pairs {
			x := p[0]
			if side == "new" {
				x = p[1]
			}
			out += strings.ReplaceAll(x.declare, "@", typeName(n)) + "\n"
		}
		return out
	}
	program = strings.Replace(program, preamble, preamble+types("old"), 1)
	program += "int main(int argc, char **argv) { switch (atoi(argv[1])) {\n" + cases.String() +
		"} return 0; }\n"
	source := func(side string) string {
		text := preamble + types(side)
		for n, p := range pairs {
			x := p[0]
			if side == "new" {
				x = p[1]
			}
			text += fill(c.header, x, n) + "\n" + fill(c.library, x, n) + "\n"
		}
		return text
	}
	for _, side := range []string{"old", "new"} {
		if err := os.Mkdir(filepath.Join(dir, side), 0o755); err != nil {
			t.Fatal(err)
		}
		write(side+".c", source(side))
		// The types are those of a header: programs see them.
		text := "#line 1 \"x.h\"\n" + source(side)
		write(side+"/x.c", text)
	}
	libraries := map[string][2]string{}
	for name, flags := range map[string][]string{
		"dwarf5": {"-gdwarf-5"}, "dwarf4": {"-gdwarf-4"}, "ctf": {"-gctf"},
	} {
		var two [2]string
		for i, side := range []string{"old", "new"} {
			two[i] = build(side+"/lib"+name+".so", slices.Concat(flags, []string{"-shared",
				"-Wl,-soname,libx.so", filepath.Join(dir, side, "x.c")})...)
		}
		libraries[name] = two
	}
	exe := build("program", write("program.c", program), libraries["dwarf5"][0])
	link := func(side string) {
		at := filepath.Join(dir, "libx.so")
		_ = os.Remove(at)
		if err := os.Symlink(filepath.Join(dir, side, "libdwarf5.so"), at); err != nil {
			t.Fatal(err)
		}
	}
	run := func(n int) string {
		cmd := exec.Command(exe, fmt.Sprint(n))
		cmd.Env = []string{"LD_LIBRARY_PATH=" + dir}
		var out bytes.Buffer
		cmd.Stdout = &out
		err := cmd.Run()
		return fmt.Sprint(out.String(), err)
	}
	results := map[string][]string{}
	for _, side := range []string{"old", "new"} {
		link(side)
		for n := range pairs {
			results[side] = append(results[side], run(n))
		}
	}
	for name, two := range libraries {
		r := Compare(read(t, two[0]), read(t, two[1]), Options{})
		if name != "ctf" && len(r.Blind) > 0 {
			t.Errorf("%s: blind spots: %q", name, r.Blind)
		}
		broken := map[string]bool{}
		for _, x := range r.Changes {
			if x.Severity == Error {
				broken[x.Symbol] = true
				for _, s := range x.Affected {
					broken[s] = true
				}
			}
		}
		missed, same := 0, 0
		for n, p := range pairs {
			differs := results["old"][n] != results["new"][n]
			says := broken[fmt.Sprintf("f%d", n)]
			switch {
			case differs && !says && c.name == "pointer" && isByte(p[0]) && isByte(p[1]):
				// they are compared as bytes, which most functions with such pointers take
			case differs && !says:
				missed++
				t.Errorf("%s: %s to %s passes; the program printed %q and now %q", name, p[0].name,
					p[1].name, results["old"][n], results["new"][n])
			case p[0] == p[1] && says:
				t.Errorf("%s: %s breaks itself", name, p[0].name)
			case !differs && p[0] != p[1]:
				same++
			}
		}
		t.Logf("%s: %d pairs, %d missed, %d of different types that run alike", name, len(pairs), missed,
			same)
	}
}

// isByte reports whether a type is a byte.
func isByte(x sample) bool { return x.name == "char" || x.name == "uchar" }

func typeName(n int) string { return fmt.Sprintf("t%d", n) }

// fill replaces @, #, VALUE and NUMBER.
func fill(text string, x sample, n int) string {
	return strings.NewReplacer("@", typeName(n), "#", fmt.Sprint(n), "VALUE", x.value,
		"NUMBER", x.number).Replace(text)
}
