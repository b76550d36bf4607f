package analyzer

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

// addBroken adds a finding for each installed package whose files are not those that the
// interpreter needs. Those that are installed for the same other system have one fix.
func (e *Environment) addBroken(out *checked, o Options) {
	r := out.report
	again := map[string][]string{} // NAME==VERSION by Broken.For
	for _, b := range e.Broken {
		again[b.For] = append(again[b.For], b.Package+"=="+b.Version)
	}
	var on []string
	if len(e.Broken) > 0 {
		on = e.targets(out, o)
	}
	for _, b := range e.Broken {
		ids := again[b.For]
		if b.For == "" {
			ids = []string{b.Package + "==" + b.Version}
		}
		f := Finding{
			Rule: RuleBroken, Severity: Error, New: true, Artifact: b.File, Object: b.Object,
			Package: pkgmeta.Normalize(b.Package), Version: b.For, On: on,
			Headline: b.Reason, Message: b.Reason,
		}
		if b.But != "" {
			f.Reason = b.For + ", but " + b.But
		}
		if b.Optional {
			f.Severity = Warning
		}
		if len(on) > 0 {
			f.Target = on[0]
		}
		x := reinstall(ids, b.Conda)
		if b.Remove != "" {
			x = fix.Fix{
				Kind: fix.KindEnvironment, Title: fix.Titled("Remove %s", b.Remove), Cost: []string{},
			}
		}
		f.Fixes = []fix.Fix{x}
		r.Findings = append(r.Findings, f)
	}
}

// reinstall returns the fix that installs packages again.
func reinstall(ids []string, conda bool) fix.Fix {
	x := fix.Fix{Kind: fix.KindEnvironment, Title: fix.Titled("Install it again"), Cost: []string{}}
	if len(ids) > 1 {
		x.Title = fix.Titled("Install them again")
	}
	if !conda {
		x.Title = x.Title.Append(" with the pip of the environment")
		x.Command = "python -m pip install --force-reinstall --no-deps " + shellword.Quoted(ids)
	}
	return x
}

// requiring is an installed package, with its requirements and the objects that were read.
type requiring struct {
	packages.ID
	file     string // name of its wheel in the report
	requires []pkgmeta.Requirement
	objects  []*facts.Object
	extras   []string // those that other packages require, after ""
}

// requiring returns the packages with their requirements: those that were read, and those that are
// only listed.
func (e *Environment) requiring(artifacts []*facts.Artifact) (all []*requiring) {
	for _, a := range artifacts {
		if m := a.Metadata; m != nil {
			id := packages.ID{Name: pkgmeta.Normalize(m.Name), Version: m.Version}
			all = append(all, &requiring{id, a.Path, m.Requires, a.Objects, []string{""}})
		}
	}
	for _, a := range e.Listed {
		if a.Wheel == nil {
			continue
		}
		x := &requiring{file: a.Path, extras: []string{""}}
		x.ID = packages.ID{Name: pkgmeta.Normalize(a.Wheel.Name), Version: a.Wheel.Version}
		for _, text := range a.Wheel.Requires {
			if q, err := pkgmeta.ParseRequirement(text); err == nil {
				x.requires = append(x.requires, q)
			}
		}
		all = append(all, x)
	}
	return all
}

// addMissing adds a finding for each requirement on a package with native code that is not
// installed. It is an error if an object needs a library of that package, which nothing else has.
func (e *Environment) addMissing(artifacts []*facts.Artifact, r *Report) {
	if !e.Complete {
		return
	}
	installed := map[string]bool{} // also other builds of a package
	for _, id := range e.With {
		if q, err := pkgmeta.ParseRequirement(id); err == nil {
			installed[q.Name], installed[anyBuild(q.Name)] = true, true
		}
	}
	for _, u := range e.Unread { // its version is not known, but it is there
		name, _, _ := strings.Cut(path.Base(u.Path), "-")
		installed[pkgmeta.Normalize(name)] = true
	}
	libraries := map[string]bool{}
	arch := e.On.Arch
	for _, a := range artifacts {
		for _, x := range a.Objects {
			arch = cmp.Or(arch, x.Arch())
			libraries[x.SONAME], libraries[path.Base(x.Path)] = true, true
		}
	}
	env := pkgmeta.DefaultMarkerEnv(e.On.Python, arch)
	for _, m := range missing(e.requiring(artifacts), installed, env) {
		q := m.requirement
		what := fmt.Sprintf("%s %s requires %s%s, which is not installed", m.by.Name, m.by.Version,
			q.Name, q.Spec)
		f := Finding{
			Rule: RuleUnmet, Severity: Warning, New: true, Artifact: m.by.file, Object: m.by.Name,
			Version: q.Name + q.Spec, Package: q.Name, Headline: what, Message: what,
			Fixes: []fix.Fix{{
				Kind: fix.KindDependency, Title: fix.Titled("Install %s", fix.Requirement(q.Name+q.Spec)),
				Requirement: q.Name + q.Spec, Cost: []string{},
			}},
		}
		if object, library := m.by.needs(q.Name, libraries); library != "" {
			f.Severity = Error
			f.Message += fmt.Sprintf(". %s needs its %s", object, library)
		}
		r.Findings = append(r.Findings, onFirst(r, f))
	}
}

// absentPackage is a requirement of an installed package on one that is not installed.
type absentPackage struct {
	by          *requiring
	requirement pkgmeta.Requirement
}

// missing returns the requirements on packages with native code that are not installed, one for
// each package that requires and that is required. Those of extras count if another package
// requires the extra. A requirement whose marker cannot be evaluated does not.
func missing(
	all []*requiring,
	installed map[string]bool,
	env pkgmeta.MarkerEnv,
) (out []absentPackage) {
	by := map[string]*requiring{}
	for _, x := range all {
		by[x.Name] = x
	}
	applying := func(x *requiring) (list []pkgmeta.Requirement) {
		for _, q := range x.requires {
			if ok, err := q.Applies(env, x.extras...); err == nil && ok {
				list = append(list, q)
			}
		}
		return list
	}
	for more := true; more; { // an extra may require another one
		more = false
		for _, x := range all {
			for _, q := range applying(x) {
				for _, extra := range q.Extras {
					if to := by[q.Name]; to != nil && !slices.Contains(to.extras, extra) {
						to.extras, more = append(to.extras, extra), true
					}
				}
			}
		}
	}
	for _, x := range all {
		seen := map[string]bool{}
		for _, q := range applying(x) {
			if seen[q.Name] || installed[q.Name] || installed[anyBuild(q.Name)] ||
				!packages.History().Compiled(q.Name) {
				continue
			}
			seen[q.Name] = true
			out = append(out, absentPackage{x, q})
		}
	}
	return out
}

// needs returns an object of the package and a library that it needs, which is part of another
// package and of none that is installed; "" if there is none.
func (x *requiring) needs(name string, installed map[string]bool) (object, library string) {
	for _, o := range x.objects {
		for _, n := range o.Needed {
			if installed[n] {
				continue
			}
			if ok, _ := packages.History().Provides(name, func(file string) bool { return file == n }); ok {
				return o.Path, n
			}
		}
	}
	return "", ""
}

// build matches the part of a package's name that distinguishes builds with the same modules:
// onnxruntime-gpu, opencv-contrib-python-headless, tensorflow-cpu, cupy-cuda12x.
var build = lazyregexp.New(
	`-(?:cpu|gpu|headless|contrib|nightly|directml|openvino|rocm[\d-]*|cu\d+|cuda\d+x)\b`)

// anyBuild returns the name that all builds of a package have in common.
func anyBuild(name string) string {
	if strings.HasPrefix(name, "nvidia-") { // for each CUDA another library
		return name
	}
	return build.ReplaceAllString(name, "")
}

// targets adds the platforms of the environment to the report and returns their names.
func (e *Environment) targets(out *checked, o Options) (names []string) {
	add := func(p *platform.Platform, err error) {
		if err == nil {
			names = append(names, p.Name)
			out.addTarget(p, nil, nil)
		}
	}
	for _, name := range o.Platforms {
		add(platform.Lookup(name, e.On.Arch))
	}
	if o.Root != nil {
		add(o.Root(e.On.Arch))
	}
	return names
}

// damaged turns the findings of an installed wheel that are due to lost or changed files into
// findings about the installation. A changed file alone is not reported: strip and tools of
// distributions change files that work.
func (e *Environment) damaged(out *checked, f *Finding, what cause.Lacks) {
	if e.Lost == nil {
		return
	}
	lost := ""
	if f.Library != "" && f.Symbol == "" {
		lost = e.Lost(path.Base(f.Library))
	}
	switch {
	case lost != "":
		name, version, _ := strings.Cut(lost, "==")
		f.Message = fmt.Sprintf("%s of %s %s is missing; %s needs it", f.Library, name, version, f.Object)
		f.Fixes = []fix.Fix{reinstall([]string{lost}, false)}
	case e.foreign(out, f, what):
		name := f.Artifact
		id := ""
		for _, a := range out.report.Artifacts {
			if a.Path == f.Artifact {
				id, name = a.Wheel.Name+"=="+a.Wheel.Version, a.Wheel.Name+" "+a.Wheel.Version
			}
		}
		lacks := f.Library
		if f.Symbol != "" {
			lacks = f.Symbol
		}
		f.Message = fmt.Sprintf("%s is not the file that %s installed: it needs %s, which is not found",
			f.Object, name, lacks)
		f.Fixes = []fix.Fix{reinstall([]string{id}, false)}
	default:
		return
	}
	f.Rule, f.Severity, f.Headline = RuleBroken, Error, f.Message
}

