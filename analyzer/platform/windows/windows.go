// Package windows holds what is known of the DLLs of Windows, of the Visual C++ runtimes and of
// Python's own DLLs, by their names. An answer is Present, Absent or Unknown; nothing may be
// concluded from Unknown.
//
//	l := windows.Lookup("KERNEL32.dll", peobj.Amd64)
//	p, since := l.Exports("GetTempPath2W", peobj.Amd64) // Present, "10.0.22000"
//
// The embedded table is made by internal/gen/windows from the module definition files of mingw-w64.
// It names the DLLs of Windows without the releases that have them, so a name counts for all
// releases. For kernel32.dll and some others it lists every export, and from Windows Vista on since
// when. It has no ordinals.
package windows

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

//go:embed data/dlls.gz
var packed []byte

// Presence is an answer of three values.
type Presence int

// Values of Presence.
const (
	Unknown Presence = iota
	Present
	Absent
)

// Kind says where a DLL comes from.
type Kind int

// Values of Kind.
const (
	Other    Kind = iota // not known here: a project's own library
	System               // part of Windows 10 and 11
	APISet               // api-ms-win-…: the loader maps the name to a DLL of Windows
	Runtime              // of Visual C++; see Library.Runtime
	Python               // python312.dll; see Library.Python
	Driver               // installed with a driver of hardware
	Optional             // Microsoft's, and installed with another product
)

// Library is what is known of a DLL by its name.
type Library struct {
	Name     string // in lower case
	Kind     Kind
	Presence Presence // on Windows by itself; of an API set whether Windows 10 or 11 knows it
	Source   string   // of a Driver or Optional: what installs it, as in "the NVIDIA driver"
	Runtime  *VisualC // of Runtime
	Python   *PythonDLL

	machines []string
}

// symbol is one export.
type symbol struct {
	machines []string
	since    string
}

// tables are the embedded data.
type tables struct {
	machines map[string][]string          // by DLL
	exports  map[string]map[string]symbol // by DLL: everything that it exports
}

// data decodes the table. Data that does not decode is a broken build, so reading it panics; a test
// reads it.
var data = sync.OnceValue(func() *tables {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(fmt.Errorf("embedded DLLs of Windows: %w", err))
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(fmt.Errorf("embedded DLLs of Windows: %w", err))
	}
	t := &tables{machines: map[string][]string{}, exports: map[string]map[string]symbol{}}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch words[0] {
		case "dll":
			t.machines[words[1]] = strings.Split(words[2], ",")
		case "exports":
			of := t.exports[words[1]]
			if of == nil {
				of = map[string]symbol{}
				t.exports[words[1]] = of
			}
			s := symbol{machines: strings.Split(words[2], ",")}
			if words[3] != "-" {
				s.since = words[3]
			}
			for _, name := range words[4:] {
				of[name] = s
			}
		}
	}
	return t
})

// Lookup says what a DLL is by its name, in any case, for a machine of peobj ("amd64").
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
	if m := data().machines[l.Name]; m != nil || slices.Contains(unlisted, l.Name) {
		l.Kind, l.Presence, l.machines = System, Present, m
		return l
	}
	return l
}

// unlisted are DLLs of Windows 10 and 11 that mingw-w64 has no list of: the C runtime that it links
// with by default, and ICU, which Windows has from version 1703 on (Microsoft's page "International
// Components for Unicode").
var unlisted = []string{"icu.dll", "icuin.dll", "icuuc.dll", "msvcrt.dll"}

// knownDLLs are those that the loader takes from System32 whatever else it finds: the registry's
// list KnownDLLs of Windows 10, and what these import.
var knownDLLs = []string{
	"advapi32.dll", "bcryptprimitives.dll", "cfgmgr32.dll", "clbcatq.dll", "combase.dll",
	"comdlg32.dll", "coml2.dll", "crypt32.dll", "difxapi.dll", "gdi32.dll", "gdiplus.dll",
	"imagehlp.dll", "imm32.dll", "kernel32.dll", "kernelbase.dll", "msctf.dll", "msvcrt.dll",
	"normaliz.dll", "nsi.dll", "ntdll.dll", "ole32.dll", "oleaut32.dll", "psapi.dll", "rpcrt4.dll",
	"sechost.dll", "setupapi.dll", "shcore.dll", "shell32.dll", "shlwapi.dll", "ucrtbase.dll",
	"user32.dll", "wintrust.dll", "wldap32.dll", "ws2_32.dll",
}

// KnownDLL reports whether Windows loads its own copy of the DLL, never one of the artifact.
func (l Library) KnownDLL() bool { return slices.Contains(knownDLLs, l.Name) }

// Exports reports whether a DLL of Windows has an export on a machine, and the first release of
// Windows that has it ("6.2" is Windows 8, "10.0.22000" the first Windows 11; "" is Windows Vista
// and before, or unknown). Symbols by ordinal and decorated C++ names are Unknown.
func (l Library) Exports(name, machine string) (p Presence, since string) {
	table := data().exports[l.host()]
	if table == nil || strings.HasPrefix(name, "?") || strings.HasPrefix(name, "#") {
		return Unknown, ""
	}
	s, ok := table[name]
	if !ok {
		if plain, _, cut := strings.Cut(strings.TrimPrefix(name, "@"), "@"); cut {
			s, ok = table[plain]
		}
	}
	switch {
	case !ok:
		return Absent, ""
	case !slices.Contains(s.machines, machine):
		return Unknown, ""
	}
	return Present, s.since
}

// host is the DLL that has the exports of an API set; the name itself of what is none.
func (l Library) host() string {
	if strings.HasPrefix(l.Name, "api-ms-win-crt-") {
		return "ucrtbase.dll"
	}
	return l.Name
}

// names are what people call releases of Windows, oldest first.
var names = []struct{ version, name string }{
	{"6.0", "Windows Vista"}, {"6.1", "Windows 7"}, {"6.2", "Windows 8"}, {"6.3", "Windows 8.1"},
	{
		"10.0",
		"Windows 10",
	}, {"10.0.10586", "Windows 10 version 1511"}, {"10.0.14393", "Windows 10 version 1607"},
	{"10.0.15063", "Windows 10 version 1703"}, {"10.0.16299", "Windows 10 version 1709"},
	{"10.0.17134", "Windows 10 version 1803"}, {"10.0.17763", "Windows 10 version 1809"},
	{"10.0.18362", "Windows 10 version 1903"}, {"10.0.19041", "Windows 10 version 2004"},
	{"10.0.22000", "Windows 11"}, {"10.0.22621", "Windows 11 version 22H2"},
	{"10.0.26100", "Windows 11 version 24H2"}, {"10.0.26200", "Windows 11 version 25H2"},
}

// Name is what people call a release: "Windows 8.1" of "6.3".
func Name(version string) string {
	name := "Windows " + version
	for _, n := range names {
		if !Older(version, n.version) {
			name = n.name
		}
	}
	return name
}

// Older reports whether one version of Windows comes before another.
func Older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return len(x[i]) < len(y[i]) || len(x[i]) == len(y[i]) && x[i] < y[i]
		}
	}
	return len(x) < len(y)
}
