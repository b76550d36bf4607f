package rules

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/torchabi"
)

// lostOf is what the missing symbols of an object have in common.
type lostOf struct {
	*analyzer.Pass
	view       *analyzer.View
	later      *laterSymbols
	retag      func() []fix.Candidate
	inPackages []fix.Candidate // packages that define the symbols: one search for all
	// Whether the object is one of several variants of which another one may be imported.
	variant func() bool
	// The objects of the artifact that define other symbols which this one lacks.
	definers func() []*analyzer.View
}

// lostSymbol is a missing symbol that is explained. An explanation completes the finding, and adds
// the fixes.
type lostSymbol struct {
	*lostOf
	n       int // its place among those of the object
	binding dynlink.Binding
	finding analyzer.Finding
	fixes   []fix.Candidate

	otherABI  bool             // a library has the function with the other ABI of std::string
	elsewhere *dynlink.Library // has the symbol, and is not in the load; nil = none
}

// explanations are tried in order; the first that applies is the only one. Each returns whether it
// applies. What is known for certain comes before what is only likely: the last two search other
// releases and similar names.
var explanations = []func(*lostSymbol) bool{
	(*lostSymbol).private,
	(*lostSymbol).ofOtherPython,
	(*lostSymbol).ofNodeRelease,
	(*lostSymbol).ofSystem,
	(*lostSymbol).replaced,
	(*lostSymbol).notGlobal,
	(*lostSymbol).ofLoadedPackage,
	(*lostSymbol).notExported,
	(*lostSymbol).ofVariant,
	(*lostSymbol).ofMPI,
	(*lostSymbol).ofGlibc,
	(*lostSymbol).ofCondaPackage,
	(*lostSymbol).ofHost,
	(*lostSymbol).ofTorch,
	(*lostSymbol).ofOtherRelease,
	(*lostSymbol).perhapsNotFound,
	(*lostSymbol).perhapsNotExported,
	(*lostSymbol).perhapsGlobal,
}

func (o *lostOf) symbol(n int, b dynlink.Binding) *lostSymbol {
	i, v := b.Import, o.view
	x := &lostSymbol{lostOf: o, n: n, binding: b, fixes: slices.Clone(o.inPackages)}
	x.finding = analyzer.Finding{
		Object: v.Path, Symbol: i.Name, Version: i.Version, Library: i.Library,
		Chain: analyzer.Chain(v.Loading.Chain(v.Library)...),
		Message: fmt.Sprintf("%s imports %s, which no library that it loads on %s defines", v.Path,
			analyzer.Versioned(i.Name, i.Version), o.Platform.Name),
	}
	x.finding.Headline = x.finding.Message
	return x
}

func (x *lostSymbol) name() string { return x.binding.Import.Name }

// add adds a sentence to the message.
func (x *lostSymbol) add(format string, args ...any) {
	x.finding.Message += ". " + fmt.Sprintf(format, args...)
}

func (x *lostSymbol) report() {
	defer func() { x.Report(x.finding, x.fixes...) }()
	if x.ofNewerSystem() || x.ofNewerRelease() || x.ofOtherVersion() {
		return // nothing else can be the reason
	}
	twin, with, flag := otherStringABI(x.Pass, x.view, x.name())
	x.otherABI = with != nil
	x.elsewhere = elsewhere(x.Pass, x.view, x.name())
	for _, applies := range explanations {
		if applies(x) {
			break
		}
	}
	if with != nil {
		x.add("%s has %s, the same function with the other ABI of std::string", with.Names()[0], twin)
		x.finding.Library = cmp.Or(x.finding.Library, with.Names()[0])
		x.fixes = append(x.fixes, withStringABI(x.view, with, flag)...)
	}
}

// ofNewerSystem explains a symbol that a later release of glibc or GCC added.
func (x *lostSymbol) ofNewerSystem() bool {
	i, at := x.binding.Import, x.later.node(x.binding.Import)
	if at == (node{}) {
		return false
	}
	x.finding.Library, x.finding.Version = at.Library, at.Version
	x.add("%s of newer systems has it%s", at.Library,
		since(at.Version, platform.First(x.Platform.Arch, at.Library, at.Version)...))
	x.fixes = slices.Concat(x.retag(), fromHeaders(x.view, i), lowering(x.Pass, x.view, i))
	return true
}

