package facts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/debian"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// condaIndex is the file in which a conda package declares its dependencies.
const condaIndex = "info/index.json"

// npmPackage is the description of a package in an archive of npm pack.
const npmPackage = "package/package.json"

func isDepends(p string) bool {
	return p == unpack.DebianControl || p == unpack.AlpineInfo || p == condaIndex || p == npmPackage
}

// alpineDepend matches a dependency in .PKGINFO: "depend = so:libcrypto.so.3", "depend = foo>=1.2".
// A conflict ("!foo") is none.
var alpineDepend = lazyregexp.New(`^depend\s*=\s*([^!\s<>=~][^\s<>=~]*)`)

// configuresLoader matches the members of a deb that the loader, shells or dpkg read.
var configuresLoader = lazyregexp.New(`^(etc/(ld\.so\.conf|profile)\.d/|DEBIAN/(pre|post)inst$)`)

// isScript reports whether a member may lead the loader to the libraries of its package: a script
// that conda runs on activation or after the installation, and of a deb any script, which may start
// a program with LD_LIBRARY_PATH. head is the start of the member.
func isScript(pkg *unpack.Package, p string, head []byte) bool {
	if pkg.Format == unpack.FormatDeb {
		return bytes.HasPrefix(head, []byte("#!")) || configuresLoader.MatchString(p)
	}
	return strings.HasPrefix(p, "etc/conda/activate.d/") ||
		strings.HasPrefix(p, "bin/.") && strings.HasSuffix(p, "-post-link.sh")
}

// ofLoader are words in a script that leads the loader to a library, perhaps by a link to it.
var ofLoader = []string{"LD_", "ld.so", "update-alternatives", "ln -", "symlink"}

// setsUp reports whether a script may lead the loader to libraries.
func setsUp(p string, text []byte) bool {
	return strings.HasPrefix(p, "bin/.") || strings.HasPrefix(p, "etc/ld.so.conf.d/") ||
		slices.ContainsFunc(ofLoader, func(word string) bool {
			return bytes.Contains(text, []byte(word))
		})
}

// relation matches the name at the start of each alternative in a dependency, and what precedes it:
// "libc6 (>= 2.36) | libc6.1" has two, the second one after "|".
var relation = lazyregexp.New(`(^|[,|])\s*([A-Za-z0-9][A-Za-z0-9+._-]*)`)

// glibcFloor matches the oldest version that a dependency of a conda package on the virtual package
// of glibc allows: "__glibc >=2.17,<3.0.a0".
var glibcFloor = lazyregexp.New(`^__glibc\s+>=\s*(\d{1,3}\.\d{1,3})`)

// condaDepends returns what the index of a conda package declares: the names of packages that it
// depends on, the oldest glibc, or "", and the architecture, see packageArch.
func condaDepends(text []byte) (names []string, glibc, arch string) {
	var index struct {
		Depends []string
		Subdir  string
	}
	if json.Unmarshal(text, &index) != nil {
		return nil, "", ""
	}
	for _, d := range index.Depends {
		name, _, _ := strings.Cut(d, " ")
		names = append(names, name)
		if m := glibcFloor.FindStringSubmatch(d); m != nil {
			glibc = m[1]
		}
	}
	return names, glibc, packageArch(index.Subdir)
}

// packageArchs are the names of architectures in packages of Debian, Alpine, RPM and conda
// ("linux-64"), by the names of Object.BuiltFor. In other packages they have those names.
var packageArchs = map[string]string{
	"amd64": "x86_64", "linux-64": "x86_64",
	"i386": "i686", "i586": "i686", "x86": "i686", "linux-32": "i686",
	"arm64": "aarch64", "linux-aarch64": "aarch64",
	"armhf": "armv7l", "armv7": "armv7l", "armv7hl": "armv7l", "linux-armv7l": "armv7l",
	"armel":   SoftFloat,
	"ppc64el": "ppc64le", "linux-ppc64le": "ppc64le",
	"linux-s390x": "s390x", "linux-riscv64": "riscv64",
	"loong64": "loongarch64", "mips64el": "mips64el", "mipsel": "mipsel", "sparc64": "sparc64",
	"osx-64": "osx-64", "osx-arm64": "osx-arm64",
	"win-32": "win-32", "win-64": "win-64", "win-arm64": "win-arm64",
}

