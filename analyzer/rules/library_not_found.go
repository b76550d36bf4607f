package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/lazyregexp"
)

var libraryNotFound = &analyzer.Rule{
	ID:       "library-not-found",
	Title:    "a needed library that nothing brings",
	Severity: analyzer.Error,
	Doc: `An object lists a library in DT_NEEDED that neither the artifact, nor the packages it declares, nor the platform brings. The load fails with
"cannot open shared object file: No such file or directory".

It is a warning where a known driver or system package brings the library (libcuda.so.1: the NVIDIA driver), on a system where the wheel's own Python may be built as a shared
library for that one (libpython3.11.so.1.0; a manylinux tag promises that it works without), where a declared package that could not be looked up may
bring it, for one of several alternatives of which one is loaded at run time (also where a package brings the library that is not declared itself, but by another one only), and where a deb or conda package depends on others none of which is named after the library. What
the packages that a deb, rpm or conda package depends on bring, by their names (libssl3 has libssl.so.3) or capabilities, is not looked at and no finding.

To mend it, bundle the library (auditwheel repair), declare the package that brings it, or drop the dependency.`,
	References: []string{"gABI, DT_NEEDED", "glibc: elf/dl-load.c"},
	Check:      checkLibraryNotFound,
	Quick:      true,
}

func checkLibraryNotFound(p *analyzer.Pass) {
	checkNeededBySibling(p)
	for _, v := range p.Views {
		checkUndeclared(p, v)
		for _, needed := range v.Missing {
			if _, _, _, wrong := wrongStack(p, needed); wrong &&
				(!v.Alternative || everyAlternativeLacks(p, v, needed)) {
				continue // gpu-stack-mismatch says more
			}
			if mixedCUDA(p, v, needed) {
				continue // cuda-major-mixed says more
			}
			certain, perhaps := p.Facts.Promise(needed)
			if certain {
				continue // by the package that brings it, whose libraries are not looked at
			}
			f := analyzer.Finding{Object: v.Path, Library: needed, Chain: []string{v.Path, needed}}
			where := fmt.Sprintf(
				"%s needs %s, which is neither in the artifact nor on %s",
				v.Path,
				needed,
				p.Platform.Name,
			)
			fixes := []fix.Candidate{}
			bringer, known := platform.Known(needed)
			unlooked := unlooked(p)
			switch {
			case known:
				f.Severity, f.Message = analyzer.Warning, fmt.Sprintf(
					"%s; %s brings it",
					where,
					bringer,
				)
			case ofInterpreter(p, needed):
				f.Message = where + "; a Python built with --enable-shared has it loaded, and a static one, as most are, has not"
				// PEP 513: a wheel with such a tag works with a static one too
				if p.Platform.Kind != platform.Policy {
					f.Severity = analyzer.Warning
				}
				fixes = append(
					fixes,
					fix.Candidate{
						Fix: fix.Fix{
							Kind:    fix.KindRebuild,
							Title:   "Link the module without libpython, whose symbols every interpreter brings",
							Command: "python3-config --ldflags",
						},
					},
				)
			case v.Alternative && !everyAlternativeLacks(p, v, needed):
				f.Severity, f.Message = analyzer.Warning, where+"; the object is one of several of which one is loaded at run time"
			case ofStem(p, needed) != nil:
				r := ofStem(p, needed)
				f.Message = fmt.Sprintf(
					"%s; %s==%s has that library under another version",
					where,
					r.Name,
					r.Version,
				)
			case unlooked != "":
				f.Severity, f.Message = analyzer.Warning, fmt.Sprintf(
					"%s; %s may bring it and could not be looked up",
					where,
					unlooked,
				)
			case grafted(needed) != "":
				f.Message = where + "; the name is one that auditwheel gives to a copy in the wheel, and the copy is not there"
				fixes = append(
					fixes,
					fix.Candidate{
						Fix: fix.Fix{
							Kind:    fix.KindRebuild,
							Title:   "Repair the wheel again, from the one that was built",
							Command: "auditwheel repair " + quoted(p.Facts.Path),
						},
					},
				)
			case perhaps:
				f.Severity, f.Message = analyzer.Warning, where+"; none of the packages that it depends on is named after it, and one of them may bring it"
			default:
				f.Message = where + " nor in any package that is declared or given"
			}
			fixes = append(append(fixes, siblingWith(p, needed)...), bringing(p, needed)...)
			if !known && !ofInterpreter(p, needed) && grafted(needed) == "" &&
				p.Facts.Kind == analyzer.KindWheel {
				fixes = append(
					fixes,
					fix.Candidate{
						Fix: fix.Fix{
							Kind:    fix.KindPatchelf,
							Title:   "Bundle " + needed + " into the wheel",
							Command: "auditwheel repair " + quoted(p.Facts.Path),
						},
					},
				)
			}
			p.Report(f, fixes...)
		}
	}
}

