package dyld

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/platform/macos"
)

// Found is an image of a load.
type Found struct {
	Image    *Image
	NeededBy *Image          // nil for the root
	Needed   machoobj.Needed // the load command of NeededBy; zero for the root
	By       dynlink.FoundBy
}

// Ways in which dyld finds an image, in addition to dynlink.ByRunPath and dynlink.ByPlatform.
const (
	ByPath     dynlink.FoundBy = "path"           // an absolute path, or one with @loader_path
	ByLoaded   dynlink.FoundBy = "already loaded" // its path or install name is that of a loaded image
	ByFallback dynlink.FoundBy = "fallback"       // by its file name in /usr/lib
)

// Missing is a load command whose library is not found.
type Missing struct {
	Needed   machoobj.Needed
	NeededBy *Image
	Searched []string // paths, in the order of the search
	Lacks    []string // architectures of a file at one of the paths; nil if there is none
	NoPath   bool     // it begins with @rpath/ and no image of the chain has a run path
	Chain    []*Image // from the root to NeededBy
	// Imported is the library with this install name of a package that the artifact may import before,
	// which is used if it is loaded then; nil if there is none.
	Imported *Image
}

// Loading is a root image with its dependencies, in the order in which dyld loads them.
type Loading struct {
	Root    *Image
	Found   []Found
	Missing []Missing // without weak libraries, which may be absent

	main *Image // the main executable, if it is an image of the environment
	// images of Environment.Preloaded, with their dependencies
	preloaded  []*Image
	dependents map[*Image][]*Image
}

// Dependent returns the image that the load found for the n-th needed library of an image, or nil.
func (l *Loading) Dependent(by *Image, n int) *Image {
	if d := l.dependents[by]; n < len(d) {
		return d[n]
	}
	return nil
}

// Has reports whether the load contains an image.
func (l *Loading) Has(i *Image) bool { return l.dependents[i] != nil || l.find(i) >= 0 }

func (l *Loading) find(i *Image) int {
	return slices.IndexFunc(l.Found, func(f Found) bool { return f.Image == i })
}

// Chain returns the images from the root to an image, each needing the next; nil if the load does
// not contain it.
func (l *Loading) Chain(to *Image) []*Image {
	at := l.find(to)
	if at < 0 {
		return nil
	}
	if by := l.Found[at].NeededBy; by != nil {
		return append(l.Chain(by), to)
	}
	return []*Image{to}
}

// LoadAll loads every image that no other image loads and, of images that need each other, the
// first. Each image of the environment is in at least one of the loads.
func (e *Environment) LoadAll() []*Loading {
	if e.all != nil {
		return e.all
	}
	loaded := map[*Image]bool{}
	own := make([]*Loading, 0, len(e.images))
	for _, i := range e.images {
		l := e.Load(i)
		own = append(own, l)
		for _, f := range l.Found[1:] {
			loaded[f.Image] = true
		}
	}
	e.all = []*Loading{}
	have := map[*Image]bool{}
	take := func(l *Loading) {
		e.all = append(e.all, l)
		for _, f := range l.Found {
			have[f.Image] = true
			e.users[f.Image] = append(e.users[f.Image], l)
		}
	}
	for _, l := range own {
		// Python also imports a module on its own if another library needs it.
		if !loaded[l.Root] || l.Root.Module() || l.Root.Object.Type == machoobj.Executable {
			take(l)
		}
	}
	for _, l := range own {
		if !have[l.Root] {
			take(l)
		}
	}
	return e.all
}

// Load loads an image as dlopen does, or, for an executable, as the kernel does.
func (e *Environment) Load(root *Image) *Loading {
	if l := e.loads[root]; l != nil {
		return l
	}
	l := &Loading{Root: root, dependents: map[*Image][]*Image{}}
	if root.Object.Type == machoobj.Executable {
		l.main = root
	}
	l.Found = append(l.Found, Found{Image: root})
	e.loads[root] = l // set first, because preload may load the same root again
	e.preload(l)
	e.dependents(l, []*Image{root})
	return l
}

// preload adds the images that are loaded before the root. An image that lacks a library fails to
// load and is ignored.
func (e *Environment) preload(l *Loading) {
	if e.Preloaded == nil {
		return
	}
	for _, at := range e.Preloaded(l.Root) {
		i := e.at(at)
		if i == nil || i.Object == nil || i == l.Root || i.Module() {
			continue
		}
		first := e.Load(i)
		if len(first.Missing) > 0 {
			continue
		}
		for _, f := range first.Found {
			if f.Image != l.Root && !slices.Contains(l.preloaded, f.Image) {
				l.preloaded = append(l.preloaded, f.Image)
				if of := first.dependents[f.Image]; of != nil && l.dependents[f.Image] == nil {
					l.dependents[f.Image] = of
				}
			}
		}
	}
}

