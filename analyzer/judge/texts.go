package judge

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/startup"
)

// textsKey identifies the sources of a top-level package of a release.
type textsKey struct {
	packages.ID
	arch, top string
}

// texts are sources by path, or why they were not read.
type texts struct {
	files map[string]string
	err   error
}

// textsOf requests the sources of a top-level package of a release once in a session.
func (s *Session) textsOf(
	ctx context.Context,
	source packages.Texts,
	r *packages.Release,
	on packages.Target,
	top string,
) (map[string]string, error) {
	key := textsKey{r.ID(), on.Arch, top}
	found, ok := s.texts[key]
	if !ok {
		found.files, found.err = source.Texts(ctx, r, on, top)
		s.texts[key] = found
	}
	return found.files, found.err
}

// maxTexts limits the packages whose sources are read for one artifact with one set of packages.
const maxTexts = 20

// readTexts requests the Python sources of packages that are imported in some runs and of which it
// is not known whether that loads a library. It returns false if there is nothing new. In an
// environment the sources of all wheels that are read are known already.
func (s *sources) readTexts(runs []startup.Run, l *dynlink.Library) (more bool) {
	source, ok := s.session.judge.options.Source.(packages.Texts)
	if !ok || s.session.judge.environment != nil {
		return false
	}
	for _, r := range runs {
		for _, e := range r.Events {
			if e.Load || e.Name == "" || s.unread(e.Name, l) == "" {
				continue
			}
			top, _, _ := strings.Cut(e.Name, "/")
			if of := s.releaseOf(top, l); of != nil {
				more = s.addTexts(source, of, top) || more
			}
		}
	}
	return more
}

// releaseOf returns the release of the set whose sources decide what the import of a top-level
// package does to a library: the one that has the package, of several that of the library.
func (s *sources) releaseOf(top string, l *dynlink.Library) *packages.Release {
	own := s.set.Release(l.Package.Name)
	all := s.providing(top)
	if len(all) == 0 || slices.Contains(all, own) {
		return own
	}
	return all[0]
}

// addTexts reads the sources of a package of a release into a program of this set alone, because
// those of another version may differ. It returns false if they were requested before or cannot be
// read.
func (s *sources) addTexts(source packages.Texts, r *packages.Release, top string) bool {
	if _, again := s.texts[top]; again || len(s.texts) >= maxTexts {
		return false
	}
	s.texts[top] = nil
	texts, err := s.session.textsOf(s.ctx, source, r, s.on, top)
	if err != nil || len(texts) == 0 {
		return false
	}
	s.texts[top] = r
	program := s.program.Program()
	on := startup.System{Name: "linux", Machine: s.set.platform.Arch}
	for file, text := range texts {
		if name, m := startup.ReadModule(file, text, on); m != nil && program[name] == nil {
			program[name] = m
		}
	}
	own := *s.starts
	own.program = program.Index()
	own.runs, own.opened = map[string][]startup.Run{}, map[string][]startup.Run{}
	s.starts = &own
	return true
}

// published returns the library of a release of the set that Python imports as a module whose
// sources were read, and its index; nil if there is none.
func (s *sources) published(module string) (r *packages.Release, at int) {
	read := slices.Collect(maps.Values(s.texts))
	for _, r := range s.set.Releases {
		if !slices.Contains(read, r) {
			continue
		}
		for i := range r.Libraries {
			if facts.ModuleName(r.Libraries[i].Path) == module {
				return r, i
			}
		}
	}
	return nil, 0
}

// publishedLoads is importLoads for a module of a release.
func (s *sources) publishedLoads(
	r *packages.Release,
	at int,
	l *dynlink.Library,
) (loads bool, undecided string) {
	m := &r.Libraries[at]
	if m.Unread {
		reader, ok := s.session.judge.source.(packages.Reader)
		if d := s.session.judge.demand; d != nil {
			reader, ok = d.Reader, true
		}
		if ok {
			read, err := reader.Read(s.ctx, r, s.on, func(path string) int64 {
				if path == m.Path {
					return worthIndirect
				}
				return 0
			})
			if err == nil {
				m = &read.Libraries[at]
			}
		}
	}
	if !m.Known || m.Imports == nil {
		return false, m.Path + " was not read"
	}
	root := dynlink.OfPackage(r, m)
	root.Site = s.session.libraries.site()
	return s.loadedWith(root, m.Imports.Any(loadsOthers), s.session.libraries.ofRelease(r), l)
}