// declaredArch matches the architecture in a deb's control file or an apk's .PKGINFO.
var declaredArch = lazyregexp.New(`(?m)^(?:Architecture:|arch\s*=)[ \t]*(\S+)\s*$`)

// architecture returns the architecture that the description of a deb or apk declares, as
// packageArch does.
func architecture(text []byte) string {
	m := declaredArch.FindStringSubmatch(string(text))
	if m == nil {
		return ""
	}
	return packageArch(m[1])
}

// packageArch returns the architecture with a name in a package, as Object.BuiltFor names it; "" if
// it is for all, or none that compat knows.
func packageArch(name string) string {
	if arch := packageArchs[name]; arch != "" {
		return arch
	}
	if slices.Contains(platform.Architectures(), name) {
		return name
	}
	return ""
}

// depends returns the names of the packages in the dependencies of an apk's .PKGINFO or an npm
// package.
func depends(p string, text []byte) []string {
	var out []string
	switch p {
	case unpack.AlpineInfo:
		for line := range strings.Lines(string(text)) {
			if m := alpineDepend.FindStringSubmatch(line); m != nil {
				out = append(out, m[1])
			}
		}
		return out
	case npmPackage:
		var npm struct{ Dependencies, OptionalDependencies, PeerDependencies map[string]string }
		if json.Unmarshal(text, &npm) != nil {
			return nil
		}
		for _, m := range []map[string]string{
			npm.Dependencies, npm.OptionalDependencies, npm.PeerDependencies,
		} {
			out = slices.AppendSeq(out, maps.Keys(m))
		}
		slices.Sort(out)
		return out
	}
	return nil
}

// debDepends returns the names of packages in the dependencies of a deb's control file, by the
// field that names them. Those in Depends are also those in Pre-Depends. Of alternatives, apt
// installs the first one if none is installed; the others have the name "" instead of that of a
// field.
func debDepends(text []byte) map[string][]string {
	out, field := map[string][]string{}, ""
	for line := range bytes.Lines(text) {
		name, value, ok := strings.Cut(string(line), ":")
		switch {
		case strings.HasPrefix(name, " ") || strings.HasPrefix(name, "\t"):
			value = string(line) // a folded line
		case ok && name == "Pre-Depends":
			field = "Depends"
		case ok:
			field = name
		}
		if field != "Depends" && field != recommends {
			continue
		}
		for _, m := range relation.FindAllStringSubmatch(strings.TrimSpace(value), -1) {
			of := field
			if m[1] == "|" && field == "Depends" {
				of = ""
			}
			out[of] = append(out[of], m[2])
		}
	}
	return out
}

// recommends is the field of a deb with packages that apt installs too, unless it is configured not
// to.
const recommends = "Recommends"

// systemOnly lists packages whose libraries are in the table of every platform. So are those of
// conda's virtual packages, whose names begin with "__".
var systemOnly = []string{
	"libc6",
	"libgcc-s1",
	"libstdc++6",
	"musl",
	"python",
	"python3",
	"debconf",
	"dpkg",
	"init-system-helpers",
	"adduser",
	"glibc",
	"libgcc",
	"libstdc++",
	"bash",
	"busybox",
	"coreutils",
	"filesystem",
	"shadow-utils",
}

// DependencyProvides reports whether the declared dependencies of a package provide a library.
// certain means that the name of a dependency says so, or that it is known to have the library;
// perhaps, that a dependency may contain it. Both are false for artifacts without such
// dependencies. Of a deb, the contents of the packages of Debian decide, and those that they depend
// on.
func (a *Artifact) DependencyProvides(soname string) (certain, perhaps bool) {
	if !a.Packaged() {
		return false, false
	}
	if a.debs != nil {
		switch a.debs().Provides(soname) {
		case debian.Yes:
			return true, true
		case debian.No:
			return false, false
		}
	}
	known := a.providers(soname)
	for _, d := range a.Depends {
		if a.named(d, soname) || slices.Contains(known, d) {
			return true, true
		}
		perhaps = perhaps || a.names(d)
	}
	return false, perhaps
}

// runtimes returns what the packages of GCC's runtimes contain.
var runtimes = sync.OnceValue(func() *debian.Closure {
	return debian.ClosureOf([]string{"libgcc-s1", "libstdc++6"})
})

