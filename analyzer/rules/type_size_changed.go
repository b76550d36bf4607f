package rules

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
)

var typeSizeChanged = &analyzer.Rule{
	ID:       "type-size-changed",
	Title:    "A module was built with larger types of another package than the installed one has",
	Severity: analyzer.Error,
	Doc: `A module of Cython that uses a type of another package (` + "`cimport`" + `) has its size in
its code, and compares it when it is imported. If the type of the installed package is smaller, the
import fails: "ValueError: greenlet.greenlet size changed, may indicate binary incompatibility.
Expected 152 from C header, got 40 from PyObject". No symbol has that size: it is a constant
before a call, and in the other package a field of the type. gevent 20.9.0 requires
greenlet>=0.4.17, and fails with greenlet 2.0 and later.

Fix: require a release of the other package that has the type as it was, or build against the one
that is installed.

Severity: an error with the release that an installation gets today. A wheel that uses types of a
declared package that was not read, because no index has it or none is configured, is unchecked.

Not detected: types of which only the fields moved or that became larger, which Cython accepts or
warns about; C functions of another package (` + "`__pyx_capi__`" + `); modules for other processors
than x86_64, and modules in which the compiler expanded the function that imports types. NumPy has
a rule of its own, numpy-abi-mismatch.`,
	Cause: cause.Rule{
		Warns:   ofUsers,
		Kind:    cause.WrongPackage,
		Subject: func(f *analyzer.Finding) (string, bool) { return f.Package, false },
	},
	Explains:   []string{"cython-api"},
	References: []string{"Cython/Utility/ImportExport.c, __Pyx_ImportType"},
	Check:      checkTypeSizes,
}

func checkTypeSizes(p *analyzer.Pass) {
	for _, v := range p.Views {
		reported := map[string]bool{} // one finding for each package: Python stops at the first type
		for _, u := range v.Uses {
			r, has := definesType(p, u.Name())
			if r == nil || reported[r.Name] || has >= u.Size {
				continue
			}
			reported[r.Name] = true
			p.Report(
				analyzer.Finding{
					Object: v.Path, Package: r.Name, Type: u.Name(), Chain: []string{v.Path, r.Name},
					BuiltWith: fmt.Sprintf("a %s whose type %s has %d bytes", r.Name, u.Name(), u.Size),
					FailsWith: r.ID().String(),
					Raises: "ValueError: " + u.Name() + " size changed, may indicate binary incompatibility. " +
						fmt.Sprintf("Expected %d from C header, got %d from PyObject", u.Size, has),
					Message: fmt.Sprintf(
						"%s was built with a %s of %d bytes, but in %s it has %d. Its import fails: \"%s size "+
							"changed, may indicate binary incompatibility\"",
						v.Path, u.Name(), u.Size, r.ID(), has, u.Name(),
					),
				},
				p.Releases.OtherVersion(r, func(o *packages.Release) bool { return fits(o, v) }),
				fix.Candidate{Fix: fix.Fix{
					Kind:  fix.KindRebuild,
					Title: fix.Titled("Build it against %s", r.ID()),
				}},
			)
		}
	}
}

// definesType returns the release of the environment that defines a type, and its size; nil if none
// of those that were read does.
func definesType(p *analyzer.Pass, name string) (r *packages.Release, size int64) {
	for r := range p.Packages.All() {
		if t := r.Type(name); t != nil {
			return r, t.Size
		}
	}
	return nil, 0
}

// fits reports whether a release has all types of it that a module uses, and none of them is too
// small.
func fits(r *packages.Release, v *analyzer.View) bool {
	found := false
	for _, u := range v.Uses {
		if t := r.Type(u.Name()); t != nil {
			if t.Size < u.Size {
				return false
			}
			found = true
		}
	}
	return found
}
