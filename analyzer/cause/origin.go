package cause

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// artifact contains what the grouping needs from an artifact.
type artifact struct {
	result.Artifact
	own     string // normalized name of the project, "" if it is not known
	project string
	musl    bool // it was built for musl
}

func (a *artifact) wheel() bool { return a.Wheel != nil }

// contains reports whether the artifact has a library, by its SONAME or the name of its file.
func (a *artifact) contains(library string) bool {
	return slices.ContainsFunc(a.Needs, func(n result.Needs) bool {
		return n.Name == library || base(n.Object) == library
	})
}

// has reports whether the artifact, which is no wheel, has a library of the packages of a provider.
func (a *artifact) has(p platform.Provider) bool {
	return !a.wheel() && slices.ContainsFunc(a.Needs, func(n result.Needs) bool {
		own, ok := platform.ProviderOf(n.Name)
		return ok && own.SamePackages(p)
	})
}

// sorter determines the origin of findings. It first reads all findings of a report, because an
// error of a linker often has the same cause as one of the loader.
type sorter struct {
	rules     map[string]Rule
	artifacts map[string]*artifact
	missing   map[place]origin   // by missing library
	undefined map[place]origin   // by undefined symbol and version
	linkPath  map[place]bool     // objects that need a library which a linker does not find
	libc      map[[2]string]bool // artifacts and the targets with another libc
	claimed   map[place]origin   // by library; see Rule.Claims
	nodes     map[[2]string]bool // versions that a target lacks
}

// place is a library or symbol that an artifact lacks.
type place struct{ artifact, name string }

