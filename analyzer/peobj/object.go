package peobj

import (
	"fmt"
	"strings"
)

// Object describes a PE file.
type Object struct {
	Machine string `json:"machine"` // Amd64, X86, ARM64, ARM, or "0x…" for another machine
	// Hybrid is "arm64ec" or "arm64x" for a file with code for two machines, otherwise "".
	Hybrid string `json:"hybrid"`
	Bits   int    `json:"bits"` // 32 (PE32) or 64 (PE32+)
	DLL    bool   `json:"dll"`  // IMAGE_FILE_DLL; false for a program
	// Managed means a .NET file with only intermediate code, which runs on every machine.
	Managed bool `json:"managed"`

	// Name is the DLL's name in its export directory; "" without exports.
	Name    string   `json:"name"`
	Imports []DLL    `json:"imports"` // in file order, delay-loaded DLLs last
	Exports []Export `json:"exports"` // sorted by name, those without a name last
	// Assemblies are the side-by-side assemblies that the manifest depends on.
	Assemblies []string `json:"assemblies"`

	// Subsystem is the oldest Windows that loads the file, from its header: "6.0".
	Subsystem       string `json:"subsystem_version"`
	OperatingSystem string `json:"os_version"`     // as written by the linker; the loader ignores it
	Linker          string `json:"linker_version"` // "14.38"
	// LoadFlags are the LOAD_LIBRARY_SEARCH_… flags with which the loader searches for the imports
	// (DependentLoadFlags); 0 = as for the file itself.
	LoadFlags uint16 `json:"load_flags,omitempty"`
}

// Values of Object.Machine, as in wheel tags.
const (
	Amd64 = "amd64"
	X86   = "x86"
	ARM64 = "arm64"
	ARM   = "arm"
)

// DLL is an imported library and the symbols imported from it.
type DLL struct {
	Name string `json:"name"` // as written; Windows ignores case
	// Delay means that it is loaded at the first call, so that the load succeeds without it.
	Delay   bool     `json:"delay"`
	Symbols []Symbol `json:"symbols"` // never nil
}

// Symbol is an imported name or ordinal.
type Symbol struct {
	Name    string `json:"name,omitempty"`    // "" for an import by ordinal
	Ordinal uint16 `json:"ordinal,omitempty"` // valid if Name is ""
}

// String returns the name, or the ordinal as "#9".
func (s Symbol) String() string {
	if s.Name != "" {
		return s.Name
	}
	return fmt.Sprintf("#%d", s.Ordinal)
}

// Export is an entry of the export table. A function with two names is two exports.
type Export struct {
	Name    string `json:"name"`    // "" if it is exported by ordinal only
	Ordinal uint32 `json:"ordinal"` // including the ordinal base
	// target of a forwarder: "libb.helper" or "libb.#5"; otherwise ""
	Forward string `json:"forward"`
}

// SystemOnly reports whether the imports are searched only in System32: the flags have
// LOAD_LIBRARY_SEARCH_SYSTEM32 and none of the other folders (libloaderapi.h).
func (o *Object) SystemOnly() bool {
	const system, others = 0x800, 0x100 | 0x200 | 0x400 | 0x1000
	return o.LoadFlags&system != 0 && o.LoadFlags&others == 0
}

// Target splits Forward into the DLL's file name and the symbol; ok is false if the export is not a
// forwarder.
func (e Export) Target() (dll string, s Symbol, ok bool) {
	i := strings.LastIndexByte(e.Forward, '.')
	if i <= 0 || i == len(e.Forward)-1 {
		return "", Symbol{}, false
	}
	dll, name := e.Forward[:i]+".dll", e.Forward[i+1:]
	if n, ok := ordinal(name); ok {
		return dll, Symbol{Ordinal: n}, true
	}
	return dll, Symbol{Name: name}, true
}

// ordinal parses "#5".
func ordinal(s string) (uint16, bool) {
	var n uint16
	if !strings.HasPrefix(s, "#") {
		return 0, false
	}
	_, err := fmt.Sscanf(s, "#%d", &n)
	return n, err == nil && fmt.Sprintf("#%d", n) == s
}

// RunsOn reports whether a process of the given machine (Amd64, ...) can load the file.
func (o *Object) RunsOn(machine string) bool {
	switch {
	case o.Managed, o.Machine == machine:
		return o.Hybrid != "arm64ec" || machine != ARM64
	case o.Hybrid == "arm64x":
		return machine == Amd64
	}
	return false
}
