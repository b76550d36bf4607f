package dyld

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/machoobj"
)

const ext = "pkg/ext.cpython-312-darwin.so"

// environment parses files, given by path below /site, into an Environment.
func environment(t *testing.T, arch, os string, texts map[string]string) *Environment {
	t.Helper()
	var files []File
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		objects, err := machoobj.Parse(texts[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f := File{Path: "/site/" + name, Name: name, Kind: dynlink.FromArtifact}
		for _, o := range objects {
			f.Slices = append(f.Slices, machoobj.Slice{Arch: o.Arch, Object: o})
		}
		files = append(files, f)
	}
	v, err := machoobj.ParseVersion(os)
	if err != nil {
		t.Fatal(err)
	}
	e := NewEnvironment(arch, v, files)
	e.Python = "3.12"
	return e
}

// story lists the problems: a line for each missing library and for each import that is not bound.
func story(e *Environment) string {
	var out []string
	for _, l := range e.LoadAll() {
		for _, m := range l.Missing {
			line := fmt.Sprintf("%s needs %s", m.NeededBy.Name, m.Needed.Path)
			if m.Lacks != nil {
				line += " of " + strings.Join(m.Lacks, ",")
			}
			if m.NoPath {
				line += " without run paths"
			}
			out = append(out, line)
		}
	}
	for _, i := range e.Images() {
		for b := range e.Bind(i) {
			if b.Outcome == dynlink.Bound {
				continue
			}
			line := fmt.Sprintf("%s: %s %s", i.Name, b.Import.Name, b.Outcome)
			if b.Since != 0 {
				line += " " + b.Since.String()
			}
			if b.Library != "" {
				line += " in " + b.Library
			}
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

func TestLoads(t *testing.T) {
	const helper = "macho arm64\ninstall-name /DLC/libh.dylib\nexport _helper\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a bundled library": {map[string]string{
			ext: "macho arm64\nneeded @loader_path/.dylibs/libh.dylib\n" +
				"import _helper @loader_path/.dylibs/libh.dylib\nimport _PyList_New flat",
			"pkg/.dylibs/libh.dylib": helper}, ""},
		"a symbol that the library lacks": {map[string]string{
			ext: "macho arm64\nneeded @loader_path/.dylibs/libh.dylib\n" +
				"import _gone @loader_path/.dylibs/libh.dylib",
			"pkg/.dylibs/libh.dylib": helper},
			ext + ": _gone no symbol in @loader_path/.dylibs/libh.dylib"},
		"another image has the symbol": {map[string]string{
			ext: "macho arm64\nneeded @loader_path/liba.dylib\nneeded @loader_path/libh.dylib\n" +
				"import _helper @loader_path/liba.dylib",
			"pkg/liba.dylib": "macho arm64\ninstall-name liba.dylib\nexport _a",
			"pkg/libh.dylib": helper},
			ext + ": _helper no symbol in @loader_path/liba.dylib"},
		"no run path": {map[string]string{
			ext: "macho arm64\nneeded @rpath/libh.dylib", "pkg/libh.dylib": helper},
			ext + " needs @rpath/libh.dylib without run paths"},
		"the run path of the loader": {map[string]string{
			ext:                  "macho arm64\nneeded @rpath/liba.dylib\nrpath @loader_path/lib",
			"pkg/lib/liba.dylib": "macho arm64\ninstall-name @rpath/liba.dylib\nneeded @rpath/libh.dylib",
			"pkg/lib/libh.dylib": helper}, ""},
		"the folder of the user of a library": {map[string]string{
			ext: "macho arm64\nneeded @loader_path/lib/liba.dylib",
			"pkg/lib/liba.dylib": "macho arm64\ninstall-name liba.dylib\n" +
				"needed @loader_path/lib/libh.dylib",
			"pkg/lib/libh.dylib": helper},
			"pkg/lib/liba.dylib needs @loader_path/lib/libh.dylib"},
		"already loaded under its install name": {map[string]string{
			ext: "macho arm64\nneeded @loader_path/lib/libh.dylib\nneeded /DLC/libh.dylib\n" +
				"import _helper /DLC/libh.dylib",
			"pkg/lib/libh.dylib": helper}, ""},
		"the fallback of an old SDK": {map[string]string{
			ext: "macho arm64\nsdk 11.1\nneeded @rpath/libz.1.dylib\nimport _inflate @rpath/libz.1.dylib"},
			ext + ": _inflate undecided in @rpath/libz.1.dylib"},
		"no fallback for a new SDK": {map[string]string{
			ext: "macho arm64\nsdk 14.0\nneeded @rpath/libz.1.dylib"},
			ext + " needs @rpath/libz.1.dylib without run paths"},
		"a weak library": {map[string]string{
			ext: "macho arm64\nneeded weak @rpath/libo.dylib\nimport weak _o @rpath/libo.dylib"},
			ext + ": _o weak undefined in @rpath/libo.dylib"},
		"the path of the interpreter": {map[string]string{
			ext: "macho arm64\nneeded @executable_path/../lib/libh.dylib", "lib/libh.dylib": helper},
			ext + " needs @executable_path/../lib/libh.dylib"},
		"a program and its library": {map[string]string{
			"bin/tool":       "macho arm64 execute\nneeded @executable_path/../lib/libh.dylib",
			"lib/libh.dylib": helper}, ""},
		"another architecture": {map[string]string{
			ext:              "macho arm64\nneeded @loader_path/libh.dylib",
			"pkg/libh.dylib": "macho x86_64\ninstall-name libh.dylib"},
			ext + " needs @loader_path/libh.dylib of x86_64"},
		"a library of no macOS": {map[string]string{
			ext: "macho arm64\nneeded /usr/lib/libnotthere.9.dylib"},
			ext + " needs /usr/lib/libnotthere.9.dylib"},
		"a re-exported library": {map[string]string{
			ext: "macho arm64\nneeded @loader_path/liba.dylib\n" +
				"import _helper @loader_path/liba.dylib\nimport _gone @loader_path/liba.dylib",
			"pkg/liba.dylib": "macho arm64\ninstall-name liba.dylib\n" +
				"needed reexport @loader_path/libh.dylib",
			"pkg/libh.dylib": helper},
			ext + ": _gone no symbol in @loader_path/liba.dylib"},
		"a re-exported symbol": {map[string]string{
			ext: "macho arm64\nneeded @loader_path/liba.dylib\n" +
				"import _other @loader_path/liba.dylib",
			"pkg/liba.dylib": "macho arm64\ninstall-name liba.dylib\n" +
				"needed @loader_path/libh.dylib\nexport _other = _helper @loader_path/libh.dylib",
			"pkg/libh.dylib": helper}, ""},
		"flat imports": {map[string]string{
			ext: "macho arm64\nneeded @loader_path/libh.dylib\nimport _helper flat\n" +
				"import _PyNothing flat\nimport _SQLAllocHandle flat\nimport _malloc flat",
			"pkg/libh.dylib": helper},
			ext + ": _PyNothing no symbol\n" + ext + ": _SQLAllocHandle no symbol"},
		"flat imports with a framework": {map[string]string{
			ext: "macho arm64\n" +
				"needed /System/Library/Frameworks/AppKit.framework/Versions/C/AppKit\n" +
				"import _NSBeep flat"},
			ext + ": _NSBeep undecided"},
		"newer than the system": {map[string]string{
			ext: "macho arm64\nneeded /usr/lib/libSystem.B.dylib\nneeded /usr/lib/libc++.1.dylib\n" +
				"import _freadlink /usr/lib/libSystem.B.dylib\nimport weak _strchrnul flat\n" +
				"import __ZNSt3__13pmr20get_default_resourceEv any\n" +
				"import _nothing /usr/lib/libSystem.B.dylib"},
			ext + ": _freadlink too new 13.0 in /usr/lib/libSystem.B.dylib\n" +
				ext + ": _strchrnul weak undefined in /usr/lib/libSystem.B.dylib\n" +
				ext + ": __ZNSt3__13pmr20get_default_resourceEv too new 14.0 in /usr/lib/libc++.1.dylib\n" +
				ext + ": _nothing no symbol in /usr/lib/libSystem.B.dylib"},
		"Python's library": {map[string]string{
			ext: "macho arm64\n" +
				"needed /Library/Frameworks/Python.framework/Versions/3.12/Python\n" +
				"import _PyList_New /Library/Frameworks/Python.framework/Versions/3.12/Python\n" +
				"import _PyNothing /Library/Frameworks/Python.framework/Versions/3.12/Python"},
			ext + " needs /Library/Frameworks/Python.framework/Versions/3.12/Python\n" + ext +
				": _PyNothing no symbol in /Library/Frameworks/Python.framework/Versions/3.12/Python"},
	} {
		if got := story(environment(t, "arm64", "11.0", c.files)); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, c.want)
		}
	}
}

// TestCyclesEnd loads libraries that need and re-export each other.
func TestCyclesEnd(t *testing.T) {
	e := environment(t, "arm64", "11.0", map[string]string{
		"a.dylib": "macho arm64\ninstall-name a\nneeded reexport @loader_path/b.dylib\n" +
			"import _x @loader_path/b.dylib",
		"b.dylib": "macho arm64\ninstall-name b\nneeded reexport @loader_path/a.dylib\n" +
			"import _x @loader_path/a.dylib",
	})
	want := "a.dylib: _x no symbol in @loader_path/b.dylib\n" +
		"b.dylib: _x no symbol in @loader_path/a.dylib"
	if got := story(e); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if n := len(e.LoadAll()); n != 1 {
		t.Errorf("there are %d loads", n)
	}
}

func TestPythonLibrary(t *testing.T) {
	for library, want := range map[string]string{
		"/Library/Frameworks/Python.framework/Versions/3.12/Python": "3.12",
		"@rpath/libpython3.11.dylib":                                "3.11",
		"/usr/local/lib/libpython3.7m.dylib":                        "3.7",
		"@rpath/libpythonic.dylib":                                  "",
		"/usr/lib/libz.1.dylib":                                     "",
	} {
		if got, ok := PythonLibrary(library); got != want || ok != (want != "") {
			t.Errorf("%s is of %q, %v", library, got, ok)
		}
	}
}

func TestUnreadFile(t *testing.T) {
	e := environment(t, "arm64", "11.0", map[string]string{ext: "macho arm64\n" +
		"needed @loader_path/libh.dylib\nneeded @loader_path/libi.dylib\n" +
		"import _helper @loader_path/libh.dylib\nimport _anything flat"})
	e.add(File{Path: "/site/pkg/libh.dylib", Name: "pkg/libh.dylib", Unread: true})
	e.add(File{Path: "/site/pkg/libi.dylib", Slices: []machoobj.Slice{
		{Arch: "arm64", Err: machoobj.ErrTruncated}}})
	want := ext + ": _helper undecided in @loader_path/libh.dylib\n" + ext + ": _anything undecided"
	if got := story(e); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if !e.Unread("libh.dylib") || !e.Unread("libi.dylib") || e.Unread("ext.so") {
		t.Error("the files that could not be read are not known")
	}
}

func TestPreloaded(t *testing.T) {
	files := map[string]string{
		ext: "macho arm64\nneeded @rpath/libh.dylib\nimport _helper @rpath/libh.dylib\n" +
			"import _other flat",
		"lib/libh.dylib": "macho arm64\ninstall-name @rpath/libh.dylib\nexport _helper\n" +
			"needed @loader_path/libo.dylib",
		"lib/libo.dylib": "macho arm64\ninstall-name @rpath/libo.dylib\nexport _other",
		"lib/libx.dylib": "macho arm64\ninstall-name @rpath/libx.dylib\nneeded @rpath/gone.dylib",
	}
	for preloaded, want := range map[string]string{
		"/site/lib/libh.dylib": "lib/libx.dylib needs @rpath/gone.dylib without run paths",
		"/site/lib/libx.dylib": "lib/libx.dylib needs @rpath/gone.dylib without run paths\n" +
			ext + " needs @rpath/libh.dylib without run paths\n" +
			ext + ": _helper undecided in @rpath/libh.dylib\n" + ext + ": _other undecided",
		"/site/nowhere.dylib": "lib/libx.dylib needs @rpath/gone.dylib without run paths\n" +
			ext + " needs @rpath/libh.dylib without run paths\n" +
			ext + ": _helper undecided in @rpath/libh.dylib\n" + ext + ": _other undecided",
	} {
		e := environment(t, "arm64", "11.0", files)
		e.Preloaded = func(*Image) []string { return []string{preloaded} }
		if got := story(e); got != want {
			t.Errorf("after %s: %s\nwant\n%s", preloaded, got, want)
		}
	}
}
