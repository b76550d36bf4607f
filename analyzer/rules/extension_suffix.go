package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/lazyregexp"
)

var extensionSuffix = &analyzer.Rule{
	ID:       "extension-suffix",
	Title:    "a module whose file name no Python of the wheel's tags imports",
	Severity: analyzer.Error,
	Doc: `Python finds a module by its file name: CPython 3.12 imports x.cpython-312-x86_64-linux-gnu.so, x.abi3.so and x.so, and nothing else; a free-threaded 3.13 imports
x.cpython-313t-x86_64-linux-gnu.so. Here a module's suffix is of another version or build than every tag of the wheel, so pip installs it and the import fails: "No module named …".

It is an error where no module of the wheel fits a tag, and a warning where others do: it may be a left-over of another build, or one of several copies of which one is imported (then there is no finding
when one of them fits). It is a warning too where a wheel for the stable ABI (cp38-abi3) has a module that one version only imports, and where a wheel for a free-threaded Python has a
module of the stable ABI, which has no such build.

To mend it, build the wheel with the Python of its tag, or give the tag of the Python that it was built with.

Not seen: modules that are loaded in other ways than by import (ctypes, a loader of their own), and suffixes of other interpreters than CPython and PyPy.`,
	References: []string{
		"PEP 3149, PEP 384, PEP 703",
		"CPython: Python/dynload_shlib.c",
		"PEP 425",
	},
	Check: checkExtensionSuffix,
}

// moduleName takes a module's file apart: its name, the interpreter with its version
// ("cpython-312", "pypy39-pp73", "abi3"), flags ("t", "m", "d"), and the rest.
var moduleName = lazyregexp.New(
	`^(.+?)\.(?:(cpython)-([23][0-9]+)([a-z]*)|(pypy[23][0-9]*)-(pp[0-9]+)|(abi3))(-[A-Za-z0-9_-]+)?\.so$`,
)

// module is a file that Python imports by its suffix.
type module struct {
	view         *analyzer.View
	stem         string
	cpython      string // "312"
	flags        string // "t": free-threaded
	pypy         string // "pypy39_pp73"
	abi3         bool
	muslTriplet  bool
	interpreters string // as the message names it
}

func parseModule(v *analyzer.View) (module, bool) {
	m := moduleName.FindStringSubmatch(path.Base(v.Path))
	if m == nil {
		return module{}, false
	}
	out := module{
		view:        v,
		stem:        path.Join(path.Dir(v.Path), m[1]),
		cpython:     m[3],
		flags:       m[4],
		abi3:        m[7] != "",
		muslTriplet: strings.HasSuffix(m[8], "-linux-musl"),
	}
	switch {
	case out.cpython != "":
		out.interpreters = "CPython " + dotted(out.cpython) + out.flags
	case out.abi3:
		out.interpreters = "every CPython 3"
	default:
		out.pypy = m[5] + "_" + m[6]
		out.interpreters = "PyPy " + out.pypy
	}
	return out, true
}

// dotted writes "312" as "3.12".
func dotted(version string) string { return version[:1] + "." + version[1:] }

// imports tells whether the interpreter of a tag imports the module. What a tag leaves open (py3,
// none) fits.
func (m module) imports(t pkgmeta.Tag, libc string) bool {
	switch {
	case m.muslTriplet && libc == "glibc":
		return false
	case strings.HasPrefix(t.Python, "pp"):
		return m.pypy == "" || !strings.HasPrefix(t.ABI, "pypy") || t.ABI == m.pypy
	case !strings.HasPrefix(t.Python, "cp") || t.Python == "cp3":
		return true
	case m.abi3:
		return strings.HasPrefix(t.Python, "cp3")
	case m.pypy != "":
		return false
	}
	version := strings.TrimPrefix(t.Python, "cp")
	if t.ABI == "abi3" || t.ABI == "none" { // this version and later ones
		return len(m.cpython) > len(version) ||
			len(m.cpython) == len(version) && m.cpython >= version
	}
	free := strings.HasSuffix(t.ABI, "t")
	return m.cpython == version && strings.Contains(m.flags, "t") == free
}

func checkExtensionSuffix(p *analyzer.Pass) {
	if p.Facts.Wheel == nil || p.Asked {
		return
	}
	byStem := map[string][]module{}
	var stems []string
	fitting := 0
	for _, v := range p.Views {
		if !v.Extension() {
			continue
		}
		m, ok := parseModule(v)
		if !ok {
			fitting++ // x.so, which every Python imports
			continue
		}
		if byStem[m.stem] == nil {
			stems = append(stems, m.stem)
		}
		byStem[m.stem] = append(byStem[m.stem], m)
		if slices.ContainsFunc(
			p.Facts.Wheel.Tags,
			func(t pkgmeta.Tag) bool { return m.imports(t, p.Platform.Libc) },
		) {
			fitting++
		}
	}
	for _, s := range stems {
		judgeCopies(p, byStem[s], fitting)
	}
}

// judgeCopies looks at the files of one module.
func judgeCopies(p *analyzer.Pass, copies []module, fitting int) {
	tags := p.Facts.Wheel.Tags
	m := copies[0]
	if slices.ContainsFunc(copies, func(m module) bool {
		return slices.ContainsFunc(
			tags,
			func(t pkgmeta.Tag) bool { return m.imports(t, p.Platform.Libc) },
		)
	}) {
		checkStableCopies(p, copies)
		return
	}
	f := analyzer.Finding{Object: m.view.Path, Chain: []string{m.view.Path}}
	f.Message = fmt.Sprintf(
		"%s is imported by %s only, and the wheel's tag is %s: no Python that pip installs it for finds the module",
		m.view.Path,
		m.interpreters,
		tags[0],
	)
	if m.muslTriplet && p.Platform.Libc == "glibc" {
		f.Message = fmt.Sprintf(
			"%s is imported by a Python built for musl only, and the wheel's tag is %s",
			m.view.Path,
			tags[0],
		)
	}
	if fitting > 0 {
		f.Severity = analyzer.Warning
	}
	fixes := []fix.Candidate{
		{Fix: fix.Fix{Kind: fix.KindRebuild, Title: "Build the wheel with the Python of its tag"}},
	}
	if m.cpython != "" {
		abi := "cp" + m.cpython + m.flags
		fixes = append(
			fixes,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:  fix.KindPlatformTag,
					Title: "Give the tag of the Python that built the module: cp" + m.cpython + "-" + abi,
					Command: fmt.Sprintf(
						"wheel tags --remove --python-tag cp%s --abi-tag %s %s",
						m.cpython,
						abi,
						quoted(p.Facts.Path),
					),
				},
			},
		)
	}
	p.Report(f, fixes...)
}

// checkStableCopies looks at a module that some tag imports, in wheels that promise more than one
// Python or a free-threaded one.
func checkStableCopies(p *analyzer.Pass, copies []module) {
	for _, t := range p.Facts.Wheel.Tags {
		m := copies[0]
		f := analyzer.Finding{
			Object:   m.view.Path,
			Chain:    []string{m.view.Path},
			Severity: analyzer.Warning,
		}
		switch {
		case t.ABI == "abi3" && len(copies) == 1 && m.cpython != "":
			f.Message = fmt.Sprintf(
				"%s is imported by %s only, and the wheel's tag %s promises every later Python too",
				m.view.Path,
				m.interpreters,
				t,
			)
			p.Report(
				f,
				fix.Candidate{
					Fix: fix.Fix{
						Kind:    fix.KindRebuild,
						Title:   "Build the module for the stable ABI",
						Command: "Extension(…, py_limited_api=True)",
					},
				},
			)
			return
		case strings.HasPrefix(t.ABI, "cp") && strings.HasSuffix(t.ABI, "t") && !slices.ContainsFunc(copies, func(m module) bool { return !m.abi3 }):
			f.Message = fmt.Sprintf(
				"%s is built for the stable ABI, and the wheel's tag %s is of a free-threaded Python, whose objects have another layout",
				m.view.Path,
				t,
			)
			p.Report(
				f,
				fix.Candidate{
					Fix: fix.Fix{
						Kind:  fix.KindRebuild,
						Title: "Build the module for the free-threaded Python, without Py_LIMITED_API",
					},
				},
			)
			return
		}
	}
}