func newSorter(r *result.Report, rules map[string]Rule) *sorter {
	s := &sorter{
		rules:     rules,
		artifacts: map[string]*artifact{},
		missing:   map[place]origin{},
		undefined: map[place]origin{},
		linkPath:  map[place]bool{},
		libc:      map[[2]string]bool{},
		claimed:   map[place]origin{},
		nodes:     map[[2]string]bool{},
	}
	for _, a := range r.Artifacts {
		x := &artifact{Artifact: a, project: a.Path, own: pkgmeta.Normalize(a.Project)}
		if w := a.Wheel; w != nil {
			x.own = pkgmeta.Normalize(w.Name)
			x.project = x.own + "==" + w.Version
			for _, t := range w.Tags {
				x.musl = x.musl || platform.ParseTag(pkgmeta.SplitTag(t).Platform).Libc == "musl"
			}
		}
		s.artifacts[a.Path] = x
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		rule := s.rules[f.Rule]
		if rule.Claims && f.Library != "" {
			at := place{f.Artifact, f.Library}
			s.claimed[at] = rule.own(f, rule.kindOf(f), s.artifact(f.Artifact).project)
		}
		if !rule.Linker && f.Symbol == "" && platform.LibcOf(path.Base(f.Library)) != "" &&
			platform.LibcOf(path.Base(f.Library)) != platform.TargetLibc(f.Target) {
			s.libc[[2]string{f.Artifact, f.Target}] = true
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		switch rule := s.rules[f.Rule]; {
		case rule.Linker && rule.Lacks == LacksLibrary:
			s.linkPath[place{f.Artifact, f.Object}] = true
		case rule.Linker, f.Severity.Rank() < result.Warning.Rank():
		case f.Symbol == "" && f.Library != "":
			s.missing[place{f.Artifact, f.Library}] = s.origin(f)
		case f.Symbol != "":
			s.undefined[place{f.Artifact, f.Symbol + "@" + f.Version}] = s.origin(f)
		}
	}
	return s
}

func (s *sorter) artifact(path string) *artifact {
	if a := s.artifacts[path]; a != nil {
		return a
	}
	return &artifact{Artifact: result.Artifact{Path: path}, project: path}
}

// lacks reports whether no library of a platform has a version.
func (s *sorter) lacks(target, version string) bool {
	key := [2]string{target, version}
	known, ok := s.nodes[key]
	if !ok {
		p, err := platform.Lookup(target, platform.Architecture(target))
		known = err == nil && !p.HasVersion(version)
		s.nodes[key] = known
	}
	return known
}

// origin returns the origin of a finding. What is the case comes first: a cause that explains
// findings of several rules, then who should provide what is missing.
func (s *sorter) origin(f *result.Finding) origin {
	a, rule := s.artifact(f.Artifact), s.rules[f.Rule]
	at := func(k *Kind, subject string) origin { return origin{k, subject, a.project} }
	kind := rule.kindOf(f)
	switch {
	case kind != nil && kind.Apart:
		return rule.own(f, kind, a.project)
	case s.libc[[2]string{f.Artifact, f.Target}]:
		return at(wrongLibc, platform.TargetLibc(f.Target))
	case asRequired(f) != nil:
		return at(otherVersions, "")
	}
	if rule.Linker { // an error of the loader about the same library or symbol has the same cause
		if o, ok := s.missing[place{f.Artifact, f.Library}]; ok {
			return o
		}
		if o, ok := s.undefined[place{f.Artifact, f.Symbol + "@" + f.Version}]; ok {
			return o
		}
	}
	if o, ok := s.claimed[place{f.Artifact, f.Library}]; ok {
		return o
	}
	if kind != nil {
		return rule.own(f, kind, a.project)
	}
	if libc := platform.TargetLibc(f.Target); libc == "musl" && !rule.Linker &&
		strings.HasPrefix(f.Version, "GLIBC_") { // no release of musl has the versions of glibc
		return at(wrongLibc, libc)
	}
	if systemVersion(f.Version) && (rule.Linker || s.lacks(f.Target, f.Version)) ||
		(ofMacOS(f) || ofAndroid(f)) && f.Version != "" && rule.Lacks == LacksLibrary {
		return at(TooNew, "") // also a library that is newer than the oldest release
	}
	if pkg, declare := provider(f, a.own); pkg != "" {
		switch {
		case declare && extraOf(f) != nil:
			return at(ofExtras, "")
		case declare:
			return at(undeclared, pkg)
		}
		return at(WrongPackage, pkg)
	}
	if rule.Lacks == LacksLibrary {
		return s.ofLibrary(f)
	}
	return s.ofSymbol(f)
}

// ofLibrary returns the origin of a finding about a library that no package provides.
func (s *sorter) ofLibrary(f *result.Finding) origin {
	a, linker := s.artifact(f.Artifact), s.rules[f.Rule].Linker
	at := func(k *Kind, subject string) origin { return origin{k, subject, a.project} }
	name := systemProvider(f.Library)
	switch {
	case linker && name == "":
		return at(linkPath, "")
	case !linker && a.interpreter(f):
		return at(interpreter, "")
	case !linker && a.elf(f) && strings.Contains(f.Library, "/"):
		return at(libraryPath, "")
	case slices.ContainsFunc(f.Fixes, fix.Fix.ForStringABI):
		return at(stringABI, path.Base(f.Library))
	case f.OtherPackage && f.Severity != result.Error:
		return at(systemLibraries, f.Package)
	case slices.Contains(desktop, name):
		return at(systemLibraries, "")
	case name != "":
		return at(system, name)
	case f.Severity != result.Error && !f.Unknown && inDebian(f):
		return at(systemLibraries, "")
	}
	return at(missing, platform.Stem(f.Library))
}

// ofSymbol returns the origin of a finding about a symbol that no package provides.
func (s *sorter) ofSymbol(f *result.Finding) origin {
	a, rule := s.artifact(f.Artifact), s.rules[f.Rule]
	at := func(k *Kind, subject string) origin { return origin{k, subject, a.project} }
	if rule.Linker && s.linkPath[place{f.Artifact, f.Object}] {
		return at(linkPath, "") // the linker does not find the library that has it
	}
	if slices.ContainsFunc(f.Fixes, fix.Fix.ForStringABI) {
		return at(stringABI, path.Base(f.Library))
	}
	if _, linked := a.linked(f, rule); linked == no ||
		linked == unknown && platformLibrary.MatchString(f.Library) {
		return at(linkFlag, "")
	}
	return at(Undefined, "")
}

// interpreter reports whether a wheel needs the library of a Python, for a module that would work
// without it.
func (a *artifact) interpreter(f *result.Finding) bool {
	return a.wheel() && pythonLibrary.MatchString(f.Library) &&
		!slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool { return x.Kind == fix.KindEnvironment })
}

// pythonLibrary matches the library of a Python on Linux and macOS.
var pythonLibrary = lazyregexp.New(`(?:^|/)(?:libpython\d[\w.]*|Python)$`)

// elf reports whether the loader of Linux reports a finding, for a file that belongs to no package
// of a distribution: such a package may need a file of another one by its path.
func (a *artifact) elf(f *result.Finding) bool {
	return (a.wheel() || a.Kind == facts.KindObject) && !ofMacOS(f) && !ofWindows(f) && !ofAndroid(f)
}

func ofMacOS(f *result.Finding) bool {
	return platform.TargetSystem(f.Target) == platform.TagMacOS
}

func ofWindows(f *result.Finding) bool {
	return platform.TargetSystem(f.Target) == platform.TagWindows
}

func ofAndroid(f *result.Finding) bool {
	return platform.TargetSystem(f.Target) == platform.TagAndroid
}

// answer is whether something is the case.
type answer int

const (
	unknown answer = iota
	no
	yes
)

