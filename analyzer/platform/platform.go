// Package platform knows what a target provides: every manylinux and musllinux policy, and
// distributions.
//
// A target is a Platform: one name on one architecture. It promises libraries by SONAME and, for
// the libraries whose contents are known, the exact pairs of symbol and version that they export. A
// policy promises sets of version nodes, architecture by architecture, and never "everything up to
// the highest": GLIBC_2.29 with GLIBCXX_3.4.26 first come together in manylinux_2_31.
//
//	p, err := platform.Lookup("manylinux_2_17", "x86_64")
//	p.Library("libm.so.6").Has("pow", "GLIBC_2.29")   // false
//	p.Library("libdl.so.2").Has("dlopen", "GLIBC_2.2.5") // true; from glibc 2.34 on it is libc.so.6 that has it
//
// Where the facts come from: the version sets, the lists of promised libraries and the forbidden
// symbols of a policy are auditwheel's policy files; which library exports which symbol was read
// from the packages of Debian, Ubuntu and Alpine. A policy, and a distribution that was not read,
// is a later table cut down to its nodes, since a symbol keeps the node of the release that brought
// it. What glibc moved between its libraries, in 2.31 and in 2.34, is followed. Data is embedded,
// decoded once per architecture on first use, and safe for concurrent use. `go generate` makes it
// anew.
package platform

import (
	"fmt"
	"slices"
	"sync"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform/table"
)

//go:generate go run github.com/compat-app/compat/internal/gen/platform -out data

// Kinds of platform.
const (
	Policy       = "policy"       // a wheel tag: manylinux_2_17_x86_64
	Distribution = "distribution" // a system that one can install: debian11
	System       = "system"       // an unpacked one: see Unpacked
)

// Operating systems of platforms.
const (
	Linux   = ""
	Windows = "windows"
	MacOS   = "macos"
)

// Platform is one target on one architecture. Compare by Name and Arch.
type Platform struct {
	Name        string // "manylinux_2_17_x86_64", "debian11", "alpine3.20"
	Arch        string // as in platform tags: "x86_64", "aarch64", "i686", "armv7l", …
	System      string // Linux or MacOS
	Libc        string // "glibc" or "musl"
	LibcVersion string // "2.17"; of a musllinux tag the lowest that it stands for, "1.1"
	Kind        string // Policy, Distribution or System
	OS          string // Linux, Windows or MacOS; what is below is empty for the last two
	// Aliases are other names of the same platform: "manylinux2014_x86_64", "bullseye".
	Aliases []string
	// Note says in one sentence what is special, "" mostly: a PEP 600 name without a policy of its
	// own.
	Note string

	policy *policy // nil for a distribution
	// what a table is cut down to: the policy, or the floors of below; nil: it is a column
	cut *policy
	// that was not read, and is what cut leaves; else nil
	below *distribution
	// of the symbol table; "" where cut or below is set, which choose by library
	column string
	// libraries that it has though the column lacks them
	named []string
	find  func(soname, by string) *elfobj.Object // of a System; else nil

	once      sync.Once
	libraries []*Library
	bySONAME  map[string]*Library
}

// Libraries lists what the platform provides by SONAME, in order of name. The slice is shared:
// don't change it.
func (p *Platform) Libraries() []*Library {
	p.once.Do(p.build)
	return p.libraries
}

// Library is the library of that SONAME, or nil where the platform does not provide one.
func (p *Platform) Library(soname string) *Library {
	p.once.Do(p.build)
	if p.find != nil {
		return p.ask(soname, "")
	}
	return p.bySONAME[soname]
}

// HasVersion reports whether any library of the platform defines the version node, "GLIBC_2.29".
func (p *Platform) HasVersion(version string) bool {
	return slices.ContainsFunc(
		p.Libraries(),
		func(l *Library) bool { return l.HasVersion(version) },
	)
}

// Loader is the SONAME of the platform's dynamic loader, "ld-linux-x86-64.so.2"; "" where it is not
// known.
func (p *Platform) Loader() string {
	for _, l := range p.Libraries() {
		if isLoader(l.SONAME) {
			return l.SONAME
		}
	}
	return ""
}

// Providers lists the libraries of p that export the symbol at any version, libc first. On a glibc
// before 2.34 dlopen gives libdl.so.2, shm_open librt.so.1 and pthread_create libpthread.so.0, so
// that a link fix can name -ldl. Libraries whose exports are not known are never in it.
func Providers(p *Platform, symbol string) []*Library {
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

// build makes the libraries: of a distribution what was read from its packages, of a policy what it
// promises.
func (p *Platform) build() {
	if p.OS != Linux {
		return
	}
	if p.find != nil {
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
				p.libraries = append(p.libraries, newLibrary(t, i, nil))
			}
		}
		for _, soname := range p.named {
			if !slices.ContainsFunc(
				p.libraries,
				func(l *Library) bool { return l.SONAME == soname },
			) {
				p.libraries = append(p.libraries, &Library{SONAME: soname, Installed: true})
			}
		}
	} else {
		p.libraries = p.cut.libraries(p, s)
	}
	slices.SortFunc(
		p.libraries,
		func(a, b *Library) int { return compareSONAME(a.SONAME, b.SONAME) },
	)
	p.bySONAME = make(map[string]*Library, len(p.libraries))
	for _, l := range p.libraries {
		p.bySONAME[l.SONAME] = l
	}
}

// Contents says how the libraries are known: "read" from the release's own packages, by its
// "floors", by a "policy", or "names" only.
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

// table is the name of the symbol table that the platform is made from.
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
