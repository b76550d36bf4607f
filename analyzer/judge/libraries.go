package judge

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/staticlink"
	"github.com/compat-app/compat/analyzer/symindex"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// libraries converts objects, releases, platforms and folders to the libraries of dynlink and
// staticlink. Each is converted once for all scenarios.
type libraries struct {
	names   *symindex.Names // symbols that the objects import
	folders []Folder        // of LD_LIBRARY_PATH
	conda   *Conda          // nil if there is none

	objects   map[*facts.Object]*dynlink.Library
	installed *packageLibraries
	platforms map[*platform.Platform][]*dynlink.Library
	// Of the folders and the conda environment, by architecture, and of unpacked systems, by name and
	// architecture.
	files     map[string]*dynlink.Files
	providers map[environmentKey]*dynlink.Providers

	linkedObjects  map[*facts.Object]*staticlink.Library
	linkedReleases map[*packages.Release][]*staticlink.Library
}

// environmentKey identifies an artifact on a platform with a package set.
type environmentKey struct {
	artifact *facts.Artifact
	platform *platform.Platform
	set      *packages.Set
}

func newLibraries(o Options, names *symindex.Names) *libraries {
	return &libraries{
		names:          names,
		folders:        o.LibraryPath,
		conda:          o.Conda,
		objects:        map[*facts.Object]*dynlink.Library{},
		installed:      newPackageLibraries(),
		platforms:      map[*platform.Platform][]*dynlink.Library{},
		files:          map[string]*dynlink.Files{},
		providers:      map[environmentKey]*dynlink.Providers{},
		linkedObjects:  map[*facts.Object]*staticlink.Library{},
		linkedReleases: map[*packages.Release][]*staticlink.Library{},
	}
}

// site returns where wheels are installed, relative to "/" or to the conda environment.
func (ls *libraries) site() string {
	if ls.conda == nil {
		return dynlink.Site
	}
	return ls.conda.Site
}

// inRoot returns where a file is in an unpacked system that it was given with, relative to "/"; ""
// for a file that is not below its folder.
func inRoot(f *facts.Artifact, p *platform.Platform) string {
	at, ok := strings.CutPrefix(f.Path, p.Name+"/")
	if p.Name == "." {
		at, ok = f.Path, !path.IsAbs(f.Path)
	}
	if !ok || f.Kind != facts.KindObject || p.Kind != platform.System {
		return ""
	}
	return at
}

// ofObject returns the library for an object of an artifact.
func (ls *libraries) ofObject(f *facts.Artifact, o *facts.Object) *dynlink.Library {
	l := ls.objects[o]
	if l == nil {
		l = dynlink.FromObject(o.Path, o.Object)
		l.Links = o.Links
		switch {
		case f.Kind == facts.KindWheel:
			l.Site = ls.site()
			if f.Wheel != nil {
				l.Wheel = packages.ID{Name: project(f), Version: f.Wheel.Version}
			}
		case f.Conda():
			l.RPath, l.RunPath = ls.inPrefix(l.RPath), ls.inPrefix(l.RunPath)
		}
		ls.objects[o] = l
	}
	return l
}

// placeholder matches the prefix in which a conda package was built, in a run path. The installer
// replaces it with the prefix of the environment.
var placeholder = lazyregexp.New(`[^:]*(_placehold[a-z_]*|/opt/anaconda1anaconda2anaconda3)`)

// inPrefix returns a run path with absolute paths in a conda environment as paths below "/", where
// the objects of its packages are.
func (ls *libraries) inPrefix(paths string) string {
	if !strings.Contains(paths, "/") {
		return paths
	}
	list := strings.Split(placeholder.ReplaceAllString(paths, ""), ":")
	for i, p := range list {
		if ls.conda == nil {
			break
		}
		if below, ok := strings.CutPrefix(p, ls.conda.Path); ok && (below == "" || below[0] == '/') {
			list[i] = path.Clean("/" + below)
		}
	}
	return strings.Join(list, ":")
}

// ofRelease returns the libraries of a release.
func (ls *libraries) ofRelease(r *packages.Release) []*dynlink.Library {
	return ls.installed.of(r, ls.site())
}

// packageLibraries are the libraries of releases.
type packageLibraries struct {
	libraries map[*packages.Release][]*dynlink.Library // those that were used
	named     map[string][]packageLibrary              // by SONAME and file name
	known     packages.Union                           // releases in named
}

// packageLibrary is a library of a release, by its index.
type packageLibrary struct {
	release *packages.Release
	library int
}

func newPackageLibraries() *packageLibraries {
	return &packageLibraries{
		libraries: map[*packages.Release][]*dynlink.Library{},
		named:     map[string][]packageLibrary{},
	}
}

// of returns the libraries of a release that is installed in a folder.
func (x *packageLibraries) of(r *packages.Release, site string) []*dynlink.Library {
	out, ok := x.libraries[r]
	if !ok {
		for i := range r.Libraries {
			l := dynlink.OfPackage(r, &r.Libraries[i])
			l.Site = site
			out = append(out, l)
		}
		x.libraries[r] = out
	}
	return out
}

// add adds the names of the libraries of the releases in a set.
func (x *packageLibraries) add(s *packages.Set) {
	for _, r := range x.known.Add(s) {
		for i := range r.Libraries {
			l := &r.Libraries[i]
			base := path.Base(l.Path)
			x.named[base] = append(x.named[base], packageLibrary{r, i})
			if l.SONAME != "" && l.SONAME != base {
				x.named[l.SONAME] = append(x.named[l.SONAME], packageLibrary{r, i})
			}
		}
	}
}