// Undeclared reports whether a deb needs a library that no package of its dependencies contains.
// The C library and the runtimes of GCC are on every system.
func (a *Artifact) Undeclared(soname string) bool {
	if a.debs == nil || platform.LibcOf(soname) != "" || runtimes().Provides(soname) == debian.Yes {
		return false
	}
	_, perhaps := a.DependencyProvides(soname)
	return !perhaps
}

// Recommended returns which package that has a library a deb names only where it is perhaps not
// installed, with a description of that place: "Recommends", or "" if it names none.
func (a *Artifact) Recommended(soname string) (name, place string) {
	holders := debian.Holders(soname, "")
	for _, has := range []func(string) bool{
		func(d string) bool { return slices.Contains(holders, d) },
		func(d string) bool {
			return debian.ClosureOf([]string{d}).Provides(soname) == debian.Yes
		},
	} {
		if i := slices.IndexFunc(a.recommends, has); i >= 0 {
			return a.recommends[i], recommends
		}
		if i := slices.IndexFunc(a.alternatives, has); i >= 0 {
			return a.alternatives[i], "Depends only as an alternative, after |"
		}
	}
	return "", ""
}

// providers returns the packages that are known to contain a library, in the ecosystem of the
// artifact.
func (a *Artifact) providers(soname string) []string {
	p, _ := platform.ProviderOf(soname)
	switch a.Format {
	case unpack.FormatDeb:
		return slices.Concat(p.Packages(platform.Debian), p.Packages(platform.Debian13))
	case unpack.FormatRPM:
		return p.Packages(platform.Fedora)
	case unpack.FormatAPK:
		return p.Packages(platform.Alpine)
	}
	return p.Packages(platform.Conda)
}

// named reports whether a dependency is named after a library.
func (a *Artifact) named(dependency, soname string) bool {
	d := strings.ToLower(dependency)
	stem, version, _ := strings.Cut(strings.ToLower(path.Base(soname)), ".so")
	switch a.Format {
	case unpack.FormatRPM: // generated by rpmbuild: "libz.so.1()(64bit)"
		return dependency == soname || strings.HasPrefix(dependency, soname+"(") || d == stem
	case unpack.FormatAPK: // generated by abuild
		return dependency == "so:"+soname || d == stem
	case unpack.FormatDeb:
		return debianName(d, stem, strings.TrimPrefix(version, "."))
	}
	rest, ok := strings.CutPrefix(d, stem)
	return ok && (rest == "" || strings.Contains("0123456789-.", rest[:1]))
}

// debianName reports whether the name of a package is that for a library by Debian's policy
// (section 8.1): name and version of the SONAME, such as libssl3 or libglib2.0-0 (of
// libglib-2.0.so.0), and perhaps more, such as libssl3t64. Some libraries have a package without
// the version: libxml2.
func debianName(name, stem, version string) bool {
	for _, suffix := range []string{"-dev", "-data", "-common", "-doc", "-dbg", "-bin", "-tools"} {
		if strings.HasSuffix(name, suffix) {
			return false
		}
	}
	name, stem = strings.ReplaceAll(name, "-", ""), hyphens.Replace(stem)
	rest, ok := strings.CutPrefix(name, stem+version)
	return name == stem || ok && version != "" &&
		(rest == "" || !strings.Contains("0123456789.", rest[:1]))
}

var hyphens = strings.NewReplacer("-", "", "_", "")

// isa matches the end of the name of a package for an architecture: "foo-libs(x86-64)".
var isa = lazyregexp.New(`^[a-z0-9]+-(32|64)\)$`)

// names reports whether a dependency is a package that may contain libraries which no platform has.
// One of an rpm or apk may name something else, whose contents are known or no libraries: a
// library, a file, or a feature of the installer or of a language ("python3dist(numpy)", "cmd:sh").
func (a *Artifact) names(dependency string) bool {
	name, feature, _ := strings.Cut(dependency, "(")
	if a.Format == unpack.FormatRPM || a.Format == unpack.FormatAPK {
		if strings.ContainsAny(name, "/:") || sharedName.MatchString(name) ||
			name != "" && feature != "" && !isa.MatchString(feature) {
			return false
		}
	}
	return !slices.Contains(systemOnly, name) && !strings.HasPrefix(name, "__")
}

