package facts

import (
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/analyzer/wasmobj"
)

// WasmObject is a WebAssembly module that a wheel has as a shared library.
type WasmObject struct {
	Path string // path in the artifact
	*wasmobj.Object
}

// Extension reports whether the file is a module that Python imports.
func (o *WasmObject) Extension() bool {
	if extensionSuffix.MatchString(o.Path) {
		return true
	}
	for _, e := range o.Exports {
		if _, ok := cpython.ParseHook(e.Name); ok {
			return true
		}
	}
	return false
}

// wantsWasm reports whether a WebAssembly module is read: a shared library of a wheel that is for
// it. Others are programs, or data of a package that runs them.
func wantsWasm(f *unpack.File, head []byte) bool {
	return wasmobj.Is(head) && f.Package.Kind == KindWheel && path.Ext(f.Path) == ".so" &&
		tagged(f.Package.Path, platform.TagWebAssembly)
}

// readWasm reads a WebAssembly module.
func (p *prepared) readWasm(f *unpack.File) {
	p.listed, p.size, p.digest = true, f.Size, digest(f)
	o, err := wasmobj.Read(f.Content, f.Size)
	if p.wasmErr = err; err != nil {
		return
	}
	if !o.Dynamic && len(o.Imports)+len(o.Exports) == 0 {
		p.skip = "a WebAssembly module without imports and exports, not checked"
		return
	}
	p.wasm = &WasmObject{Path: f.Path, Object: o}
	if !strings.Contains(path.Base(f.Package.Path), "abi3") {
		return
	}
	for _, i := range o.Imports {
		if abi3.Names(i.Name) {
			p.symbols = append(p.symbols, abi3.Symbol{Name: i.Name})
		}
	}
}

// wasm adds a WebAssembly module to an artifact.
func (r *Set) wasm(a *Artifact, inside, at string, p *prepared) {
	a.audit.members.object(inside, p)
	if a.audit.tag != "" {
		a.audit.symbols = append(a.audit.symbols, p.symbols...)
	}
	if p.wasmErr != nil {
		r.Unread = append(r.Unread, Unread{at, p.wasmErr.Error()})
		return
	}
	a.Wasm = append(a.Wasm, p.wasm)
}
