package platform

import (
	"cmp"
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform/table"
)

// Unpacked makes a platform of an unpacked system. find gives the library that the system's loader
// finds for a name, nil for none: by is the library of the system that needs it, "" for the name
// alone. Libraries lists those that any built-in platform knows, those that Library was asked for,
// and what they need. Such a platform is not safe for concurrent use.
func Unpacked(
	name, arch, libc, libcVersion string,
	find func(soname, by string) *elfobj.Object,
) *Platform {
	return &Platform{
		Name:        name,
		Arch:        arch,
		Libc:        libc,
		LibcVersion: libcVersion,
		Kind:        System,
		find:        find,
	}
}

// unpack starts the list of an unpacked system.
func (p *Platform) unpack() {
	p.bySONAME = map[string]*Library{}
	for _, t := range symbols(p.table()).Libraries {
		p.ask(t.SONAME, "")
	}
}

// ask looks a library up in an unpacked system, with all that it needs.
func (p *Platform) ask(soname, by string) *Library {
	if l, asked := p.bySONAME[soname]; asked {
		return l
	}
	p.bySONAME[soname] = nil
	o := p.find(soname, by)
	if o == nil {
		return nil
	}
	l := ofObject(soname, o)
	p.bySONAME[soname] = l
	at, _ := slices.BinarySearchFunc(
		p.libraries,
		soname,
		func(l *Library, s string) int { return compareSONAME(l.SONAME, s) },
	)
	p.libraries = slices.Insert(slices.Clone(p.libraries), at, l)
	for _, n := range o.Needed {
		p.ask(n, soname)
	}
	return l
}

// ofObject is a library as a file of a system has it.
func ofObject(soname string, o *elfobj.Object) *Library {
	l := &Library{
		SONAME:    soname,
		Known:     true,
		Needed:    o.Needed,
		Installed: true,
		table:     &table.Library{Rows: make([]table.Row, 0, o.Exports.Len())},
	}
	for _, d := range o.VersionDefs {
		if !d.Base {
			l.Versions = append(l.Versions, d.Name)
		}
	}
	slices.SortStableFunc(l.Versions, table.CompareNodes)
	for _, e := range o.Exports.All() {
		r := table.Row{Name: e.Name, Node: e.Version, Kind: string(e.Kind), Present: 1}
		if e.Hidden {
			r.Hidden = 1
		}
		l.table.Rows = append(l.table.Rows, r)
	}
	slices.SortFunc(l.table.Rows, func(a, b table.Row) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), table.CompareNodes(a.Node, b.Node))
	})
	return l
}