// foreign reports whether a finding is about a changed object of a wheel, which is from another
// version of it: it needs a library that the wheel has with another version, or lacks symbols.
func (e *Environment) foreign(k *checked, f *Finding, what cause.Lacks) bool {
	i := slices.IndexFunc(k.artifacts, func(a *facts.Artifact) bool {
		return a.Path == f.Artifact && a.Wheel != nil
	})
	if i < 0 {
		return false
	}
	switch what {
	case cause.LacksLibrary:
		stem := platform.Stem(f.Library)
		return slices.ContainsFunc(k.artifacts[i].Objects, func(o *facts.Object) bool {
			return platform.Stem(o.SONAME) == stem
		}) && e.Changed(f.Artifact, f.Object)
	case cause.LacksSymbol, cause.LacksSymbolOfLoaded:
		return f.Severity == Error && e.Changed(f.Artifact, f.Object)
	}
	return false
}

// absent turns warnings about libraries of the system into errors if nothing that is used of an
// installed package loads without them: the system that it is installed on does not have them. The
// driver of a GPU is often added when a container starts. all are the packages of the environment.
func absent(rules []*Rule, a *facts.Artifact, all []*facts.Artifact, findings []Finding) {
	var of []*Finding
	fails := map[string]bool{} // objects by path
	for i := range findings {
		f := &findings[i]
		p, known := platform.ProviderOf(f.Library)
		if f.Artifact != a.Path || lacks(rules, f) != cause.LacksLibrary || !known ||
			p.Kind == platform.DriverProvider || p.Kind == platform.ToolkitProvider {
			continue
		}
		of = append(of, f)
		fails[f.Object] = true
	}
	if len(of) == 0 {
		return
	}
	by, used := byName(a), entries(a, all)
	if len(used) == 0 || slices.ContainsFunc(used, func(o *facts.Object) bool {
		return !slices.ContainsFunc(closure(by, o), func(o *facts.Object) bool { return fails[o.Path] })
	}) {
		return
	}
	for _, f := range of {
		f.Severity = Error
	}
}

// entries returns the objects of an artifact with which its use begins: its modules, else those
// that objects of other packages need and those that its own sources may open. A plug-in that only
// a library opens is not among them.
func entries(a *facts.Artifact, all []*facts.Artifact) (out []*facts.Object) {
	for _, o := range a.Objects {
		if o.Extension() {
			out = append(out, o)
		}
	}
	if out != nil {
		return out
	}
	own, others := map[string]bool{}, map[string]bool{}
	for _, x := range all {
		needed := others
		if x == a {
			needed = own
		}
		for _, o := range x.Objects {
			for _, name := range o.Needed {
				needed[name] = true
			}
		}
	}
	for _, o := range a.Objects {
		file := path.Base(o.Path)
		opened := !own[o.SONAME] && !own[file] // if its sources are not known
		if a.Loads != nil {
			opened = (a.Loads.May(o.SONAME) || a.Loads.May(file)) && !grafted(o)
		}
		if opened || others[o.SONAME] || others[file] {
			out = append(out, o)
		}
	}
	return out
}

// grafted reports whether auditwheel copied a library into a wheel because another object needs it.
func grafted(o *facts.Object) bool { return strings.HasSuffix(path.Dir(o.Path), ".libs") }

// byName returns the objects of an artifact by SONAME and by file name.
func byName(a *facts.Artifact) map[string][]*facts.Object {
	by := map[string][]*facts.Object{}
	for _, o := range a.Objects {
		file := path.Base(o.Path)
		by[file] = append(by[file], o)
		if o.SONAME != "" && o.SONAME != file {
			by[o.SONAME] = append(by[o.SONAME], o)
		}
	}
	return by
}

// closure returns an object and those of its artifact that it needs, and these need.
func closure(by map[string][]*facts.Object, o *facts.Object) []*facts.Object {
	all, seen := []*facts.Object{o}, map[*facts.Object]bool{o: true}
	for i := 0; i < len(all); i++ {
		for _, name := range all[i].Needed {
			for _, x := range by[name] {
				if !seen[x] {
					seen[x] = true
					all = append(all, x)
				}
			}
		}
	}
	return all
}
