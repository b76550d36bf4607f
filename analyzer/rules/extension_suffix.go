package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/lazyregexp"
)

var extensionSuffix = &analyzer.Rule{
	ID:       "extension-suffix",
	Title:    "A Python of the wheel's tags does not import a module with this file name",
	Severity: analyzer.Error,
	Doc: `Python finds a module by its file name. CPython 3.12 imports
x.cpython-312-x86_64-linux-gnu.so, x.abi3.so and x.so, and nothing else. A free-threaded 3.13
imports x.cpython-313t-x86_64-linux-gnu.so. Since 3.15 there are also x.abi3t.so, for the stable ABI
of free-threaded and default builds, and x.abi3-x86_64-linux-gnu.so; a free-threaded 3.15 does not
import x.abi3.so. The suffix of this module is for another version or
build than every tag of the wheel. pip installs the wheel, and the import fails: "No module named
…".

Nor does Python import a module whose init function is for another name than that of the file:
x.cpython-312-x86_64-linux-gnu.so has to export PyInit_x, or, if all Pythons of the tags are 3.15 or
later, PyModExport_x. Without any init function it is a library, which ctypes can load, and is
reported if the package imports it in any case.

pip installs no wheel whose interpreter tag no Python has: the tag of the free-threaded 3.15 is
cp315-cp315t or cp315-abi3t, not cp315t-abi3t.

Fix: build the wheel with the Python of its tag, or change the tag to the Python that built it.

On Windows the names are x.cp312-win_amd64.pyd, x.cp313t-win_amd64.pyd and, for the stable ABI,
x.pyd. A module for 32-bit Windows has the suffix win32, which a 64-bit Python does not import.

In Pyodide a version of the ABI has one Python, and a wheel for another one is never installed.
There it is also an error if a file with the suffix of a module exports no init function, because
the linker of Emscripten does not export what is hidden.

Severity: an error where no module of the wheel fits a tag or has the init function of its name, and
a warning where others do: the module may be left over from another build. Where a module has
several copies and one of them fits, nothing is reported. In a wheel for the stable ABI (cp38-abi3)
it is an error if only one version of Python imports its modules, and a warning for such a module
next to others that every version imports. The same applies to a wheel without an ABI tag that pip
installs for several versions by its tag and its Requires-Python (py3-none, cp310.cp311-none): an
error for a module that one version imports. It is a warning if the wheel also has modules for every
version, or if a Python source handles an ImportError, unless the package imports the module in any
case: its __init__.py, or a module that this imports, has the statement at the start of a line. It
is also a warning where a wheel for a free-threaded Python has a module of the stable ABI, which
that Python does not support.

It is a warning for an init function of another name if a Python source may load the file under that
name, and on Windows and macOS, where this is not known. It is a note next to modules with the right
one if no source of the wheel imports the file.

In an environment only modules that it cannot import are reported, if no module of the wheel fits.

The name of the machine counts for x86-64, AArch64 and i686: a Python of x86-64 does not import
x.cpython-312-aarch64-linux-gnu.so. Nor does one import the modules of a debug build (cpython-312d).

Not detected: modules that are named only x.so and were built for another Python than that of the
tag (pybind11 checks it when it is imported), modules that are not loaded by import (ctypes, a
loader of the package), x.so and x.pyd with another init function, modules with
copies for some of the versions that pip installs the wheel for, modules in a wheel that contains a
Python, and suffixes of interpreters other than CPython and PyPy.`,
	References: []string{
		"PEP 3149, PEP 384, PEP 703, PEP 793, PEP 803",
		"CPython: Python/dynload_shlib.c",
		"PEP 425",
	},
	Cause: cause.Rule{
		Kind:  cause.Build("make its modules fit the Python of its tags").AboutTags(),
		Warns: "the package may work without this file",
	},
	Check:   checkExtensionSuffix,
	Windows: checkModuleNames,
	MacOS:   checkSuffixesMacOS,
	Android: checkSuffixesAndroid,
	IOS:     checkSuffixesMacOS,
	Pyodide: checkSuffixesPyodide,
}

// moduleName splits the file name of a module: its name, the interpreter with its version
// ("cpython-312", "pypy39-pp73", "abi3", "abi3t"), flags ("t", "m", "d"), and the platform.
var moduleName = lazyregexp.New(
	`^(.+?)\.(?:(cpython)-([23][0-9]+)([a-z]*)|(pypy[23][0-9]*)-(pp[0-9]+)|(abi3t?))` +
		`(-[A-Za-z0-9_-]+)?\.so$`,
)

