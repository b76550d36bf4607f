// Package windows describes the DLLs of Windows, of the Visual C++ runtimes and of Python, by name.
// An answer is Present, Absent or Unknown; Unknown proves nothing.
//
//	l := windows.Lookup("KERNEL32.dll", peobj.Amd64)
//	p, since := l.Exports("GetTempPath2W", peobj.Amd64) // Present, "10.0.22000"
//
// internal/gen/windows writes the embedded table from the module definition files of mingw-w64. It
// lists the DLLs of Windows without the releases that have them, so a DLL is assumed to be in all
// releases. It lists every export of kernel32, ntdll, advapi32, user32, gdi32, ws2_32, ucrtbase and
// vcruntime140; exports of other DLLs are Unknown. For the first three it has the release that
// added an export, from Windows Vista on, as far as the files contain it. That is the release of
// 32-bit Windows; see earlier. Ordinals are not used.
package windows

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/symboltable"
)

// internal/gen/windows writes the tables from the PyPI package ziglang; the first line of each
// names the version.
var (
	//go:embed data/dlls.txt
	dllText string
	//go:embed data/exports.txt
	exportText string
)

// Presence is the answer to whether something exists.
type Presence int

// Values of Presence.
const (
	Unknown Presence = iota
	Present
	Absent
)

// Kind is the origin of a DLL.
type Kind int

// Values of Kind.
const (
	Other    Kind = iota // not known here: a library of a project
	System               // part of Windows 10 and 11
	APISet               // api-ms-win-…: the loader maps it to a DLL of Windows
	Runtime              // of Visual C++, see Library.Runtime
	Python               // python312.dll, see Library.Python
	Driver               // installed with a hardware driver
	Optional             // installed with another product
)

// Library describes a DLL.
type Library struct {
	Name     string // in lower case
	Kind     Kind
	Presence Presence // in Windows without other software; for an API set, in Windows 10 or 11
	Source   string   // what installs a Driver or Optional DLL: "the NVIDIA driver"
	Runtime  *VisualC // set for Runtime
	Python   *PythonDLL
}

// dlls has the machines of each DLL, exports those of each export ("kernel32.dll!Sleep") after the
// release that added it ("-" if that is not known).
var (
	dlls = lazy.Value[symboltable.Table]{New: func() symboltable.Table {
		return symboltable.Open(dllText)
	}}
	exports = lazy.Value[symboltable.Table]{New: func() symboltable.Table {
		return symboltable.Open(exportText)
	}}
)

// complete are the DLLs whose exports are all in the table.
var complete = []string{
	"advapi32.dll", "gdi32.dll", "kernel32.dll", "ntdll.dll", "ucrtbase.dll", "user32.dll",
	"vcruntime140.dll", "ws2_32.dll",
}

// Lookup describes a DLL by its name, in any case, for a machine of peobj ("amd64").
func Lookup(name, machine string) Library {
	l := Library{Name: strings.ToLower(name), Presence: Unknown}
	if !strings.Contains(l.Name, ".") {
		l.Name += ".dll"
	}
	if IsAPISet(l.Name) {
		l.Kind, l.Presence = APISet, apiSet(l.Name)
		return l
	}
	if p, ok := ParsePython(l.Name); ok {
		l.Kind, l.Python, l.Presence = Python, &p, Absent
		return l
	}
	if v, ok := visualC(l.Name); ok {
		l.Kind, l.Runtime, l.Presence = Runtime, &v, Absent
		return l
	}
	for _, o := range optional {
		if o.name.MatchString(l.Name) {
			l.Kind, l.Source, l.Presence = o.kind, o.source, Absent
			return l
		}
	}
	if dlls.Get().Find(l.Name) != nil || slices.Contains(unlisted, l.Name) {
		l.Kind, l.Presence = System, Present
	}
	return l
}

// unlisted are DLLs of Windows 10 and 11 that mingw-w64 has no definition file for: the C runtime
// that it links by default, and ICU, part of Windows since version 1703 (Microsoft, "International
// Components for Unicode"). Like those of the table they are assumed to be in every release. Others
// that mingw-w64 lacks are Unknown.
var unlisted = []string{"icu.dll", "icuin.dll", "icuuc.dll", "msvcrt.dll"}

