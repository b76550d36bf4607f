package platform

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/platform/table"
)

// distribution is a release of a Linux distribution. If its packages were read for an architecture,
// its libraries are a column of the symbol table. Otherwise they are those of a later table,
// restricted to the version nodes in floors, as for a policy.
type distribution struct {
	name    string
	aliases []string
	libc    string // "2.31"; of musl "1.2.5"
	archs   string // architectures that floors apply to
	floors  map[string]string
	// byName are libraries of a small image with Python. If their contents were not read, only
	// their names are known.
	byName []string
}

// floors returns the newest version nodes of a release, by family. They come from the package lists
// of the distributions as collected in the compliance data of PEP 600
// (github.com/mayeut/pep600_compliance) and, for Debian, Ubuntu and Alpine, from their packages.
func floors(glibc, glibcxx, cxxabi, gcc, zlib string) map[string]string {
	return map[string]string{
		"GLIBC":   glibc,
		"GLIBCXX": glibcxx,
		"CXXABI":  cxxabi,
		"GCC":     gcc,
		"ZLIB":    zlib,
	}
}

// commonLibraries are libraries that all these distributions have under the same SONAME.
func commonLibraries(others ...string) []string {
	return append(
		others,
		"libexpat.so.1",
		"liblzma.so.5",
		"libuuid.so.1",
		"libsqlite3.so.0",
		"libz.so.1",
	)
}

// alpineLibs are the libraries of an Alpine image with Python. They are listed here because a
// mirror may lack a package that its index names.
func alpineLibs(others ...string) []string {
	return commonLibraries(append(others, "libbz2.so.1", "libreadline.so.8", "libncursesw.so.6")...)
}