// module is a file that Python imports by its suffix.
type module struct {
	path         string
	stem         string
	cpython      string         // "312"
	flags        string         // "t": free-threaded
	pypy         string         // "pypy39_pp73"
	stable       cpython.Suffix // zero if it is for one Python
	muslTriplet  bool
	triplet      string // "x86_64-linux-gnu", "" if there is none or it is not known
	windows      string // "win_amd64", "" on other systems
	interpreters string // for messages: "CPython 3.12"
	inits        bool   // see moduleFile
}

// parseModule reads the path of a module; ok is false where the name has no suffix for an
// interpreter.
func parseModule(file string) (module, bool) {
	m := moduleName.FindStringSubmatch(path.Base(file))
	if m == nil {
		return module{}, false
	}
	out := module{
		path:        file,
		stem:        path.Join(path.Dir(file), m[1]),
		cpython:     m[3],
		flags:       m[4],
		stable:      cpython.Suffix{ABI: m[7], Platform: m[7] != "" && m[8] != ""},
		muslTriplet: strings.HasSuffix(m[8], "-linux-musl"),
	}
	if strings.Contains(m[8], "-linux-gnu") {
		out.triplet = m[8][1:]
	}
	switch {
	case out.cpython != "":
		out.interpreters = "CPython " + dotted(out.cpython) + out.flags
	case out.stable == cpython.Suffix{ABI: "abi3"}:
		out.interpreters = "every CPython 3"
	case out.stable.ABI == "abi3":
		out.interpreters = "CPython 3.15 and later with the GIL"
	case out.stable.ABI == "abi3t":
		out.interpreters = "CPython 3.15 and later"
	default:
		out.pypy = m[5] + "_" + m[6]
		out.interpreters = "PyPy " + out.pypy
	}
	return out, true
}

// dotted writes "312" as "3.12".
func dotted(version string) string { return version[:1] + "." + version[1:] }

// imports reports whether the interpreter of a tag imports the module. A tag that names no
// interpreter (py3) or ABI (none) fits.
func (m module) imports(t pkgmeta.Tag, libc string) bool {
	switch {
	case m.muslTriplet && libc == "glibc":
		return false
	case m.triplet != "" && elsewhere64(m.triplet, platform.ParseTag(t.Platform).Arch):
		return false
	case m.windows != "" && platform.ParseTag(t.Platform).System == platform.TagWindows &&
		t.Platform != m.windows:
		return false
	case strings.HasPrefix(t.Python, "pp"):
		return m.pypy == "" || !strings.HasPrefix(t.ABI, "pypy") || t.ABI == m.pypy
	case !strings.HasPrefix(t.Python, "cp") || t.Python == "cp3":
		return true
	case m.stable != cpython.Suffix{}:
		r, ok := cpython.OfTag(t.Python, t.ABI)
		return ok && r.Imports(m.stable)
	case m.pypy != "":
		return false
	}
	version := strings.TrimPrefix(t.Python, "cp")
	if t.ABI == "abi3" || t.ABI == "none" { // this version and later ones
		return len(m.cpython) > len(version) ||
			len(m.cpython) == len(version) && m.cpython >= version
	}
	free := strings.HasSuffix(t.ABI, "t")
	if t.ABI == "abi3t" {
		return m.cpython >= version && free == strings.Contains(m.flags, "t")
	}
	return m.cpython == version && strings.Contains(m.flags, "t") == free &&
		strings.Contains(m.flags, "d") == strings.Contains(t.ABI, "d")
}

// elsewhere64 reports whether a triplet is that of another of the architectures whose Python has
// always the same one. Cross compilers of Python for ARM and others write several.
func elsewhere64(triplet, arch string) bool {
	same := []string{"x86_64", "aarch64", "i686"}
	of := strings.TrimSuffix(strings.Replace(triplet, "i386-", "i686-", 1), "-linux-gnu")
	return of != arch && slices.Contains(same, of) && slices.Contains(same, arch)
}

func checkExtensionSuffix(p *analyzer.Pass) {
	if p.Facts.Wheel == nil || p.Requested && p.Python == "" {
		return
	}
	var files []moduleFile
	for _, v := range p.Views {
		if v.Extension() {
			f := moduleFile{path: v.Path}
			for _, e := range v.Exports.All() {
				f.add(e.Name)
			}
			files = append(files, f)
		}
	}
	checkSuffixes(p, files, parseModule)
}

