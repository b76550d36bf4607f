package platform

import (
	"fmt"

	"github.com/compat-app/compat/analyzer/platform/pyodide"
)

// Pyodide returns the platform of a tag for Pyodide, with the same name; nil for other systems, and
// for a version of the ABI that compat does not know. Its Library returns nil; package pyodide has
// what Pyodide provides.
func (t Tag) Pyodide() *Platform {
	var abi pyodide.ABI
	ok := false
	switch {
	case t.Arch != "wasm32":
	case t.Family == "pyemscripten", t.Family == "pyodide":
		abi, ok = pyodide.Lookup(fmt.Sprintf("%d_%d", t.Version[0], t.Version[1]))
	case t.Family == "emscripten":
		release := fmt.Sprintf("%d.%d.%d", t.Version[0], t.Version[1], t.Version[2])
		abi, ok = pyodide.OfEmscripten(release)
	}
	if !ok {
		return nil
	}
	return &Platform{
		Name: t.String(), Arch: t.Arch, OS: Emscripten, LibcVersion: abi.Name, Kind: Policy,
	}
}

// Pyodide returns the version of Pyodide's ABI of a platform; the zero value for other systems.
func (p *Platform) Pyodide() (abi pyodide.ABI) {
	if p.OS == Emscripten {
		abi, _ = pyodide.Lookup(p.LibcVersion)
	}
	return abi
}
