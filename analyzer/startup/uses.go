package startup

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Use is how the sources of a package import a module.
type Use struct {
	By     []string // sources that import it in any case, and fail if it does
	Chosen bool     // each import is in a branch of an if or try statement
	Never  bool     // each import is in a branch for other versions of Python
	// Optional is set if each source that imports it handles that this fails, and raises no exception
	// at its top level, or is itself imported only by sources that do so.
	Optional bool

	choices []choice
}

// choice is a branch of an if or try statement.
type choice struct {
	in        *body
	fork, arm int
}

// Uses returns how modules are imported, by name. Modules that no source names are not in it.
func (p Program) Uses(modules []string) map[string]*Use {
	out, wanted := map[string]*Use{}, map[string]bool{}
	for _, m := range modules {
		wanted[m] = true
	}
	guarded := p.guarded()
	add := func(source string, raises bool, b *body, s step, name string) {
		if !wanted[name] || p[name] != nil {
			return
		}
		u := out[name]
		if u == nil {
			u = &Use{Chosen: true, Never: true, Optional: true}
			out[name] = u
		}
		u.Never = u.Never && p.never(s)
		u.Optional = u.Optional && (p.never(s) || s.handled && !raises || guarded[source])
		if s.fork > 0 && (p.may(s) || s.handled) {
			u.choices = append(u.choices, choice{b, s.fork, s.arm})
		} else {
			u.Chosen = false
		}
		if source != "" && !p.may(s) && !s.handled {
			u.By = append(u.By, source)
		}
	}
	for source, m := range p {
		for _, s := range m.top.steps {
			if s.do == importsModule {
				add(source, m.raises, &m.top, s, s.name)
				add(source, m.raises, &m.top, s, path.Dir(s.name))
			}
		}
		for _, f := range m.functions {
			for _, s := range f.steps {
				if s.do == importsModule {
					add("", m.raises, f, s, s.name)
					add("", m.raises, f, s, path.Dir(s.name))
				}
			}
		}
	}
	return out
}

// guarded returns the sources that others import, all of which handle that this fails.
func (p Program) guarded() map[string]bool {
	type importer struct {
		source  string
		handled bool
	}
	by := map[string][]importer{}
	add := func(source string, raises bool, steps []step) {
		for _, s := range steps {
			if s.do == importsModule && !p.never(s) && p[s.name] != nil && strings.Contains(s.name, "/") &&
				!strings.HasPrefix(source+"/", s.name+"/") { // a package is imported before its modules
				by[s.name] = append(by[s.name], importer{source, s.handled && !raises})
			}
		}
	}
	for source, m := range p {
		add(source, m.raises, m.top.steps)
		for _, f := range m.functions {
			add("", m.raises, f.steps)
		}
	}
	out := map[string]bool{}
	for more := true; more; {
		more = false
		for name, all := range by {
			if !out[name] && !slices.ContainsFunc(all, func(i importer) bool {
				return !i.handled && !out[i.source]
			}) {
				out[name], more = true, true
			}
		}
	}
	return out
}

// Instead reports whether a source imports either of two modules, in two branches of one statement.
func (u *Use) Instead(of *Use) bool {
	for _, a := range u.choices {
		for _, b := range of.choices {
			if a.in == b.in && a.fork == b.fork && a.arm != b.arm {
				return true
			}
		}
	}
	return false
}

// Tops returns the top-level packages and modules that the sources import, also under a condition
// or in a function that nobody calls, in alphabetical order.
func (p Program) Tops() []string {
	found := map[string]bool{}
	for _, m := range p {
		for _, b := range m.bodies() {
			for _, s := range b.steps {
				if s.do == importsModule && s.name != "" && !p.never(s) {
					top, _, _ := strings.Cut(s.name, "/")
					found[top] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// MayLoad reports whether a source, or a function in it that perhaps nobody calls, may load a
// library: by its path, relative to site-packages, or by one of its names, with any version.
func (p Program) MayLoad(at string, names ...string) bool {
	may := func(s step) bool {
		return s.do == loadsLibrary && !p.never(s) && (s.name == "" || s.at == at || s.at == "" &&
			slices.ContainsFunc(names, func(name string) bool { return SameStem(s.name, name) }))
	}
	for _, m := range p {
		if slices.ContainsFunc(m.bodies(), func(b *body) bool {
			return slices.ContainsFunc(b.steps, may)
		}) {
			return true
		}
	}
	return false
}
