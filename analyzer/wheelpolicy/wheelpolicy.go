// Package wheelpolicy computes auditwheel's result for a wheel: the oldest manylinux, musllinux or
// Android tag that its contents comply with.
//
//	policy := wheelpolicy.Judge(&wheelpolicy.Wheel{Platforms: …, Members: …, Record: …, Objects: …})
//
// The result is that of auditwheel 6.8 if it finds no library of the machine it runs on (auditwheel
// show with --ldpaths "" in an empty root), so it does not depend on the machine. Known errors of
// auditwheel are reproduced: it reads only files that RECORD lists, checks the names of version
// nodes and libraries but no symbols, and applies a root's RUNPATH to its dependencies. The rules
// of compat report what it misses.
//
// There is one deliberate difference: facts come from PT_DYNAMIC, as in the loader, so objects
// without section headers are analysed too.
//
// All names are untrusted: nothing is opened, paths are only compared, and the walk over
// dependencies is limited.
package wheelpolicy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// Wheel is the input: what auditwheel reads of a wheel.
type Wheel struct {
	Platforms []string // platform tags of the file name
	// paths of all members of the archive; a directory's ends in a slash
	Members []string
	Record  []byte                    // RECORD of its only dist-info folder; nil without one
	Objects map[string]*elfobj.Object // ELF members by path, for any machine
	// by path: why a member that is or may be ELF could not be read
	Unread  map[string]string
	Damaged string // why the archive could not be read; "" if it could
}

// Policy is the result, with its names in JSON. If Error is set, the other fields are empty.
type Policy struct {
	// the least portable of the fields below: the tag that the wheel may have
	Overall string `json:"overall"`
	Sym     string `json:"sym"` // by symbol versions
	Ref     string `json:"ref"` // by external libraries
	// by forbidden symbols of allowed libraries
	Blacklist string `json:"blacklist"`
	Machine   string `json:"machine"` // by instruction sets
	// linux_… if a module uses floating point traps of Python before 3.7
	PyFPE string `json:"pyfpe"`
	// linux_… if a module is for a narrow build of Python 2
	UCS string `json:"ucs"`
	// external libraries under the most portable policy, sorted
	ExternalLibs []string `json:"external_libs"`
	// required version nodes by library, sorted
	VersionedSymbols map[string][]string `json:"versioned_symbols"`
	// null, or the text of one of the errors below; for a crash, "crash: detail"
	Error *string `json:"error"`
}

// Errors that auditwheel reports instead of a result. ErrCrash is an unhandled exception of
// auditwheel; its reason follows it.
var (
	// No ELF file of the wheel's architecture and libc.
	ErrNotPlatform = errors.New("not-a-platform-wheel")
	ErrPureLib     = errors.New("purelib-elf")     // an ELF file in a folder called purelib
	ErrNoLibc      = errors.New("libc-undetected") // the libc of a Python module cannot be determined
	ErrDistInfo    = errors.New("dist-info-count") // not exactly one *.dist-info folder
	ErrCrash       = errors.New("crash")
)

func crash(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCrash, fmt.Sprintf(format, args...))
}

// Judge returns the result. It does not fail: an error of auditwheel is in Policy.Error.
func Judge(w *Wheel) *Policy {
	p, err := judge(w)
	if err != nil {
		message := err.Error()
		return &Policy{
			ExternalLibs:     []string{},
			VersionedSymbols: map[string][]string{},
			Error:            &message,
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
	if err := s.completeTrees(); err != nil {
		return nil, err
	}
	return s.conclude()
}

// conclude computes the result from the collected data (analyze_wheel_abi).
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
	// Objects that other objects need are followed too, though they do not affect the result,
	// because auditwheel fails on those that it cannot follow.
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
			return nil, crash("%s needs an instruction set that is not known (%#x)", t.path, t.object.ISA)
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

// base is Python's Path.name: the last element of a path.
func base(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }
