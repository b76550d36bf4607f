package rules

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/shellword"
)

// provider describes the provider of a missing library.
type provider struct {
	platform.Provider
	known    bool               // Provider is set
	inDebian bool               // it is set, but only Debian is known to have the library
	variant  bool               // the object is one of several variants
	choice   []string           // the projects with their releases that it and the others need
	python   string             // the Python package that contains it, normalised; "" for none
	lacks    *packages.Release  // that package in the environment, without the library
	extras   []requirementExtra // extras of the wheel that require such a package
}

// requirementExtra is a requirement that a wheel has only with one of its extras.
type requirementExtra struct {
	pkgmeta.Requirement
	extra string
}

// providerFor looks for the provider of a library: in the extras of the wheel, among the Python
// packages and among the system packages.
func providerFor(p *analyzer.Pass, v *analyzer.View, needed string) provider {
	var s provider
	s.Provider, s.known = platform.ProviderOf(needed)
	if s.variant = v.Alternative; s.variant { // one of the releases that there are variants for
		s.choice = choice(p, v)
		name, _, _ := strings.Cut(needed, ".so")
		if any, ok := platform.ProviderOf(name + ".so"); ok && any.Packages(platform.Conda) != nil {
			s.Provider = any
		}
	}
	if list := s.Packages(platform.PyPI); len(list) > 0 {
		s.python = pkgmeta.Normalize(list[0])
	}
	if gpu.OfCUDA(needed) {
		s.python = cmp.Or(gpu.Package(needed, cudaOf(p, v)), s.python)
	}
	s.extras = extrasWith(p, s.python, needed)
	if own := p.Facts.Metadata; own != nil && pkgmeta.Normalize(own.Name) == s.python {
		s.python = ""
	}
	if s.python != "" {
		if r := p.Packages.Release(s.python); r != nil && r.Known && !provides(r, needed) {
			s.lacks = r
		}
	}
	if !s.known && !s.variant && s.python == "" && len(s.extras) == 0 {
		on := "" // what one of many systems has is a warning
		if p.Requested {
			on = p.Platform.Name
		}
		s.Provider, s.inDebian = platform.InDebian(needed, on)
	}
	return s
}

// choice returns the projects whose libraries the variants of an object need, with their releases:
// "FFmpeg 4", "FFmpeg 5".
func choice(p *analyzer.Pass, v *analyzer.View) (out []string) {
	for _, u := range p.Views {
		if u != v && !analyzer.Alternatives(v, u) {
			continue
		}
		for _, needed := range u.Missing {
			if by, ok := platform.ProviderOf(needed); ok && !slices.Contains(out, by.Project) {
				out = append(out, by.Project)
			}
		}
	}
	return out
}

// system reports whether the platform's packages, a driver or a toolkit provide the library. Wheels
// have to bundle ordinary libraries.
func (s *provider) system(p *analyzer.Pass) bool {
	ordinary := s.Kind == platform.BundleProvider && p.Platform.Kind == platform.Policy
	return s.known && !ordinary && s.Available(ecosystemOf(p.Platform))
}

// unbundled reports whether a wheel whose tag is for many systems needs a library that only Debian
// is known to have. The wheel has to bundle it, as an ordinary library.
func (s *provider) unbundled(p *analyzer.Pass) bool {
	return s.inDebian && p.Facts.Wheel != nil && p.Platform.Kind == platform.Policy
}

// bundled reports whether a wheel may bundle the library: one of the system, or the project's own.
func (s *provider) bundled(p *analyzer.Pass, needed string) bool {
	if p.Facts.Kind != analyzer.KindWheel || s.variant {
		return false
	}
	if slices.Contains(allowed(p), needed) {
		return false // auditwheel does not copy it
	}
	if s.known {
		return s.Kind == platform.LibraryProvider || s.Kind == platform.BundleProvider
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(needed, "lib"), ".so")
	return len(s.extras) == 0 && pkgmeta.Normalize(name) == pkgmeta.Normalize(projectName(p))
}

// cudaOf returns the CUDA release of an object's other dependencies, or of the environment, or else
// the one of which the objects of the artifact need libraries: they are built together.
func cudaOf(p *analyzer.Pass, v *analyzer.View) string {
	for _, n := range v.Needed {
		if m := gpu.Major(n); m != "" {
			return m
		}
	}
	if installed, _ := installedCUDA(p); installed != "" {
		return installed
	}
	only := ""
	for _, u := range p.Views {
		for _, n := range u.Needed {
			switch m := gpu.Major(n); {
			case m == "" || m == only:
			case only != "":
				return "" // variants for several releases
			default:
				only = m
			}
		}
	}
	return only
}

// extrasWith returns the requirements of extras for a package, or for ones that are named like the
// library: mlx-cpu for libmlx.so. One that needs no GPU comes first.
func extrasWith(p *analyzer.Pass, python, needed string) []requirementExtra {
	if p.Facts.Metadata == nil {
		return nil
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(needed, "lib"), ".so")
	stem := pkgmeta.Normalize(name)
	var out []requirementExtra
	for _, q := range p.Facts.Metadata.Requires {
		extra := extraOf(q.Marker)
		if extra != "" && q.Name != pkgmeta.Normalize(projectName(p)) &&
			(q.Name == python || strings.HasPrefix(q.Name, stem+"-") || ofToolkit(q, python)) &&
			!slices.ContainsFunc(out, func(x requirementExtra) bool { return x.Name == q.Name }) {
			out = append(out, requirementExtra{q, extra})
		}
	}
	forCPU := func(x requirementExtra) bool { return strings.HasSuffix(x.Name, "-cpu") }
	if i := slices.IndexFunc(out, forCPU); i > 0 {
		first := out[i]
		out = slices.Insert(slices.Delete(out, i, i+1), 0, first)
	}
	return out
}

// ofToolkit reports whether a requirement on NVIDIA's cuda-toolkit includes one of its packages.
func ofToolkit(q pkgmeta.Requirement, python string) bool {
	extra := gpu.ExtraOfToolkit(python)
	if q.Name != gpu.Toolkit || extra == "" ||
		!slices.Contains(q.Extras, extra) && !slices.Contains(q.Extras, "all") {
		return false
	}
	release, err := pkgmeta.ParseVersion(gpu.ReleaseOfPackage(python) + ".999")
	return err == nil && q.Admits(release)
}

// forGPU returns what a package of CUDA needs, to follow its name.
func forGPU(name string) string {
	if strings.Contains(name, "cuda") {
		return " (for NVIDIA GPUs)"
	}
	return ""
}

// extraOf returns the extra of a marker: "cpu" of `extra == "cpu"`.
func extraOf(marker string) string {
	_, rest, ok := strings.Cut(marker, "extra")
	if !ok {
		return ""
	}
	rest = strings.TrimLeft(rest, " =")
	if rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return ""
	}
	extra, _, _ := strings.Cut(rest[1:], rest[:1])
	return extra
}

// fixes returns the ways to get the library, the most usual first.
func (s *provider) fixes(p *analyzer.Pass, needed string) []fix.Candidate {
	var out []fix.Candidate
	for _, x := range s.extras {
		requirement := x.Name + x.Spec
		out = append(out, fix.Candidate{
			Fix: fix.Fix{
				Kind: fix.KindDependency,
				Title: fix.Titled("Install the extra %s, which requires %s%s",
					x.extra, fix.Requirement(requirement), forGPU(x.Name)),
				Command: "pip install " +
					shellword.Quote(projectName(p)+"["+x.extra+"]=="+p.Facts.Metadata.Version),
				Requirement: requirement,
				Extra:       x.extra,
				Cost:        []string{"it also installs " + x.Name},
			},
		})
	}
	if len(s.extras) == 0 && s.python != "" && !p.Packages.Names(s.python) &&
		otherVersion(p, needed) == nil && p.Facts.Kind == analyzer.KindWheel {
		out = append(out, s.declaring(p, needed))
	}
	if s.known && s.After != "" {
		out = append(out, fix.Candidate{
			Fix: fix.Fix{Kind: fix.KindRebuild, Title: fix.Titled("Build against %s", s.After)},
		})
	}
	if s.known || s.inDebian && !s.unbundled(p) {
		out = append(out, s.installing(p)...)
	}
	if s.bundled(p, needed) && inPurelib(p) {
		out = append(out, fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindRebuild,
			Title: fix.Titled("Build a platform wheel, whose libraries are not in a purelib folder, and "+
				"bundle %s with auditwheel", fix.Library(needed)),
			Bundling: &fix.Bundling{}, // of the next build
		}})
	} else if s.bundled(p, needed) {
		out = append(out, repairing(p, fix.Titled("Bundle %s into the wheel (auditwheel copies from "+
			"the system where it runs)", fix.Library(needed)), s.packagesOf(p)))
	}
	return out
}

// repaired returns the fix for a library of which no provider is known. The build machine had it
// when the wheel was linked, so auditwheel can copy it from there.
func repaired(p *analyzer.Pass, needed string) []fix.Candidate {
	if p.Facts.Kind != analyzer.KindWheel || inPurelib(p) || libPython.MatchString(needed) {
		return nil
	}
	return []fix.Candidate{repairing(p, fix.Titled("If %s is installed on the build machine, or in "+
		"LD_LIBRARY_PATH (as an absolute path), auditwheel repair copies it into the wheel. If it is "+
		"built with the wheel, install it into the package too (CMake: install(TARGETS), "+
		"INSTALL_RPATH $ORIGIN)", fix.Library(needed)), nil)}
}

// inPurelib reports whether an object is in a folder called purelib. auditwheel rejects such a
// wheel.
func inPurelib(p *analyzer.Pass) bool {
	return slices.ContainsFunc(p.Views, func(v *analyzer.View) bool {
		return slices.Contains(strings.Split(path.Dir(v.Path), "/"), "purelib")
	})
}

// declaring returns the fix that declares the releases of the Python package that have the library.
// Modules get a search path to its folder if none leads there. Nothing is tried for frameworks:
// their newest release rarely has the symbols that the artifact was built against.
func (s *provider) declaring(p *analyzer.Pass, needed string) fix.Candidate {
	requirement := cmp.Or(packages.History().Holding(s.python, needed), s.python)
	c := fix.Candidate{Fix: fix.Fix{
		Kind: fix.KindDependency,
		Title: fix.Titled("Declare the dependency %s, which has the library",
			fix.Requirement(requirement)),
		Requirement: requirement,
	}}
	if s.known && (s.Kind == platform.PackageProvider || len(s.Packages(platform.PyPI)) > 0) {
		return c
	}
	c.Change = fix.Pin{Requirement: requirement, Direct: true}
	if paths := s.leading(p); paths != nil {
		c.Fix.Title = c.Fix.Title.Append(", and set a RUNPATH that leads to it")
		c.Change = append(fix.All{c.Change}, paths...)
	}
	return c
}

// leading returns the changes that give the modules which need a library of the Python package a
// search path to its folder, unless one leads there. With the package they would load otherwise
// only after another module.
func (s *provider) leading(p *analyzer.Pass) (changes fix.All) {
	folders := map[string]string{} // by library
	for _, v := range p.Views {
		if !v.Extension() {
			continue
		}
		cuda := cudaOf(p, v)
		for _, needed := range v.Missing {
			if gpu.Package(needed, cuda) != s.python {
				continue
			}
			folder, known := folders[needed]
			if !known {
				folder = packages.History().Folder(s.python, needed)
				folders[needed] = folder
			}
			if folder == "" || leadsTo(v.Library, folder) {
				continue
			}
			if to := runPath(p, v, folder); to != "" {
				changes = append(changes, fix.SetRunPath{Object: v.Path, RunPath: to})
				break
			}
		}
	}
	return changes
}

// installers are the commands that install system packages.
var installers = map[string]shellword.Line{
	platform.Debian:   fix.Apt,
	platform.Debian13: fix.Apt,
	platform.Fedora:   "dnf install",
	platform.Alpine:   "apk add",
	platform.Conda:    fix.Conda,
}

