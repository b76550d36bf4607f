package wheelpolicy

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// tree is an object with its dependencies, as auditwheel resolves them (lddtree.ldd).
type tree struct {
	path      string
	object    *elfobj.Object
	libraries map[string]*library // by DT_NEEDED entry
	order     []string            // of libraries
}

// library is the library that a DT_NEEDED entry was resolved to.
type library struct {
	path   string   // in the wheel; "" if it is not there
	needed []string // its DT_NEEDED entries
	loader bool     // PT_INTERP, which auditwheel always treats as found

	numbers []int32 // of needed
}

func (l *library) found() bool { return l.path != "" || l.loader }

func (t *tree) add(name string, l *library) {
	if t.libraries[name] == nil {
		t.order = append(t.order, name)
	}
	t.libraries[name] = l
}

// Limits of the walk over dependencies. A thousand modules, as in the largest wheels, take about
// ten thousand steps. Python limits recursion to a thousand calls, so auditwheel fails on longer
// chains too.
const (
	maxSteps = 5 << 20
	maxDepth = 900
)

// libPython is not looked up, as in auditwheel (LIBPYTHON_RE, including its unescaped dot).
var libPython = lazyregexp.New(`^libpython\d+\.\d+m?.so(\.\d)*\n?$`)

// ldd resolves the dependencies of an object.
func (s *survey) ldd(at string, o *elfobj.Object) (*tree, error) {
	t := &tree{path: at, object: o, libraries: map[string]*library{}}
	if o.Interp != "" {
		t.add(base(normal(o.Interp)), &library{loader: true})
	}
	rpath, runpath := s.searchPaths(at, o)
	return t, s.resolve(t, at, o, rpath, runpath, 0)
}

// resolve finds the dependencies of one object of a tree. As in auditwheel, and unlike in a loader,
// the root's RPATH is searched before the object's own paths, and its RUNPATH after them.
func (s *survey) resolve(
	t *tree,
	at string,
	o *elfobj.Object,
	rootRPath, rootRunPath []string,
	depth int,
) error {
	if depth > maxDepth {
		return crash("%s: its dependencies are nested more than %d deep", t.path, maxDepth)
	}
	rpath, runpath := s.searchPaths(at, o)
	folders := slices.Concat(rootRPath, rpath, runpath, rootRunPath)
	for _, name := range o.Needed {
		if s.steps++; s.steps > maxSteps {
			return crash("its objects need each other in more than %d ways", maxSteps)
		}
		if t.libraries[name] != nil {
			continue
		}
		t.add(name, &library{})
		if libPython.MatchString(name) {
			continue
		}
		found, err := s.find(name, o, folders)
		if err != nil {
			return err
		}
		if found == "" {
			continue
		}
		dependency := s.Objects[found]
		t.libraries[name].path = found
		if err := s.resolve(t, found, dependency, rootRPath, rootRunPath, depth+1); err != nil {
			return err
		}
		t.libraries[name].needed = dependency.Needed
	}
	return nil
}

// find returns the path of a compatible library in folders of the wheel (find_lib); "" if there is
// none. Another kind of file with that name makes auditwheel fail.
func (s *survey) find(name string, o *elfobj.Object, folders []string) (string, error) {
	if strings.HasPrefix(name, "/") {
		return "", nil
	}
	for _, folder := range folders {
		s.steps++
		at, inside := within(folder + "/" + name)
		if !inside {
			continue
		}
		file, there := s.members[at]
		if at == "" {
			file, there = false, true
		}
		if !there {
			continue
		}
		if why, bad := s.Unread[at]; bad {
			return "", crash("%s: %s", at, why)
		}
		candidate := s.Objects[at]
		if !file || candidate == nil {
			return "", crash("a library needs %s, and the wheel has something else of that name", name)
		}
		if fits(o, candidate) {
			return at, nil
		}
	}
	return "", nil
}

// fits is Platform.is_compatible.
func fits(a, b *elfobj.Object) bool {
	linux := func(o *elfobj.Object) bool { return o.OSABI == 0 || o.OSABI == 3 }
	return (a.OSABI == b.OSABI || linux(a) && linux(b)) && a.Class == b.Class &&
		a.ByteOrder == b.ByteOrder &&
		a.Machine == b.Machine
}

// root represents the folder that the wheel is unpacked into. It contains a NUL byte, so no path in
// the wheel can refer to it.
const root = "/\x00"

var origin = lazyregexp.New(`\$(ORIGIN|\{ORIGIN\})`)

// searchPaths returns the folders of an object's RPATH and RUNPATH that exist in the wheel
// (parse_ld_paths). If RUNPATH has any, RPATH is ignored.
func (s *survey) searchPaths(at string, o *elfobj.Object) (rpath, runpath []string) {
	rpath, runpath = s.folders(o.RPath, at), s.folders(o.RunPath, at)
	if len(runpath) > 0 {
		rpath = nil
	}
	return rpath, runpath
}

func (s *survey) folders(list, at string) []string {
	if list == "" {
		return nil
	}
	var out []string
	for entry := range strings.SplitSeq(list, ":") {
		folder := "/" + entry // auditwheel treats relative paths as relative to the root
		switch {
		case entry == "":
			folder = root
		case origin.MatchString(entry):
			folder = origin.ReplaceAllLiteralString(entry, path.Dir(root+"/"+at))
		}
		inside, ok := within(folder)
		if !ok || slices.Contains(out, root+"/"+inside) {
			continue
		}
		if file, there := s.members[inside]; inside == "" || there && !file {
			out = append(out, root+"/"+inside)
		}
	}
	return out
}

// within returns a path relative to the wheel's root ("" for the root itself); ok is false outside.
func within(p string) (inside string, ok bool) {
	p = path.Clean(p)
	if p == root {
		return "", true
	}
	return strings.CutPrefix(p, root+"/")
}

// clean normalises a path of RECORD, relative to the wheel's root.
func clean(p string) string {
	inside, _ := within(root + "/" + p)
	return inside
}

// normal is os.path.normpath.
func normal(p string) string { return path.Clean(p) }