// checkModuleNames is extension-suffix on Windows.
func checkModuleNames(p *analyzer.Pass) {
	if p.Facts.Wheel == nil || p.Requested {
		return
	}
	var files []moduleFile
	for _, o := range p.Windows.Objects {
		if o.Extension() {
			f := moduleFile{path: o.Path}
			for _, e := range o.Exports {
				f.add(e.Name)
			}
			files = append(files, f)
		}
	}
	checkSuffixes(p, files, parsePYD)
}

var pydName = lazyregexp.New(
	`(?i)^(.+?)\.(?:cp([23][0-9]+)(t?)|(pypy[23][0-9]*)-(pp[0-9]+))-(win[a-z0-9_]*)\.pyd$`,
)

// parsePYD is parseModule for Windows, where a module of the stable ABI is x.pyd.
func parsePYD(file string) (module, bool) {
	m := pydName.FindStringSubmatch(path.Base(file))
	if m == nil {
		return module{}, false
	}
	out := module{
		path: file, stem: path.Join(path.Dir(file), m[1]), cpython: m[2], flags: m[3],
		windows: strings.ToLower(m[6]),
	}
	if out.cpython == "" {
		out.pypy = m[4] + "_" + m[5]
		out.interpreters = "PyPy " + out.pypy
		return out, true
	}
	out.interpreters = "CPython " + dotted(out.cpython) + out.flags
	return out, true
}

// moduleFile is a file with the name or the init function of a module.
type moduleFile struct {
	path  string
	hooks []string // the init functions that it exports: PyInit_x, PyModExport_x
}

// add adds an exported symbol.
func (f *moduleFile) add(symbol string) {
	if isHook(symbol) {
		f.hooks = append(f.hooks, symbol)
	}
}

// named returns the init functions for the name of the file. Names that are not ASCII are encoded,
// and stand for any name. x/__init__.so is the module x.
func (f *moduleFile) named(m module) []string {
	var list []string
	name := path.Base(m.stem)
	for _, symbol := range f.hooks {
		h, _ := cpython.ParseHook(symbol)
		if h.Module == "" || h.Module == name ||
			name == "__init__" && h.Module == path.Base(path.Dir(m.stem)) {
			list = append(list, symbol)
		}
	}
	return list
}

func isHook(symbol string) bool {
	_, ok := cpython.ParseHook(symbol)
	return ok
}

