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
	"github.com/compat-app/compat/analyzer/platform"
)

// targets adds the platforms of the environment to the report and returns their names, not nil.
func (e *Environment) targets(out *checked, o Options) (names []string) {
	names = []string{}
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

// glibc returns the oldest of the environment's systems that use glibc, or nil.
func (e *Environment) glibc(o Options) (oldest *platform.Platform, _ error) {
	var on []*platform.Platform
	arch := cmp.Or(e.On.Arch, "x86_64")
	if o.Root != nil {
		p, err := o.Root(arch)
		if err != nil {
			return nil, err
		}
		on = append(on, p)
	}
	for _, name := range o.Platforms {
		p, err := platform.Lookup(name, arch)
		if err != nil {
			return nil, err
		}
		on = append(on, p)
	}
	for _, p := range on {
		if p != nil && p.Libc == "glibc" && p.LibcVersion != "" &&
			(oldest == nil || platform.Older(p.LibcVersion, oldest.LibcVersion)) {
			oldest = p
		}
	}
	return oldest, nil
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
		f.Fixes = []fix.Fix{fix.Reinstall([]string{lost}, false)}
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
		f.Fixes = []fix.Fix{fix.Reinstall([]string{id}, false)}
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
		p, known := platform.OfSystem(f.Library, f.Target)
		if f.Artifact != a.Path || Lacks(rules, f) != cause.LacksLibrary || !known ||
			p.Kind == platform.DriverProvider || p.Kind == platform.ToolkitProvider {
			continue
		}
		of = append(of, f)
		fails[f.Object] = true
	}
	if len(of) == 0 {
		return
	}
	by, used := byName([]*facts.Artifact{a}), entries(a, all)
	if len(used) == 0 || slices.ContainsFunc(used, func(o *facts.Object) bool {
		return !slices.ContainsFunc(closure(by, o), func(o *facts.Object) bool { return fails[o.Path] })
	}) {
		return
	}
	for _, f := range of {
		f.Severity, f.Why = Error, ""
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

// byName returns the objects of artifacts by SONAME and by file name.
func byName(artifacts []*facts.Artifact) map[string][]*facts.Object {
	by := map[string][]*facts.Object{}
	for _, a := range artifacts {
		for _, o := range a.Objects {
			file := path.Base(o.Path)
			by[file] = append(by[file], o)
			if o.SONAME != "" && o.SONAME != file {
				by[o.SONAME] = append(by[o.SONAME], o)
			}
		}
	}
	return by
}

// loadedByImport returns the paths of the objects that are loaded whenever the packages are
// imported: modules that the sources import in any case, and what these need.
func loadedByImport(all []*facts.Artifact) map[string]bool {
	by, out := byName(all), map[string]bool{}
	for _, a := range all {
		for _, o := range a.Objects {
			if o.Extension() && !out[o.Path] && a.Imports(o.Path) {
				for _, x := range closure(by, o) {
					out[x.Path] = true
				}
			}
		}
	}
	return out
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
