// Package wheelpolicy gives auditwheel's verdict about a wheel, field by field: the oldest
// manylinux, musllinux or Android tag that its contents keep.
//
//	policy := wheelpolicy.Judge(&wheelpolicy.Wheel{Platforms: …, Members: …, Record: …, Objects: …})
//
// It is the verdict of auditwheel 6.8 where nothing of the machine that runs it can be found
// (auditwheel show with --ldpaths "" in an empty root), so the same wheel has the same verdict
// everywhere. What auditwheel gets wrong stays wrong here: it looks at the files that RECORD lists,
// at the names of version nodes and libraries and at no symbol, and it hands a root's RUNPATH down
// to the dependencies. Rules that know better report beside it.
//
// One thing differs on purpose: facts come from PT_DYNAMIC as the loader has it, so an object
// without section headers is judged all the same.
//
// Every name here is data of an attacker: nothing is opened, paths are compared and never used, and
// the walk over dependencies has a limit.
package wheelpolicy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// Wheel is what auditwheel looks at.
type Wheel struct {
	Platforms []string // platform tags of the file name
	// path of every member of the archive; a directory's ends in a slash
	Members []string
	Record  []byte                    // RECORD of its one dist-info folder; nil: there is none
	Objects map[string]*elfobj.Object // ELF members by path, of whatever machine
	// why a member that is or may be ELF could not be read, by path
	Unread  map[string]string
	Damaged string // why the archive itself could not be read; "" it could
}

// Policy is the verdict, with JSON's names. Where Error is set, all else is empty.
type Policy struct {
	// the least portable of the others: the tag that the wheel may have
	Overall string `json:"overall"`
	Sym     string `json:"sym"` // by symbol versions
	Ref     string `json:"ref"` // by libraries that are not in it
	// by forbidden symbols of promised libraries
	Blacklist string `json:"blacklist"`
	Machine   string `json:"machine"` // by instruction sets
	// linux_… where a module uses floating point traps of Python before 3.7
	PyFPE string `json:"pyfpe"`
	// linux_… where a module is for a narrow Python 2
	UCS string `json:"ucs"`
	// what is needed from outside on the most portable policy, sorted
	ExternalLibs []string `json:"external_libs"`
	// version nodes that are asked for, by library, sorted
	VersionedSymbols map[string][]string `json:"versioned_symbols"`
	// null, or the name of an Error; a crash is "crash: detail"
	Error *string `json:"error"`
}

// Errors: what auditwheel answers instead of a verdict. ErrCrash is its unhandled exceptions, and
// has the reason behind it.
var (
	ErrNotPlatform = errors.New(
		"not-a-platform-wheel",
	) // no ELF file of the wheel's architecture and libc
	ErrPureLib = errors.New("purelib-elf") // an ELF file in a folder called purelib
	ErrNoLibc  = errors.New(
		"libc-undetected",
	) // nothing tells which libc a Python module is for
	ErrDistInfo = errors.New("dist-info-count") // not exactly one *.dist-info folder
	ErrCrash    = errors.New("crash")
)

func crash(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCrash, fmt.Sprintf(format, args...))
}

// Judge gives the verdict. It never fails: what auditwheel would refuse is Policy.Error.
func Judge(w *Wheel) *Policy {
	p, err := judge(w)
	if err != nil {
		said := err.Error()
		return &Policy{
			ExternalLibs:     []string{},
			VersionedSymbols: map[string][]string{},
			Error:            &said,
		}
	}
	return p
}

func judge(w *Wheel) (*Policy, error) {
	s, err := newSurvey(w)
	if err != nil {
		return nil, err
	}
	if err := s.read(); err != nil {
		return nil, err
	}
	if err := s.borrow(); err != nil {
		return nil, err
	}
	return s.conclude()
}

// conclude turns what was gathered into the verdict (analyze_wheel_abi).
func (s *survey) conclude() (*Policy, error) {
	roots := slices.Clone(s.modules)
	needed := map[string]bool{}
	for _, t := range append(slices.Clone(s.modules), s.others...) {
		for _, n := range t.object.Needed {
			needed[n] = true
		}
	}
	for _, t := range s.others {
		if !needed[base(t.path)] {
			roots = append(roots, t)
		}
	}
	ps := s.policies
	external := make([]map[string]bool, len(ps.list))
	forbidden := make([]bool, len(ps.list))
	machine := ps.highest()
	for i := range external {
		external[i] = map[string]bool{}
	}
	// Objects that are needed by others are looked through too, though they count for nothing:
	// auditwheel fails on those that it can't follow.
	for _, t := range append(slices.Clone(s.modules), s.others...) {
		root, needs := slices.Contains(roots, t), s.enter(t)
		for i, p := range ps.list {
			libs, err := s.external(t, needs, p)
			if err != nil {
				return nil, err
			}
			for _, l := range libs {
				if root {
					external[i][l] = true
				}
			}
		}
		if !root {
			continue
		}
		for i, hit := range ps.blacklisted(t.object) {
			forbidden[i] = forbidden[i] || hit
		}
		switch isa, known := isaOf(t.object); {
		case !known:
			return nil, crash(
				"%s needs an instruction set that is not known (%#x)",
				t.path,
				t.object.ISA,
			)
		case isa > 1:
			machine = ps.linux
		}
	}
	sym := ps.satisfying(s.versions)
	ref, black := ps.linux, ps.linux
	for i, p := range ps.list { // ordered by rank
		if len(external[i]) == 0 {
			ref = p
		}
		if !forbidden[i] {
			black = p
		}
	}
	pyfpe, ucs := ps.highest(), ps.highest()
	if s.pyfpe {
		pyfpe = ps.linux
	}
	if s.ucs2 {
		ucs = ps.linux
	}
	overall := sym
	for _, p := range []*policy{ucs, pyfpe, black, machine, ref} {
		if p.rank < overall.rank {
			overall = p
		}
	}
	out := &Policy{
		Overall:          overall.name,
		Sym:              sym.name,
		Ref:              ref.name,
		Blacklist:        black.name,
		Machine:          machine.name,
		PyFPE:            pyfpe.name,
		UCS:              ucs.name,
		ExternalLibs:     []string{},
		VersionedSymbols: map[string][]string{},
	}
	for l := range external[len(external)-1] {
		out.ExternalLibs = append(out.ExternalLibs, l)
	}
	slices.Sort(out.ExternalLibs)
	for library, versions := range s.versions {
		for v := range versions {
			out.VersionedSymbols[library] = append(out.VersionedSymbols[library], v)
		}
		slices.Sort(out.VersionedSymbols[library])
	}
	return out, nil
}

// base is what Python's Path.name is: the last part of a path.
func base(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }
