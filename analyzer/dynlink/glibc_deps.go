package dynlink

import (
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// mapObject implements _dl_map_object (glibc, elf/dl-load.c): it returns the loaded object for
// a name, or searches and loads it. If fake is true, a missing object becomes an entry without
// a file, as in ldd; otherwise it is an error.
func (g *glibc) mapObject(r *run, name string, by *loaded, fake bool) (*loaded, error) {
	if l := r.known[name]; l != nil {
		// found by its SONAME, which DT_VERNEED can refer to from now on
		if _, ok := r.requested[name]; !ok {
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
		o, found, how, text = g.search(r, name, by, nil)
		if o == nil && text == "" && r.loadedEarlier != nil {
			o, found = r.loadedEarlier(name)
			how = foundEarlier
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
		r.missingNeeds = append(r.missingNeeds, missingNeed{name, by})
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

// preload loads the libraries of --preload and /etc/ld.so.preload for the main program. If one
// cannot be loaded, the loader prints a message and continues.
func (g *glibc) preload(r *run) []*loaded {
	var out []*loaded
	load := func(name string) {
		if name == "" {
			return
		}
		before := len(r.all)
		l, err := g.mapObject(r, name, r.main, false)
		switch {
		case err != nil || l == nil:
			r.answer.Ignored = append(r.answer.Ignored, name)
		case len(r.all) > before:
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
		for _, name := range strings.FieldsFunc(line, func(c rune) bool {
			return c == ':' || c == ' ' || c == '\t'
		}) {
			load(name)
		}
	}
	return out
}

// entry is an element of the search list.
type entry struct {
	l, by *loaded
	done  bool
}

// dependencies sets the main program's search list.
func (g *glibc) dependencies(r *run, preloads []*loaded) error {
	list, err := g.searchList(r, r.main, preloads)
	if err != nil {
		return err
	}
	if g.minor <= 31 && list[0].l != r.main {
		return g.fatal(
			r,
			"Inconsistency detected by ld.so: dl-deps.c: _dl_map_object_deps: Assertion "+
				"`map->l_searchlist.r_list[0] == map' failed!",
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

// searchList implements _dl_map_object_deps (glibc, elf/dl-deps.c): breadth first, filtees
// before the object that names them.
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

// moveBefore moves an object before another one in the link map.
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

// versions implements _dl_check_all_versions (glibc, elf/dl-version.c): a library must define
// every version that the objects require from it.
func (g *glibc) versions(r *run, of []*loaded) error {
	cut := false
	for _, l := range of {
		if l.fake || l.object == nil {
			continue
		}
		m := l.object.m
		libc, relr, missing := false, false, false
		for _, n := range m.Needs {
			if n.Record != 1 {
				return g.fatal(
					r,
					l.shown+": unsupported version "+strconv.Itoa(int(n.Record))+" of Verneed record",
				)
			}
			p := r.requested[n.Library]
			if p == nil {
				return g.fatal(
					r,
					"Inconsistency detected by ld.so: dl-version.c: _dl_check_map_versions: Assertion `needed "+
						"!= NULL' failed! ("+
						l.shown+" needs versions of "+n.Library+", which it does not need)",
				)
			}
			libc = libc || strings.HasPrefix(n.Library, "libc.so.")
			for _, v := range n.Versions {
				relr = relr || v.Name == "GLIBC_ABI_DT_RELR"
			}
			if p.fake {
				missing = true
				continue
			}
			if !p.object.m.HasVersym {
				r.unversioned = true
			}
			if !p.object.m.HasVerdef {
				continue // "no version information available": a warning
			}
			for _, v := range n.Versions {
				if !v.Weak && !definesVersion(p.object.m, v) {
					r.answer.MissingVersions = append(
						r.answer.MissingVersions,
						MissingVersion{v.Name, p.shown, l.shown},
					)
				}
			}
		}
		if missing {
			l.cut, cut = r.tableSize(m), true
		}
		if m.RelR && libc && !relr && g.minor >= 36 {
			return g.fatal(r, l.shown+": DT_RELR without GLIBC_ABI_DT_RELR dependency")
		}
	}
	if cut {
		r.overreads()
	}
	r.answer.MissingVersions = distinct(r.answer.MissingVersions)
	return nil
}

// definesVersion implements match_symbol: hash and name must both match. The base definition
// counts.
func definesVersion(m *elfobj.Mapping, v elfobj.MappedVersion) bool {
	for i := range m.Defs {
		if d := &m.Defs[i]; d.Hash == v.Hash && d.Name == v.Name {
			return true
		}
	}
	return false
}

// tableSize returns the size of the loader's table of versions (l_nversions), which does not
// include requirements on missing libraries.
func (r *run) tableSize(m *elfobj.Mapping) uint16 {
	var top uint16
	for i, v := range m.Versions {
		if v.Hash == 0 {
			continue
		}
		if p := r.requested[v.Library]; v.Library == "" || p != nil && !p.fake {
			top = max(top, uint16(i))
		}
	}
	return top + 1
}

// versionTable is the loader's table of versions (l_versions) of an object, with its address.
type versionTable struct {
	l       *loaded // nil: the vdso
	at      int     // address in bytes, relative to the first table
	entries []elfobj.IndexedVersion
}

// Layout of struct r_found_version with 64-bit addresses: name, hash, hidden, filename. The
// loader's malloc allocates tables consecutively.
const (
	versionSize, versionHash = 24, 8
	mallocAlign              = 16
)

// overreads sets what the loader reads after the end of its version table. glibc 2.31 to 2.41
// compute the table's size without the requirements on missing libraries
// (_dl_check_map_versions), and then read the tables of the following objects. A symbol whose
// version is read as 0 binds to any definition, so this determines which symbols ldd -r
// reports.
func (r *run) overreads() {
	var tables []versionTable
	end := 0
	put := func(l *loaded, entries []elfobj.IndexedVersion) {
		if len(entries) > 1 {
			tables = append(tables, versionTable{l, end, entries})
			end = (end + versionSize*len(entries) + mallocAlign - 1) &^ (mallocAlign - 1)
		}
	}
	for _, l := range r.all {
		if l.object == nil || l.fake {
			continue
		}
		n := len(l.object.m.Versions)
		if l.cut > 0 {
			n = min(n, int(l.cut))
		}
		put(l, l.object.m.Versions[:n])
		if l == r.main {
			put(nil, []elfobj.IndexedVersion{{}, {}, {Name: "LINUX_2.6", Hash: 0x3ae75f6}})
		}
	}
	for _, t := range tables {
		if t.l == nil || t.l.cut == 0 {
			continue
		}
		t.l.beyond = map[uint16]elfobj.IndexedVersion{}
		for i := int(t.l.cut); i < len(t.l.object.m.Versions); i++ {
			t.l.beyond[uint16(i)] = readVersion(tables, t.at+versionSize*i)
		}
	}
}

// readVersion returns the struct at an address.
func readVersion(tables []versionTable, at int) elfobj.IndexedVersion {
	for _, t := range tables {
		in := at + versionHash - t.at
		if in < 0 || in >= versionSize*len(t.entries) {
			continue
		}
		v := t.entries[in/versionSize]
		switch in % versionSize {
		case versionHash:
			return v
		case 0: // the address of the version name, read as a hash
			if v.Hash != 0 {
				return noVersionHasIt
			}
		default: // the address of the library name
			if v.Library != "" {
				return noVersionHasIt
			}
		}
	}
	return elfobj.IndexedVersion{}
}

// noVersionHasIt stands for an address read as a hash: only a definition without a version
// matches.
var noVersionHasIt = elfobj.IndexedVersion{Name: "\x00", Hash: 1}