// knownDLLs are the DLLs that the loader always takes from System32: the registry's KnownDLLs list
// of Windows 10, and their dependencies. The lists of other releases may differ. A DLL that is not
// here is searched in the artifact first.
var knownDLLs = []string{
	"advapi32.dll", "bcryptprimitives.dll", "cfgmgr32.dll", "clbcatq.dll", "combase.dll",
	"comdlg32.dll", "coml2.dll", "crypt32.dll", "difxapi.dll", "gdi32.dll", "gdiplus.dll",
	"imagehlp.dll", "imm32.dll", "kernel32.dll", "kernelbase.dll", "msctf.dll", "msvcrt.dll",
	"normaliz.dll", "nsi.dll", "ntdll.dll", "ole32.dll", "oleaut32.dll", "psapi.dll", "rpcrt4.dll",
	"sechost.dll", "setupapi.dll", "shcore.dll", "shell32.dll", "shlwapi.dll", "ucrtbase.dll",
	"user32.dll", "wintrust.dll", "wldap32.dll", "ws2_32.dll",
}

// KnownDLL reports whether Windows always loads its own copy of the DLL, never one of the artifact.
func (l Library) KnownDLL() bool { return slices.Contains(knownDLLs, l.Name) }

// Exports reports whether a DLL of Windows has an export on a machine, and the release of Windows
// that added it ("6.2" is Windows 8, "10.0.22000" the first Windows 11; "" is Windows Vista or
// earlier, or unknown). Ordinals and decorated C++ names are Unknown.
func (l Library) Exports(name, machine string) (p Presence, since string) {
	host := l.host()
	if !slices.Contains(complete, host) || strings.HasPrefix(name, "?") ||
		strings.HasPrefix(name, "#") {
		return Unknown, ""
	}
	found := exports.Get().Find(host + "!" + name)
	if found == nil {
		if plain, _, cut := strings.Cut(strings.TrimPrefix(name, "@"), "@"); cut {
			found = exports.Get().Find(host + "!" + plain)
		}
	}
	switch {
	case found == nil:
		return Absent, ""
	case !slices.Contains(found[1:], machine):
		return Unknown, ""
	case found[0] == "-" || slices.Contains(earlier, name):
		return Present, ""
	}
	return Present, found[0]
}

// earlier are exports that releases before the one in the definition files have: 64-bit Windows has
// the first two since Vista, and the update KB2533623, which Python 3.8 needs on Windows 7, adds
// the others.
var earlier = []string{
	"RtlPcToFileHeader", "RtlRestoreContext",
	"AddDllDirectory", "RemoveDllDirectory", "SetDefaultDllDirectories",
}

// host returns the DLL that implements an API set, and the name itself for other DLLs.
func (l Library) host() string {
	if strings.HasPrefix(l.Name, "api-ms-win-crt-") {
		return "ucrtbase.dll"
	}
	return l.Name
}

// Eleven is the version of the first Windows 11.
const Eleven = "10.0.22000"

// names are the product names of Windows releases, oldest first (Microsoft, "Windows 10 release
// information" and "Windows 11 release information"). Not every update is listed; Name gives the
// others the name of the last one before: 10.0.19045, version 22H2, is "Windows 10 version 2004".
var names = []struct{ version, name string }{
	{"6.0", "Windows Vista"}, {"6.1", "Windows 7"}, {"6.2", "Windows 8"}, {"6.3", "Windows 8.1"},
	{
		"10.0",
		"Windows 10",
	}, {"10.0.10586", "Windows 10 version 1511"}, {"10.0.14393", "Windows 10 version 1607"},
	{"10.0.15063", "Windows 10 version 1703"}, {"10.0.16299", "Windows 10 version 1709"},
	{"10.0.17134", "Windows 10 version 1803"}, {"10.0.17763", "Windows 10 version 1809"},
	{"10.0.18362", "Windows 10 version 1903"}, {"10.0.19041", "Windows 10 version 2004"},
	{Eleven, "Windows 11"}, {"10.0.22621", "Windows 11 version 22H2"},
	{"10.0.26100", "Windows 11 version 24H2"}, {"10.0.26200", "Windows 11 version 25H2"},
}

// Name returns the product name of a version: "Windows 8.1" for "6.3".
func Name(version string) string {
	name := "Windows " + version
	for _, n := range names {
		if !Older(version, n.version) {
			name = n.name
		}
	}
	return name
}

// Older reports whether version a of Windows is older than b.
func Older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return len(x[i]) < len(y[i]) || len(x[i]) == len(y[i]) && x[i] < y[i]
		}
	}
	return len(x) < len(y)
}