// firstWithDNF is the glibc of RHEL 8. RHEL 7 and Amazon Linux 2 have only yum.
const firstWithDNF = "2.28"

// installing returns the command that installs the library on the platform: with the packages of
// Debian for a policy, and with those of conda-forge where the system has none. Those are for
// glibc, and no package of a distribution uses them.
func (s *provider) installing(p *analyzer.Pass) []fix.Candidate {
	if own := s.sibling(p); own != "" {
		return []fix.Candidate{{Fix: fix.Fix{
			Kind: fix.KindEnvironment,
			Title: fix.Titled("Install %s with the other libraries of its build of %s",
				own, s.Project),
		}}}
	}
	if has := platform.FFmpegOf(p.Platform.Name); has != "" &&
		(s.Project == has || slices.Contains(s.choice, has)) {
		return []fix.Candidate{{Fix: fix.Install(
			fix.Titled("Install %s (%s: ffmpeg)", has, platform.Title(p.Platform.Name)),
			fix.SystemPackages{With: fix.Apt, Names: []string{"ffmpeg"}},
		)}}
	}
	for _, ecosystem := range []string{ecosystemOf(p.Platform), platform.Conda} {
		list := s.Packages(ecosystem)
		if len(list) == 0 || ecosystem == platform.Conda &&
			(p.Platform.Libc == "musl" || p.Facts.Packaged() && !p.Facts.Conda()) {
			continue
		}
		with := installers[ecosystem]
		if ecosystem == platform.Fedora && platform.Older(p.Platform.LibcVersion, firstWithDNF) {
			with = "yum install"
		}
		what := s.String()
		if ecosystem == platform.Alpine { // it names packages of Debian
			what = s.Project
		}
		x := fix.Install(fix.Titled("Install %s", what), fix.SystemPackages{With: with, Names: list})
		if ecosystem == platform.Conda { // an environment has its own command
			x.System = nil
		}
		return []fix.Candidate{{Fix: x}}
	}
	if s.Kind == platform.DriverProvider || s.Kind == platform.ToolkitProvider && s.python == "" {
		return []fix.Candidate{
			{Fix: fix.Fix{Kind: fix.KindEnvironment, Title: fix.Titled("Install %s", s.String())}},
		}
	}
	return nil
}

// packagesOf returns the packages with the library on a machine that builds wheels for the
// platform; nil if none are known.
func (s *provider) packagesOf(p *analyzer.Pass) *fix.SystemPackages {
	ecosystem := ecosystemOf(p.Platform)
	if list := s.Packages(ecosystem); s.known && len(list) > 0 {
		return &fix.SystemPackages{With: installers[ecosystem], Names: list}
	}
	return nil
}

// sibling returns the SONAME of an object of the artifact that the same system packages contain, or
// "". They would replace it. Wheels are no builds of other projects.
func (s *provider) sibling(p *analyzer.Pass) string {
	if p.Facts.Kind == analyzer.KindWheel {
		return ""
	}
	for _, v := range p.Views {
		if own, ok := platform.ProviderOf(v.SONAME); ok && own.SamePackages(s.Provider) {
			return v.SONAME
		}
	}
	return ""
}

// ecosystemOf returns the packages that a platform installs.
func ecosystemOf(q *platform.Platform) string {
	if q.Libc == "musl" {
		return platform.Alpine
	}
	families := append([]string{strings.TrimRight(q.Name, "0123456789.")}, q.Like...)
	of := func(names ...string) bool {
		return slices.ContainsFunc(families, func(f string) bool { return slices.Contains(names, f) })
	}
	switch {
	case of("debian", "ubuntu") && !platform.Older(q.LibcVersion, "2.39"):
		return platform.Debian13
	case of("rhel", "centos", "fedora", "amazonlinux", "amzn", "almalinux"):
		return platform.Fedora
	}
	return platform.Debian
}

// otherLibc returns the fix for a wheel or object of one C library on a platform with the other.
func otherLibc(p *analyzer.Pass) []fix.Candidate {
	policy, builder := "manylinux_2_28", "MANYLINUX"
	if p.Platform.Libc == "musl" {
		policy, builder = "musllinux_1_2", "MUSLLINUX"
	}
	if p.Facts.Kind != analyzer.KindWheel {
		return []fix.Candidate{{Fix: fix.Fix{
			Kind:  fix.KindRebuild,
			Title: fix.Titled("Build for %s", p.Platform.Libc),
			Command: "docker run --rm -it -v \"$PWD:/src\" -w /src " +
				shellword.Quote("quay.io/pypa/"+policy+"_"+p.Platform.Arch),
		}}}
	}
	if c := withoutLibc(p); c != nil {
		return c
	}
	build := fix.Fix{
		Kind: fix.KindRebuild,
		Title: fix.Titled("Build a wheel for %s too, %s_%s, for example with cibuildwheel in the "+
			"source",
			p.Platform.Libc, policy, p.Platform.Arch),
		Command: "CIBW_BUILD=" + shellword.Quote("*-"+strings.ToLower(builder)+"_"+p.Platform.Arch) +
			" " + buildImage(builder, p.Platform.Arch, policy) + " cibuildwheel --platform linux",
		Cost: []string{"one more wheel to build and publish"},
	}
	retag := forOwnLibc(p)
	if retag == nil && slices.ContainsFunc(p.Facts.PlatformTags(), func(t string) bool {
		return platform.ParseTag(t).Libc == p.Platform.Libc
	}) { // libraries for the other one were linked into it
		build.Title = fix.Titled("Build the wheel, and the libraries that are linked into it, with a "+
			"compiler for %s, for example with cibuildwheel in the source", p.Platform.Libc)
		build.Cost = nil
	}
	return append(retag, fix.Candidate{Fix: build})
}

// forOwnLibc returns the fix for a wheel whose tags are all of the C library for which its objects
// were not built: the oldest tag of the other one with the versions that they need.
func forOwnLibc(p *analyzer.Pass) []fix.Candidate {
	if p.Requested {
		return nil
	}
	var versions []string
	for _, v := range p.Views {
		if slices.ContainsFunc(v.Needed, func(soname string) bool {
			return platform.LibcOf(soname) == p.Platform.Libc
		}) {
			return nil // it was built for this one
		}
		for _, need := range v.VersionNeeds {
			for _, n := range need.Versions {
				of := platform.LibcOf(need.Library) != "" || strings.HasPrefix(need.Library, "libstdc++.") ||
					strings.HasPrefix(need.Library, "libgcc_s.")
				if of && !slices.Contains(versions, n.Name) {
					versions = append(versions, n.Name)
				}
			}
		}
	}
	for _, q := range platform.WithVersions(p.Platform.Arch, versions...) {
		if q.Kind == platform.Policy && q.Libc != p.Platform.Libc {
			c := retagTo(p, q)
			c.Change = nil // there it has other findings than here
			return []fix.Candidate{c}
		}
	}
	return nil
}

// withoutLibc returns the fix for a wheel with tags of both C libraries: it removes those of the C
// library of the platform. It returns nil for other wheels.
func withoutLibc(p *analyzer.Pass) []fix.Candidate {
	if p.Requested {
		return nil
	}
	var kept []string
	var on *platform.Platform
	dropped := false
	for _, t := range p.Facts.Wheel.Tags {
		q, err := platform.Lookup(t.Platform, p.Platform.Arch)
		switch {
		case err != nil:
		case q.Libc == p.Platform.Libc:
			dropped = true
		default:
			kept = withName(kept, t.Platform)
			if on == nil || platform.Older(q.LibcVersion, on.LibcVersion) {
				on = q
			}
		}
	}
	if !dropped || on == nil {
		return nil
	}
	return []fix.Candidate{{
		Fix: retagged(p, pkgmeta.Tag{Platform: strings.Join(kept, ".")}, fix.Fix{
			Kind:  fix.KindPlatformTag,
			Title: fix.Titled("Remove the tags for %s", p.Platform.Libc),
			Cost:  []string{"pip no longer installs it where the C library is " + p.Platform.Libc},
		}),
		Change: fix.Retag{Platform: on.Name + "/" + on.Arch},
	}}
}