// checkSuffixes checks the paths of all modules.
func checkSuffixes(p *analyzer.Pass, files []moduleFile, parse func(file string) (module, bool)) {
	if reportNoPython(p) {
		return
	}
	byStem := map[string][]module{}
	var stems []string
	plain := map[string]bool{} // stems of x.so and x.pyd, which every Python imports
	var misnamed []moduleFile
	fitting, stable := 0, false // stable: a module is for every Python, or has several copies
	for _, file := range files {
		if len(file.hooks) == 0 && p.Pyodide == nil && p.Facts.Imports(file.path) {
			reportNoInit(p, file.path) // in Pyodide, checkSuffixesPyodide reported it
		}
		m, ok := parse(file.path)
		if !ok {
			fitting++
			stable = true
			plain[strings.TrimSuffix(file.path, path.Ext(file.path))] = true
			continue
		}
		m.inits = len(file.hooks) > 0
		if named := file.named(m); len(named) > 0 {
			reportNotCalled(p, m, named)
		} else if m.inits && identifier.MatchString(path.Base(m.stem)) {
			misnamed = append(misnamed, file)
		}
		stable = stable || m.stable.ABI != "" || byStem[m.stem] != nil
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
	installed := p.Requested // in an environment only what cannot be imported matters
	for _, f := range misnamed {
		if all := len(misnamed) == len(files); all || !installed {
			reportMisnamed(p, f, all)
		}
	}
	for _, s := range stems {
		if installed && fitting > 0 {
			continue
		}
		checkCopies(p, byStem[s], fitting, stable)
		if installed {
			continue
		}
		if !plain[s] {
			checkOtherPythons(p, byStem[s], stable)
		}
	}
}

// reportNoPython reports a wheel all of whose tags have an interpreter that no Python has: cp315t,
// because only the ABI tag says that a Python is free-threaded.
func reportNoPython(p *analyzer.Pass) bool {
	tags := p.Facts.Wheel.Tags
	if slices.ContainsFunc(tags, func(t pkgmeta.Tag) bool { return !flagged.MatchString(t.Python) }) {
		return false
	}
	t := tags[0]
	f := analyzer.Finding{Message: fmt.Sprintf(
		"No Python has the interpreter tag %s, so pip does not install the wheel %s. "+
			"That a Python is free-threaded belongs in the ABI tag",
		t.Python,
		t,
	)}
	to := pkgmeta.Tag{Python: flagged.FindStringSubmatch(t.Python)[1], ABI: t.ABI}
	p.Report(f, fix.Candidate{Fix: retagged(p, to, fix.Fix{
		Kind: fix.KindPlatformTag, Title: fix.Tagging(to.Python + "-" + to.ABI),
	})})
	return true
}

// flagged matches an interpreter tag of CPython with flags.
var flagged = lazyregexp.New(`^(cp[23][0-9]+)[a-z]+$`)

// reportNotCalled reports a module that only exports hooks which the oldest Python of a tag does
// not call.
func reportNotCalled(p *analyzer.Pass, m module, hooks []string) {
	for _, t := range p.Facts.Wheel.Tags {
		r, ok := cpython.OfTag(t.Python, t.ABI)
		if !ok || !m.imports(t, p.Platform.Libc) || slices.ContainsFunc(hooks, r.Calls) {
			continue
		}
		init := "PyInit_" + path.Base(m.stem)
		f := analyzer.Finding{Object: m.path, Chain: []string{m.path}}
		f.Message = fmt.Sprintf("%s exports %s, which only Python 3.15 and later call, but not %s. %s, "+
			"which the wheel's tag %s is for, does not import it: dynamic module does not define module "+
			"export function (%s)", m.path, hooks[0], init, r, t, init)
		p.Report(f, fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindSource, Title: fix.Titled("Define %s as well", init),
		}})
		return
	}
}

// identifier matches the file name of a module that an import statement can name.
var identifier = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reportMisnamed reports a module whose init function is for another name. all is set if the wheel
// has no module with the right one.
func reportMisnamed(p *analyzer.Pass, file moduleFile, all bool) {
	name, _, _ := strings.Cut(path.Base(file.path), ".")
	f := analyzer.Finding{Object: file.path, Chain: []string{file.path}}
	h, _ := cpython.ParseHook(file.hooks[0])
	f.Message = fmt.Sprintf("%s has the init function %s, but its file name requires "+
		"PyInit_%[3]s. The import fails: dynamic module does not define module export function "+
		"(PyInit_%[3]s)", file.path, file.hooks[0], name)
	if l := p.Facts.Loads; !all || l == nil || l.May(file.path) {
		f.Severity = analyzer.Warning
		f.Message += ", unless the package loads the file under the other name"
	}
	if !all && p.Facts.Sources && !p.Facts.Names(file.path) {
		f.Severity = analyzer.Note // a file that is left over, as far as the sources show
	}
	p.Report(f, fix.Candidate{Fix: fix.Fix{
		Kind: fix.KindRebuild,
		Title: fix.Titled("Rename the file to %s, or the module in its source to %s "+
			"(PyInit_%s, PYBIND11_MODULE, the file name of Cython)",
			h.Module+strings.TrimPrefix(path.Base(file.path), name), name, name),
	}})
}

// reportNoInit reports a module without an init function that the package imports in any case.
func reportNoInit(p *analyzer.Pass, file string) {
	name, _, _ := strings.Cut(path.Base(file), ".")
	init := "PyInit_" + name
	f := analyzer.Finding{Object: file, Chain: []string{file}}
	f.Headline = file + " exports no init function"
	f.Message = fmt.Sprintf("%s, and the package imports it. The import fails: dynamic module does "+
		"not define module export function (%s)", f.Headline, init)
	p.Report(f, fix.Candidate{Fix: fix.Fix{
		Kind: fix.KindSource, Title: fix.Titled("Define %s, and export it", init),
	}})
}

