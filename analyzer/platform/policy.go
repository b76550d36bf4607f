package platform

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/platform/table"
)

// policy is an entry of auditwheel's policy files, or the floors of a distribution in the same
// form.
type policy table.Policy

// Priority returns auditwheel's priority of a policy: a higher one runs on more systems. It is 0
// for a distribution.
func (p *Platform) Priority() int {
	if p.policy == nil {
		return 0
	}
	return p.policy.Priority
}

// Whitelist lists the SONAMEs of the external libraries that a wheel of the policy may need, in the
// order of the policy; nil for a distribution. The loader is not included; a musl policy has
// "libc.so".
func (p *Platform) Whitelist() []string {
	if p.policy == nil {
		return nil
	}
	return p.policy.Whitelist
}

// Blacklist lists the symbols of an allowed library that a wheel of the policy must not use; may be
// nil.
func (p *Platform) Blacklist(soname string) []string {
	if p.policy == nil {
		return nil
	}
	return p.policy.Blacklist[soname]
}

// Allows reports whether the policy allows a version node, as auditwheel decides it. known is false
// if the policy has no such family (OPENSSL_3.0.0, everything on musl), and for a distribution.
func (p *Platform) Allows(version string) (allowed, known bool) {
	if p.policy == nil {
		return false, false
	}
	family, rest, _ := strings.Cut(version, "_")
	set, known := p.policy.Versions[p.Arch][family]
	return known && slices.Contains(set, rest), known
}

// Families maps the symbol families of the policy on this architecture to the allowed nodes without
// the family: "GLIBC" to "2.2.5", …; nil for a distribution.
func (p *Platform) Families() map[string][]string {
	if p.policy == nil {
		return nil
	}
	return p.policy.Versions[p.Arch]
}

// families are the symbol families of the libraries for which a later table can be restricted to a
// policy's nodes. Of the policy's other libraries only the names are known.
var families = map[string]string{
	"libc.so.6": "GLIBC", "libm.so.6": "GLIBC", "libmvec.so.1": "GLIBC", "libdl.so.2": "GLIBC",
	"libpthread.so.0": "GLIBC", "librt.so.1": "GLIBC",
	"libutil.so.1": "GLIBC", "libresolv.so.2": "GLIBC", "libnsl.so.1": "GLIBC", "libanl.so.1": "GLIBC",
	"libstdc++.so.6": "GLIBCXX", "libgcc_s.so.1": "GCC", "libz.so.1": "ZLIB",
	"libatomic.so.1": "LIBATOMIC",
}

// loaders are those of architectures of which no packages were read.
var loaders = map[string]string{
	"loongarch64": "ld-linux-loongarch-lp64d.so.1",
	"ppc64":       "ld64.so.1",
}

// libraries returns the libraries of the policy. For glibc's libraries it uses the column that
// divides symbols between them as the policy's glibc does, for others the newest column.
func (q *policy) libraries(p *Platform, s *table.Set) []*Library {
	byName := make(map[string]*table.Library, len(s.Libraries))
	promised := slices.Clone(q.Whitelist)
	for _, t := range s.Libraries {
		byName[t.SONAME] = t
		if isLoader(t.SONAME) {
			promised = append(promised, t.SONAME)
		}
	}
	if p.Libc == "musl" {
		return q.muslLibraries(p, s)
	}
	if !slices.ContainsFunc(promised, isLoader) && loaders[p.Arch] != "" {
		promised = append(promised, loaders[p.Arch])
	}
	var list []*Library
	for _, soname := range promised {
		family := families[soname]
		if isLoader(soname) {
			family = "GLIBC"
		}
		glibc := newest(p.LibcVersion)
		if family == "GLIBC" {
			glibc = division(p.LibcVersion)
		}
		l := &Library{SONAME: soname, Versions: q.nodes(p.Arch, family)}
		t, i := byName[soname], slices.IndexFunc(
			s.Columns,
			func(c table.Column) bool { return c.Glibc == glibc },
		)
		if t != nil && i >= 0 && family != "" && t.In[i].Present {
			known := newLibrary(t, i, q.filter(p.Arch, t, soname))
			// aarch64 has libmvec since glibc 2.38; for earlier ones no nodes remain.
			if len(known.Versions) > 0 || len(t.In[i].Nodes) == 0 || soname == "libz.so.1" {
				l = known
			}
		}
		if t != nil && family == "" && p.Kind == Policy {
			l.restrict(t, s, p.LibcVersion)
		}
		l.Package, l.Installed = "", true
		list = append(list, l)
	}
	return list
}

