package cpython

import (
	"strconv"
	"strings"
)

// Release is a build of CPython 3. The zero value is 3.0.
type Release struct {
	Minor        int
	FreeThreaded bool // 3.13t and later
}

// String returns "CPython 3.12" or "free-threaded CPython 3.15".
func (r Release) String() string {
	name := "CPython 3." + strconv.Itoa(r.Minor)
	if r.FreeThreaded {
		name = "free-threaded " + name
	}
	return name
}

// withoutGIL is the first release that has a free-threaded build too (PEP 703).
const withoutGIL = 13

// HasFreeThreaded reports whether there is a free-threaded build of the release.
func (r Release) HasFreeThreaded() bool { return r.Minor >= withoutGIL }

// withABI3T is the first release with the stable ABI of free-threaded builds, with the export hook
// of modules, and with file names of the stable ABI that name the platform (PEP 803, PEP 793).
const withABI3T = 15

// Suffix is the part of a module's file name that says which stable ABI it was built for:
// x.abi3.so, x.abi3t.so, x.abi3-x86_64-linux-gnu.so.
type Suffix struct {
	ABI      string // "abi3" or "abi3t"
	Platform bool   // it names the platform
}

// Imports reports whether the release imports modules with a suffix of the stable ABI
// (Python/dynload_shlib.c). A free-threaded build before 3.15 finds x.abi3.so, which it does not
// support.
func (r Release) Imports(s Suffix) bool {
	if r.Minor < withABI3T {
		return s == Suffix{ABI: "abi3"}
	}
	return s.ABI == "abi3t" || !r.FreeThreaded
}

// Calls reports whether the release calls a function of a module when it imports it: PyInit_x, and
// since 3.15 also PyModExport_x (PEP 489, PEP 793).
func (r Release) Calls(symbol string) bool {
	h, ok := ParseHook(symbol)
	return ok && (!h.Export || r.Minor >= withABI3T)
}

// Hook is the function that CPython calls to make a module.
type Hook struct {
	Module string // "" for a name that is not ASCII, which is encoded
	Export bool   // PyModExport_x
}

// ParseHook parses the name of a symbol.
func ParseHook(symbol string) (Hook, bool) {
	for _, prefix := range []string{"PyInit", "PyModExport"} {
		h := Hook{Export: prefix == "PyModExport"}
		if strings.HasPrefix(symbol, prefix+"U_") {
			return h, true
		}
		var ok bool
		if h.Module, ok = strings.CutPrefix(symbol, prefix+"_"); ok {
			return h, true
		}
	}
	return Hook{}, false
}

// OfTag returns the oldest release that a wheel with an interpreter and an ABI tag is for: 3.12 for
// cp312-abi3, free-threaded 3.15 for cp315-abi3t. ok is false for tags that name no release of
// CPython 3: py3, cp3, cp27, and cp315t, which no Python has.
func OfTag(interpreter, abi string) (r Release, ok bool) {
	digits, ok := strings.CutPrefix(interpreter, "cp3")
	if !ok || len(digits) > 2 {
		return Release{}, false
	}
	n, err := strconv.ParseUint(digits, 10, 8)
	return Release{Minor: int(n), FreeThreaded: strings.HasSuffix(abi, "t")}, err == nil
}

// StableABI reports whether an ABI tag is for the stable ABI, abi3 or abi3t, and thus for later
// releases too.
func StableABI(abi string) bool { return abi == "abi3" || abi == "abi3t" }
