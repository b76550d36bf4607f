package judge

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// Rule is a kind of finding with its documentation. ID is also its file name, test folder, page
// in the documentation, and JSON value.
type Rule struct {
	ID       string
	Title    string          // the problem, a sentence of at most 80 characters without a period
	Severity result.Severity // the default; a finding may have a lower one
	// Markdown: what the finding means, why it fails, how to fix it, and what the rule does not
	// detect
	Doc        string
	References []string // specifications and documentation, as "title: URL or file"
	// Cause says how findings are grouped by their cause, and what somebody has to do about it. Its
	// title is that of the rule.
	Cause cause.Rule
	// Explains are the messages of package buildlog, or their classes, that a finding explains if it
	// is about the same object.
	Explains []string
	Check    func(*Pass) // for Linux
	// Windows, MacOS, Android, IOS and Pyodide are like Check for platforms with these systems; nil if
	// the rule does not apply.
	Windows, MacOS, Android, IOS, Pyodide func(*Pass)
	// Environment is for all packages of an environment together; nil if the rule is about artifacts.
	Environment func(*EnvironmentPass)
	// Packaging is set if the rule is about building and publishing an artifact, and irrelevant for
	// those who install it.
	Packaging bool
	// Quick is set if it needs no bindings. Such rules run first while a fix is tried.
	Quick bool
}

// check returns the function for a platform, or nil if the rule does not apply.
func (r *Rule) check(p *platform.Platform) func(*Pass) {
	switch p.OS {
	case platform.Windows:
		return r.Windows
	case platform.MacOS:
		return r.MacOS
	case platform.Android:
		return r.Android
	case platform.IOS:
		return r.IOS
	case platform.Emscripten:
		return r.Pyodide
	}
	return r.Check
}

// Pass is the input of a rule: an artifact on a platform with a set of packages.
type Pass struct {
	Facts    *facts.Artifact
	Platform *platform.Platform
	Packages *packages.Set
	Views    []*View
	// Dependencies are the libraries of other packages that the Views load, in that order. Those of
	// which only exports are known are left out.
	Dependencies []*Dependency
	Windows      *WindowsLoad // on a Windows platform, otherwise nil
	MacOS        *MacOSLoad   // on a macOS platform, which has no Views; otherwise nil
	Android      *AndroidLoad // on a platform of Android, which has no Views; otherwise nil
	IOS          *IOSLoad     // on a platform of iOS, which has no Views; otherwise nil
	Pyodide      *PyodideLoad // on a platform of Pyodide, which has no Views; otherwise nil
	Scenario     fix.Scenario
	// Python is the interpreter of the environment, "3.14" or "3.14t"; "" if it is not known.
	Python    string
	Requested bool // the user named the platform
	// Excluded is set if pip does not install the wheel on the platform that the user named,
	// because its tags are for newer versions of the system or for the other C library.
	Excluded bool
	// Trial is set if a fix is applied. Fixes without Search need not be reported then.
	Trial bool
	GPU   GPU  // the GPUs that must be supported
	Link  bool // every library is checked as one that programs link with
	// Pinned is set if the artifacts are the packages of an environment. What the user gave are then
	// versions, and says nothing about what the artifact uses.
	Pinned bool
	// Installed is set if the packages that the artifact depends on were read from a conda
	// environment.
	Installed bool
	Releases  *Releases
	Compared  []*Compared // the artifact's libraries, compared with earlier builds
	ABI       *ABI

	sources *sources
	linking *linking
	once    map[string]any // see Once
	rule    *Rule
	emit    func(*result.Finding, []fix.Candidate)
	limit
}

// start makes p the input of a rule.
func (p *Pass) start(r *Rule, emit func(*result.Finding, []fix.Candidate)) {
	p.rule, p.emit, p.once, p.limit = r, emit, nil, limit{}
}

// Once returns what compute returns, which is called once for a pass and a name. A rule uses it for
// what all of its findings have in common.
func (p *Pass) Once(name string, compute func() any) any {
	v, ok := p.once[name]
	if !ok {
		if p.once == nil {
			p.once = map[string]any{}
		}
		v = compute()
		p.once[name] = v
	}
	return v
}

