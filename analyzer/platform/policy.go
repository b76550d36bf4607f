package platform

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/platform/table"
)

// policy is one entry of auditwheel's policy files, or the floors of a distribution in the same
// form.
type policy table.Policy

// Priority is auditwheel's rank of a policy: higher runs on more systems. 0 for a distribution.
func (p *Platform) Priority() int {
	if p.policy == nil {
		return 0
	}
	return p.policy.Priority
}

// Whitelist lists the SONAMEs that a wheel of the policy may need from outside, in the policy's
// order; nil for a distribution. It has no loader in it; a musl policy says "libc.so".
func (p *Platform) Whitelist() []string {
	if p.policy == nil {
		return nil
	}
	return p.policy.Whitelist
}

// Blacklist lists the symbols of a promised library that a wheel of the policy must not use, nil
// for none.
func (p *Platform) Blacklist(soname string) []string {
	if p.policy == nil {
		return nil
	}
	return p.policy.Blacklist[soname]
}

// Allows judges a version node by the policy alone, as auditwheel does: judged is false where the
// policy says nothing about its family (OPENSSL_3.0.0, everything on musl), and for a distribution.
func (p *Platform) Allows(version string) (allowed, judged bool) {
	if p.policy == nil {
		return false, false
	}
	family, rest, _ := strings.Cut(version, "_")
	set, judged := p.policy.Versions[p.Arch][family]
	return judged && slices.Contains(set, rest), judged
}

// Families maps each symbol family that the policy speaks of on this architecture to the nodes
// allowed, without the family: "GLIBC" to "2.2.5", …; nil for a distribution.
func (p *Platform) Families() map[string][]string {
	if p.policy == nil {
		return nil
	}
	return p.policy.Versions[p.Arch]
}

// families are the symbol families of the libraries whose tables stay true when cut down to a
// policy's nodes. All others of a policy are promised by name.
var families = map[string]string{
	"libc.so.6": "GLIBC", "libm.so.6": "GLIBC", "libmvec.so.1": "GLIBC", "libdl.so.2": "GLIBC",
	"libpthread.so.0": "GLIBC", "librt.so.1": "GLIBC",
	"libutil.so.1": "GLIBC", "libresolv.so.2": "GLIBC", "libnsl.so.1": "GLIBC", "libanl.so.1": "GLIBC",
	"libstdc++.so.6": "GLIBCXX", "libgcc_s.so.1": "GCC", "libz.so.1": "ZLIB",
	"libatomic.so.1": "LIBATOMIC",
}

// libraries makes what the policy promises. glibc's own libraries come from the table whose
// division into libraries is that of the policy's glibc; the others from the newest.
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
			// libmvec came to aarch64 with glibc 2.38: without nodes left, it is not there yet.
			if len(known.Versions) > 0 || len(t.In[i].Nodes) == 0 || soname == "libz.so.1" {
				l = known
			}
		}
		l.Package, l.Installed = "", true
		list = append(list, l)
	}
	return list
}

// muslLibraries makes what a musl policy promises: musl by both of its names, as the newest release
// that the tag stands for has it. The tag of an architecture that was not read promises names only.
func (q *policy) muslLibraries(p *Platform, s *table.Set) (list []*Library) {
	own := "libc.musl-" + muslArch(p.Arch) + ".so.1"
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

// division is the glibc of the column that divides symbols among glibc's libraries as the given
// release did: 2.31 moved a few, 2.34 merged libdl, libpthread, librt and libutil into libc.
func division(version string) string {
	switch {
	case table.CompareNodes("_"+version, "_2.31") < 0:
		return "2.30"
	case table.CompareNodes("_"+version, "_2.34") < 0:
		return "2.31"
	}
	return newest(version)
}

// newest is the glibc of the column that libraries other than glibc's own are taken from.
func newest(version string) string {
	if table.CompareNodes("_"+version, "_2.41") <= 0 {
		return "2.41"
	}
	return "2.43"
}

// filter keeps the nodes that the policy allows and those of families it does not speak of, and
// drops forbidden symbols.
func (q *policy) filter(arch string, t *table.Library, soname string) *rowFilter {
	f := &rowFilter{allowed: map[string]bool{"": true}}
	for _, facts := range t.In {
		for _, node := range facts.Nodes {
			family, rest, _ := strings.Cut(node, "_")
			set, judged := q.Versions[arch][family]
			f.allowed[node] = !judged || slices.Contains(set, rest)
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

// nodes lists the allowed nodes of a family; libstdc++ has CXXABI beside GLIBCXX.
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

// muslArch is the architecture in the name of musl's own library.
func muslArch(arch string) string {
	switch arch {
	case "i686":
		return "x86"
	case "armv7l":
		return "armv7"
	}
	return arch
}
