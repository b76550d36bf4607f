package headers

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/needs"
)

// folder writes headers and returns them.
func folder(t *testing.T, files map[string]string) *Headers {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h := &Headers{}
	if err := h.Add(dir); err != nil {
		t.Fatal(err)
	}
	return h
}

// sourceOf reads headers with gcc.
func sourceOf(t *testing.T, files map[string]string) (*Source, []Rejected) {
	t.Helper()
	needs.Program(t, "gcc", "gcc", "no header is compiled")
	s, bad, err := folder(t, files).Source(context.Background(), Compiler{"gcc"}, false)
	if err != nil {
		t.Fatal(err)
	}
	return s, bad
}

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		old, new string
		want     []Difference
	}{
		"same but for white space": {"#define A 1\nint f(void);", "#define  A  1 // one\nint f( void );", nil},
		"constant":                 {"#define A 1", "#define A 2", []Difference{{Macro, "A", "1", "2"}}},
		"constant is gone":         {"#define A 1", "", []Difference{{Macro, "A", "1", ""}}},
		"constant is undefined":    {"#define A 1", "#define A 1\n#undef A", []Difference{{Macro, "A", "1", ""}}},
		"added":                    {"", "#define A 1\nstatic inline int f(int x) { return x; }", nil},
		"function-like":            {"#define A(x) x", "#define A(x) -x", nil},
		"guard":                    {"#ifndef A\n#define A\n#endif", "#ifndef B\n#define B\n#endif", nil},
		"attribute": {"#define API __attribute__((visibility(\"default\")))\n#define API2 API", "",
			nil},
		"inline": {"static inline int f(int x) { return x; }", "static inline int f(int x) { return -x; }",
			[]Difference{{Inline, "int f ( int x )", "", ""}}},
		"no longer inline": {"static inline int f(int x) { return x; }", "int f(int x);", nil},
		"other parameter":  {"static inline int f(int x) { return x; }", "static inline int f(long x) { return x; }", nil},
		"default argument": {"namespace n { class C { public: int f(int a = 1, int b = 2); }; }",
			"namespace n { class C { public: int f(int a = 1, int b = 3); }; }",
			[]Difference{{Argument, "int f ( int a , int b ) in n::C", "1, 2", "1, 3"}}},
		"method": {"class C { int v; public: C() : v(1) {} int f() const { return v; } };",
			"class C { int v; public: C() : v(1) {} int f() const { return v + 1; } };",
			[]Difference{{Inline, "int f ( ) const in C", "", ""}}},
		"enumeration": {"enum e { A = 1 };", "enum e { A = 2 };", nil},
		"extern C": {"extern \"C\" { inline int f() { return 1; } }", "extern \"C\" { inline int f() { return 2; } }",
			[]Difference{{Inline, "int f ( )", "", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			ext := "a.h"
			if strings.Contains(c.old, "class") || strings.Contains(c.old, `"C"`) {
				ext = "a.hpp"
			}
			old, _ := sourceOf(t, map[string]string{ext: c.old})
			new, _ := sourceOf(t, map[string]string{ext: c.new})
			if got := Compare(old, new); !slices.Equal(got, c.want) {
				t.Errorf("got %q\nwant %q", got, c.want)
			}
		})
	}
}

// Headers that cannot be included as they are.
func TestRejected(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []string // rejected
		has   string   // macros
	}{
		"parts that only one header may include": {map[string]string{
			"all.h":    "#define IN\n#include \"sub/a.h\"\n#include \"sub/b.h\"\n",
			"sub/a.h":  "#ifndef IN\n#error no\n#endif\n#define A 1\n",
			"sub/b.h":  "#ifndef IN\n#error no\n#endif\n#define B 1\n",
			"system.h": "#include <no/such.h>\n",
		}, []string{"system.h"}, "A B"},
		"two of one name": {map[string]string{
			"a.h": "struct s { int a; };\n#define A 1\n", "b.h": "struct s { int b; };\n#define B 1\n",
		}, nil, "A B"},
		"a longer path": {map[string]string{
			"usr/include/libx/x/a.h": "#include <x/b.h>\n#define A B\n",
			"usr/include/libx/x/b.h": "#define B 1\n",
		}, nil, "A B"},
		"nothing": {map[string]string{"a.h": "#error no\n"}, []string{"a.h"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, bad := sourceOf(t, c.files)
			var got []string
			for _, r := range bad {
				got = append(got, filepath.Base(r.Header))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("rejected %q, want %q", bad, c.want)
			}
			for _, name := range strings.Fields(c.has) {
				if s.macros[name] == "" {
					t.Errorf("it does not have %s of %v", name, s.macros)
				}
			}
		})
	}
}

func TestFind(t *testing.T) {
	if c, err := Find("no-such-compiler -O2"); err == nil {
		t.Errorf("found %q", c)
	}
	needs.Program(t, "gcc", "gcc", "no compiler is found")
	if c, err := Find("gcc -DA -I b"); err != nil || !slices.Equal(c, Compiler{"gcc", "-DA", "-I", "b"}) {
		t.Errorf("%q, %v", c, err)
	}
}
