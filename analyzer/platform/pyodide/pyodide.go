// Package pyodide describes what Pyodide provides to the modules of wheels for WebAssembly, by the
// version of its ABI (PEP 783).
//
//	abi, ok := pyodide.Lookup("2025_0")    // Pyodide 0.29, with Python 3.13
//	kind, ok := abi.Symbol("PyList_New")   // a function of type "i>i"
//
// An ABI has one Python, which is part of the main program together with the C library, and one
// release of Emscripten. internal/gen/pyodide writes the table, from one release of Pyodide for
// each ABI. Later releases with the ABI may provide more, and none less.
package pyodide

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/inflate"
	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/symboltable"
)

//go:generate go run github.com/compat-app/compat/internal/gen/pyodide -out data/symbols.gz 2024_0=0.27.7 2025_0=0.29.4 2026_0=314.0.7 2026_5=315.0.0-alpha.2

//go:embed data/symbols.gz
var packed []byte

// symbols has, for each symbol, ABI=KIND for the ABIs that have it.
var symbols = lazy.Value[symboltable.Table]{New: func() symboltable.Table {
	return symboltable.Open(inflate.Embedded(packed))
}}

// Kinds of symbols in the table. Other kinds are the types of functions of WebAssembly.
const (
	JavaScript = "js"   // a function, which takes any arguments
	Data       = "data" // an address
	Tag        = "tag:" // followed by the type of an exception
)

// ABI is a version of the ABI.
type ABI struct {
	Name       string // as in platform tags: "2025_0"
	Release    string // of Pyodide, the newest that has it: "0.29"
	Emscripten string
	Python     string
	// JSExceptions is set if exceptions of C++ and longjmp are made with functions of JavaScript
	// (-fexceptions), and not with those of WebAssembly (-fwasm-exceptions).
	JSExceptions bool
	// RunPaths is set if the loader searches the run paths of modules. Before, a library was found in
	// any folder of a wheel.
	RunPaths bool
}

var abis = []ABI{
	{Name: "2024_0", Release: "0.27", Emscripten: "3.1.58", Python: "3.12", JSExceptions: true},
	{Name: "2025_0", Release: "0.29", Emscripten: "4.0.9", Python: "3.13", RunPaths: true},
	{Name: "2026_0", Release: "314", Emscripten: "5.0.3", Python: "3.14", RunPaths: true},
	{Name: "2026_5", Release: "315", Emscripten: "6.0.5", Python: "3.15", RunPaths: true},
}

// All lists the ABIs, the oldest first.
func All() []ABI { return slices.Clone(abis) }

// Lookup returns an ABI by its name.
func Lookup(name string) (ABI, bool) { return find(func(a ABI) bool { return a.Name == name }) }

// OfEmscripten returns the ABI that was built with a release of Emscripten, as in the tag
// emscripten_3_1_58_wasm32.
func OfEmscripten(release string) (ABI, bool) {
	return find(func(a ABI) bool { return a.Emscripten == release })
}

func find(is func(ABI) bool) (ABI, bool) {
	i := slices.IndexFunc(abis, is)
	if i < 0 {
		return ABI{}, false
	}
	return abis[i], true
}

// Tag returns the platform tag of wheels for the ABI: pyemscripten_2026_0_wasm32.
func (a ABI) Tag() string { return "pyemscripten_" + a.Name + "_wasm32" }

// Symbol returns the kind of a symbol; ok is false if the ABI does not have it.
func (a ABI) Symbol(name string) (kind string, ok bool) {
	for _, field := range symbols.Get().Find(name) {
		if abi, kind, _ := strings.Cut(field, "="); abi == a.Name {
			return kind, true
		}
	}
	if a.JSExceptions && (strings.HasPrefix(name, "invoke_") ||
		strings.HasPrefix(name, "__cxa_find_matching_catch_")) {
		return JavaScript, true // made when they are needed
	}
	return "", false
}

// libraries are shared libraries that packages of Pyodide's distribution contain, with the package
// in its latest release. A wheel cannot declare that it needs one of them.
var libraries = map[string]string{
	"libblis.so": "libblis", "libcholmod.so": "libsuitesparse", "libcrc32c.so": "libcrc32c",
	"libcrypto.so": "libopenssl", "libgdal.so": "libgdal", "libgeos.so": "libgeos",
	"libgeos_c.so": "libgeos", "libhdf5.so": "libhdf5", "libhdf5_hl.so": "libhdf5",
	"libheif.so": "libheif", "libmagic.so": "libmagic", "libngspice.so": "libngspice",
	"libopenblas.so": "libopenblas", "libproj.so": "libproj", "libssl.so": "libopenssl",
	"libtag.so": "libtaglib",
}

// Elsewhere reports whether another ABI has a symbol of a kind; "" of any kind.
func (a ABI) Elsewhere(name, kind string) bool {
	return slices.ContainsFunc(abis, func(b ABI) bool {
		has, ok := b.Symbol(name)
		return b != a && ok && (kind == "" || has == kind)
	})
}

// Package returns the package of Pyodide's distribution that has a shared library; "" for others.
func Package(library string) string { return libraries[library] }
