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

// texts are the sources of a package, or why they were not read.
type texts struct {
	packages.Sources
	err error
}

// textsOf requests the sources of a top-level package of a release, each once in a session. files
// are those to read if there are too many to read all of them.
func (s *Session) textsOf(
	ctx context.Context,
	source packages.Texts,
	r *packages.Release,
	on packages.Target,
	top string,
	files []string,
) (packages.Sources, error) {
	key := textsKey{r.ID(), on.Arch, top}
	found, ok := s.texts[key]
	if !ok {
		found.Sources, found.err = source.Texts(ctx, r, on, top, nil)
	}
	missing := slices.DeleteFunc(slices.Clone(files), func(file string) bool {
		_, read := found.Texts[file]
		return read
	})
	if len(missing) > 0 && found.err == nil {
		var more packages.Sources
		if more, found.err = source.Texts(ctx, r, on, top, missing); found.Texts == nil {
			found.Texts = map[string]string{}
		}
		maps.Copy(found.Texts, more.Texts)
	}
	s.texts[key] = found
	return found.Sources, found.err
}

const (
	// maxTexts limits the packages whose sources are read for one artifact with one set of packages.
	maxTexts = 20
	// Of a package with too many sources, those that are imported are read, atOnce with a request and
	// maxSources in all.
	atOnce, maxSources = 32, 1000
)

// topTexts are the sources of a top-level package or module that were read.
type topTexts struct {
	release *packages.Release
	// others are the sources that were not read, by module; left is how many of them may be read.
	others map[string]string
	left   int
}

// mayRead reports whether a module has a source that was not read, and can be.
func (s *sources) mayRead(module string) bool {
	t := s.texts[topOf(module)]
	return t != nil && t.left > 0 && t.others[module] != ""
}

// topOf returns the top-level package of a module.
func topOf(module string) string {
	top, _, _ := strings.Cut(module, "/")
	return top
}

// readTexts requests the Python sources of packages that are imported in some runs and of which it
// is not known whether that loads a library. It returns false if there is nothing new. The sources
// of wheels that were read are known already. Of a package with many sources, it requests those
// that are imported first, because one of them may load the library.
func (s *sources) readTexts(runs []startup.Run, l *dynlink.Library) (more bool) {
	source, ok := s.session.judge.options.Source.(packages.Texts)
	if !ok {
		return false
	}
	var certain, perhaps []string
	for _, r := range runs {
		for _, e := range r.Events {
			switch {
			case e.Load || e.Name == "" || s.unread(e.Name, l) == "":
			case s.mayRead(e.Name) && e.May:
				perhaps = append(perhaps, e.Name)
			case s.mayRead(e.Name):
				certain = append(certain, e.Name)
			default:
				if of := s.releaseOf(topOf(e.Name), l); of != nil {
					more = s.addTexts(source, of, topOf(e.Name)) || more
				}
			}
		}
	}
	if len(certain) == 0 {
		certain = perhaps
	}
	return s.addSome(source, certain[:min(len(certain), atOnce)]) || more
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

// addTexts reads the sources of a package of a release. It returns false if they were requested
// before or cannot be read.
func (s *sources) addTexts(source packages.Texts, r *packages.Release, top string) bool {
	if _, again := s.texts[top]; again || len(s.texts) >= maxTexts {
		return false
	}
	s.texts[top] = nil
	read, err := s.session.textsOf(s.ctx, source, r, s.on, top, nil)
	if err != nil || len(read.Texts)+len(read.Others) == 0 {
		return false
	}
	t := &topTexts{r, map[string]string{}, maxSources}
	for _, file := range read.Others {
		t.others[startup.ModuleOf(file)] = file
	}
	s.texts[top] = t
	s.addModules(read.Texts)
	return true
}

// addSome reads the sources of modules of packages with many. Those that cannot be read are not
// requested again.
func (s *sources) addSome(source packages.Texts, modules []string) (more bool) {
	files := map[string][]string{} // by top-level package
	for _, name := range modules {
		top := topOf(name)
		if t := s.texts[top]; t.left > 0 && !slices.Contains(files[top], t.others[name]) {
			files[top] = append(files[top], t.others[name])
			t.left--
		}
	}
	for _, top := range slices.Sorted(maps.Keys(files)) {
		t := s.texts[top]
		read, err := s.session.textsOf(s.ctx, source, t.release, s.on, top, files[top])
		if err != nil {
			t.left = 0
			continue
		}
		texts := map[string]string{}
		for _, file := range files[top] {
			text, ok := read.Texts[file]
			if !ok { // it stays unread, and is not requested again
				t.left = 0
				continue
			}
			texts[file] = text
			delete(t.others, startup.ModuleOf(file))
		}
		s.addModules(texts)
		more = more || len(texts) > 0
	}
	return more
}

// addModules adds sources to a program of this set alone, because those of another version of a
// package may differ.
func (s *sources) addModules(texts map[string]string) {
	own := *s.starts
	if s.starts == s.session.starts {
		own.program = s.program.Program().Index()
	}
	on := startup.System{Name: "linux", Machine: s.set.platform.Arch}
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		if name, m := startup.ReadModule(file, texts[file], on); m != nil && !own.program.Has(name) {
			own.program.Add(name, m)
		}
	}
	own.runs, own.opened = map[string][]startup.Run{}, map[string]openedAt{}
	s.starts = &own
	clear(s.imports)
}

// published returns the library of a release of the set that Python imports as a module whose
// sources were read, and its index; nil if there is none.
func (s *sources) published(module string) (r *packages.Release, at int) {
	var read []*packages.Release
	for _, t := range s.texts {
		if t != nil {
			read = append(read, t.release)
		}
	}
	for r := range s.set.All() {
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
	m := s.readLibrary(r, at)
	if !m.Known || m.Imports == nil {
		return false, m.Path + " was not read"
	}
	root := dynlink.OfPackage(r, m)
	root.Site = s.session.libraries.site()
	return s.loadedWith(root, m.Imports.Any(loadsOthers), s.session.libraries.ofRelease(r), l)
}

// readLibrary returns a library of a release, read if it was not and is not too large; otherwise it
// stays Unread.
func (s *sources) readLibrary(r *packages.Release, at int) *packages.Library {
	m := &r.Libraries[at]
	if !m.Unread {
		return m
	}
	reader, ok := s.session.judge.source.(packages.Reader)
	if d := s.session.judge.demand; d != nil {
		reader, ok = d.Reader, true
	}
	if !ok {
		return m
	}
	read, err := reader.Read(s.ctx, r, s.on, func(path string) int64 {
		if path == m.Path {
			return worthIndirect
		}
		return 0
	})
	if err != nil {
		return m
	}
	return &read.Libraries[at]
}
