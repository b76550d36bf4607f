package bionic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// file parses a file in the text form of elftest, without its first line.
func file(t *testing.T, path, text string) *File {
	t.Helper()
	o := elftest.Object(t, "elf aarch64\nandroid 24\n"+text)
	return &File{Path: path, Object: o}
}

// loaded returns the names of what a load finds, then what is missing.
func loaded(l *Load) string {
	var out []string
	for _, f := range l.Found[1:] {
		name := f.Name
		if f.File != nil {
			name = f.File.Path
		}
		out = append(out, name)
	}
	for _, m := range l.Missing {
		text := "!" + m.Name
		if m.Since > 0 {
			text += fmt.Sprint("@", m.Since)
		}
		for _, f := range m.Elsewhere {
			text += " " + f.Path
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func TestLoad(t *testing.T) {
	lib := file(t, "x.libs/libx.so", "soname libx.so\nneeded libc.so\n")
	for _, c := range []struct {
		name, module, want string
		level              int
	}{
		{"run path", "needed libx.so\nrunpath /opt:$ORIGIN/../x.libs", "x.libs/libx.so, libc.so", 24},
		{"braces", "needed libx.so\nrunpath ${ORIGIN}/../x.libs", "x.libs/libx.so, libc.so", 24},
		{"no run path before", "needed libx.so\nrunpath $ORIGIN/../x.libs", "!libx.so x.libs/libx.so", 23},
		{"DT_RPATH", "needed libx.so\nrpath $ORIGIN/../x.libs", "!libx.so x.libs/libx.so", 24},
		{"a path", "needed x.libs/libx.so", "!x.libs/libx.so x.libs/libx.so", 24},
		{"a later library", "needed libaaudio.so", "!libaaudio.so@26", 24},
		{"a library of the system", "needed libaaudio.so", "libaaudio.so", 26},
		{"a private library", "needed libssl.so", "!libssl.so", 30},
		{"Python", "needed libpython3.13.so",
			"libpython3.13.so, libdl.so, liblog.so, libm.so, libc.so", 24},
		{"a library of Python", "needed libssl_python.so", "libssl_python.so", 24},
	} {
		root := file(t, "pkg/m.so", c.module)
		env := New("aarch64", c.level, []*File{root, lib})
		if got := loaded(env.Load(root)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestBind(t *testing.T) {
	lib := file(t, "pkg/libx.so", "soname libx.so\nneeded libm.so\nexport x\n")
	for _, c := range []struct {
		name, module string
		want         Binding
	}{
		{"libc", "needed libc.so\nimport puts", Binding{Outcome: Bound}},
		{"by what it needs", "needed libx.so\nrunpath $ORIGIN\nimport pow", Binding{Outcome: Bound}},
		{"itself", "import f\nexport f", Binding{Outcome: Bound}},
		{"Python", "needed libpython3.13.so\nimport PyList_New", Binding{Outcome: Bound}},
		{"later", "needed libc.so\nimport preadv2",
			Binding{Outcome: TooNew, Library: "libc.so", Since: 33}},
		{"weak", "needed libc.so\nimport weak preadv2", Binding{Outcome: Weak}},
		{"not linked", "needed libc.so\nimport pow", Binding{Outcome: NotLinked, Library: "libm.so"}},
		{"own, not linked", "needed libc.so\nimport x",
			Binding{Outcome: NotLinked, Library: "pkg/libx.so"}},
		{"Python, not linked", "needed libc.so\nimport PyList_New", Binding{Outcome: NoSymbol}},
		{"nowhere", "needed libc.so\nimport no_such", Binding{Outcome: NoSymbol}},
		{"missing library", "needed libfoo.so\nneeded libc.so\nimport no_such",
			Binding{Outcome: Undecided}},
		{"unknown exports", "needed libEGL.so\nneeded libc.so\nimport eglInitialize",
			Binding{Outcome: Undecided}},
		{"unknown Python", "needed libpython3.99.so\nimport PyList_New", Binding{Outcome: Undecided}},
		{"a free-threaded Python", "needed libpython3.13t.so\nimport PyList_New",
			Binding{Outcome: Undecided}},
	} {
		root := file(t, "pkg/m.so", c.module)
		env := New("aarch64", 24, []*File{root, lib})
		got := env.Load(root).Bind(root)[0]
		if got.Symbol = ""; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
