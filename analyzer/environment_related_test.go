package analyzer_test

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// TestLibraryOfImported checks that a library may be loaded first by a package that the sources
// import, although the wheel declares nothing, and that this one may require it with an extra of a
// third package.
func TestLibraryOfImported(t *testing.T) {
	wheel := func(name string, requires []string, files map[string][]byte) analyzer.Input {
		return input(cases.Wheel{
			Name: name, Version: "1.0", Tags: []string{"cp312-cp312-manylinux_2_28_x86_64"},
			Requires: requires, Files: files,
		})
	}
	module := "needed libcudart.so\nimport cudaFree\nexport PyInit__C\nimport PyModule_Create2\n"
	for name, c := range map[string]struct {
		init, extra string
		fails       bool
	}{
		"imported": {"import engine\nfrom . import _C\n", "[cudart]", false},
		"in a function": {
			"def load():\n  import engine\n  from . import _C\nload()\n", "[cudart]", false,
		},
		"not imported":        {"from . import _C\n", "[cudart]", true},
		"without the library": {"import engine\nfrom . import _C\n", "", true},
	} {
		engine := "runpath $ORIGIN/../cudart\n" + module
		if c.extra == "" {
			engine = "export PyInit__C\nimport PyModule_Create2\n"
		}
		e := &analyzer.Environment{
			On: packages.Target{
				Python: "3.12", Arch: "x86_64", Libc: "glibc", LibcVersion: "2.28",
			},
			Platform: "manylinux_2_28", Complete: true,
			With: []string{"sound==1.0", "engine==1.0", "toolkit==1.0", "cudart==1.0"},
			Wheels: []analyzer.Input{
				wheel("sound", nil, map[string][]byte{
					"sound/__init__.py":                        []byte(c.init),
					"sound/_C.cpython-312-x86_64-linux-gnu.so": built(t, module),
				}),
				wheel("engine", []string{"toolkit" + c.extra}, map[string][]byte{
					"engine/__init__.py":                        []byte("from . import _C\n"),
					"engine/_C.cpython-312-x86_64-linux-gnu.so": built(t, engine),
				}),
				wheel("toolkit", []string{"cudart; extra == 'cudart'"}, map[string][]byte{
					"toolkit/__init__.py": nil,
				}),
				wheel("cudart", nil, map[string][]byte{
					"cudart/libcudart.so": built(t, "soname libcudart.so\nexport cudaFree\n"),
				}),
			},
		}
		source := stock{t, map[string]string{
			"sound==1.0": "", "engine==1.0": "requires toolkit" + c.extra,
			"toolkit==1.0": "requires cudart; extra == 'cudart'", "cudart==1.0": "cudaFree",
		}}
		r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), e, nil,
			analyzer.Options{Source: source})
		if err != nil {
			t.Fatal(err)
		}
		var about []string
		for _, f := range r.Findings {
			if f.Library == "libcudart.so" && strings.HasPrefix(f.Object, "sound/") &&
				f.Severity != analyzer.Note {
				about = append(about, f.Rule+": "+f.Message)
			}
		}
		if len(about) > 0 != c.fails || len(r.Unread) > 0 {
			t.Errorf("%s: %q, unread %v", name, about, r.Unread)
		}
	}
}

// TestStableABIOfAPython checks that a module for the stable ABI needs the functions of the Python
// of the environment, which is older than one of them.
func TestStableABIOfAPython(t *testing.T) {
	for _, c := range []struct {
		python, symbol string
		fails          bool
	}{
		{"3.9", "PyType_GetName", true}, {"3.10", "PyType_GetName", true},
		{"3.11", "PyType_GetName", false}, {"3.13", "PyType_GetName", false},
		{"3.9", "PyModule_Create2", false}, {"3.9", "_Py_NoneStruct", false},
		{"3.14", "PyList_GetItemRef", false}, {"3.12", "PyList_GetItemRef", true},
	} {
		e := &analyzer.Environment{
			On: packages.Target{
				Python: c.python, Arch: "x86_64", Libc: "glibc", LibcVersion: "2.36",
			},
			Platform: "debian12", Complete: true, With: []string{"old==1.0"},
			Wheels: []analyzer.Input{input(cases.Wheel{
				Name: "old", Version: "1.0", Tags: []string{"cp38-abi3-manylinux2014_x86_64"},
				Files: map[string][]byte{
					"old/__init__.py": []byte("from . import _old\n"),
					"old/_old.abi3.so": built(t,
						"import "+c.symbol+"\nexport PyInit__old\nimport PyModule_Create2\n"),
				},
			})},
		}
		r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), e, nil,
			analyzer.Options{Source: stock{t, map[string]string{"old==1.0": ""}}})
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, f := range r.Findings {
			if f.Rule == "undefined-symbol" && f.Severity == analyzer.Error {
				found = append(found, f.Symbol)
			}
		}
		if len(found) > 0 != c.fails || r.Fails(analyzer.Error) != c.fails {
			t.Errorf("Python %s, %s: %q, %+v", c.python, c.symbol, found, r.Findings)
		}
	}
}