// ofPlatform returns the libraries of a platform. An unpacked system contains only libraries
// that were looked up, so the dependencies of the given libraries are looked up first; later
// ones are appended.
func (ls *libraries) ofPlatform(p *platform.Platform, given []*dynlink.Library) []*dynlink.Library {
	out, ok := ls.platforms[p]
	if ok && p.Kind != platform.System {
		return out
	}
	if p.Kind == platform.System {
		for _, l := range append(ls.inFolders(given, p), given...) {
			for _, n := range l.Needed {
				p.Library(n)
			}
		}
	}
	for _, l := range p.Libraries() {
		if !slices.ContainsFunc(out, func(x *dynlink.Library) bool { return x.SONAME == l.SONAME }) {
			out = append(out, dynlink.OfPlatform(p, l))
		}
	}
	ls.platforms[p] = out
	return out
}

// providersIn returns the Providers for an environment. Those of environments in which a fix
// was tried are dropped when another is created, because they are rarely used again.
func (ls *libraries) providersIn(
	key environmentKey,
	all []*dynlink.Library,
	keep func(environmentKey) bool,
) *dynlink.Providers {
	known, ok := ls.providers[key]
	if !ok {
		maps.DeleteFunc(
			ls.providers,
			func(old environmentKey, _ *dynlink.Providers) bool { return !keep(old) },
		)
		known = dynlink.NewProviders(ls.names, all)
		ls.providers[key] = known
	}
	return known
}

// linkedObject returns the staticlink library for an object of an artifact.
func (ls *libraries) linkedObject(o *facts.Object) *staticlink.Library {
	if ls.linkedObjects[o] == nil {
		ls.linkedObjects[o] = staticlink.FromObject(o.Path, o.Object)
	}
	return ls.linkedObjects[o]
}

// linkedRelease returns the staticlink libraries of a release.
func (ls *libraries) linkedRelease(r *packages.Release) []*staticlink.Library {
	out, ok := ls.linkedReleases[r]
	if !ok {
		for i := range r.Libraries {
			out = append(out, staticlink.FromPackage(&r.Libraries[i]))
		}
		ls.linkedReleases[r] = out
	}
	return out
}

// addFolders adds the files in LD_LIBRARY_PATH, in the conda environment and in an unpacked system
// to an environment.
func (ls *libraries) addFolders(
	e *dynlink.Environment,
	f *facts.Artifact,
	in process,
	p *platform.Platform,
	libraryPath []string,
) {
	switch {
	case ls.conda != nil && in.host == facts.HostPython:
		for _, dir := range ls.conda.RPath {
			e.ProgramPath = append(e.ProgramPath, "/"+dir)
		}
	case f.Conda() && !in.own:
		e.ProgramPath = []string{"/" + condaLibraries}
	}
	if len(ls.folders) > 0 || ls.conda != nil || p.Kind == platform.System {
		e.Files, e.LibraryPath = ls.filesFor(p), slices.Concat(libraryPath, p.LibraryPath)
	}
}

// condaLibraries is the folder that the DT_RPATH of conda's programs names, python among them:
// conda's compilers are configured to write a DT_RPATH, and conda-build makes it relative.
const condaLibraries = "lib"

// filesFor returns the files of the folders, and of a platform that is an unpacked system. Each is
// read once.
func (ls *libraries) filesFor(p *platform.Platform) *dynlink.Files {
	key := p.Arch
	if p.Kind == platform.System {
		key = p.Name + "/" + p.Arch
	}
	if ls.files[key] == nil {
		ls.files[key] = dynlink.NewFiles(func(at string) *dynlink.Library { return ls.file(at, p) })
	}
	return ls.files[key]
}

// file returns the library at a path in LD_LIBRARY_PATH, relative to the conda environment, or in
// an unpacked system. The loader ignores files for another machine.
func (ls *libraries) file(p string, on *platform.Platform) *dynlink.Library {
	of := func(o *elfobj.Object, shown string) *dynlink.Library {
		if o == nil || o.Arch() != on.Arch {
			return nil
		}
		return dynlink.InFolder(shown, o)
	}
	for _, f := range ls.folders {
		if path.Dir(p) == path.Clean(f.Path) {
			if l := of(f.Open(path.Base(p)), p); l != nil {
				return l
			}
		}
	}
	k := ls.conda
	if k == nil {
		return of(on.Open(p), p)
	}
	below := strings.TrimPrefix(p, "/")
	l := of(k.Open(below), path.Join(k.Path, below))
	if l != nil {
		if owner := k.Owner(below); owner != "" {
			l.Origin = owner
		}
	}
	return l
}

// inFolders returns the libraries in the folders that some libraries need, directly or
// indirectly.
func (ls *libraries) inFolders(
	given []*dynlink.Library,
	on *platform.Platform,
) []*dynlink.Library {
	var dirs []string
	for _, f := range ls.folders {
		dirs = append(dirs, f.Path)
	}
	if ls.conda != nil {
		for _, dir := range ls.conda.RPath {
			dirs = append(dirs, "/"+dir)
		}
	}
	var out []*dynlink.Library
	seen := map[string]bool{}
	for queue := slices.Clone(given); len(dirs) > 0 && len(queue) > 0; queue = queue[1:] {
		for _, n := range queue[0].Needed {
			if seen[n] || strings.Contains(n, "/") {
				continue
			}
			seen[n] = true
			for _, dir := range dirs {
				if l := ls.filesFor(on).At(path.Join(dir, n)); l != nil {
					out, queue = append(out, l), append(queue, l)
				}
			}
		}
	}
	return out
}