// View is an object as the platform's loader sees it.
type View struct {
	*facts.Object
	Library     *dynlink.Library
	Loading     *dynlink.Loading
	Missing     []string   // its own DT_NEEDED entries that were not found
	Host        facts.Host // the program that loads it
	Alternative bool       // one of several variants; a program loads one of them
	Users       []*View    // the other objects of the artifact that load it, also indirectly

	bound    *bound
	imported importing
	stack    string // see ofStack
}

// Linked reports whether another object of the artifact loads it.
func (v *View) Linked() bool { return len(v.Users) > 0 }

// NotFound returns the libraries that were not found and that may define a symbol of the object:
// those of the modules and programs that load it, of the objects that no other loads if there is
// none, and of the object itself. It is nil if one of these loads has all libraries: what the
// object lacks there, it lacks.
func (v *View) NotFound() (out []dynlink.Missing) {
	loads := append([]*View{v}, v.Users...)
	first := slices.DeleteFunc(slices.Clone(loads), func(u *View) bool {
		return !u.Program() && (!u.Extension() || u.Linked() && u.Unnamed())
	})
	if len(first) == 0 {
		first = slices.DeleteFunc(slices.Clone(loads), (*View).Linked)
	}
	if len(first) == 0 { // they load each other
		first = []*View{v}
	}
	for _, u := range first {
		if len(u.Loading.Missing) == 0 {
			return nil
		}
		out = append(out, u.Loading.Missing...)
	}
	return out
}

// bound contains the bindings of an object. They are computed when a rule first needs them: a
// fix that fails often fails because of missing libraries.
type bound struct {
	bind     func() dynlink.Bindings // nil after the first call
	bindings dynlink.Bindings
}

// Bindings returns the object's imports and how the loader binds them.
func (v *View) Bindings() dynlink.Bindings { return v.bound.get() }

func (b *bound) get() dynlink.Bindings {
	if b.bind != nil {
		b.bindings, b.bind = b.bind(), nil
	}
	return b.bindings
}

// Dependency is a library of another package that objects of the artifact load, as the platform's
// loader sees it. Its imports are known.
type Dependency struct {
	*dynlink.Library
	Users []*View // the objects that load it, at least one
	bound *bound
}

// Bindings returns the library's imports and how the loader binds them.
func (d *Dependency) Bindings() dynlink.Bindings { return d.bound.get() }

// MaxFindings is the maximum number of findings of a rule for an object, and maxOfRule that for
// all objects of an artifact. A longer list would not help anybody, and its cost would be
// unbounded.
const (
	MaxFindings = 5_000
	maxOfRule   = 20_000
)

// limit counts the findings of a rule.
type limit struct {
	count   int            // number of findings
	counts  map[string]int // number of findings by object; nil if there are none
	dropped bool           // findings were dropped
}

// Room reports whether another finding of the rule for an object would be listed. If not, the
// rule can skip the rest of the object.
func (l *limit) Room(object string) bool {
	if l.counts[object] < MaxFindings && l.count < maxOfRule {
		return true
	}
	l.dropped = true
	return false
}

func (l *limit) add(object string) {
	if l.counts == nil {
		l.counts = map[string]int{}
	}
	l.count++
	l.counts[object]++
}

