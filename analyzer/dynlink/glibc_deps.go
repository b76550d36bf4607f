package dynlink

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// mapObject is _dl_map_object (glibc, elf/dl-load.c): the object for a name, out of the load or of
// the files. When fake is set a missing one becomes an entry without a file, as when the loader
// only lists; otherwise it is an error.
func (g *glibc) mapObject(r *run, name string, by *loaded, fake bool) (*loaded, error) {
	if l := r.known[name]; l != nil {
		// found by its SONAME, which is one of its names from now on
		if _, ok := r.asked[name]; !ok {
			r.name(l, name)
		}
		return l, nil
	}
	var o *object
	var found, text string
	how := foundPath
	if strings.Contains(name, "/") {
		found, _ = g.expand(name, by)
		if c, err := g.store.open(found); err == nil {
			var ok bool
			if ok, text = g.candidate(c); ok {
				o = c
			} else if text == "" && !fake && c.head != nil && c.head.Class != 0 {
				text = "wrong ELF class: ELFCLASS" + map[int]string{32: "32", 64: "64"}[c.head.Class]
			}
		}
	} else {
		if o, found, how, text = g.search(r, name, by, nil); o == nil && text == "" && r.lent != nil {
			o, found = r.lent(name)
			how = foundLent
		}
	}
	if text != "" {
		return nil, &failure{found + ": " + text}
	}
	if o == nil {
		if !fake {
			return nil, &failure{
				name + ": cannot open shared object file: No such file or directory",
			}
		}
		l := &loaded{path: name, shown: name, by: by, fake: true}
		r.all = append(r.all, l)
		r.name(l, name)
		r.lost = append(r.lost, lost{name, by})
		return l, nil
	}
	if l := r.byFile[o]; l != nil {
		r.name(l, name)
		return l, nil
	}
	text = g.segments(o, false)
	if r.opening && text == "" && o.damage == nil && o.m.Flags1&flag1NoOpen != 0 {
		text = "shared object cannot be dlopen()ed"
	}
	if text != "" {
		return nil, &failure{name + ": " + text}
	}
	if o.damage != nil {
		return nil, &failure{
			found + ": file is cut short or damaged, and the loader dies: " + o.damage.Error(),
		}
	}
	return r.add(o, name, found, by, how), nil
}

// preload loads what --preload and /etc/ld.so.preload name, for the main program. One that can't be
// loaded is only a message of the loader.
func (g *glibc) preload(r *run) []*loaded {
	var out []*loaded
	load := func(name string) {
		if name == "" {
			return
		}
		before := len(r.all)
		l, err := g.mapObject(r, name, r.main, false)
		if err == nil && len(r.all) > before {
			l.foundBy = foundPreload
			out = append(out, l)
		}
	}
	for _, list := range r.settings.Preload {
		for _, name := range strings.FieldsFunc(list, func(c rune) bool { return c == ':' || c == ' ' }) {
			load(name)
		}
	}
	for _, line := range strings.Split(string(g.store.text("/etc/ld.so.preload", 1<<20)), "\n") {
		line, _, _ = strings.Cut(line, "#")
		for _, name := range strings.FieldsFunc(line, func(c rune) bool { return c == ':' || c == ' ' || c == '\t' }) {
			load(name)
		}
	}
	return out
}

// entry is one place of the search list.
type entry struct {
	l, by *loaded
	done  bool
}

// dependencies makes the main program's search list.
func (g *glibc) dependencies(r *run, preloads []*loaded) error {
	list, err := g.searchList(r, r.main, preloads)
	if err != nil {
		return err
	}
	if g.minor <= 31 && list[0].l != r.main {
		return g.fatal(
			r,
			"Inconsistency detected by ld.so: dl-deps.c: _dl_map_object_deps: Assertion `map->l_searchlist.r_list[0] == map' failed!",
		)
	}
	for _, e := range list {
		if !e.l.fake {
			r.scope, r.order = append(r.scope, e.l), append(r.order, e)
			e.l.object.bound.in = r.number
		}
	}
	return nil
}

// searchList is _dl_map_object_deps (glibc, elf/dl-deps.c): breadth first, filtees before the object that names them.
func (g *glibc) searchList(r *run, of *loaded, preloads []*loaded) ([]entry, error) {
	list := make([]entry, 0, 64)
	list = append(list, entry{l: of})
	for _, p := range preloads {
		p.reserved = true
		list = append(list, entry{l: p})
	}
	for i := 0; i < len(list); {
		if list[i].done {
			i++
			continue
		}
		list[i].done = true
		at, l := i, list[i].l
		if l.fake {
			continue
		}
		for _, d := range l.object.m.Needed {
			name := d.Name
			if strings.Contains(name, "$") {
				expanded, any := g.expand(name, l)
				if any && expanded == "" {
					if d.Kind == elfobj.Auxiliary {
						continue
					}
					return nil, g.fatal(r, l.shown+": empty dynamic string token substitution")
				}
				name = expanded
			}
			dep, err := g.mapObject(r, name, l, !r.opening)
			if err != nil {
				if d.Kind == elfobj.Auxiliary {
					continue
				}
				return nil, g.fatal(r, err.Error())
			}
			if dep.foundBy == foundLoader && !dep.reserved {
				dep.by = l
			}
			switch {
			case d.Kind == elfobj.Need && !dep.reserved:
				dep.reserved = true
				list = append(list, entry{l: dep, by: l})
			case d.Kind == elfobj.Need:
			case dep.reserved:
				late := slices.IndexFunc(list[at+1:], func(e entry) bool { return e.l == dep })
				if late < 0 {
					continue
				}
				e := list[at+1+late]
				list = slices.Delete(list, at+1+late, at+2+late)
				list = slices.Insert(list, at, entry{l: e.l, by: e.by})
				r.moveBefore(dep, l)
				at++
			default:
				dep.reserved = true
				list = slices.Insert(list, at, entry{l: dep, by: l})
				r.moveBefore(dep, l)
				at++
			}
		}
	}
	return list, nil
}

// moveBefore puts an object before another one in the link map list.
func (r *run) moveBefore(l, before *loaded) {
	i := slices.Index(r.all, l)
	r.all = slices.Delete(r.all, i, i+1)
	r.all = slices.Insert(r.all, slices.Index(r.all, before), l)
}

func (g *glibc) fatal(r *run, text string) error {
	if r.opening || strings.HasPrefix(text, "Inconsistency") {
		return &failure{text}
	}
	return &failure{r.main.shown + ": error while loading shared libraries: " + text}
}