// linked returns the library that has the symbol of a finding, or should have it, and whether the
// object links that library. library is "" if none is known.
func (a *artifact) linked(f *result.Finding, rule Rule) (library string, linked answer) {
	library = owner(f)
	switch {
	case library == "":
		return library, unknown
	case rule.Lacks == LacksNothing && f.ProvidedBy != nil:
		return library, yes // the rule is about a library that is linked
	case rule.Lacks != LacksSymbol || rule.Linker:
		return library, unknown
	}
	if ofMacOS(f) || ofWindows(f) {
		return library, yes // the import names the library
	}
	names := []string{library}
	var needed []string
	listed := false
	for _, n := range a.Needs {
		if f.ProvidedBy != nil && n.Object == *f.ProvidedBy {
			names = append(names, n.Name)
		}
		if n.Object == f.Object {
			needed, listed = n.Libraries, true
		}
	}
	switch {
	case !listed:
		return library, unknown
	case slices.ContainsFunc(needed, func(n string) bool { return slices.Contains(names, base(n)) }):
		return library, yes
	}
	return library, no
}

// owner returns the library that has the symbol of a finding or should have it, or "".
func owner(f *result.Finding) string {
	switch {
	case f.Library != "":
		return base(f.Library)
	case f.ProvidedBy != nil:
		return base(*f.ProvidedBy)
	}
	return ""
}

// asRequired returns the requirements of the artifact that would remove a finding and that the
// specified versions do not satisfy, or nil.
func asRequired(f *result.Finding) []string {
	for _, x := range f.Fixes {
		if c, ok := x.Change.(fix.AsRequired); ok {
			return c.Requirements
		}
	}
	return nil
}

// provider returns the package that should provide what a finding lacks, or "". declare is set
// if the package contains it and the artifact does not declare the package.
func provider(f *result.Finding, own string) (name string, declare bool) {
	if _, known := platform.ProviderOf(f.Library); known && f.OtherPackage &&
		f.Severity != result.Error {
		return "", false // the system must provide it
	}
	if f.Package != "" && f.Package != own && !f.OtherPackage {
		return f.Package, false
	}
	if f.Range != nil {
		return f.Range.Package, false
	}
	for _, x := range f.Fixes {
		if x.Requirement == "" {
			continue
		}
		if q, err := pkgmeta.ParseRequirement(x.Requirement); err == nil && q.Name != own {
			return q.Name, x.Kind == fix.KindDependency
		}
	}
	return "", false
}

// extraOf returns the first fix that installs an extra of the wheel, or nil.
func extraOf(f *result.Finding) *fix.Fix {
	if i := slices.IndexFunc(f.Fixes, func(x fix.Fix) bool { return x.Extra != "" }); i >= 0 {
		return &f.Fixes[i]
	}
	return nil
}

// inDebian reports whether only Debian is known to have the library of a finding.
func inDebian(f *result.Finding) bool {
	_, ok := platform.InDebian(f.Library, f.Target)
	return ok
}

// systemProvider returns the project that provides a library on a system, without its version:
// "FFmpeg".
func systemProvider(soname string) string {
	by, ok := platform.Known(soname)
	if !ok {
		return ""
	}
	by, _, _ = strings.Cut(by, " (")
	by = release.ReplaceAllString(by, "")
	return by
}

// desktop lists projects that are installed on every desktop system, but not in containers. One
// command installs all of them, so they are one cause.
var desktop = []string{
	"X11", "Wayland", "libglvnd and Mesa", "libglvnd", "Mesa", "libdrm", "libxkbcommon",
	"Fontconfig", "FreeType", "D-Bus", "GLib", "GTK", "NSS", "Pango", "Cairo", "ATK",
}

// withCUDA lists projects of NVIDIA whose libraries are used together with the CUDA toolkit, and
// installed for one release of it.
var withCUDA = []string{
	"the CUDA toolkit", "cuSPARSELt", "cuDNN", "NCCL", "TensorRT", "NVSHMEM", "cuTENSOR", "cuQuantum",
}

// release matches the version after a project's name: "6" in "FFmpeg 6", "5 or 6" in "FFmpeg 5
// or 6".
var release = lazyregexp.New(` \d[\d.]*(?: or \d[\d.]*)*$`)

var (
	platformLibrary = lazyregexp.New(
		`^(?:lib(?:c|m|dl|rt|pthread|util|resolv|crypt|stdc\+\+|gcc_s)\.so|ld-)`,
	)
)

// systemVersion reports whether a symbol version belongs to glibc or GCC.
func systemVersion(node string) bool {
	for _, p := range []string{"GLIBC_", "GLIBCXX_", "CXXABI_", "GCC_"} {
		if strings.HasPrefix(node, p) {
			return true
		}
	}
	return false
}
