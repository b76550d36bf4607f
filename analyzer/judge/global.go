package judge

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/startup"
)

// Global is a library of another package whose symbols are visible to all that is loaded after the
// import of a package.
type Global struct {
	*dynlink.Library
	Import string // the package whose import loads it: "tensorflow"
}

// Globals returns the libraries that other packages open with RTLD_GLOBAL when they are imported,
// with the libraries that these need, in load order. Not among them are libraries whose names the
// sources compute, unless they are known of the package.
func (p *Pass) Globals() (out []Global) {
	s := p.sources.session
	for _, x := range s.openings() {
		if x.object.Arch() == p.Platform.Arch && slices.Contains(p.Others(), x.artifact) {
			out = append(out, Global{s.libraries.ofObject(x.artifact, x.object), x.by})
		}
	}
	return out
}

// globalsOf identifies what GlobalsOfReleases found for an artifact with a set of packages.
type globalsOf struct {
	artifact *facts.Artifact
	arch     string
	set      *packages.Set
}

// GlobalsOfReleases is Globals for releases that are installed with the artifact and whose sources
// were not given, as far as the import of the artifact imports them in any case. Their sources are
// read for it, and the libraries that they open.
func (p *Pass) GlobalsOfReleases() []Global {
	s := p.sources
	key := globalsOf{s.facts, p.Platform.Arch, s.set.Set}
	out, known := s.session.globals[key]
	if source, ok := s.session.judge.options.Source.(packages.Texts); ok && !known {
		out = s.globalsOfReleases(source)
		s.session.globals[key] = out
	}
	return out
}

// globalsOfReleases is GlobalsOfReleases for a set that was not looked at before.
func (s *sources) globalsOfReleases(source packages.Texts) (out []Global) {
	if s.starts == nil {
		s.read()
	}
	for _, r := range s.importedReleases() {
		if s.isRead(r.Name) {
			continue
		}
		for _, top := range topsOf(r) {
			if !s.facts.ImportsOther(top) {
				continue
			}
			opened, known := promoted[r.Name]
			if !known {
				opened = s.openedBy(source, r, top)
			}
			for _, l := range s.withNeeded(r, opened) {
				out = append(out, Global{l, top})
			}
		}
	}
	return out
}

// importedReleases returns the releases of the set. For an artifact that needs no library of
// another package there are none; then it returns the newest of the packages that it requires and
// imports under their names.
func (s *sources) importedReleases() []*packages.Release {
	if !s.set.Empty() || s.facts.Metadata == nil {
		return slices.Collect(s.set.All())
	}
	var required []pkgmeta.Requirement
	for _, q := range s.facts.Metadata.Requires {
		if s.facts.ImportsOther(strings.ReplaceAll(q.Name, "-", "_")) {
			required = append(required, q)
		}
	}
	j := s.session.judge
	if len(required) == 0 {
		return nil
	}
	sets, err := j.resolve(s.ctx, s.on, j.given, required, nil, nil)
	if err != nil {
		return nil
	}
	return slices.Collect(sets[len(sets)-1].All())
}

// topsOf returns the top-level packages and modules with libraries of a release, each once.
func topsOf(r *packages.Release) (out []string) {
	for i := range r.Libraries {
		if top := topOf(facts.ModuleName(r.Libraries[i].Path)); !slices.Contains(out, top) {
			out = append(out, top)
		}
	}
	return out
}

// openedBy returns what the import of a top-level package of a release opens with RTLD_GLOBAL, as
// facts.Artifact.Opened does. Of a package with many sources, some that are imported are read.
func (s *sources) openedBy(source packages.Texts, r *packages.Release, top string) []string {
	s.addTexts(source, r, top)
	for {
		opened, events := s.program.Program().Opened(top)
		var more []string
		for _, e := range append(events, startup.Event{Name: top}) {
			if !e.Load && s.mayRead(e.Name) {
				more = append(more, e.Name)
			}
		}
		if len(more) == 0 || !s.addSome(source, more[:min(len(more), atOnce)]) {
			return opened
		}
	}
}

// withNeeded returns libraries of a release, by their file names, SONAMEs or as modules, with those
// of the release that they need.
func (s *sources) withNeeded(r *packages.Release, names []string) (out []*dynlink.Library) {
	var todo []int
	seen := map[int]bool{}
	add := func(name string) {
		for i := range r.Libraries {
			l := &r.Libraries[i]
			if !seen[i] && (l.SONAME == name || path.Base(l.Path) == name ||
				strings.Contains(name, "/") && facts.ModuleName(l.Path) == name) {
				seen[i] = true
				todo = append(todo, i)
			}
		}
	}
	for _, name := range names {
		add(name)
	}
	for ; len(todo) > 0; todo = todo[1:] {
		if l := s.readLibrary(r, todo[0]); l.Known {
			out = append(out, dynlink.OfPackage(r, l))
			for _, name := range l.Needed {
				add(name)
			}
		}
	}
	return out
}

// opening is an object that is opened with RTLD_GLOBAL, or that such an object needs.
type opening struct {
	artifact *facts.Artifact
	object   *facts.Object
	by       string // the package whose import opens it
}

// openingsOf returns what the imports of artifacts open with RTLD_GLOBAL.
func openingsOf(artifacts []*facts.Artifact) (out []opening) {
	var named map[string][]sibling
	seen := map[sibling]bool{}
	for n, a := range artifacts {
		opened, known := promoted[project(a)]
		if !known {
			opened = a.Opened()
		}
		if len(opened) == 0 {
			continue
		}
		if named == nil { // most packages open nothing globally
			named = siblingsByName(artifacts)
		}
		var todo []sibling
		for _, name := range opened {
			for _, x := range named[name] {
				if x.artifact == n {
					todo = append(todo, x)
				}
			}
			for i, o := range a.Objects {
				if strings.Contains(name, "/") && o.Extension() && facts.ModuleName(o.Path) == name {
					todo = append(todo, sibling{n, i})
				}
			}
		}
		for by := importName(a); len(todo) > 0; todo = todo[1:] {
			x := todo[0]
			if seen[x] {
				continue
			}
			seen[x] = true
			o := artifacts[x.artifact].Objects[x.object]
			out = append(out, opening{artifacts[x.artifact], o, by})
			for _, needed := range o.Needed {
				for _, y := range named[needed] {
					if artifacts[y.artifact].Objects[y.object].Arch() == o.Arch() {
						todo = append(todo, y)
					}
				}
			}
		}
	}
	return out
}

// importName returns the name under which a wheel is imported: that of its only package or module
// with a source, or else that of the wheel.
func importName(a *facts.Artifact) string {
	only := ""
	for name := range a.Program {
		top, _, _ := strings.Cut(name, "/")
		if only != "" && top != only {
			return project(a)
		}
		only = top
	}
	if only == "" {
		return project(a)
	}
	return only
}
