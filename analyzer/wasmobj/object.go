package wasmobj

// Kind is the kind of an import or export.
type Kind byte

// Kinds, as in the binary format.
const (
	Func Kind = iota
	Table
	Memory
	Global
	Tag // of exceptions
)

var kindNames = []string{"func", "table", "memory", "global", "tag"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Object is a WebAssembly module. Lists are in the order of the file.
type Object struct {
	Dynamic  bool     // it begins with a section dylink.0, as Emscripten's loader requires
	Needed   []string // libraries, by file name
	RunPaths []string // where they are searched, with $ORIGIN
	Imports  []Import
	Exports  []Export
	// Tools are the compilers of the section "producers": "clang 22.0.0", "rustc 1.92.0".
	Tools []string
}

// Import is something that the program or another module provides.
type Import struct {
	Module string // "env", "GOT.func", "GOT.mem", "wasi_snapshot_preview1"
	Name   string
	Kind   Kind
	// Type is that of a function or of a tag, "ii>i": parameters and results, i is i32, j i64, f f32,
	// d f64, v v128, r a reference. It is "" for other kinds.
	Type string
	Weak bool // it may be missing
	// Shared is set for a memory that threads share.
	Shared bool
}

// Export is something that the module provides.
type Export struct {
	Name string
	Kind Kind
	Type string // as of an Import
}
