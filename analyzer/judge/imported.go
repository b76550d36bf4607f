package judge

import (
	"slices"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// promoted lists the libraries that a package loads with RTLD_GLOBAL when it is imported, by
// SONAME. Its other libraries are loaded with RTLD_LOCAL, as Python's import does. All
// libraries of a package that is not listed count as global.
//
// torch: torch/__init__.py, _load_global_deps. libtorch_global_deps.so has no symbols; those of
// its dependencies (CUDA, OpenMP) become global.
var promoted = map[string][]string{"torch": {"libtorch_global_deps.so"}}

// importedFirst reports whether a package is imported before the artifact.
func (s *Session) importedFirst(name string, in fix.Scenario) bool {
	return !slices.Contains(in.ImportedLater, name) &&
		slices.ContainsFunc(
			s.judge.options.First,
			func(n string) bool { return pkgmeta.Normalize(n) == name },
		)
}

// imported are the libraries of packages that are imported before the artifact.
type imported struct {
	all    []*dynlink.Library
	local  map[*dynlink.Library]bool
	global []string // SONAMEs that are opened with RTLD_GLOBAL
}

func (i *imported) add(name string, provided []*dynlink.Library) {
	i.all = append(i.all, provided...)
	names, known := promoted[name]
	if !known {
		return
	}
	if i.local == nil {
		i.local = map[*dynlink.Library]bool{}
	}
	for _, l := range provided {
		i.local[l] = true
	}
	i.global = append(i.global, names...)
}

// loaded returns the libraries in the process, in load order, and those that are not in the
// global scope. The dependencies of a promoted library are global too, also in other packages.
func (i *imported) loaded(
	libraries []*dynlink.Library,
) (first []*dynlink.Library, local map[*dynlink.Library]bool) {
	if len(i.global) == 0 {
		return i.all, i.local
	}
	byName := map[string]*dynlink.Library{}
	for _, l := range libraries {
		if byName[l.SONAME] == nil && l.Kind == dynlink.FromPackage {
			byName[l.SONAME] = l
		}
	}
	seen := map[*dynlink.Library]bool{}
	queue := i.global
	for len(queue) > 0 {
		l := byName[queue[0]]
		queue = queue[1:]
		if l == nil || seen[l] {
			continue
		}
		seen[l] = true
		first = append(first, l)
		delete(i.local, l)
		queue = append(queue, l.Needed...)
	}
	for _, l := range i.all {
		if !seen[l] {
			first = append(first, l)
		}
	}
	return first, i.local
}

// First returns the packages that are imported before the artifact, as the user specified them.
func (s *Session) First() []string { return s.judge.options.First }

// Folders returns the folders of LD_LIBRARY_PATH.
func (s *Session) Folders() []Folder { return s.judge.options.LibraryPath }

// LibraryPath returns the folders of LD_LIBRARY_PATH in a scenario.
func (s *Session) LibraryPath(in fix.Scenario) []string {
	var out []string
	for _, f := range s.judge.options.LibraryPath {
		if !slices.Contains(in.RemovedFolders, f.Path) {
			out = append(out, f.Path)
		}
	}
	return out
}
