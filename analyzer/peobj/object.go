package peobj

import (
	"fmt"
	"strings"
)

// Object is one PE file.
type Object struct {
	Machine string `json:"machine"` // Amd64, X86, ARM64, ARM, or "0x…" for another one
	// Hybrid is "arm64ec" or "arm64x" for a file with code for two machines, else "".
	Hybrid string `json:"hybrid"`
	Bits   int    `json:"bits"` // 32 (PE32) or 64 (PE32+)
	DLL    bool   `json:"dll"`  // IMAGE_FILE_DLL; false for a program
	// Managed: a .NET file of intermediate code only, which runs on every machine.
	Managed bool `json:"managed"`

	// Name is that of the DLL in its export directory; "" where it exports nothing.
	Name    string   `json:"name"`
	Imports []DLL    `json:"imports"` // in the order of the file, delay-loaded ones last
	Exports []Export `json:"exports"` // in the order of their names, those without a name last
	// Assemblies are the side-by-side assemblies that the manifest depends on.
	Assemblies []string `json:"assemblies"`

	// Subsystem is the oldest Windows that loads the file, as its header has it: "6.0".
	Subsystem       string `json:"subsystem_version"`
	OperatingSystem string `json:"os_version"`     // as the linker wrote it; the loader ignores it
	Linker          string `json:"linker_version"` // "14.38"
}

// Machines of Object.Machine, in the words of wheel tags.
const (
	Amd64 = "amd64"
	X86   = "x86"
	ARM64 = "arm64"
	ARM   = "arm"
)

// DLL is one imported library with what is imported from it.
type DLL struct {
	Name string `json:"name"` // as the file has it; Windows ignores case
	// Delay: it is loaded at the first call, so that a missing one doesn't fail the load.
	Delay   bool     `json:"delay"`
	Symbols []Symbol `json:"symbols"` // never nil
}

// Symbol is an imported name or ordinal.
type Symbol struct {
	Name    string `json:"name,omitempty"`    // "" for an import by ordinal
	Ordinal uint16 `json:"ordinal,omitempty"` // meaningful where Name is ""
}

// String is the name, or the ordinal as "#9".
func (s Symbol) String() string {
	if s.Name != "" {
		return s.Name
	}
	return fmt.Sprintf("#%d", s.Ordinal)
}

// Export is one entry of the export table. A function with two names is two exports.
type Export struct {
	Name    string `json:"name"`    // "" for one that is exported by ordinal only
	Ordinal uint32 `json:"ordinal"` // with the base added
	// "libb.helper" or "libb.#5": defined there; "" for an own definition
	Forward string `json:"forward"`
}

// Target splits Forward into the DLL's file name and the symbol, ok is false where it is no
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

// ordinal reads "#5".
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
