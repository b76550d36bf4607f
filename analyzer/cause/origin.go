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

// kind is a kind of cause.
type kind int

const (
	byRule          kind = iota // subject: the rule
	tooNew                      // built on a newer system than the target
	wrongLibc                   // built for glibc and used on musl, or the reverse
	otherVersions               // the user specified other versions than the artifact requires
	wrongPackage                // subject: the package that lacks something
	undeclared                  // subject: the package that contains it and is not declared
	ofExtras                    // packages that only extras of the wheel require
	system                      // subject: the project that provides the library on a system
	systemLibraries             // libraries of a desktop or of another package, which is the subject
	missing                     // subject: a library without a known provider
	libraryPath                 // libraries that are needed by a path of the build machine
	interpreter                 // the library of Python, whose symbols the interpreter has
	unreachable                 // bundled libraries that the artifact's objects do not find
	linkPath                    // libraries that the loader finds but a linker does not
	linkFlag                    // a library that is used but not linked
	stringABI                   // subject: a library with another std::string
	undefined                   // symbols that no library defines
	abiChange                   // subject: the library and the changed type or rule
)

// names of kinds, for IDs.
var names = map[kind]string{
	tooNew:          "built-too-new",
	wrongLibc:       "wrong-libc",
	otherVersions:   "other-versions",
	wrongPackage:    "package",
	undeclared:      "undeclared",
	ofExtras:        "extras",
	system:          "system",
	systemLibraries: "system-libraries",
	missing:         "missing",
	libraryPath:     "library-path",
	interpreter:     "linked-python",
	unreachable:     "unreachable",
	linkPath:        "link-path",
	linkFlag:        "not-linked",
	stringABI:       "string-abi",
	undefined:       "undefined",
	abiChange:       "abi",
}

// origin identifies a cause.
type origin struct {
	kind    kind
	subject string
	// The wheel's name and version, so that all its builds share a cause; else the artifact.
	project string
}

func (o origin) name() string { return names[o.kind] }

// artifact contains what the grouping needs from an artifact.
type artifact struct {
	result.Artifact
	own     string // normalized name of the project, "" if it is not known
	project string
	musl    bool // it was built for musl
}

func (a *artifact) wheel() bool { return a.Wheel != nil }

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
	artifacts map[string]*artifact
	missing   map[place]origin   // by missing library
	undefined map[place]origin   // by undefined symbol and version
	linkPath  map[place]bool     // objects that need a library which a linker does not find
	libc      map[[2]string]bool // artifacts and the targets with another libc
	gpu       map[place]origin   // by library of the wrong GPU stack
	nodes     map[[2]string]bool // versions that a target lacks
}

// place is a library or symbol that an artifact lacks.
type place struct{ artifact, name string }