// distributions, sorted by libc version. Rebuilds with the same binary interfaces (AlmaLinux,
// Rocky, CentOS, Oracle Linux) are aliases.
var distributions = []distribution{
	{
		"rhel7",
		[]string{"centos7", "oraclelinux7"},
		"2.17",
		"x86_64 aarch64 ppc64le s390x",
		floors("2.17", "3.4.19", "1.3.7", "4.8.0", "1.2.5.2"),
		commonLibraries(
			"libcrypt.so.1",
			"libtinfo.so.5",
			"libncursesw.so.5",
			"libffi.so.6",
			"libssl.so.10",
			"libcrypto.so.10",
			"libbz2.so.1",
			"libreadline.so.6",
			"libdb-5.3.so",
		),
	},
	{
		"amazonlinux2",
		[]string{"al2"},
		"2.26",
		"x86_64 aarch64",
		floors("2.26", "3.4.24", "1.3.11", "7.0.0", "1.2.5.2"),
		commonLibraries(
			"libcrypt.so.1",
			"libtinfo.so.6",
			"libncursesw.so.6",
			"libffi.so.6",
			"libssl.so.10",
			"libcrypto.so.10",
			"libbz2.so.1",
			"libreadline.so.6",
			"libdb-5.3.so",
		),
	},
	{
		"ubuntu18.04",
		[]string{"bionic"},
		"2.27",
		"aarch64 armv7l i686 ppc64le s390x",
		floors("2.27", "3.4.25", "1.3.11", "8", "1.2.9"),
		commonLibraries(
			"libcrypt.so.1",
			"libtinfo.so.5",
			"libncursesw.so.5",
			"libffi.so.6",
			"libssl.so.1.1",
			"libcrypto.so.1.1",
			"libbz2.so.1.0",
			"libreadline.so.7",
			"libdb-5.3.so",
		),
	},
	{
		"debian10",
		[]string{"buster"},
		"2.28",
		"x86_64 aarch64 armv7l i686 ppc64le s390x",
		floors("2.28", "3.4.25", "1.3.11", "8", "1.2.9"),
		commonLibraries(
			"libcrypt.so.1",
			"libtinfo.so.6",
			"libncursesw.so.6",
			"libffi.so.6",
			"libssl.so.1.1",
			"libcrypto.so.1.1",
			"libbz2.so.1.0",
			"libreadline.so.7",
			"libdb-5.3.so",
			"libzstd.so.1",
		),
	},
	{
		"rhel8",
		[]string{"almalinux8", "rockylinux8", "centos8", "oraclelinux8"},
		"2.28",
		"x86_64 aarch64 ppc64le s390x",
		floors("2.28", "3.4.25", "1.3.11", "8", "1.2.9"),
		commonLibraries(
			"libcrypt.so.1",
			"libtinfo.so.6",
			"libncursesw.so.6",
			"libffi.so.6",
			"libssl.so.1.1",
			"libcrypto.so.1.1",
			"libbz2.so.1",
			"libreadline.so.7",
			"libdb-5.3.so",
			"libzstd.so.1",
		),
	},
	{"debian11", []string{"bullseye"}, "2.31", "", nil, nil},
	{
		"sles15",
		[]string{"opensuse15"},
		"2.31",
		"x86_64 aarch64 ppc64le s390x",
		floors("2.31", "3.4.32", "1.3.14", "13.0.0", "1.2.12"),
		commonLibraries(
			"libcrypt.so.1",
			"libtinfo.so.6",
			"libncursesw.so.6",
			"libffi.so.7",
			"libssl.so.1.1",
			"libcrypto.so.1.1",
			"libbz2.so.1",
			"libreadline.so.7",
			"libzstd.so.1",
		),
	},
	{
		"ubuntu20.04",
		[]string{"focal"},
		"2.31",
		"aarch64 armv7l ppc64le riscv64 s390x",
		floors("2.31", "3.4.28", "1.3.12", "10", "1.2.9"),
		commonLibraries(
			"libcrypt.so.1",
			"libtinfo.so.6",
			"libncursesw.so.6",
			"libffi.so.7",
			"libssl.so.1.1",
			"libcrypto.so.1.1",
			"libbz2.so.1.0",
			"libreadline.so.8",
			"libdb-5.3.so",
			"libzstd.so.1",
		),
	},
	{
		"amazonlinux2023",
		[]string{"al2023"},
		"2.34",
		"x86_64 aarch64",
		floors("2.34", "3.4.33", "1.3.15", "14.0.0", "1.2.9"),
		commonLibraries(
			"libcrypt.so.2",
			"libtinfo.so.6",
			"libncursesw.so.6",
			"libffi.so.8",
			"libssl.so.3",
			"libcrypto.so.3",
			"libbz2.so.1",
			"libreadline.so.8",
			"libzstd.so.1",
		),
	},
	{
		"rhel9",
		[]string{"almalinux9", "rockylinux9", "centos9", "oraclelinux9"},
		"2.34",
		"x86_64 aarch64 ppc64le s390x",
		floors("2.34", "3.4.29", "1.3.13", "11.0", "1.2.9"),
		commonLibraries(
			"libcrypt.so.2",
			"libtinfo.so.6",
			"libncursesw.so.6",
			"libffi.so.8",
			"libssl.so.3",
			"libcrypto.so.3",
			"libbz2.so.1",
			"libreadline.so.8",
			"libdb-5.3.so",
			"libzstd.so.1",
		),
	},
	{
		"ubuntu22.04",
		[]string{"jammy"},
		"2.35",
		"aarch64 armv7l ppc64le riscv64 s390x",
		floors("2.35", "3.4.30", "1.3.13", "12.0.0", "1.2.9"),
		commonLibraries(
			"libcrypt.so.1",
			"libtinfo.so.6",
			"libncursesw.so.6",
			"libffi.so.8",
			"libssl.so.3",
			"libcrypto.so.3",
			"libbz2.so.1.0",
			"libreadline.so.8",
			"libdb-5.3.so",
			"libzstd.so.1",
		),
	},
	{"debian12", []string{"bookworm"}, "2.36", "", nil, nil},
	{
		"sles15.6",
		[]string{"opensuse15.6"},
		"2.38",
		"x86_64 aarch64 ppc64le s390x",
		floors("2.38", "3.4.33", "1.3.15", "14.0.0", "1.2.12"),
		commonLibraries(
			"libcrypt.so.1",
			"libtinfo.so.6",
			"libncursesw.so.6",
			"libffi.so.7",
			"libssl.so.3",
			"libcrypto.so.3",
			"libbz2.so.1",
			"libreadline.so.7",
			"libzstd.so.1",
		),
	},
	{
		"rhel10",
		[]string{"almalinux10", "rockylinux10", "centos10", "oraclelinux10"},
		"2.39",
		"x86_64 aarch64 ppc64le s390x",
		floors("2.39", "3.4.33", "1.3.15", "14.0.0", "1.2.12"),
		commonLibraries(
			"libcrypt.so.2",
			"libtinfo.so.6",
			"libncursesw.so.6",
			"libffi.so.8",
			"libssl.so.3",
			"libcrypto.so.3",
			"libbz2.so.1",
			"libreadline.so.8",
			"libzstd.so.1",
		),
	},
	{
		"ubuntu24.04",
		[]string{"noble"},
		"2.39",
		"aarch64 armv7l ppc64le riscv64 s390x",
		floors("2.39", "3.4.33", "1.3.15", "14.0.0", "1.2.12"),
		commonLibraries(
			"libcrypt.so.1",
			"libtinfo.so.6",
			"libncursesw.so.6",
			"libffi.so.8",
			"libssl.so.3",
			"libcrypto.so.3",
			"libbz2.so.1.0",
			"libreadline.so.8",
			"libdb-5.3.so",
			"libzstd.so.1",
		),
	},
	{"debian13", []string{"trixie"}, "2.41", "", nil, nil},
	{
		"ubuntu26.04",
		[]string{"resolute"},
		"2.43",
		"aarch64 armv7l ppc64le riscv64 s390x",
		floors("2.43", "3.4.35", "1.3.17", "16.0", "1.3.2"),
		commonLibraries(
			"libcrypt.so.1",
			"libtinfo.so.6",
			"libncursesw.so.6",
			"libffi.so.8",
			"libssl.so.3",
			"libcrypto.so.3",
			"libbz2.so.1.0",
			"libreadline.so.8",
			"libzstd.so.1",
		),
	},
	{
		"alpine3.12",
		nil,
		"1.1.24",
		"",
		nil,
		alpineLibs("libssl.so.1.1", "libcrypto.so.1.1", "libffi.so.7"),
	},
	{"alpine3.17", nil, "1.2.3", "", nil, alpineLibs("libssl.so.3", "libcrypto.so.3", "libffi.so.8")},
	{"alpine3.18", nil, "1.2.4", "", nil, alpineLibs("libssl.so.3", "libcrypto.so.3", "libffi.so.8")},
	{"alpine3.19", nil, "1.2.4", "", nil, alpineLibs("libssl.so.3", "libcrypto.so.3", "libffi.so.8")},
	{"alpine3.20", nil, "1.2.5", "", nil, alpineLibs("libssl.so.3", "libcrypto.so.3", "libffi.so.8")},
	{"alpine3.21", nil, "1.2.5", "", nil, alpineLibs("libssl.so.3", "libcrypto.so.3", "libffi.so.8")},
	{"alpine3.22", nil, "1.2.5", "", nil, alpineLibs("libssl.so.3", "libcrypto.so.3", "libffi.so.8")},
}

// smallImage has the libraries that a small image with Python has in some releases only. Other
// releases have packages with them, but Python does not depend on these.
var smallImage = map[string][]string{
	"libncursesw.so.5": {"ubuntu18.04"},
	"libnsl.so.2":      {"debian11", "debian12", "ubuntu22.04"},
	"libtic.so.5":      {"ubuntu18.04"},
	"libtinfo.so.5":    {"ubuntu18.04"},
	"libtirpc.so.3":    {"debian11", "debian12", "ubuntu22.04"},
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
			if c.Glibc == d.libc {
				p.column = c.Name
			}
		}
	}
	switch {
	case column(s, p.column) >= 0:
		p.namedOnly = d.byName
		return p
	case d.floors == nil || !slices.Contains(strings.Fields(d.archs), arch) || !hasGlibc(s, d.libc):
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
	q.Whitelist = append(q.Whitelist, d.byName...)
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