// dependents loads the libraries that the last image of a chain needs, then theirs.
func (e *Environment) dependents(l *Loading, chain []*Image) {
	by := chain[len(chain)-1]
	if by.Object == nil || l.dependents[by] != nil {
		return
	}
	l.dependents[by] = make([]*Image, len(by.Object.Needed))
	var fresh []*Image
	for n, needed := range by.Object.Needed {
		s := &search{env: e, loading: l, chain: chain}
		i, how := s.find(needed.Path)
		if i == nil {
			l.dependents[by][n] = e.imported(needed.Path)
			if !needed.Weak {
				l.Missing = append(l.Missing, Missing{Needed: needed, NeededBy: by, NoPath: s.noPath,
					Searched: s.tried, Lacks: s.lacks, Chain: slices.Clone(chain),
					Imported: l.dependents[by][n]})
			}
			continue
		}
		l.dependents[by][n] = i
		if l.find(i) < 0 {
			l.Found = append(l.Found, Found{Image: i, NeededBy: by, Needed: needed, By: how})
			fresh = append(fresh, i)
		}
	}
	for _, i := range fresh {
		e.dependents(l, append(slices.Clone(chain), i))
	}
}

// search looks for the library of one load command.
type search struct {
	env     *Environment
	loading *Loading
	chain   []*Image // from the root to the image with the load command

	tried  []string
	lacks  []string
	noPath bool
}

// is reports whether a path in a load command is the path or the install name of the image.
func (i *Image) is(library string) bool {
	return i.Path == library || i.Object != nil && i.Object.InstallName == library && library != ""
}

const (
	rpath      = "@rpath/"
	loaderPath = "@loader_path/"
	mainPath   = "@executable_path/"
)

// find returns the image for a path in a load command, or nil.
func (s *search) find(library string) (*Image, dynlink.FoundBy) {
	for _, f := range s.loading.Found {
		if f.Image.is(library) {
			return f.Image, ByLoaded
		}
	}
	for _, i := range s.loading.preloaded {
		if i.is(library) {
			return i, ByLoaded
		}
	}
	by := s.chain[len(s.chain)-1]
	if rest, ok := strings.CutPrefix(library, rpath); ok {
		if i := s.runPaths(rest); i != nil {
			return i, dynlink.ByRunPath
		}
	} else if at, ok := s.expand(library, by); ok {
		if i, how := s.at(at); i != nil {
			return i, how
		}
	}
	// For files built with older SDKs, /usr/local/lib and /usr/lib are searched last, by file name.
	if at, ok := macos.Fallback(library); ok && by.Object.SDK < lastFallback {
		return s.env.systemImage(at), ByFallback
	}
	return nil, ""
}

// lastFallback is the first SDK for which dyld does not search by file name (dyld,
// common/MachOFile.cpp, sdkOnOrAfter2022). The source marks the number as one to be checked, so
// SDKs 13.x are uncertain; files built with them are assumed to be searched for, as are files
// without an SDK.
const lastFallback machoobj.Version = 14 << 16

// runPaths tries the run paths of the image, of the image that loaded it, and so on.
func (s *search) runPaths(rest string) *Image {
	s.noPath = true
	for _, c := range slices.Backward(s.chain) {
		for _, r := range c.Object.RunPaths {
			s.noPath = false
			dir, ok := s.expand(r+"/", c)
			if !ok {
				continue
			}
			if i, _ := s.at(path.Join(dir, rest)); i != nil {
				return i
			}
		}
	}
	return nil
}

// expand makes a path with @loader_path or @executable_path absolute. ok is false for a path
// relative to the working directory or to an unknown executable.
func (s *search) expand(p string, of *Image) (string, bool) {
	if rest, ok := strings.CutPrefix(p, loaderPath); ok {
		return path.Join(path.Dir(of.Path), rest), true
	}
	if rest, ok := strings.CutPrefix(p, mainPath); ok {
		if s.loading.main == nil {
			s.tried = append(s.tried, p)
			return "", false
		}
		return path.Join(path.Dir(s.loading.main.Path), rest), true
	}
	if !strings.HasPrefix(p, "/") {
		s.tried = append(s.tried, p)
		return "", false
	}
	return path.Clean(p), true
}

// at returns the image at an absolute path.
func (s *search) at(p string) (*Image, dynlink.FoundBy) {
	if i := s.env.at(p); i != nil {
		return i, ByPath
	}
	if macos.System(p) && !macos.Aborts(p) && macos.Library(p).Known &&
		!macos.Library(p).After(s.env.OS) {
		return s.env.systemImage(p), dynlink.ByPlatform
	}
	if strings.HasPrefix(p, "/System/Library/") && !macos.Library(p).Known {
		return s.env.systemImage(p), dynlink.ByPlatform // the tables do not list private libraries
	}
	s.tried = append(s.tried, p)
	if lacks := s.env.Lacks(p); lacks != nil && s.lacks == nil {
		s.lacks = lacks
	}
	return nil, ""
}

// imported returns the image with an install name in a package that the artifact may import before
// its modules are loaded; nil if there is none, or if several packages have one.
func (e *Environment) imported(library string) (only *Image) {
	for _, i := range e.images {
		if i.imported && i.is(library) {
			if only != nil {
				return nil
			}
			only = i
		}
	}
	return only
}