func newSorter(r *result.Report) *sorter {
	s := &sorter{
		artifacts: map[string]*artifact{},
		missing:   map[place]origin{},
		undefined: map[place]origin{},
		linkPath:  map[place]bool{},
		libc:      map[[2]string]bool{},
		gpu:       map[place]origin{},
		nodes:     map[[2]string]bool{},
	}
	for _, a := range r.Artifacts {
		x := &artifact{Artifact: a, project: a.Path, own: pkgmeta.Normalize(a.Project)}
		if w := a.Wheel; w != nil {
			x.own = pkgmeta.Normalize(w.Name)
			x.project = x.own + "==" + w.Version
			for _, t := range w.Tags {
				x.musl = x.musl || strings.Contains(t, "musllinux")
			}
		}
		s.artifacts[a.Path] = x
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Rule == "gpu-stack-mismatch" && f.Library != "" {
			s.gpu[place{f.Artifact, f.Library}] = s.ruleOrigin(f)
		}
		if !fromLinker(f) && f.Symbol == "" && platform.LibcOf(path.Base(f.Library)) != "" &&
			platform.LibcOf(path.Base(f.Library)) != libcOfTarget(f.Target) {
			s.libc[[2]string{f.Artifact, f.Target}] = true
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		switch {
		case f.Rule == "link-library-not-found":
			s.linkPath[place{f.Artifact, f.Object}] = true
		case fromLinker(f), f.Severity.Rank() < result.Warning.Rank():
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

// fromLinker reports whether a finding is a linker error of programs that use the object.
func fromLinker(f *result.Finding) bool { return strings.HasPrefix(f.Rule, "link-") }

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

func (s *sorter) ruleOrigin(f *result.Finding) origin {
	if f.NoWheelFor != "" { // all such packages need the same decision
		return origin{byRule, f.Rule + " " + f.NoWheelFor + " " + string(f.Severity), ""}
	}
	if f.Rule == unmetRule || f.Rule == conflictRule {
		return origin{byRule, f.Rule + " " + f.Package, ""}
	}
	if f.Rule == "broken-installation" && f.Version != "" { // likewise
		return origin{byRule, f.Rule + " " + f.Version, ""}
	}
	return origin{byRule, f.Rule, s.artifact(f.Artifact).project}
}

// origin returns the origin of a finding.
func (s *sorter) origin(f *result.Finding) origin {
	a := s.artifact(f.Artifact)
	at := func(k kind, subject string) origin { return origin{k, subject, a.project} }
	if len(f.Against) > 0 {
		subject := f.Rule + " " + f.Library
		if f.Source != "" || strings.HasSuffix(f.Rule, "-changed") {
			subject += " " + f.Symbol
		}
		return at(abiChange, subject)
	}
	if s.libc[[2]string{f.Artifact, f.Target}] {
		return at(wrongLibc, libcOfTarget(f.Target))
	}
	if asRequired(f) != nil {
		return at(otherVersions, "")
	}
	if fromLinker(f) {
		if o, ok := s.missing[place{f.Artifact, f.Library}]; ok {
			return o
		}
		if o, ok := s.undefined[place{f.Artifact, f.Symbol + "@" + f.Version}]; ok {
			return o
		}
	}
	if o, ok := s.gpu[place{f.Artifact, f.Library}]; ok {
		return o
	}
	switch f.Rule {
	case "symbol-version-too-new", "relr-without-version", "version-need-without-library":
		if f.ProvidedBy != nil && f.Rule == "version-need-without-library" {
			return at(undefined, "")
		}
		return at(tooNew, "")
	case "bundled-library-not-reachable":
		return at(unreachable, "")
	case "numpy-abi-mismatch":
		return at(wrongPackage, "numpy")
	case "library-not-found", "link-library-not-found", "undefined-symbol",
		"link-undefined-reference", "symbol-missing-in-package", "symbol-missing-in-folder":
	default:
		return s.ruleOrigin(f)
	}
	if systemVersion(f.Version) && (fromLinker(f) || s.lacks(f.Target, f.Version)) {
		return at(tooNew, "")
	}
	if pkg, declare := provider(f, a.own); pkg != "" {
		switch {
		case declare && extraOf(f) != nil:
			return at(ofExtras, "")
		case declare:
			return at(undeclared, pkg)
		}
		return at(wrongPackage, pkg)
	}
	if f.Rule == "link-library-not-found" && systemProvider(f.Library) == "" ||
		f.Rule == "link-undefined-reference" && s.linkPath[place{f.Artifact, f.Object}] {
		return at(linkPath, "")
	}
	switch {
	case a.interpreter(f):
		return at(interpreter, "")
	case f.Rule == "library-not-found" && a.elf(f) && strings.Contains(f.Library, "/"):
		return at(libraryPath, "")
	case slices.ContainsFunc(f.Fixes, fix.Fix.ForStringABI):
		return at(stringABI, path.Base(f.Library))
	}
	if f.Symbol == "" || f.Rule == "link-library-not-found" {
		name := systemProvider(f.Library)
		switch {
		case f.OtherPackage && f.Severity != result.Error:
			return at(systemLibraries, f.Package)
		case slices.Contains(desktop, name):
			return at(systemLibraries, "")
		case name != "":
			return at(system, name)
		}
		return at(missing, platform.Stem(f.Library))
	}
	if _, linked := a.linked(f); linked == no ||
		linked == unknown && platformLibrary.MatchString(f.Library) {
		return at(linkFlag, "")
	}
	return at(undefined, "")
}

// interpreter reports whether a wheel needs the library of a Python, for a module that would work
// without it.
func (a *artifact) interpreter(f *result.Finding) bool {
	return a.wheel() && f.Rule == "library-not-found" && pythonLibrary.MatchString(f.Library) &&
		!slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool { return x.Kind == fix.KindEnvironment })
}

// pythonLibrary matches the library of a Python on Linux and macOS.
var pythonLibrary = lazyregexp.New(`(?:^|/)(?:libpython\d[\w.]*|Python)$`)

// elf reports whether the loader of Linux reports a finding, for a file that belongs to no package
// of a distribution: such a package may need a file of another one by its path.
func (a *artifact) elf(f *result.Finding) bool {
	return (a.wheel() || a.Kind == facts.KindObject) && !ofMacOS(f) && !ofWindows(f)
}

func ofMacOS(f *result.Finding) bool   { return strings.HasPrefix(f.Target, "macosx_") }
func ofWindows(f *result.Finding) bool { return strings.HasPrefix(f.Target, "win") }

// answer is whether something is the case.
type answer int

const (
	unknown answer = iota
	no
	yes
)

// linked returns the library that has the symbol of a finding, or should have it, and whether the
// object links that library. library is "" if none is known.
func (a *artifact) linked(f *result.Finding) (library string, linked answer) {
	library = owner(f)
	switch {
	case library == "":
		return library, unknown
	case f.Rule == "version-need-without-library" && f.ProvidedBy != nil:
		return library, yes // it has no version table
	case f.Rule != "undefined-symbol":
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
			return q.Name, x.Kind == "dependency"
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

func libcOfTarget(target string) string {
	if strings.HasPrefix(target, "alpine") || strings.HasPrefix(target, "musllinux") {
		return "musl"
	}
	return "glibc"
}
