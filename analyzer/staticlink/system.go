package staticlink

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/platform"
)

// System is where a linker runs: a platform's own libraries, which it finds by itself, and files that it finds only where a flag or a library's own path leads.
type System struct {
	platform *platform.Platform
	own      map[string]*Library
	byPath   map[string]*Library
	byName   map[string][]*Library
	asked    answers
}

// NewSystem puts files beside what a platform provides. Where two answer to one name, the first given is meant.
func NewSystem(p *platform.Platform, files []*Library) *System {
	s := &System{platform: p, own: map[string]*Library{}, byPath: map[string]*Library{}, byName: map[string][]*Library{}}
	for _, l := range files {
		s.learn(l)
		if s.byPath[l.Path] == nil {
			s.byPath[l.Path] = l
		}
		for _, n := range l.names() {
			s.byName[n] = append(s.byName[n], l)
		}
	}
	return s
}

// provided is the platform's library of a SONAME, nil where it has none.
func (s *System) provided(soname string) *Library {
	l, seen := s.own[soname]
	if !seen {
		if q := s.platform.Library(soname); q != nil {
			l = FromPlatform(q)
		}
		s.own[soname] = l
	}
	return l
}

// Named finds what a flag names: -lX among the platform's libraries, -l:FILE among the files; nil where it is neither.
func (s *System) Named(soname string) *Library {
	if l := s.provided(soname); l != nil {
		return l
	}
	return s.Elsewhere(soname)
}

// Elsewhere is a file that answers to a name though no path leads to it; nil where there is none.
func (s *System) Elsewhere(name string) *Library {
	if ls := s.byName[path.Base(name)]; len(ls) > 0 {
		return ls[0]
	}
	return nil
}

// needed finds a DT_NEEDED entry as GNU ld does (ld/ldelf.c, ldelf_after_open): what is on the line, -rpath-link, the asking library's own path, the system's.
func (s *System) needed(name string, by *Library, line Line) *Library {
	for _, n := range slices.Concat(line.Before, line.After) {
		if l := s.Named(n.SONAME); l != nil && l.AnswersTo(name) {
			return l
		}
	}
	for _, dir := range line.RPathLink {
		if l := s.byPath[path.Join(dir, name)]; l != nil {
			return l
		}
	}
	for _, dir := range strings.Split(ownPath(by), ":") {
		if l := s.byPath[path.Join(origin(dir, by), name)]; dir != "" && l != nil {
			return l
		}
	}
	return s.provided(name)
}

// ownPath is RUNPATH, or RPATH where there is none.
func ownPath(l *Library) string {
	if l.RunPath != "" {
		return l.RunPath
	}
	return l.RPath
}

// origin expands $ORIGIN.
func origin(dir string, of *Library) string {
	dir = strings.Replace(dir, "${ORIGIN}", "$ORIGIN", 1)
	if rest, ok := strings.CutPrefix(dir, "$ORIGIN"); ok {
		return path.Join(path.Dir(of.Path), rest)
	}
	return dir
}

// script expands a name on the line: -lm is a linker script with libmvec as needed, and a library that glibc 2.34 merged is an empty archive.
func (s *System) script(n Named) []Named {
	switch {
	case emptyArchive(s.platform, n.SONAME):
		return nil
	case n.SONAME == "libm.so.6" && s.provided("libmvec.so.1") != nil:
		return []Named{n, {SONAME: "libmvec.so.1", AsNeeded: true}}
	}
	return []Named{n}
}

// older tells whether a platform's glibc comes before a version, "2.34".
func older(p *platform.Platform, version string) bool {
	a, b, ok := release(p.LibcVersion)
	x, y, also := release(version)
	return ok && also && (a < x || a == x && b < y)
}

// release reads the first two numbers of a glibc version.
func release(version string) (major, minor int, ok bool) {
	one, rest, _ := strings.Cut(version, ".")
	two, _, _ := strings.Cut(rest, ".")
	major, err := strconv.Atoi(one)
	if err != nil {
		return 0, 0, false
	}
	minor, err = strconv.Atoi(two)
	return major, minor, err == nil
}