// ofNewerRelease explains a symbol of a library without symbol versions, such as GLib, that only
// some of the systems have which the tag includes.
func (x *lostSymbol) ofNewerRelease() bool {
	for _, f := range x.view.Loading.Found {
		with, without := f.Library.Releases(x.name())
		if len(with) == 0 || len(without) == 0 {
			continue
		}
		soname := f.Library.Names()[0]
		x.finding.Library = soname
		x.finding.Chain = analyzer.Chain(append(x.view.Loading.Chain(x.view.Library), f.Library)...)
		x.finding.Message = fmt.Sprintf("%s imports %s, which %s of %s does not have", x.view.Path,
			x.name(), soname, titles(without))
		x.finding.Headline = x.finding.Message
		if x.Platform.Kind == platform.Policy {
			x.add("%s includes these systems", x.Platform.Name)
		}
		x.add("%s of %s has it", soname, titles(with))
		x.fixes = olderImage(x.Pass, soname)
		return true
	}
	return false
}

// titles are the usual names of platforms, as a list in a sentence.
func titles(platforms []string) string {
	var names []string
	for _, p := range platforms {
		names = append(names, platform.Title(p))
	}
	return analyzer.And(names)
}

// warn makes the finding a warning, with the reason as a clause.
func (x *lostSymbol) warn(why string) {
	x.finding.Severity, x.finding.Why = analyzer.Warning, why
}

// ofOtherVersion explains a library of the artifact that lacks the version of the symbol.
func (x *lostSymbol) ofOtherVersion() bool {
	if !lacksVersion(x.binding) {
		return false
	}
	f, i, v, l := &x.finding, x.binding.Import, x.view, x.binding.Provider
	f.ProvidedBy = &l.Path
	f.Message = fmt.Sprintf("%s imports %s, but %s, which it loads as %s, does not have that version",
		v.Path, analyzer.Versioned(i.Name, i.Version), l.Path, i.Library)
	if have := l.VersionsOf(i.Name); len(have) > 0 {
		f.Message += ", only " + analyzer.Versioned(i.Name, have[len(have)-1])
	}
	f.Headline = f.Message
	x.add("The load fails with: version `%s' not found", i.Version)
	if v.Alternative || slices.ContainsFunc(x.Views, func(u *analyzer.View) bool {
		return slices.Contains(u.Library.Names(), i.Library) && u.Library.Defines(i.Name, i.Version)
	}) {
		f.Severity = analyzer.Warning
		f.Message += ", unless another copy of the library is already loaded"
	}
	x.fixes = []fix.Candidate{{Fix: fix.Fix{
		Kind: fix.KindRebuild,
		Title: fix.Titled("Bundle the %s that %s was linked with, or link with the one that "+
			"is bundled", fix.Library(i.Library), path.Base(v.Path)),
	}}}
	return true
}

// private explains a private symbol of a system library.
func (x *lostSymbol) private() bool {
	if !private(x.Pass, x.binding) {
		return false
	}
	i := x.binding.Import
	x.finding.Headline = fmt.Sprintf("%s imports %s, which is a private symbol of %s", x.view.Path,
		analyzer.Versioned(i.Name, i.Version), i.Library)
	x.finding.Message = x.finding.Headline
	x.add("No release of the library exports it")
	x.fixes = append(x.fixes, fix.Candidate{Fix: fix.Fix{
		Kind: fix.KindRebuild,
		Title: fix.Titled("Link against the %s of the build image, which does not export private "+
			"symbols", fix.Library(i.Library)),
	}})
	return true
}

// ofOtherPython explains a symbol of CPython that the release which loads the module lacks.
func (x *lostSymbol) ofOtherPython() bool {
	if x.view.Host != analyzer.HostPython || !x.view.Host.Exports(x.name()) {
		return false
	}
	x.fixes = append(x.fixes, notInRelease(&x.finding, pythonOf(x.Pass, x.view))...)
	return true
}

// ofNodeRelease explains a symbol of V8, which changes with each release of Node.js.
func (x *lostSymbol) ofNodeRelease() bool {
	if !x.view.Host.Unstable(x.name()) {
		return false
	}
	x.warn("other releases of Node.js may have the symbol")
	x.finding.Message += ofNode + moduleVersion(x.view)
	x.fixes = append(x.fixes, rebuildForNode)
	return true
}