// restrict sets the symbols of a library without symbol versions: those that it has in each release
// with the policy's glibc or a newer one, and in the last release before them. The oldest systems
// of a policy need not be among those that were read (RHEL), and have what an older one has. If no
// older one was read, no symbol is certain, unless the oldest is as old as RHEL 7 and 8: Ubuntu
// 18.04 has GLib 2.56 as they have.
func (l *Library) restrict(t *table.Library, s *table.Set, glibc string) {
	if t.Versioned() {
		return
	}
	before, in := -1, uint16(0)
	for i, f := range t.In {
		switch c := s.Columns[i]; {
		case !f.Present || c.Name == rolling:
		case table.CompareNodes("_"+c.Glibc, "_"+glibc) >= 0:
			in |= 1 << i
		case before < 0 || table.CompareNodes("_"+c.Glibc, "_"+s.Columns[before].Glibc) > 0:
			before = i
		}
	}
	if in == 0 {
		return
	}
	if oldest := bits.TrailingZeros16(in); before < 0 && s.Columns[oldest].Name == "ubuntu18.04" {
		before = oldest
	}
	l.table, l.column = t, uint(max(before, 0))
	l.read = &releases{columns: s.Columns, in: in, uncertain: before < 0}
}

// rolling is the column of a system without releases, which changes all the time.
const rolling = "sid"

// muslLibraries returns the libraries of a musl policy: musl under both of its names, with the
// contents of the newest release that the tag includes. On an architecture that was not read only
// the names are known.
func (q *policy) muslLibraries(p *Platform, s *table.Set) (list []*Library) {
	own := MuslLibc(p.Arch)
	at := -1
	for i, c := range s.Columns {
		if strings.HasPrefix(c.Glibc, p.LibcVersion+".") {
			at = i
		}
	}
	for _, soname := range append(slices.Clone(q.Whitelist), own) {
		l := &Library{SONAME: soname, Installed: true}
		if i := slices.IndexFunc(s.Libraries, func(t *table.Library) bool {
			return t.SONAME == own
		}); i >= 0 &&
			at >= 0 &&
			(soname == own || soname == "libc.so") {
			l = newLibrary(s.Libraries[i], at, nil)
			l.SONAME, l.Package = soname, ""
		}
		list = append(list, l)
	}
	return list
}

// division returns the glibc of the column that divides symbols among glibc's libraries as the
// given release does: 2.31 moved a few, 2.34 merged libdl, libpthread, librt and libutil into libc.
func division(version string) string {
	switch {
	case table.CompareNodes("_"+version, "_2.31") < 0:
		return "2.30"
	case table.CompareNodes("_"+version, "_2.34") < 0:
		return "2.31"
	}
	return newest(version)
}

// newest returns the glibc of the column to use for libraries other than glibc's.
func newest(version string) string {
	if table.CompareNodes("_"+version, "_2.41") <= 0 {
		return "2.41"
	}
	return "2.43"
}

// filter allows the nodes of the policy and those of families it does not mention, and excludes
// forbidden symbols.
func (q *policy) filter(arch string, t *table.Library, soname string) *rowFilter {
	f := &rowFilter{allowed: map[string]bool{"": true}}
	for _, facts := range t.In {
		for _, node := range facts.Nodes {
			family, rest, _ := strings.Cut(node, "_")
			set, known := q.Versions[arch][family]
			f.allowed[node] = !known || slices.Contains(set, rest)
		}
	}
	if names := q.Blacklist[soname]; names != nil {
		f.forbidden = make(map[string]bool, len(names))
		for _, n := range names {
			f.forbidden[n] = true
		}
	}
	return f
}

// nodes lists the allowed nodes of a family; for libstdc++, GLIBCXX includes CXXABI.
func (q *policy) nodes(arch, family string) []string {
	var list []string
	for f, set := range q.Versions[arch] {
		if f == family || family == "GLIBCXX" && f == "CXXABI" {
			for _, v := range set {
				list = append(list, f+"_"+v)
			}
		}
	}
	slices.SortFunc(list, table.CompareNodes)
	return list
}

// MuslLibc returns the SONAME of musl's libc on Alpine: libc.musl-x86_64.so.1.
func MuslLibc(arch string) string { return "libc.musl-" + MuslArch(arch) + ".so.1" }

// MuslArch returns the architecture in the SONAME of musl's libc on Alpine (libc.musl-x86.so.1).
func MuslArch(arch string) string {
	switch arch {
	case "i686":
		return "x86"
	case "armv7l":
		return "armv7"
	}
	return arch
}