// ReplacesSystem reports whether a library comes from a package although a system may have it too.
// A deb, rpm or apk replaces the libraries that it has itself in a folder that loaders search. Of a
// system, conda uses only the C library; it is false if a conda package depends on no package that
// may contain the library.
func (a *Artifact) ReplacesSystem(soname string) bool {
	if a.Packaged() && !a.Conda() {
		return slices.ContainsFunc(a.Objects, func(o *Object) bool {
			return o.SONAME == soname && o.Searched()
		})
	}
	if !a.Conda() || platform.LibcOf(soname) != "" {
		return false
	}
	certain, perhaps := a.DependencyProvides(soname)
	return certain || perhaps
}

// condaRuntime lists packages of conda that have no other libraries than those of systemOnly: the
// runtimes of GCC, whose symbols are known, and packages without files.
var condaRuntime = []string{
	"libgcc",
	"libgcc-ng",
	"libstdcxx",
	"libstdcxx-ng",
	"python_abi",
}

// OtherPackages returns the packages that a conda package depends on and whose libraries are not
// known from the platform, in the order of its index; nil for other artifacts.
func (a *Artifact) OtherPackages() (names []string) {
	if !a.Conda() {
		return nil
	}
	for _, d := range a.Depends {
		if !slices.Contains(systemOnly, d) && !slices.Contains(condaRuntime, d) &&
			!strings.HasPrefix(d, "__") {
			names = append(names, d)
		}
	}
	return names
}

// InDependency reports whether a path is in the folder of a dependency of an npm package, relative
// to the folder in which that of the package is: npm installs packages of the same scope, and those
// without one, in one folder.
func (a *Artifact) InDependency(at string) bool {
	return a.Metadata == nil && !a.Packaged() && slices.ContainsFunc(a.Depends, func(d string) bool {
		return strings.HasPrefix(at, path.Base(d)+"/") || strings.HasPrefix(at, d+"/")
	})
}

// SearchesDependency reports whether the search path of an ELF file leads to the folder of a
// dependency of its npm package.
func (a *Artifact) SearchesDependency(o *Object) bool {
	for entry := range strings.SplitSeq(cmp.Or(o.RunPath, o.RPath), ":") {
		if at, ok := elfobj.Origin(entry, path.Dir(o.Path)); ok && a.InDependency(at+"/") {
			return true
		}
	}
	return false
}

// OthersLibraries returns the libraries that the ELF files of a package need from packages that it
// depends on, by SONAME, sorted; nil for other artifacts. Of a conda package, these are those that
// a platform has too, because conda uses only the C library of a system.
func (a *Artifact) OthersLibraries(on []*platform.Platform) (sonames []string) {
	own := map[string]bool{}
	for _, o := range a.Objects {
		own[o.SONAME], own[path.Base(o.Path)] = true, true
		for _, l := range o.Links {
			own[path.Base(l)] = true
		}
	}
	has := func(p *platform.Platform, soname string) bool { return p.Library(soname) != nil }
	for _, o := range a.Objects {
		for _, needed := range o.Needed {
			if own[needed] || platform.LibcOf(needed) != "" {
				continue
			}
			certain, perhaps := a.DependencyProvides(needed)
			some := slices.ContainsFunc(on, func(p *platform.Platform) bool { return has(p, needed) })
			all := !slices.ContainsFunc(on, func(p *platform.Platform) bool { return !has(p, needed) })
			perhaps = perhaps || a.SearchesDependency(o)
			if a.Conda() && (certain || perhaps && some) || !a.Conda() && perhaps && !all {
				sonames = append(sonames, needed)
			}
		}
	}
	slices.Sort(sonames)
	return slices.Compact(sonames)
}

// Conda reports whether the artifact is a conda package.
func (a *Artifact) Conda() bool { return a.Format == unpack.FormatConda || a.conda }

// Packaged reports whether the artifact is a package of a distribution, which was built with
// the other packages of the distribution. Symbols without a library are then provided by the
// program that loads the object.
func (a *Artifact) Packaged() bool {
	return a.Format == unpack.FormatDeb || a.Format == unpack.FormatRPM ||
		a.Format == unpack.FormatAPK || a.Conda()
}
