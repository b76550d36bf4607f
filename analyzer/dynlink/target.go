package dynlink

import (
	"fmt"
	"path"
	"strconv"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform"
)

// Platform is the root as a target on an architecture: the libraries that its loader finds by their
// names alone, and what those need. name is what reports call it. It returns an error where the
// root has no loader for the architecture.
func (l *Linker) Platform(name, arch string) (*platform.Platform, error) {
	r := &run{store: l.store, linker: l, answer: &Answer{}}
	r.main = &loaded{object: &object{m: &elfobj.Mapping{}}}
	t := &target{linker: l, run: r, by: map[string]*loaded{"": r.main}}
	libc := "glibc"
	var version string
	switch gnu, own := interpreters[arch], muslPath(arch); {
	case l.exists(gnu):
		g := l.loader(arch)
		if g.object == nil {
			return nil, fmt.Errorf("%s, the loader for %s, can't be read", gnu, arch)
		}
		g.kind = g.object.head
		t.search = func(name string, by *loaded) (*object, string) {
			if path.Base(g.path) == name {
				return g.object, g.path
			}
			o, found, _, _ := g.search(r, name, by, nil)
			return o, found
		}
		version = "2." + strconv.Itoa(g.minor)
	case l.exists(own):
		libc, version = "musl", "1.2"
		o, err := l.store.open(own)
		if err != nil || o.m == nil {
			return nil, fmt.Errorf("%s, the loader for %s, can't be read", own, arch)
		}
		u := &musl{
			arch: muslArch(arch),
			kind: o.head,
			self: &loaded{object: o, path: own, shown: own, foundBy: foundLoader},
		}
		u.path = u.folders(r)
		t.search = func(name string, by *loaded) (*object, string) {
			if reservedByMusl(name) != "" {
				return o, own
			}
			o, found, _ := u.search(r, name, by, new([]string))
			return o, found
		}
	default:
		return nil, fmt.Errorf("there is no loader for %s, neither %s nor %s", arch, gnu, own)
	}
	return platform.Unpacked(name, arch, libc, version, t.find), nil
}

// target finds libraries in a root for no program in particular.
type target struct {
	linker *Linker
	run    *run
	by     map[string]*loaded // libraries that were found, by the name asked for
	search func(name string, by *loaded) (*object, string)
}

// find is platform.Unpacked's question.
func (t *target) find(soname, by string) *elfobj.Object {
	asks := t.by[by]
	if asks == nil || soname == "" {
		return nil
	}
	o, found := t.search(soname, asks)
	if o == nil || o.m == nil {
		return nil
	}
	read := ReadObject(t.linker.store.root, rooted(found))
	if read == nil {
		return nil
	}
	t.by[soname] = &loaded{object: o, path: found, shown: found, by: asks}
	return read
}
