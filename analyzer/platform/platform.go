// Package platform describes what target systems provide: every manylinux and musllinux policy, and
// Linux distributions.
//
// A target is a Platform: a name on an architecture. It provides libraries by SONAME and, for those
// whose contents are known, the exact pairs of symbol and version that they export. A policy allows
// sets of version nodes for each architecture, not everything up to the highest: GLIBC_2.29 and
// GLIBCXX_3.4.26 are first allowed together in manylinux_2_31.
//
//	p, err := platform.Lookup("manylinux_2_17", "x86_64")
//	p.Library("libm.so.6").Has("pow", "GLIBC_2.29")   // false
//	p.Library("libdl.so.2").Has("dlopen", "GLIBC_2.2.5") // true; since 2.34 in libc.so.6
//
// The version sets, allowed libraries and forbidden symbols of a policy are those of auditwheel's
// policy files. The symbols of libraries were read from the packages of Debian, Ubuntu and Alpine.
// For a policy, and for a distribution that was not read, they are those of a later table
// restricted to the allowed nodes, because a symbol keeps the node of the release that added it.
// Symbols that glibc 2.31 and 2.34 moved between libraries are taken into account. The data is
// embedded, decoded once per architecture on first use, and safe for concurrent use. `go generate`
// updates it.
package platform

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform/table"
)

//go:generate go run github.com/compat-app/compat/internal/gen/platform -out data

// Kinds of platforms.
const (
	Policy       = "policy"       // a wheel tag: manylinux_2_17_x86_64
	Distribution = "distribution" // a release of a Linux distribution: debian11
	System       = "system"       // an unpacked root file system, see Unpacked
)

// Operating systems.
const (
	Linux   = ""
	Windows = "windows"
	MacOS   = "macos"
	Android = "android"
	IOS     = "ios"
	// Emscripten is Pyodide, which runs in a browser or in Node.js.
	Emscripten = "emscripten"
)

// Platform is a target on an architecture. Compare platforms by Name and Arch.
type Platform struct {
	Name        string // "manylinux_2_17_x86_64", "debian11", "alpine3.20"
	Arch        string // as in platform tags: "x86_64", "aarch64", "i686", "armv7l", …
	Libc        string // "glibc" or "musl"
	LibcVersion string // "2.17"; for a musllinux tag its minimum, "1.1"
	Kind        string // Policy, Distribution or System
	OS          string // Linux, Windows, …; the fields below are for Linux only
	// Like are the distributions whose packages an unpacked system installs, from its os-release:
	// "rhel", "fedora"; nil if they are not known.
	Like []string
	// LibraryPath are the folders of LD_LIBRARY_PATH that the configuration of an image sets.
	LibraryPath []string
	// Aliases are other names of the same platform: "manylinux2014_x86_64", "bullseye".
	Aliases []string
	// Note is a sentence for users about the platform, "" for most: a PEP 600 name without a policy
	// of its own.
	Note string

	policy *policy // nil for a distribution
	// restricts a table: the policy, or the floors of below; nil: the libraries are a column
	cut *policy
	// the distribution, if its packages were not read; else nil
	below *distribution
	// of the symbol table; "" if cut or below is set
	column string
	// libraries that are known by name only
	namedOnly []string
	files     *Files // of a System; else nil

	once      sync.Once
	libraries []*Library
	bySONAME  map[string]*Library
}

// Libraries lists the libraries of the platform, sorted by SONAME. The slice must not be modified.
func (p *Platform) Libraries() []*Library {
	p.once.Do(p.build)
	return p.libraries
}

// Library returns the library with a SONAME, or nil if the platform does not provide it.
func (p *Platform) Library(soname string) *Library {
	p.once.Do(p.build)
	if p.files != nil {
		return p.load(soname, "")
	}
	return p.bySONAME[soname]
}

// Installs reports whether the systems of the platform have a library by default.
func (p *Platform) Installs(soname string) bool {
	l := p.Library(soname)
	return l != nil && l.Installed
}

// HasVersion reports whether a library of the platform defines a version node such as "GLIBC_2.29".
func (p *Platform) HasVersion(version string) bool {
	return slices.ContainsFunc(p.Libraries(), func(l *Library) bool { return l.HasVersion(version) })
}

// Loader returns the SONAME of the dynamic loader, "ld-linux-x86-64.so.2"; "" if it is not known.
func (p *Platform) Loader() string {
	for _, l := range p.Libraries() {
		if isLoader(l.SONAME) {
			return l.SONAME
		}
	}
	return ""
}