// ofSystem explains a symbol of a system library that is not linked.
func (x *lostSymbol) ofSystem() bool {
	owners := platform.Providers(x.Platform, x.name())
	if len(owners) == 0 || x.view.Host == analyzer.HostUnknown && x.Facts.Packaged() {
		return false
	}
	owner := owners[0].SONAME
	x.finding.Library = owner
	x.add("It is in %s, which is missing from DT_NEEDED", owner)
	x.fixes = append(x.fixes, linkWith(x.Pass, x.view, owner)...)
	return true
}

// replaced explains a symbol of a library instead of which another one is loaded already.
func (x *lostSymbol) replaced() bool {
	other := x.elsewhere
	if other == nil {
		return false
	}
	taken := inPlaceOf(x.view, other)
	if taken == nil {
		return false
	}
	x.finding.ProvidedBy = &other.Path
	x.add("%s has it, but %s of %s is already loaded as %s", other.Path, taken.Path, taken.Origin,
		taken.Names()[0])
	return true
}

// notGlobal explains a symbol of a library that only RTLD_GLOBAL makes visible.
func (x *lostSymbol) notGlobal() bool {
	other := x.elsewhere
	if other == nil {
		return false
	}
	x.finding.ProvidedBy = &other.Path
	x.add("%s has it, but is visible only if it was loaded earlier with RTLD_GLOBAL", other.Path)
	if mayBeGlobal(x.Pass, x.view, x.name()) {
		x.warn("it works where a library that has the symbol was loaded earlier with RTLD_GLOBAL")
	} else {
		x.finding.Message += ", and nothing in the wheel does that"
	}
	x.fixes = append(x.fixes, needed(x.Pass, x.view, other)...)
	return true
}

// ofLoadedPackage explains a symbol of a package that was imported first.
func (x *lostSymbol) ofLoadedPackage() bool {
	l := hidden(x.view, x.name())
	if l == nil {
		return false
	}
	x.finding.ProvidedBy = &l.Path
	x.add("%s of %s has it, but is visible only to libraries that link it", l.Path, l.Origin)
	x.fixes = append(x.fixes, linkWith(x.Pass, x.view, l.Names()[0])...)
	return true
}

// notExported explains a symbol that a linked library defines, but does not export.
func (x *lostSymbol) notExported() bool {
	l := keeps(x.Pass, x.view, x.name())
	if l == nil {
		return false
	}
	f := &x.finding
	f.NotExported, f.Library = l.Names()[0], l.Names()[0]
	x.add("%s, which it links, defines it as a local symbol, and does not export it", f.Library)
	if x.view.Host == analyzer.HostUnknown || x.Facts.Packaged() || x.view.Alternative {
		f.Severity = analyzer.Warning
	}
	x.fixes = append(x.fixes, fix.Candidate{Fix: fix.Fix{
		Kind:  fix.KindSource,
		Title: fix.Titled("Export the symbol from %s%s", fix.Library(f.Library), export),
	}})
	return true
}

// perhapsGlobal says that a Python source of the wheel may make the symbols of another package
// visible before it imports the module.
func (x *lostSymbol) perhapsGlobal() bool {
	m := x.Facts.Metadata
	if m == nil || len(m.Requires) == 0 || x.Facts.Loads == nil || !x.Facts.Loads.MayGlobal() ||
		x.view.Loading.OwnedByPackage(x.name()) || // it is loaded, and lacks the symbol
		!mayBeGlobal(x.Pass, x.view, x.name()) {
		return false
	}
	x.warn("the Python code of the wheel may load a library that has the symbol first")
	x.add("The Python code of the wheel loads a library with RTLD_GLOBAL, which may define the " +
		"symbol")
	return true
}

// ofVariant says that a file is only one of several variants.
func (x *lostSymbol) ofVariant() bool {
	if !x.variant() {
		return false
	}
	x.warn("the file is one of several variants, and only one is loaded")
	x.add("This file is one of several variants, and only one is loaded")
	return true
}

// ofMPI explains a symbol of MPI in a library that links no MPI, so that programs can use the one
// that they have loaded before: libmkl_blacs_openmpi_lp64.so.2. A module has to link it.
func (x *lostSymbol) ofMPI() bool {
	if !strings.HasPrefix(x.name(), "MPI_") || x.view.Extension() || x.view.Linked() {
		return false
	}
	x.warn("it works in programs that have loaded an MPI library before")
	x.add("Only programs that have loaded an MPI library before can load it")
	return true
}

// ofGlibc explains a symbol of glibc that musl lacks.
func (x *lostSymbol) ofGlibc() bool {
	if x.Platform.Libc != "musl" {
		return false
	}
	fixes := forMusl(x.Pass, x.name())
	x.fixes = append(x.fixes, fixes...)
	return len(fixes) > 0 // else it is a symbol of another library
}

