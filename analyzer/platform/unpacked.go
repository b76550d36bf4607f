package platform

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform/table"
)

// Files are the ELF files of an unpacked root file system.
type Files struct {
	// Find returns the library that the system's loader finds for a name, and its path; nil for none.
	// by is the library that needs it, "" for a lookup by name alone.
	Find func(soname, by string) (o *elfobj.Object, path string)
	// Open returns the file at an absolute path, or nil if there is none.
	Open func(path string) *elfobj.Object
}

// Unpacked returns a platform for an unpacked root file system. Libraries lists the libraries that
// exist under the names of built-in platforms, those that Library was called for, and their
// dependencies. The platform is not safe for concurrent use.
func Unpacked(name, arch, libc, libcVersion string, files *Files) *Platform {
	return &Platform{
		Name:        name,
		Arch:        arch,
		Libc:        libc,
		LibcVersion: libcVersion,
		Kind:        System,
		files:       files,
	}
}

// OSRelease returns the values in a file os-release(5) by their names.
func OSRelease(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[name] = strings.Trim(value, `"'`)
		}
	}
	return values
}

// LikeOf returns the distributions in a file os-release(5): the system's own ID and those that it
// is like.
func LikeOf(osRelease string) []string {
	values := OSRelease(osRelease)
	return strings.Fields(values["ID"] + " " + values["ID_LIKE"])
}

// Open returns the ELF file at an absolute path of an unpacked system; nil if there is none, and
// for other platforms.
func (p *Platform) Open(path string) *elfobj.Object {
	if p.files == nil {
		return nil
	}
	return p.files.Open(path)
}

// unpack looks up the libraries with the names of built-in platforms.
func (p *Platform) unpack() {
	p.bySONAME = map[string]*Library{}
	for _, t := range symbols(p.table()).Libraries {
		p.load(t.SONAME, "")
	}
}

// load looks up a library and its dependencies in an unpacked system; nil if there is none.
func (p *Platform) load(soname, by string) *Library {
	if l, ok := p.bySONAME[soname]; ok {
		return l
	}
	p.bySONAME[soname] = nil
	o, file := p.files.Find(soname, by)
	if o == nil {
		return nil
	}
	l := ofObject(soname, o)
	l.Path = file
	p.bySONAME[soname] = l
	at, _ := slices.BinarySearchFunc(
		p.libraries,
		soname,
		func(l *Library, s string) int { return compareSONAME(l.SONAME, s) },
	)
	p.libraries = slices.Insert(slices.Clone(p.libraries), at, l)
	for _, n := range o.Needed {
		p.load(n, soname)
	}
	return l
}

// ofObject returns the library of a file.
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