// Providers lists the libraries of p that export the symbol at any version, libc first. Before
// glibc 2.34 that is libdl.so.2 for dlopen, librt.so.1 for shm_open and libpthread.so.0 for
// pthread_create, so that a fix can suggest -ldl. Libraries of which only the name is known are not
// included. It is nil for a symbol that linkers add to every object.
func Providers(p *Platform, symbol string) []*Library {
	if elfobj.OfLinker(symbol) {
		return nil
	}
	var found []*Library
	for _, l := range p.Libraries() {
		if !l.Has(symbol, "") {
			continue
		}
		if l.SONAME == "libc.so.6" {
			found = slices.Insert(found, 0, l)
		} else {
			found = append(found, l)
		}
	}
	return found
}

// WithVersions lists the built-in platforms of arch that define all the given version nodes, in the
// order of All.
func WithVersions(arch string, versions ...string) []*Platform {
	var found []*Platform
	for _, p := range All(arch) {
		if !slices.ContainsFunc(versions, func(v string) bool { return !p.HasVersion(v) }) {
			found = append(found, p)
		}
	}
	return found
}

// build creates the libraries: of a distribution those read from its packages, of a policy those
// that it allows.
func (p *Platform) build() {
	if p.OS != Linux {
		return
	}
	if p.files != nil {
		p.unpack()
		return
	}
	s := symbols(p.table())
	if p.below != nil {
		p.cut = p.below.cut(p, s)
	}
	if p.cut == nil {
		for _, t := range s.Libraries {
			if i := column(s, p.column); i >= 0 && t.In[i].Present {
				l := newLibrary(t, i, nil)
				if !t.Versioned() {
					l.read = &releases{columns: s.Columns, in: 1 << i}
				}
				p.libraries = append(p.libraries, l)
			}
		}
		for _, soname := range p.namedOnly {
			if !slices.ContainsFunc(p.libraries, func(l *Library) bool { return l.SONAME == soname }) {
				p.libraries = append(p.libraries, &Library{SONAME: soname, Installed: true})
			}
		}
	} else {
		p.libraries = p.cut.libraries(p, s)
	}
	slices.SortFunc(p.libraries, func(a, b *Library) int { return compareSONAME(a.SONAME, b.SONAME) })
	p.bySONAME = make(map[string]*Library, len(p.libraries))
	for _, l := range p.libraries {
		p.bySONAME[l.SONAME] = l
	}
}

// Contents returns how the libraries are known: "read" from the packages of the release, by
// "floors", by a "policy", or by "names" only.
func (p *Platform) Contents() string {
	switch {
	case !slices.ContainsFunc(p.Libraries(), func(l *Library) bool { return l.Known }):
		return "names"
	case p.policy != nil:
		return "policy"
	case p.cut != nil:
		return "floors"
	}
	return "read"
}

// NamesOnly reports whether only the names of the platform's libraries are known. Whether a symbol
// is found on it cannot be checked then.
func (p *Platform) NamesOnly() bool {
	libraries := p.Libraries()
	return p.OS == Linux && len(libraries) > 0 &&
		!slices.ContainsFunc(libraries, func(l *Library) bool { return l.Known })
}

// Packages lists the names of the packages that were read of a distribution; nil for others.
func (p *Platform) Packages() (names []string) {
	s := symbols(p.table())
	if i := column(s, p.column); i >= 0 && p.cut == nil {
		for _, of := range s.Columns[i].From {
			name, _, _ := strings.Cut(of, "=")
			names = append(names, name)
		}
	}
	return names
}

// table returns the name of the platform's symbol table.
func (p *Platform) table() string {
	if p.Libc == "musl" {
		return p.Arch + "-musl"
	}
	return p.Arch
}

func column(s *table.Set, name string) int {
	return slices.IndexFunc(s.Columns, func(c table.Column) bool { return c.Name == name })
}

func (p *Platform) String() string {
	if p.Kind == Distribution {
		return fmt.Sprintf("%s/%s", p.Name, p.Arch)
	}
	return p.Name
}

// Baseline returns the level of x86_64 that all machines have on which the platform runs:
// "x86-64-v3", or "" if it is not more than the architecture has.
func (p *Platform) Baseline() string {
	switch strings.TrimSuffix(p.Name, "_"+p.Arch) { // Red Hat's release notes
	case "rhel9":
		return "x86-64-v2"
	case "rhel10":
		return "x86-64-v3"
	}
	return ""
}