// Report adds a finding, unless there is no Room for it. It fills in rule, artifact, target,
// severity (unless set), package and the demangled name, and writes that name into the message.
func (p *Pass) Report(f result.Finding, fixes ...fix.Candidate) {
	if !p.Room(f.Object) {
		return
	}
	p.add(f.Object)
	f.Rule = p.rule.ID
	at := slices.IndexFunc(p.Views, func(v *View) bool { return v.Path == f.Object })
	f.Program = at >= 0 && p.Views[at].Program()
	if at >= 0 {
		f.Module = p.Views[at].module()
	}
	if f.Severity == "" {
		f.Severity = p.rule.Severity
	}
	if f.Severity == result.Error && p.rule.Cause.Lacks != cause.LacksNothing &&
		!p.rule.Cause.Linker {
		switch p.doesWithout(at) {
		case needsIt:
		case importsWithout:
			f.Severity = result.Warning
			f.Headline = cmp.Or(f.Headline, f.Message)
			f.Why = "the package handles that the module cannot be imported"
			f.Message += ". The package handles that the module cannot be imported"
		case loadsWithout:
			if p.importsHolder(f.Library) {
				break
			}
			f.Severity, f.Optional = result.Warning, true
			f.Headline = cmp.Or(f.Headline, f.Message)
			f.Why = "the package handles that the library cannot be loaded"
			f.Message += ". The package handles that the library cannot be loaded; only what uses " +
				path.Base(f.Object) + " does not work then"
		}
	}
	f.Target, f.Artifact, f.New = p.Platform.Name, p.Facts.Path, true
	f.System = p.Platform.Kind == platform.System
	mangled := f.Symbol
	if p.Platform.OS == platform.MacOS { // symbol names on macOS start with _
		mangled = strings.TrimPrefix(mangled, "_")
	}
	if f.Demangled = result.Demangle(mangled); f.Demangled != "" {
		f.Message = strings.ReplaceAll(f.Message, f.Symbol, f.Demangled)
		f.Headline = strings.ReplaceAll(f.Headline, f.Symbol, f.Demangled)
	}
	if f.Package == "" && p.Facts.Metadata != nil {
		f.Package = pkgmeta.Normalize(p.Facts.Metadata.Name)
	}
	p.emit(&f, fixes)
}

// without is whether a package works without an object.
type without int

const (
	needsIt        without = iota
	importsWithout         // the sources handle that the import of a module fails
	loadsWithout           // the sources handle that it cannot be loaded as a library
)

// module returns the path of the module that loads the object; see result.Finding.Module.
func (v *View) module() *string {
	path := ""
	for _, by := range append([]*View{v}, v.Users...) {
		if by.Extension() {
			path = by.Path
			break
		}
	}
	return &path
}

// importsHolder reports whether importing the artifact fails because of a missing library however
// its load is handled: a package that is known to have it is not installed, and is imported in any
// case.
func (p *Pass) importsHolder(library string) bool {
	holder, ok := platform.ProviderOf(library)
	return ok && slices.ContainsFunc(holder.Packages(platform.PyPI), func(name string) bool {
		return p.Packages.Release(pkgmeta.Normalize(name)) == nil &&
			p.Facts.ImportsOther(strings.ReplaceAll(name, "-", "_"))
	})
}

// doesWithout reports whether the sources of a wheel handle that an object cannot be loaded, or
// each module that loads it. If it is a module, another one has to remain.
func (p *Pass) doesWithout(at int) without {
	if at < 0 {
		return needsIt
	}
	out := needsIt
	for _, v := range append([]*View{p.Views[at]}, p.Views[at].Users...) {
		switch {
		case p.kept(v):
			out = max(out, loadsWithout)
		case !v.Extension():
		case v.imported.optional():
			out = importsWithout
		default:
			return needsIt
		}
	}
	if out == importsWithout && !slices.ContainsFunc(p.Views, func(v *View) bool {
		return v.Extension() && !v.imported.optional() && !p.kept(v)
	}) {
		return needsIt
	}
	return out
}

// kept reports whether sources load an object as a library and handle that this fails; see
// startup.Index.Keeps. A module that Python imports is not loaded in this way.
func (p *Pass) kept(v *View) bool {
	if v.imported.kept == nil {
		kept := v.imported.use == nil && !v.Program() && p.Facts.Keeps(v.Path, v.Library.Names()...)
		v.imported.kept = &kept
	}
	return *v.imported.kept
}

// Chain returns the paths of libraries for Finding.Chain.
func Chain(libraries ...*dynlink.Library) []string {
	var out []string
	for _, l := range libraries {
		if l != nil {
			out = append(out, l.Path)
		}
	}
	return out
}

// Others returns the artifacts that are installed with it: those given, or of the environment.
func (p *Pass) Others() []*facts.Artifact { return p.sources.others() }

// Together reports whether a package is one of the artifacts that are installed together, so that
// its files are known.
func (p *Pass) Together(name string) bool {
	_, projects := p.sources.session.installable(p.Facts, p.Platform)
	return name != project(p.Facts) && slices.Contains(projects, name)
}

// Given reports whether the user specified a requirement on a package, which a fix then has to
// change instead of the artifact's requirement, or a wheel of it.
func (p *Pass) Given(name string) bool {
	return p.sources.session.Given(name)
}