// checkUndeclared looks at one of several alternatives: the package whose library it is for decides
// which of them is loaded, so it has to be declared itself. Where only another requirement brings
// that package, it may be any version of it, or none.
func checkUndeclared(p *analyzer.Pass, v *analyzer.View) {
	if !v.Alternative || p.Facts.Metadata == nil {
		return
	}
	for _, found := range v.Loading.Found {
		l := found.Library
		if found.NeededBy != v.Library || found.By != dynlink.ByPackage ||
			l.Kind != dynlink.FromPackage {
			continue
		}
		name := l.Package.Name
		of := func(q pkgmeta.Requirement) bool { return q.Name == name }
		if p.Given(name) || slices.ContainsFunc(p.Facts.Metadata.Requires, of) ||
			slices.Contains(p.Scenario.Requires, name) {
			continue
		}
		needed := l.Names()[0]
		p.Report(
			analyzer.Finding{
				Object:   v.Path,
				Library:  needed,
				Severity: analyzer.Warning,
				Chain:    []string{v.Path, needed},
				Message: fmt.Sprintf(
					"%s needs %s, which %s has; the wheel does not declare %s and gets it by another package only, and the object is one of several of which one is loaded at run time",
					v.Path,
					needed,
					l.Origin,
					name,
				),
			},
			fix.Candidate{
				Fix: fix.Fix{
					Kind:        fix.KindDependency,
					Title:       "Declare " + name + ", whose library it needs",
					Command:     name,
					Requirement: name,
				},
				Change: fix.Pin{Requirement: name, Direct: true},
			},
		)
	}
}

// libPython matches the library of a CPython that was built as one.
var libPython = lazyregexp.New(`^libpython([23])\.([0-9]+)[a-z]*\.so\.1\.0$`)

// ofInterpreter tells whether a library is the interpreter that a wheel's tag names.
func ofInterpreter(p *analyzer.Pass, needed string) bool {
	m := libPython.FindStringSubmatch(needed)
	return m != nil && p.Facts.Wheel != nil &&
		slices.ContainsFunc(
			p.Facts.Wheel.Tags,
			func(t pkgmeta.Tag) bool { return t.Python == "cp"+m[1]+m[2] },
		)
}

// bringing offers the package that is known to have a CUDA library, where nothing of that name is
// beside the artifact.
func bringing(p *analyzer.Pass, needed string) []fix.Candidate {
	name := gpu.Package(needed)
	if name == "" || ofStem(p, needed) != nil || p.Facts.Kind != analyzer.KindWheel {
		return nil
	}
	return []fix.Candidate{
		{
			Fix: fix.Fix{
				Kind:        fix.KindDependency,
				Title:       "Declare " + name + ", which has the library",
				Command:     name,
				Requirement: name,
			},
			Change: fix.Pin{Requirement: name, Direct: true},
		},
	}
}

// checkNeededBySibling looks at what the libraries of other packages need, which are loaded with
// the artifact's: two packages beside it may not fit together.
func checkNeededBySibling(p *analyzer.Pass) {
	told := map[[2]string]bool{}
	for _, v := range p.Views {
		for _, m := range v.Loading.Missing {
			key := [2]string{m.NeededBy.Path, m.Name}
			if m.NeededBy.Kind != dynlink.FromPackage || told[key] {
				continue
			}
			told[key] = true
			f := analyzer.Finding{
				Object:  m.NeededBy.Path,
				Library: m.Name,
				Chain:   append(analyzer.Chain(v.Loading.Chain(m.NeededBy)...), m.Name),
			}
			f.Package = m.NeededBy.Package.Name
			f.Message = fmt.Sprintf(
				"%s of %s, which %s loads, needs %s, and no package beside it brings that",
				m.NeededBy.Path,
				m.NeededBy.Origin,
				v.Path,
				m.Name,
			)
			f.OtherPackage = true
			bringer, known := platform.Known(m.Name)
			switch fixes := append(siblingWithout(p, m.NeededBy, m.Name), siblingWith(p, m.Name)...); {
			case known:
				f.Severity, f.Message = analyzer.Warning, f.Message+"; "+bringer+" brings it"
				p.Report(f)
			case unlooked(p) != "":
				f.Severity, f.Message = analyzer.Warning, fmt.Sprintf(
					"%s; %s may and could not be looked up",
					f.Message,
					unlooked(p),
				)
				p.Report(f, fixes...)
			case ofStem(p, m.Name) == nil:
				f.Severity, f.Message = analyzer.Warning, f.Message+"; the system would have to"
				p.Report(f)
			default:
				p.Report(f, fixes...)
			}
		}
	}
}

// unlooked lists declared packages that are not known, "" when all are.
func unlooked(p *analyzer.Pass) string {
	var names []string
	for _, u := range p.Packages.Unlooked {
		names = append(names, u.Package)
	}
	for _, r := range p.Packages.Releases {
		if !r.Known {
			names = append(names, r.Name)
		}
	}
	return strings.Join(names, ", ")
}
