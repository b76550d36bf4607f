package platform

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/platform/table"
)

// distribution is a release of a Linux distribution. If its packages were read for an architecture,
// its libraries are a column of the symbol table. Otherwise they are those of a later table,
// restricted to the version nodes in floors, as for a policy.
type distribution struct {
	name    string
	aliases []string
	libc    string            // "2.31"; of musl "1.2.5"
	archs   []string          // that floors apply to
	floors  map[string]string // the newest node by family: "GLIBC" to "2.31"
	// byName are libraries of a small image with Python. If their contents were not read, only
	// their names are known.
	byName []string
}

//go:embed data/distributions.txt
var distributionsText string

// distributions are those of data/distributions.txt, sorted by libc version.
var distributions = sync.OnceValue(func() (list []*distribution) {
	var d *distribution
	for line := range strings.Lines(distributionsText) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] == "#" {
			continue
		}
		switch rest := words[1:]; words[0] {
		case "release":
			d = &distribution{name: rest[0], aliases: rest[1:]}
			list = append(list, d)
		case "libc":
			d.libc = rest[0]
		case "on":
			d.archs = rest
		case "floors":
			d.floors = map[string]string{}
			for _, node := range rest {
				family, version, _ := strings.Cut(node, "_")
				d.floors[family] = version
			}
		case "has":
			d.byName = append(d.byName, rest...)
		}
	}
	return list
})

// libraries returns the names of the libraries of a small image with Python on an architecture of
// which the packages were not read. They are the same on x86_64, if that was read.
func (d *distribution) libraries() (names []string) {
	s := symbols("x86_64")
	at := column(s, d.name)
	if at < 0 {
		return d.byName
	}
	for _, l := range s.Libraries {
		if l.In[at].Base && l.Package != "libc6" {
			names = append(names, l.SONAME)
		}
	}
	return names
}

// distributionNames maps prefixes of releases' names to the names of the distributions.
var distributionNames = []struct{ prefix, name string }{
	{
		"debian",
		"Debian",
	}, {"ubuntu", "Ubuntu"}, {"rhel", "RHEL"}, {"amazonlinux", "Amazon Linux"}, {"sles", "SLES"},
}

// First lists, for each distribution, the oldest known release whose library with that SONAME
// defines the version node: "Debian 11", "Ubuntu 20.04", "RHEL 9". Distributions without such a
// release are left out; nil if there is none at all.
func First(arch, soname, version string) (releases []string) {
	for _, f := range distributionNames {
		for _, p := range builtin(Arch(arch)) {
			release, ok := strings.CutPrefix(strings.TrimSuffix(p.Name, "_"+p.Arch), f.prefix)
			if !ok || p.Kind == Policy {
				continue
			}
			if l := p.Library(soname); l != nil && l.HasVersion(version) {
				if p.Name == "sles15" {
					release = "15 SP3" // earlier service packs have glibc 2.26
				}
				releases = append(releases, f.name+" "+release)
				break
			}
		}
	}
	return releases
}

// on returns the platform of a release on an architecture; nil if it is not known there.
func (d *distribution) on(arch string) *Platform {
	p := &Platform{
		Name:        d.name,
		Arch:        arch,
		Libc:        "glibc",
		LibcVersion: d.libc,
		Kind:        Distribution,
		Aliases:     d.aliases,
		column:      d.name,
	}
	if strings.HasPrefix(d.name, "alpine") {
		p.Libc = "musl"
	}
	s := symbols(p.table())
	if p.Libc == "musl" && column(s, d.name) < 0 {
		for _, c := range s.Columns { // use the nearest release with the same musl
			if c.Glibc == d.libc && strings.HasPrefix(c.Name, "alpine") {
				p.column = c.Name
			}
		}
	}
	switch {
	case column(s, p.column) >= 0:
		p.namedOnly = d.byName
		return p
	case d.floors == nil || !slices.Contains(d.archs, arch) || !hasGlibc(s, d.libc):
		return nil
	}
	p.column, p.below = "", d
	return p
}

// hasGlibc reports whether a table has nodes of that glibc release or earlier. An architecture that
// was added to glibc later has none.
func hasGlibc(s *table.Set, glibc string) bool {
	for _, l := range s.Libraries {
		if l.SONAME != "libc.so.6" {
			continue
		}
		for _, f := range l.In {
			if slices.ContainsFunc(
				f.Nodes,
				func(n string) bool {
					return isVersion(n, "GLIBC") && table.CompareNodes(n, "GLIBC_"+glibc) <= 0
				},
			) {
				return true
			}
		}
	}
	return false
}

// cut returns the distribution in the form of a policy: the nodes up to its floors, and its
// libraries.
func (d *distribution) cut(p *Platform, s *table.Set) *policy {
	q := &policy{
		Name:      d.name,
		Versions:  map[string]map[string][]string{p.Arch: {}},
		Whitelist: []string{"libstdc++.so.6", "libgcc_s.so.1"},
	}
	sets := q.Versions[p.Arch]
	for _, l := range s.Libraries {
		i := slices.IndexFunc(s.Columns, func(c table.Column) bool { return c.Glibc == division(d.libc) })
		if l.Package == "libc6" && i >= 0 && l.In[i].Present && !isLoader(l.SONAME) {
			q.Whitelist = append(q.Whitelist, l.SONAME)
		}
		for _, f := range l.In {
			for _, node := range f.Nodes {
				family, rest, _ := strings.Cut(node, "_")
				top := d.floors[family]
				if top == "" || slices.Contains(sets[family], rest) ||
					isVersion(node, family) && table.CompareNodes(node, family+"_"+top) > 0 {
					continue
				}
				if node == "GLIBC_ABI_DT_RELR" && table.CompareNodes("_"+d.libc, "_2.36") < 0 ||
					strings.HasPrefix(node, "GLIBC_ABI_") && node != "GLIBC_ABI_DT_RELR" &&
						table.CompareNodes("_"+d.libc, "_2.42") < 0 {
					continue // such nodes mark features of a release's loader
				}
				sets[family] = append(sets[family], rest)
			}
		}
	}
	q.Whitelist = append(q.Whitelist, d.libraries()...)
	return q
}

// isVersion reports whether a node has a number (GLIBC_2.17), unlike GLIBC_PRIVATE and CXXABI_TM_1.
func isVersion(node, family string) bool {
	rest := strings.TrimPrefix(node, family+"_")
	return rest != node && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// order compares platforms: by libc, then its version, then policies before distributions.
func order(a, b *Platform) int {
	return cmp.Or(
		cmp.Compare(a.Libc, b.Libc),
		table.CompareNodes("_"+a.LibcVersion, "_"+b.LibcVersion),
		-cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Name, b.Name),
	)
}
