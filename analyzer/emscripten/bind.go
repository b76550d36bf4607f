package emscripten

import (
	"slices"

	"github.com/compat-app/compat/analyzer/platform/pyodide"
	"github.com/compat-app/compat/analyzer/wasmobj"
)

// Outcome is the result of the lookup of an import.
type Outcome int

// Values of Outcome.
const (
	Bound     Outcome = iota
	Weak              // not found, and it may be
	Undecided         // a library of the load is not found, or its exports are not known
	OtherType         // found with another type: Binding.Has
	NotLinked         // a file has it that the load does not link before: Binding.File
	NotFound
)

// Binding is the lookup of an import.
type Binding struct {
	*wasmobj.Import
	Outcome Outcome
	// AtCall is set if the load succeeds nevertheless, and a call of the function fails.
	AtCall bool
	File   *File  // of the load or the artifact, which has it; nil for the program
	Has    string // the type of a function that is found, or what else it is
}

// Fails reports whether the import cannot be satisfied.
func (b Binding) Fails() bool { return b.Outcome >= OtherType }

// Modules from which Emscripten imports.
const (
	env         = "env"
	wasi        = "wasi_snapshot_preview1" // of which the linker makes no difference
	gotFunction = "GOT.func"
	gotMemory   = "GOT.mem"
)

// Bind looks up the imports of a file of the load.
func (l *Load) Bind(f *File) (out []Binding) {
	for n := range f.Object.Imports {
		i := &f.Object.Imports[n]
		b := Binding{Import: i, Outcome: NotFound}
		switch i.Module {
		case env, wasi:
			l.bind(&b)
		case gotFunction, gotMemory:
			l.address(&b, f)
		}
		if b.Outcome == NotFound && (i.Module == gotFunction || i.Module == gotMemory ||
			i.Kind == wasmobj.Func && b.AtCall) {
			l.absent(&b)
		}
		out = append(out, b)
	}
	return out
}

// bind looks up an import that is linked directly.
func (l *Load) bind(b *Binding) {
	kind, ok := l.env.ABI.Symbol(b.Name)
	switch {
	case b.Kind == wasmobj.Memory && b.Name == "memory":
		b.Outcome = Bound
		if b.Shared {
			b.Outcome, b.Has = OtherType, "a memory that is not shared"
		}
	case b.Kind == wasmobj.Table && b.Name == "__indirect_function_table",
		b.Kind == wasmobj.Global && slices.Contains(ownGlobals, b.Name):
		b.Outcome = Bound
	case b.Kind == wasmobj.Func && !ok:
		b.AtCall = true
		l.bindAtCall(b)
	case !ok:
	case b.Kind == wasmobj.Func && kind == pyodide.JavaScript,
		b.Kind == wasmobj.Func && kind == b.Type,
		b.Kind == wasmobj.Global && kind == pyodide.Data,
		b.Kind == wasmobj.Tag && kind == pyodide.Tag+b.Type:
		b.Outcome = Bound
	default:
		b.Outcome, b.Has = OtherType, kind
	}
}

// ownGlobals are those that the linker makes for each module.
var ownGlobals = []string{"__memory_base", "__table_base", "__stack_pointer"}

// bindAtCall looks up a function that the program does not have in the modules of the load. It is
// called by way of JavaScript, which converts numbers, but not those of 64 bits.
func (l *Load) bindAtCall(b *Binding) {
	for _, f := range l.Found {
		if f.File == nil {
			continue
		}
		if e := f.File.export(b.Name); e != nil && e.Kind == wasmobj.Func {
			b.Outcome, b.File = Bound, f.File
			if e.Type != b.Type {
				b.Outcome, b.Has = OtherType, e.Type
			}
			return
		}
	}
}

// address looks up the address of a function or of data, for a file of the load.
func (l *Load) address(b *Binding, by *File) {
	if _, ok := l.env.ABI.Symbol(b.Name); ok {
		b.Outcome = Bound
		return
	}
	for _, f := range l.Found {
		if f.File == nil {
			continue
		}
		if e := f.File.export(b.Name); e != nil {
			b.Outcome = Bound
			return
		}
		if f.File == by {
			return // what follows is linked later
		}
	}
}

// absent decides about an import that the load does not have.
func (l *Load) absent(b *Binding) {
	switch {
	case b.Weak:
		b.Outcome = Weak
	case l.unread != "" || len(l.Missing) > 0:
		b.Outcome = Undecided
	default:
		for _, f := range l.env.files {
			if f.export(b.Name) != nil {
				b.Outcome, b.File = NotLinked, f
				return
			}
		}
	}
}