// checkCopies checks the files of one module.
func checkCopies(p *analyzer.Pass, copies []module, fitting int, stable bool) {
	tags := p.Facts.Wheel.Tags
	m := copies[0]
	if slices.ContainsFunc(copies, func(m module) bool {
		return slices.ContainsFunc(
			tags,
			func(t pkgmeta.Tag) bool { return m.imports(t, p.Platform.Libc) },
		)
	}) {
		checkStableCopies(p, copies, stable)
		return
	}
	other := "" // the platform of the module, where no tag names it
	if m.windows != "" && !slices.ContainsFunc(tags, func(t pkgmeta.Tag) bool {
		return t.Platform == m.windows || t.Platform == "any"
	}) {
		other = m.windows
		m.interpreters += " for " + m.windows
	}
	if m.triplet != "" && !slices.ContainsFunc(tags, func(t pkgmeta.Tag) bool {
		return !elsewhere64(m.triplet, platform.ParseTag(t.Platform).Arch)
	}) {
		other = m.triplet
		m.interpreters += " on " + strings.TrimSuffix(m.triplet, "-linux-gnu")
	}
	f := analyzer.Finding{Object: m.path, Chain: []string{m.path}}
	f.Message = fmt.Sprintf(
		"%s is imported only by %s, but the wheel's tag is %s. A Python of that tag cannot import it",
		m.path,
		m.interpreters,
		tags[0],
	)
	if m.muslTriplet && p.Platform.Libc == "glibc" {
		f.Message = fmt.Sprintf(
			"%s is imported only by a Python built for musl, but the wheel's tag is %s",
			m.path,
			tags[0],
		)
	}
	if fitting > 0 {
		f.Severity = analyzer.Warning
	}
	fixes := []fix.Candidate{
		{Fix: fix.Fix{Kind: fix.KindRebuild, Title: fix.Titled("Build the wheel with the Python of " +
			"its tag")}},
	}
	if m.cpython != "" && (m.triplet == "" || other == "") {
		fixes = append(fixes, builtFor(p, m, other))
	}
	p.Report(f, fixes...)
}

// checkOtherPythons checks a module that is for one CPython, in a wheel that pip installs for
// others too: py3-none, or cp310.cp311-none. Wheels for the stable ABI are left to
// checkStableCopies.
func checkOtherPythons(p *analyzer.Pass, copies []module, stable bool) {
	m := copies[0]
	if len(copies) > 1 || m.cpython == "" || !m.inits || ofOwnPython(p, m.path) {
		return
	}
	requires := ""
	if p.Facts.Metadata != nil {
		requires = p.Facts.Metadata.RequiresPython
	}
	own, after, other := false, false, "" // other: the next version, or the last one before
	var by pkgmeta.Tag
	for _, python := range packages.Interpreters(requires) {
		for _, t := range p.Facts.Wheel.Tags {
			_, ok := packages.Rate(t, packages.Target{Python: python})
			switch {
			case !ok || t.ABI != "none" || python == "":
			case python == dotted(m.cpython):
				own = true
			case !own:
				other, by = python, t
			case !after:
				other, by, after = python, t, true
			}
		}
	}
	if !own || other == "" {
		return
	}
	f := analyzer.Finding{Object: m.path, Chain: []string{m.path}}
	f.Message = fmt.Sprintf("%s is imported only by %s, but because of the tag %s pip installs the "+
		"wheel for others too, such as CPython %s", m.path, m.interpreters, by, other)
	if l := p.Facts.Loads; !p.Facts.Imports(m.path) && (stable || l == nil || l.HandlesImportError()) {
		f.Severity = analyzer.Warning
		f.Message += ". There, the package works only if it does without the module"
	}
	p.Report(f, builtFor(p, m, ""), fix.Candidate{Fix: stableABI(p)})
}

// ofOwnPython reports whether a module is for a Python that the wheel contains.
func ofOwnPython(p *analyzer.Pass, module string) bool {
	return strings.Contains(module, "/site-packages/") || strings.Contains(module, "/lib-dynload/") ||
		slices.ContainsFunc(p.Facts.Objects, func(o *analyzer.Object) bool {
			return strings.HasPrefix(path.Base(o.Path), "libpython")
		})
}

// builtFor returns the fix that tags the wheel for the CPython that imports a module; platform is
// the platform tag of the module, "" for that of the wheel.
func builtFor(p *analyzer.Pass, m module, platform string) fix.Candidate {
	abi := "cp" + m.cpython + m.flags
	if platform == "" && onlyAny(p) {
		platform = platformOf(p)
	}
	return fix.Candidate{
		Fix: retagged(p, pkgmeta.Tag{
			Python: "cp" + m.cpython, ABI: abi, Platform: platform,
		}, fix.Fix{
			Kind: fix.KindPlatformTag,
			Title: fix.Tagging("for the Python that built the module: " +
				strings.TrimSuffix("cp"+m.cpython+"-"+abi+"-"+platform, "-")),
		}),
	}
}

