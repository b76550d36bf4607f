package emscripten

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/platform/pyodide"
	"github.com/compat-app/compat/analyzer/wasmobj"
)

// file parses a file in the text form of wasmobj, without its first line.
func file(t *testing.T, path, text string) *File {
	t.Helper()
	o, err := wasmobj.Parse("wasm\n" + text)
	if err != nil {
		t.Fatal(err)
	}
	return &File{Path: path, Object: o}
}

func abi(t *testing.T, name string) pyodide.ABI {
	t.Helper()
	a, ok := pyodide.Lookup(name)
	if !ok {
		t.Fatal(name)
	}
	return a
}

// loaded returns the names of what a load finds, in its order, then what is missing.
func loaded(l *Load) string {
	var out []string
	for _, f := range l.Found {
		name := "pyodide:" + f.Name
		if f.File != nil {
			name = f.File.Path
		}
		out = append(out, name)
	}
	for _, m := range l.Missing {
		text := "!" + m.Name
		for _, f := range m.Elsewhere {
			text += " " + f.Path
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func TestLoad(t *testing.T) {
	for _, c := range []struct{ name, abi, module, want string }{
		{"run path", "2025_0", "needed libx.so\nrunpath $ORIGIN/../x.libs",
			"x.libs/liby.so, x.libs/libx.so, pkg/m.so"},
		{"no run path", "2025_0", "needed libx.so", "pkg/m.so, !libx.so x.libs/libx.so"},
		{"no run paths before", "2024_0", "needed libx.so",
			"x.libs/liby.so, x.libs/libx.so, pkg/m.so"},
		{"site-packages", "2025_0", "needed libtop.so", "libtop.so, pkg/m.so"},
		{"itself", "2025_0", "needed m.so\nrunpath $ORIGIN", "pkg/m.so"},
		{"another machine", "2025_0", "needed libx.so\nrunpath /build/x.libs",
			"pkg/m.so, !libx.so x.libs/libx.so"},
		{"a path", "2025_0", "needed x.libs/libx.so", "pkg/m.so, !x.libs/libx.so x.libs/libx.so"},
		{"Pyodide's", "2025_0", "needed libopenblas.so\nneeded libopenblas.so",
			"pyodide:libopenblas.so, pkg/m.so"},
		{"missing", "2025_0", "needed libfoo.so", "pkg/m.so, !libfoo.so"},
	} {
		root := file(t, "pkg/m.so", c.module)
		env := New(abi(t, c.abi), []*File{
			root, file(t, "libtop.so", ""),
			file(t, "x.libs/libx.so", "needed liby.so\nrunpath $ORIGIN"),
			file(t, "x.libs/liby.so", "needed libx.so\nrunpath $ORIGIN"),
		})
		if got := loaded(env.Load(root)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestBind(t *testing.T) {
	const needs = "needed libx.so\nrunpath $ORIGIN\n"
	for _, c := range []struct {
		name, module string
		outcome      Outcome
		atCall       bool
		has          string
	}{
		{"program", "import env func PyList_New i>i", Bound, false, ""},
		{"another type", "import env func PyList_New j>i", OtherType, false, "i>i"},
		{"JavaScript", "import env func emscripten_get_now iij>", Bound, false, ""},
		{"data as function", "import env func PyList_Type i>i", OtherType, false, "data"},
		{"data", "import GOT.mem global PyList_Type", Bound, false, ""},
		{"address", "import GOT.func global PyList_New", Bound, false, ""},
		{"own", "import GOT.mem global x\nexport global x", Bound, false, ""},
		{"of a library", needs + "import GOT.mem global libdata", Bound, false, ""},
		{"function of a library", needs + "import env func libfunc i>i", Bound, true, ""},
		{"its type", needs + "import env func libfunc j>i", OtherType, true, "i>i"},
		{"not linked", "import env func libfunc i>i", NotLinked, true, ""},
		{"address, not linked", "import GOT.func global libfunc", NotLinked, false, ""},
		{"nowhere", "import env func no_such i>i", NotFound, true, ""},
		{"address nowhere", "import GOT.mem global no_such", NotFound, false, ""},
		{"weak", "import weak GOT.func global no_such", Weak, false, ""},
		{"missing library", "needed libfoo.so\nimport env func no_such i>i", Undecided, true, ""},
		{"unknown exports", "needed libopenblas.so\nimport GOT.func global no_such",
			Undecided, false, ""},
		{"memory", "import env memory memory", Bound, false, ""},
		{"shared", "import env memory memory shared", OtherType, false, "a memory that is not shared"},
		{"table", "import env table __indirect_function_table", Bound, false, ""},
		{"base", "import env global __memory_base", Bound, false, ""},
		{"exceptions", "import env tag __cpp_exception i>", Bound, false, ""},
		{"other exceptions", "import env func invoke_iii iii>i", NotFound, true, ""},
		{"WASI", "import wasi_snapshot_preview1 func fd_write iiii>i", Bound, false, ""},
		{"another module", "import wbg func __wbg_new >i", NotFound, false, ""},
	} {
		root := file(t, "pkg/m.so", c.module)
		lib := file(t, "pkg/libx.so", "export func libfunc i>i\nexport global libdata")
		load := New(abi(t, "2025_0"), []*File{root, lib}).Load(root)
		got := load.Bind(root)[0]
		if got.Outcome != c.outcome || got.AtCall != c.atCall || got.Has != c.has {
			t.Errorf("%s: %+v, want %v, %v, %q", c.name, got, c.outcome, c.atCall, c.has)
		}
	}
}

// What a library needs from its user is linked too late.
func TestLinkedLater(t *testing.T) {
	root := file(t, "pkg/m.so", "needed libx.so\nrunpath $ORIGIN\nexport global x")
	lib := file(t, "pkg/libx.so", "import GOT.mem global x")
	load := New(abi(t, "2025_0"), []*File{root, lib}).Load(root)
	if b := load.Bind(lib)[0]; b.Outcome != NotLinked || b.File != root || !load.Has(root) {
		t.Errorf("%+v", b)
	}
}
