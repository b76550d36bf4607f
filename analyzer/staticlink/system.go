package staticlink

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/symindex"
)

// System is the system on which a linker runs: a platform's libraries, which the linker finds
// by name, and files, which it finds only through a flag or a library's own path.
type System struct {
	platform *platform.Platform
	own      map[string]*Library
	byPath   map[string]*Library
	byName   map[string][]*Library
	needed   int // number of distinct names in DT_NEEDED
	definitionIndex
}

// NewSystem returns a system. If several files have the same name, the first one is used. names
// can be shared by systems whose files have the same exports; nil creates a new one. A system
// is not safe for concurrent use.
func NewSystem(p *platform.Platform, files []*Library, names *symindex.Names) *System {
	if names == nil {
		names = symindex.New(elfobj.NewNames())
	}
	s := &System{
		platform: p,
		own:      map[string]*Library{},
		byPath:   map[string]*Library{},
		byName:   map[string][]*Library{},
		definitionIndex: definitionIndex{
			names:  names,
			number: make(map[*Library]int32, len(files)+len(p.Libraries())),
		},
	}
	all := slices.Clone(files)
	for _, q := range p.Libraries() {
		l := FromPlatform(q)
		s.own[q.SONAME] = l
		all = append(all, l)
	}
	s.addLibraries(all...)
	for _, l := range files {
		if s.byPath[l.Path] == nil {
			s.byPath[l.Path] = l
		}
		for _, n := range l.names() {
			s.byName[n] = append(s.byName[n], l)
		}
	}
	return s
}

// provided returns the platform's library with a SONAME, or nil.
func (s *System) provided(soname string) *Library { return s.own[soname] }

// Named returns the library that a flag names: for -lX a library of the platform, for -l:FILE a
// file; nil if there is neither.
func (s *System) Named(soname string) *Library {
	if l := s.provided(soname); l != nil {
		return l
	}
	return s.FileNamed(soname)
}

// FileNamed returns the file with a name, whether or not a path leads to it, or nil.
func (s *System) FileNamed(name string) *Library {
	if ls := s.byName[path.Base(name)]; len(ls) > 0 {
		return ls[0]
	}
	return nil
}

// find searches a DT_NEEDED entry like GNU ld (ld/ldelf.c, ldelf_after_open): on the line, in
// -rpath-link, in the library's own path, and in the system. It returns the number of a
// library, or none.
func (s *System) find(by, n int32, line Line) int32 {
	e := &s.entries[by]
	name := e.Needed[n]
	for _, on := range [][]Named{line.Before, line.After} {
		for _, m := range on {
			if l := s.Named(m.SONAME); l != nil && l.HasName(name) {
				return s.number[l]
			}
		}
	}
	for _, dir := range line.RPathLink {
		if l := s.byPath[path.Join(dir, name)]; l != nil {
			return s.number[l]
		}
	}
	if e.resolved[n] == unasked {
		e.resolved[n] = none
		if l := s.findByPath(e.Library, name); l != nil {
			e.resolved[n] = s.number[l]
		}
	}
	return e.resolved[n]
}

// findByPath searches a DT_NEEDED entry without the line.
func (s *System) findByPath(by *Library, name string) *Library {
	for _, dir := range strings.Split(ownPath(by), ":") {
		if dir == "" {
			continue
		}
		dir, _ = elfobj.Origin(dir, path.Dir(by.Path))
		at := path.Join(dir, name)
		if l := s.byPath[at]; l != nil {
			return l
		}
		// packages of a distribution are unpacked into "/"
		if l := s.byPath[strings.TrimPrefix(at, "/")]; l != nil {
			return l
		}
	}
	return s.provided(name)
}

// ownPath returns RUNPATH, or RPATH if there is none.
func ownPath(l *Library) string {
	if l.RunPath != "" {
		return l.RunPath
	}
	return l.RPath
}

// script expands a library on the line: -lm is a linker script that adds libmvec as needed, and
// a library that glibc 2.34 merged is an empty archive.
func (s *System) script(n Named) []Named {
	switch {
	case emptyArchive(s.platform, n.SONAME):
		return nil
	case n.SONAME == "libm.so.6" && s.provided("libmvec.so.1") != nil:
		return []Named{n, {SONAME: "libmvec.so.1", AsNeeded: true}}
	}
	return []Named{n}
}