// onlyAny reports whether pip installs a wheel on every system.
func onlyAny(p *analyzer.Pass) bool {
	return !slices.ContainsFunc(p.Facts.PlatformTags(), func(t string) bool { return t != "any" })
}

// platformOf returns the platform tag for the files that are checked: the platform, if it is one of
// a tag.
func platformOf(p *analyzer.Pass) string {
	if on := p.Platform; on.OS == platform.Linux && on.Kind != platform.Policy {
		return "linux_" + on.Arch
	}
	return p.Platform.Name
}

// checkStableCopies checks a module that a Python of one of the tags imports, in wheels for more
// than one Python or for a free-threaded one. stable is set if the wheel has other modules for
// every Python.
func checkStableCopies(p *analyzer.Pass, copies []module, stable bool) {
	for _, t := range p.Facts.Wheel.Tags {
		m := copies[0]
		f := analyzer.Finding{
			Object:   m.path,
			Chain:    []string{m.path},
			Severity: analyzer.Warning,
		}
		oldest, _ := cpython.OfTag(t.Python, t.ABI)
		switch {
		case cpython.StableABI(t.ABI) && m.stable != cpython.Suffix{} &&
			!slices.ContainsFunc(copies, func(m module) bool { return m.imports(t, p.Platform.Libc) }):
			f.Severity = analyzer.Error
			f.Message = fmt.Sprintf(
				"%s cannot be imported by %s, but pip installs the wheel there because of its tag %s",
				m.path,
				oldest,
				t,
			)
			p.Report(f, fix.Candidate{Fix: fix.Fix{
				Kind:  fix.KindRebuild,
				Title: fix.Titled("Build the module for every Python of the wheel's tags, or remove the tag"),
			}})
			return
		case cpython.StableABI(t.ABI) && len(copies) == 1 && m.cpython != "":
			f.Message = fmt.Sprintf(
				"%s is imported only by %s, but the wheel's tag %s includes every later Python",
				m.path,
				m.interpreters,
				t,
			)
			fixes := []fix.Candidate{{Fix: stableABI(p)}}
			if !stable {
				f.Severity = analyzer.Error
				fixes = append(fixes, builtFor(p, m, ""))
			}
			p.Report(f, fixes...)
			return
		case strings.HasPrefix(t.ABI, "cp") && strings.HasSuffix(t.ABI, "t") &&
			!slices.ContainsFunc(copies, func(m module) bool { return m.stable.ABI != "abi3" }):
			f.Message = fmt.Sprintf(
				"%s is built for the stable ABI, which the free-threaded Python of the tag %s does not support",
				m.path,
				t,
			)
			p.Report(
				f,
				fix.Candidate{
					Fix: fix.Fix{
						Kind: fix.KindRebuild,
						Title: fix.Titled("Build the module for the free-threaded Python, without " +
							"Py_LIMITED_API"),
					},
				},
			)
			return
		}
	}
}

// stableABI returns the fix that builds a module for the stable ABI, in the terms of the build
// system that wrote the wheel. It is not tried.
func stableABI(p *analyzer.Pass) fix.Fix {
	out := fix.Fix{Kind: fix.KindRebuild, Title: fix.Titled("Build the module for the stable ABI")}
	generator := ""
	if p.Facts.Inside != nil && p.Facts.Inside.WheelFile != nil {
		generator, _, _ = strings.Cut(p.Facts.Inside.WheelFile.Generator, " ")
	}
	switch strings.ToLower(generator) {
	case "setuptools", "bdist_wheel":
		out.Title = out.Title.Append(": pass py_limited_api to its Extension")
		out.Command = "py_limited_api=True"
	case "scikit-build-core": // CMake, FindPython
		out.Title = out.Title.Append(": pass USE_SABI to Python_add_library, or STABLE_ABI to " +
			"nanobind_add_module")
	case "meson": // the Generator of meson-python
		out.Title = out.Title.Append(": pass limited_api to extension_module")
	case "maturin":
		out.Title = out.Title.Append(": enable the feature abi3 of pyo3")
		return out
	}
	out.Cost = []string{"not possible for a module that uses pybind11"}
	return out
}
