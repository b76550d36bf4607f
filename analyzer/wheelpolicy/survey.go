package wheelpolicy

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// survey is the data that auditwheel collects from the files in RECORD (get_wheel_elfdata).
type survey struct {
	*Wheel
	numbering
	members   map[string]bool // path of each file (true) and folder (false)
	paths     []string        // of RECORD, up to the first invalid row
	recordErr error           // why that row is invalid; nil if none is
	arch      string          // "" until the first object
	libc      string          // "" until the first object that determines it

	policies *policies
	modules  []*tree // Python modules, in the order of RECORD
	others   []*tree
	versions map[string]map[string]bool // library -> required versions
	ucs2     bool
	pyfpe    bool
	steps    int // steps of the walk over dependencies
}

// newSurvey reads the names of the wheel's members, and RECORD.
func newSurvey(w *Wheel) (*survey, error) {
	s := &survey{Wheel: w, members: map[string]bool{}, versions: map[string]map[string]bool{}}
	if w.Damaged != "" {
		return nil, crash("%s", w.Damaged)
	}
	for _, m := range w.Members {
		file, folder := m, strings.HasSuffix(m, "/")
		if folder {
			file = strings.TrimSuffix(m, "/")
		}
		s.members[file] = !folder
		for i := strings.LastIndexByte(file, '/'); i > 0; i = strings.LastIndexByte(file[:i], '/') {
			if _, known := s.members[file[:i]]; known {
				break
			}
			s.members[file[:i]] = false
		}
	}
	infos := 0
	for m := range s.members {
		if strings.HasSuffix(m, ".dist-info") && !strings.Contains(m, "/") {
			infos++
		}
	}
	if infos != 1 {
		return nil, ErrDistInfo
	}
	if w.Record == nil {
		return nil, crash("there is no RECORD")
	}
	s.paths, s.recordErr = recordPaths(w.Record)
	platforms := make([]string, len(w.Platforms))
	for i, p := range w.Platforms {
		platforms[i] = strings.ToLower(p)
	}
	slices.Sort(platforms)
	s.Platforms = slices.Compact(platforms)
	s.arch, s.libc = archOfTags(s.Platforms), libcOfTags(s.Platforms)
	return s, nil
}

// read reads the files that RECORD lists.
func (s *survey) read() error {
	pure, found := false, false
	seen := map[string]bool{}
	for _, listed := range s.paths {
		path := clean(listed)
		if strings.HasSuffix(base(path), ".py") {
			continue
		}
		if file, ok := s.members[path]; !ok || !file {
			return crash("RECORD lists %s, which is not in the wheel", listed)
		}
		o := s.Objects[path]
		why, bad := s.Unread[path]
		if o == nil && !bad {
			continue
		}
		pure = pure ||
			slices.Contains(strings.Split(path, "/")[:strings.Count(path, "/")], "purelib")
		if pure ||
			seen[path] { // after the first file in purelib, only the names in RECORD matter
			continue
		}
		if bad {
			return crash("%s: %s", path, why)
		}
		seen[path] = true
		accepted, err := s.object(path, o)
		if err != nil {
			return err
		}
		found = found || accepted
	}
	switch {
	case s.recordErr != nil:
		return crash("%v", s.recordErr)
	case pure:
		return ErrPureLib
	case !found:
		return ErrNotPlatform
	}
	// no object determines the libc and there is no module: auditwheel uses that of its machine
	if s.policies == nil {
		return s.choose(glibc)
	}
	return nil
}

func (s *survey) choose(libc string) (err error) {
	s.libc = libc
	s.policies, err = newPolicies(libc, s.arch, s.Platforms)
	return err
}

// object adds an ELF file; accepted is false for one of another architecture or libc, which
// auditwheel ignores.
func (s *survey) object(path string, o *elfobj.Object) (accepted bool, err error) {
	libc, err := libcOf(o, path)
	if err != nil {
		return false, err
	}
	t, err := s.ldd(path, o)
	if err != nil {
		return false, err
	}
	arch := archOf(o)
	if s.arch == "" {
		s.arch = arch
	}
	if arch == "" || arch != s.arch {
		return false, nil
	}
	if libc != "" && s.libc == "" {
		s.libc = libc
	}
	if libc != "" && libc != s.libc {
		return false, nil
	}
	if s.policies == nil && s.libc != "" {
		if err := s.choose(s.libc); err != nil {
			return false, err
		}
	}
	s.addVersions(o)
	python := pythonOf(path, o)
	if python == 0 {
		s.others = append(s.others, t)
		return true, nil
	}
	if s.policies == nil {
		return false, ErrNoLibc
	}
	s.modules = append(s.modules, t)
	for _, i := range o.Imports.All() {
		switch {
		case (i.Kind == elfobj.Func || i.Kind == elfobj.NoType) &&
			(i.Name == "PyFPE_jbuf" || i.Name == "PyFPE_dummy" || i.Name == "PyFPE_counter"):
			s.pyfpe = true
		case python == 2 && i.Kind == elfobj.Func && strings.Contains(i.Name, "PyUnicodeUCS2_"):
			s.ucs2 = true
		}
	}
	return true, nil
}

// addVersions adds the symbol versions that an object requires, except for those of the loader
// (elf_find_versioned_symbols).
func (s *survey) addVersions(o *elfobj.Object) {
	for _, n := range o.VersionNeeds {
		if strings.HasPrefix(n.Library, "ld-linux") || n.Library == "ld64.so.1" ||
			n.Library == "ld64.so.2" ||
			len(n.Versions) == 0 {
			continue
		}
		of := s.versions[n.Library]
		if of == nil {
			of = map[string]bool{}
			s.versions[n.Library] = of
		}
		for _, v := range n.Versions {
			of[v.Name] = true
		}
	}
}

// pythonOf returns 2 or 3 if an object exports the init function of a module for that Python, and 0
// otherwise (elf_is_python_extension).
func pythonOf(path string, o *elfobj.Object) int {
	name, _, _ := strings.Cut(base(path), ".")
	three, two, pypy := "PyInit_"+name, "init"+name, "_cffi_pypyinit_"+name
	for n := range o.Exports.Len() {
		switch o.Exports.Name(n) {
		case three:
			if o.Exports.At(n).Kind == elfobj.Func {
				return 3
			}
		case two, pypy:
			if o.Exports.At(n).Kind == elfobj.Func {
				return 2
			}
		}
	}
	return 0
}
