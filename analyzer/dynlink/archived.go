package dynlink

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform"
)

// Archived is a root file system that was read from an archive, such as a container image: what its
// loaders need to find libraries by name. Paths have no leading slash.
type Archived struct {
	Name    string // of the platform
	Objects []ArchivedObject
	Texts   map[string][]byte // LoaderCache and those for which MuslPath is true
}

// LoaderCache is the file in which ldconfig lists the libraries of a root.
const LoaderCache = "etc/ld.so.cache"

// MuslPath reports whether a file lists the folders that musl's loader searches.
func MuslPath(p string) bool {
	return strings.HasPrefix(p, "etc/ld-musl-") && path.Ext(p) == ".path"
}

// ArchivedObject is an ELF file of a root.
type ArchivedObject struct {
	Path  string
	Links []string // other paths of the file
	*elfobj.Object
}

// Platform returns the root as a target platform for an architecture, like Linker.Platform. It is
// nil if the root has no loader for the architecture.
func (a *Archived) Platform(arch string) *platform.Platform {
	read := map[string]*elfobj.Object{}
	objects := map[string]*object{}
	for _, o := range a.Objects {
		if o.Arch() != arch {
			continue
		}
		x := archivedObject(o.Object)
		for _, at := range append([]string{o.Path}, o.Links...) {
			read["/"+at], objects["/"+at] = o.Object, x
		}
	}
	s := newStore(nil)
	s.known = func(at string) *object { return objects[cleaned(at)] }
	r := &run{store: s, answer: &Answer{}, main: &loaded{object: &object{m: &elfobj.Mapping{}}}}
	t := &target{
		run:  r,
		by:   map[string]*loaded{"": r.main},
		read: func(at string) *elfobj.Object { return read[cleaned(at)] },
	}
	gnu, own := interpreters[arch], muslPath(arch)
	switch {
	case gnu != "" && objects[gnu] != nil:
		g := a.glibc(s, arch, archivedLibc(a.Objects, arch))
		g.path, g.object = gnu, objects[gnu]
		t.ofGlibc(g)
		return platform.Unpacked(a.Name, arch, "glibc", "2."+strconv.Itoa(g.minor), t.files())
	case objects[own] != nil:
		self := &loaded{object: objects[own], path: own, shown: own, foundBy: foundLoader}
		u := &musl{arch: muslArch(arch), kind: defaultHead, self: self, path: muslFolders}
		if list := a.Texts["etc/ld-musl-"+u.arch+".path"]; list != nil {
			u.path = muslList(string(list))
		}
		t.ofMusl(u)
		return platform.Unpacked(a.Name, arch, "musl", muslVersion, t.files())
	}
	return nil
}

// glibc returns the loader of an architecture. libc is the file of its libc.so.6, the zero value if
// there is none.
func (a *Archived) glibc(s *store, arch string, libc ArchivedObject) *glibc {
	g := &glibc{
		store:   s,
		arch:    arch,
		minor:   glibcMinor(libc.Object),
		cpu:     arch,
		cacheID: cacheIDs[arch],
		kind:    defaultHead,
		folders: debianFolders(arch),
		cached:  map[string]string{},
	}
	if libc.Object != nil {
		// Debian's loader searches its own folders, those of others the folder of libc.so.6.
		if at := path.Dir("/" + libc.Path); !slices.Contains(g.folders, at+"/") {
			base := "/" + path.Base(at) + "/"
			g.folders = []string{base, "/usr" + base}
		}
		g.readCache(a.Texts[LoaderCache], order(libc.ByteOrder == "big"))
	}
	g.capabilities()
	return g
}

// archivedLibc returns the libc.so.6 of an architecture; the zero value if there is none.
func archivedLibc(objects []ArchivedObject, arch string) ArchivedObject {
	i := slices.IndexFunc(objects, func(o ArchivedObject) bool {
		return o.SONAME == "libc.so.6" && o.Arch() == arch
	})
	if i < 0 {
		return ArchivedObject{}
	}
	return objects[i]
}

// glibcMinor returns the release of glibc by the newest version that its libc.so.6 defines.
func glibcMinor(libc *elfobj.Object) int {
	minor := 0
	if libc != nil {
		for _, d := range libc.VersionDefs {
			n, _, _ := strings.Cut(strings.TrimPrefix(d.Name, "GLIBC_2."), ".")
			if v, err := strconv.Atoi(n); err == nil {
				minor = max(minor, v)
			}
		}
	}
	if minor == 0 {
		return unknownMinor
	}
	return minor
}

// archivedObject returns an object in the form of a file that was read.
func archivedObject(o *elfobj.Object) *object {
	m := &elfobj.Mapping{
		Head:       *defaultHead,
		SONAME:     o.SONAME,
		RPath:      o.RPath,
		RunPath:    o.RunPath,
		HasRunPath: o.RunPath != "",
	}
	for _, n := range o.Needed {
		m.Needed = append(m.Needed, elfobj.Dependency{Name: n})
	}
	return &object{magic: true, head: defaultHead, segments: defaultSegments, m: m}
}