// ofCondaPackage says that a package which was not read may have the symbol.
func (x *lostSymbol) ofCondaPackage() bool {
	if x.view.Host == analyzer.HostUnknown || !x.Facts.Conda() {
		return false
	}
	if others := x.Facts.OtherPackages(); len(others) > 0 && !x.Installed {
		x.warn("a package that was not read may have the symbol")
		x.add("It may be in a package that it depends on and that was not read: %s",
			analyzer.List(others, 3, len(others), "package"))
	}
	return true
}

// ofHost says that the program which loads the object must have the symbol.
func (x *lostSymbol) ofHost() bool {
	if x.view.Host != analyzer.HostUnknown && !x.Facts.Packaged() {
		return false
	}
	x.warn("the program that loads the file may define the symbol")
	x.add("The program that loads the file must define the symbol")
	x.fixes = append(x.fixes, rebuildForHost)
	return true
}

// ofTorch explains a function of torch's stable ABI in a module that is used only with torch: the
// wheel does not require torch, and the sources do not import the module. Native code imports it
// after it has made the symbols of torch visible (cuda-core, for tensors).
func (x *lostSymbol) ofTorch() bool {
	requires := x.Facts.Metadata == nil || slices.ContainsFunc(x.Facts.Metadata.Requires,
		func(q pkgmeta.Requirement) bool { return q.Name == "torch" && extraOf(q.Marker) == "" })
	if requires || !torchabi.Stable(x.name()) || !x.view.Unnamed() {
		return false
	}
	oldest := torchabi.Audit(requiredSymbols(x.view.Imports)).Oldest
	if oldest == "" {
		return false
	}
	x.warn("it works where the libraries of torch are visible to it")
	x.add("torch %s has it. The wheel does not require torch and no Python source imports the "+
		"module, so it loads only where code has opened the libraries of torch with RTLD_GLOBAL "+
		"before", oldest)
	return true
}

// ofOtherRelease explains a symbol that another release of a linked package has.
func (x *lostSymbol) ofOtherRelease() bool {
	if x.otherABI || x.n >= maxGuesses {
		return false
	}
	linked, of := otherPackage(x.view, x.name())
	if linked == nil {
		return false
	}
	x.finding.Package = of.Name
	x.add("It links %s, and that of %s %s does not have it", linked.Names()[0], of.Name, of.Version)
	if excluded := asRequired(x.Pass, of); excluded != nil &&
		(len(x.fixes) == 0 || x.Together(of.Name)) {
		x.fixes = excluded
	} else if len(x.fixes) == 0 {
		x.fixes = otherRelease(x.Pass, x.view, linked, of)
	}
	return true
}

// perhapsNotFound explains a symbol of an object that nothing links, and that lacks other symbols
// of a library of the artifact. That library misses one which was not found, and which may have
// the symbol.
func (x *lostSymbol) perhapsNotFound() bool {
	if x.view.Extension() || x.view.Linked() || !mayBeGlobal(x.Pass, x.view, x.name()) {
		return false
	}
	for _, l := range x.definers() {
		missing := l.Loading.Missing
		if mayBeMissing(x.Pass, x.view, missing, x.binding) {
			x.warn("a library that was not found may have the symbol")
			x.add("%s, which %s needs and which was not found, may have it. %s has other symbols that it "+
				"lacks, and is visible only if it was loaded earlier with RTLD_GLOBAL", missing[0].Name,
				missing[0].NeededBy.Path, l.Path)
			return true
		}
	}
	return false
}

// perhapsNotExported explains a symbol like those that a linked library exports.
func (x *lostSymbol) perhapsNotExported() bool {
	if len(x.fixes) > 0 || x.n >= maxGuesses {
		return false
	}
	l := mayKeep(x.Pass, x.view, x.name())
	if l == nil {
		return false
	}
	f := &x.finding
	f.NotExported = l.Names()[0]
	x.add("The %s that it links exports similar symbols: it may be a different version from the "+
		"one used for the build, or it defines the symbol without exporting it", f.NotExported)
	x.fixes = append(x.fixes, fix.Candidate{Fix: fix.Fix{
		Kind: fix.KindSource,
		Title: fix.Titled("Use the %s that it was built with; if its source has the "+
			"symbol, export it%s", f.NotExported, export),
	}})
	return true
}
