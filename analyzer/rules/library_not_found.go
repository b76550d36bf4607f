package rules

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/debian"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

var libraryNotFound = &analyzer.Rule{
	ID:       "library-not-found",
	Title:    "A needed library is not found",
	Severity: analyzer.Error,
	Doc: `An object lists a library in DT_NEEDED that neither the artifact, its dependencies nor
the platform provides. The load fails with "cannot open shared object file: No such file or
directory".

Fix: bundle the library (` + "`auditwheel repair`" + ` copies it into the wheel, if it is installed
on the build machine, or in a folder of LD_LIBRARY_PATH, as an absolute path), install a library
of the same build into the package (` + "`install(TARGETS ...)`" + ` of CMake, with
` + "`INSTALL_RPATH`" + ` "$ORIGIN" for the module), declare the package that provides it, or remove the dependency. A path in
DT_NEEDED (build/libfoo.so) is of the build machine: the library had no SONAME when the object was
linked. Link the library with ` + "`-Wl,-soname`" + `, or use ` + "`patchelf --replace-needed`" + `.

Severity: a warning where a known driver or system package provides the library (libcuda.so.1: the
NVIDIA driver; libgomp.so.1, which the images debian:12 and ubuntu:22.04 do not have), where only a
package of Debian is known to have it, unless a wheel has a tag for many systems, which must bundle
such a library, where a declared package that could not be looked up may provide it, where the
metadata of the wheel names it as an external requirement (Requires-External, or
Requires-External-Dep of PEP 725, a draft), for one of several variants of which only one is loaded
at run time, and for plug-ins of a wheel, which programs load only if they use them: libraries in
folders named plugins or qml, and, in a wheel with modules whose sources were read, those that no
object links or names and no Python source loads. It is also a warning for libpython3.11.so.1.0,
which exists only where Python was built as a shared library; with a manylinux tag it is an error,
since such a wheel has to work without it. For a package that is installed on the system that is
checked (compat env --venv or --root), a library that the system does not have is an error if no
module of the package loads without it. In a package without modules, those of its libraries count
that other packages need or that its Python sources may open, but not plug-ins that only a library
opens. For an rpm, apk or conda package it is a warning where a dependency may have the library, but
is not named after it. An rpm or apk names the libraries that it needs, so other capabilities
(python3dist(numpy), /bin/sh) count as no such dependency.

A deb has to name the packages of its libraries in Depends. The contents of Debian's packages and
what these depend on are known, so a library that none of them contains is an error, also if every
small image has it (libbz2.so.1.0), apart from the libraries of libc6, libgcc-s1 and libstdc++6. It
is a warning for a plug-in, and where one of the packages is not known. It is also a warning if only
a package in Recommends contains the library, or an alternative in Depends that is not the first
one, because these are not installed everywhere; Suggests counts as nothing. A deb, rpm or apk is
checked on the distributions whose packages it depends on.

A container image, or a tar with a file os-release, is a system of its own: what it does not have is
missing, also if another of its libraries needs it, and --root DIR is such a system for other files.
It is a warning for plug-ins of an image, and for the driver of a GPU, which is added when a
container starts. An object that only programs open may find a library that the program has loaded
before from another folder of the image.

The loader takes a loaded library for every name that is its SONAME. So there is no finding where an
object loads only after another package, because no search path leads to the libraries of that
package, and the package has loaded a copy with the needed SONAME: torch has
libgomp-c9fef706.so.1, whose SONAME is libgomp.so.1.

On macOS the load fails with "Library not loaded: @rpath/libfoo.dylib". Libraries of the system are
in a shared cache and not on disk; compat knows their names, and since when macOS has a framework.
A name below /usr/lib that is in no list is a warning, and so is the library of one Python
installation (Python.framework), and a library that a declared package may have. Files that were
built with an SDK before 14 also find libraries of /usr/lib by their file name. Fix: bundle the
library (` + "`delocate-wheel`" + `). Libraries that may be absent (LC_LOAD_WEAK_DYLIB) are not
reported.

On Windows a module or DLL imports from a DLL that is neither in the artifact nor part of Windows
nor installed with Python. The import fails: "DLL load failed while importing x: The specified
module could not be found" (error 126), which does not name the DLL. Fix: bundle it (` +
		"`delvewheel repair`" + `) or link it statically. It is a warning for the Visual C++ 2015-2022
runtime, of which Python installs vcruntime140.dll only, and which many machines have; for DLLs of
drivers and of other Microsoft products; for an API set that no known Windows has; for a DLL of a
package on the index that the wheel does not declare; for plug-ins; and for DLLs that no module of
the wheel imports, where it has modules. A DLL that a package has which the wheel requires counts as
found, because the import of that package may load it before. Delay-loaded DLLs are not reported.

On Android a library is neither in the wheel nor one of the NDK: others of the system cannot be
loaded by apps. The load fails with library "libfoo.so" not found. libc++_shared.so is no part of
Android: bundle it (` + "`auditwheel repair`" + `), or link the C++ library statically. The libraries of
Python (libpython3.13.so, libssl_python.so) are in the app. A library that the API level of the tag
does not have yet is reported too.

On iOS a library is neither in the wheel nor in a folder of the system, or has a path of macOS,
whose frameworks have versions. Which libraries of these folders a version of iOS has is not known.

In Pyodide a library is not in the wheel. The load fails with "could not load dynamic lib". Fix:
bundle it (` + "`pyodide auditwheel repair`" + `) or link it statically. It is a warning for a
library that a package of Pyodide's distribution has (libopenblas.so), which has to be loaded
before.

Libraries of the packages that an rpm, apk or conda package depends on are matched by name,
capability, or because the package is known to have them; the packages themselves are not read. The
report lists these libraries as assumed. A library that an npm package searches in the folder of a
package that it depends on is assumed too.`,
	Cause: cause.Rule{
		Lacks: cause.LacksLibrary,
		Warns: "it works where the library is installed",
	},
	Explains:   []string{"macos-library-not-loaded", "windows-dll-not-found"},
	References: []string{"gABI, DT_NEEDED", "glibc: elf/dl-load.c"},
	Check:      checkLibraryNotFound,
	Windows:    checkMissingDLLs,
	MacOS:      checkLibraryNotFoundMacOS,
	Android:    checkLibraryNotFoundAndroid,
	IOS:        checkLibraryNotFoundIOS,
	Pyodide:    checkLibraryNotFoundPyodide,
	Quick:      true,
}

func checkLibraryNotFound(p *analyzer.Pass) {
	checkNeededBySibling(p)
	for _, v := range p.Views {
		checkUndeclared(p, v)
		for _, needed := range slices.Concat(v.Missing, notInstalled(p, v), undeclared(p, v)) {
			if p.Facts.Root() && (v.Linked() || openedLater(p, v, needed)) {
				continue
			}
			if _, _, _, wrong := wrongStack(p, needed); wrong &&
				(!v.Alternative || everyAlternativeLacks(p, v, needed)) {
				continue // gpu-stack-mismatch reports it
			}
			if mixedCUDA(p, v, needed) {
				continue // cuda-major-mixed reports it
			}
			certain, perhaps, lacks := p.Facts.GivenProvides(needed, p.Others())
			if certain || perhaps && p.Platform.Library(needed) != nil ||
				p.Platform.Library(needed) == nil && p.Facts.SearchesDependency(v.Object) {
				continue // a package that it depends on provides it, or else the system
			}
			reportMissing(p, v, needed, perhaps, lacks)
		}
	}
}

// notInstalled returns the libraries that an object loads from the platform, but that only some of
// its systems have. Those that a fix adds are not among them: the fix does not remove them. Nor are
// those that another package has loaded before.
func notInstalled(p *analyzer.Pass, v *analyzer.View) []string {
	var out []string
	for _, found := range v.Loading.Found {
		l := found.Library
		if found.NeededBy == v.Library && l.Kind == dynlink.FromPlatform &&
			!p.Platform.Installs(l.SONAME) && !slices.Contains(p.Scenario.Needed[v.Path], l.SONAME) &&
			!loadedBefore(v, l.SONAME) {
			out = append(out, l.SONAME)
		}
	}
	return out
}

// undeclared returns the libraries that an object of a deb loads from a small image of the
// platform, although none of the packages that the deb depends on contains them.
func undeclared(p *analyzer.Pass, v *analyzer.View) (out []string) {
	for _, found := range v.Loading.Found {
		l := found.Library
		if found.NeededBy == v.Library && l.Kind == dynlink.FromPlatform &&
			p.Platform.Installs(l.SONAME) && p.Facts.Undeclared(l.SONAME) {
			out = append(out, l.SONAME)
		}
	}
	return out
}

// loadedBefore reports whether a library with a SONAME is loaded before an object is: by a library
// of another package that no search path of the object leads to, so that the object loads only
// after that package. The loader takes a loaded library for every name that is its SONAME: the copy
// libgomp-c9fef706.so.1 of torch is libgomp.so.1.
func loadedBefore(v *analyzer.View, soname string) bool {
	first := map[*dynlink.Library]bool{}
	for _, f := range v.Loading.Found {
		if f.By == dynlink.ByPackage && f.Library.Kind == dynlink.FromPackage {
			first[f.Library] = true
		}
	}
	return slices.ContainsFunc(v.Loading.Found, func(f dynlink.Found) bool {
		return f.Library.Kind == dynlink.FromPackage && f.Library.SONAME == soname &&
			slices.ContainsFunc(v.Loading.Chain(f.Library), func(l *dynlink.Library) bool {
				return first[l]
			})
	})
}

// reportMissing reports a library that is not found. The declared packages come before what is
// known of libraries in general: a package that is installed and lacks the library is an error,
// even if a system may provide it.
func reportMissing(p *analyzer.Pass, v *analyzer.View, needed string, perhaps bool, lacks string) {
	f := analyzer.Finding{Object: v.Path, Library: needed, Chain: []string{v.Path, needed}}
	f.Message = fmt.Sprintf(
		"%s needs %s, which is not in the artifact or on %s",
		v.Path,
		needed,
		p.Platform.Name,
	)
	nowhere := fmt.Sprintf(
		"%s needs %s, which is not in the artifact, in its dependencies or on %s",
		v.Path,
		needed,
		p.Platform.Name,
	)
	if p.Facts.Root() {
		f.Message = fmt.Sprintf("%s needs %s, which %s does not have", v.Path, needed, p.Platform.Name)
		nowhere = f.Message
	}
	if p.Platform.Library(needed) != nil {
		where := "not every system of " + p.Platform.Name + " has"
		if p.Platform.Kind == platform.Distribution {
			where = p.Platform.Name + " has only if a package is installed"
		}
		f.Message = fmt.Sprintf("%s needs %s, which is not in the artifact, and which %s", v.Path, needed,
			where)
	}
	add := func(severity analyzer.Severity, format string, args ...any) {
		f.Headline = cmp.Or(f.Headline, f.Message)
		reason := fmt.Sprintf(format, args...)
		f.Severity, f.Message, f.Why = severity, f.Message+". "+reason, reason
		if !strings.HasPrefix(format, "%") { // it does not begin with a name
			f.Why = strings.ToLower(reason[:1]) + reason[1:]
		}
	}
	s := providerFor(p, v, needed)
	unknown := notLookedUp(p, needed)
	external := externalRequirement(p, needed, s)
	variant := v.Alternative && !everyAlternativeLacks(p, v, needed)
	inFolder := p.Facts.Wheel != nil && inPluginFolder(v.Path) && !v.Extension()
	plugIn := inFolder || optional(p, v) || unopened(p, v)
	libc := platform.LibcOf(needed)
	switch r := otherVersion(p, needed); {
	case libc != "" && libc != p.Platform.Libc:
		f.Message = fmt.Sprintf(
			"%s needs %s of %s, but %s uses %s",
			v.Path,
			needed,
			libc,
			p.Platform.Name,
			p.Platform.Libc,
		)
		p.Report(f, otherLibc(p)...)
		return
	case ofInterpreter(p, needed):
		severity := analyzer.Error // PEP 513: a wheel with such a tag has to work with a static Python
		if p.Platform.Kind != platform.Policy {
			severity = analyzer.Warning
		}
		add(severity, "Only a Python built with --enable-shared has it; most do not")
		p.Report(f, fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindRebuild,
			Title: fix.Titled("Link the module without libpython: in CMake with Python::Module instead "+
				"of Python::Python, in Meson with embed: false, in setup.py without "+
				"%s in libraries", strings.TrimSuffix(strings.TrimPrefix(needed, "lib"), ".so.1.0")),
		}}, fix.Candidate{
			Fix: fix.Fix{
				Kind:    fix.KindPatchelf,
				Title:   fix.Titled("Remove the DT_NEEDED entry from the finished file"),
				Command: edit(p, v.Path, "patchelf --remove-needed "+shellword.Quote(needed)),
			},
			Change: fix.DropNeeded{Object: v.Path, Library: needed},
		})
		return
	case p.Facts.Undeclared(needed):
		f.Message = fmt.Sprintf("%s needs %s, which none of the packages in Depends contains", v.Path,
			needed)
		name, place := p.Facts.Recommended(needed)
		switch {
		case place == "Recommends":
			f.Severity = analyzer.Warning
			f.Message = fmt.Sprintf("%s needs %s of %s, which is only in Recommends. "+
				"apt installs it too, but not with --no-install-recommends, which images use",
				v.Path, needed, name)
		case place != "":
			f.Severity = analyzer.Warning
			f.Message = fmt.Sprintf("%s needs %s of %s, which is in %s", v.Path, needed, name, place)
		case !v.Program() && !v.Searched():
			f.Severity = analyzer.Warning // a plug-in, which is opened if it is used
		}
		var fixes []fix.Candidate
		if name := cmp.Or(name, holderOn(p.Platform, needed)); name != "" {
			fixes = []fix.Candidate{{Fix: fix.Fix{
				Kind:        fix.KindDependency,
				Title:       fix.Titled("Add %s to the field Depends", name),
				Requirement: name,
			}}}
		}
		p.Report(f, fixes...)
		return
	case strings.Contains(needed, "/") && !p.Facts.Packaged():
		add(analyzer.Error, "The library had no SONAME when %s was linked, so the linker recorded the "+
			"path of the file. %s", path.Base(v.Path), recordedPath(needed))
		p.Report(f, byName(p, v, needed)...)
		return
	case r != nil && !provides(r, needed) && !variant:
		f.LackedBy = r.ID().String()
		add(analyzer.Error, "%s has another version of that library", f.LackedBy)
	case lacks != "" && !variant && !plugIn:
		f.LackedBy = lacks
		add(analyzer.Error, "%s, a dependency that was checked with it, does not contain it", lacks)
	case s.lacks != nil && !variant:
		f.LackedBy = s.lacks.ID().String()
		add(analyzer.Error, "%s does not contain it", f.LackedBy)
	case s.python != "" && slices.Contains(strings.Split(unknown, ", "), s.python):
		f.Unknown = true
		add(analyzer.Warning, "It may come from %s, which could not be looked up", s.python)
	case s.system(p):
		severity := analyzer.Warning
		known := p.Platform.Kind == platform.System && s.Kind != platform.DriverProvider
		if known && !variant && !plugIn {
			severity = analyzer.Error // all files of the system are known
		}
		add(severity, "Provided by %s", s.String())
	case variant:
		add(analyzer.Warning, "This file is one of several variants, and only one is loaded")
	case plugIn && !inFolder && p.Facts.Wheel != nil:
		add(analyzer.Warning, "No object links it and no Python code loads it, so it loads only where "+
			"other code opens it as a plug-in")
	case plugIn:
		add(analyzer.Warning, "The object is in a folder of plug-ins, which load only if they are used")
	case external != "":
		add(analyzer.Warning, "The wheel declares the external requirement %s, which users have to "+
			"install", external)
	case len(s.extras) > 0:
		add(analyzer.Error, "Only the extra %s of the wheel requires a package that may have it: %s",
			s.extras[0].extra, s.extras[0].Name)
	case s.python != "":
		add(analyzer.Error, "Provided by %s, which the artifact does not declare", s.String())
	case s.known && p.Platform.Kind == platform.Policy:
		add(analyzer.Error, "It is part of %s, which the wheel does not bundle", s.String())
	case s.known:
		add(analyzer.Error, "It is part of %s, which %s does not have", s.String(), p.Platform.Name)
	case unknown != "":
		f.Unknown = true
		add(analyzer.Warning, "It may come from %s, which could not be looked up", unknown)
	case grafted(needed) != "":
		add(analyzer.Error, "auditwheel gave it this name, but the copy is missing from the wheel")
		repair := fix.Fix{
			Kind: fix.KindRebuild,
			Title: fix.Titled("Run auditwheel repair again on the wheel that the build produced, not on " +
				"this one"),
		}
		p.Report(f, fix.Candidate{Fix: repair})
		return
	case perhaps:
		add(analyzer.Warning, "One of its declared dependencies may provide it, but their contents "+
			"are not known")
	case s.inDebian && !s.unbundled(p) && p.Platform.Kind != platform.System:
		add(analyzer.Warning, "Provided by %s", s.String())
	default:
		f.Message = nowhere
		switch {
		case s.unbundled(p):
			add(analyzer.Error, "It is part of %s, which the wheel does not bundle", s.String())
		case s.inDebian:
			add(analyzer.Error, "It is part of %s, which %s does not have", s.String(), p.Platform.Name)
		default:
			add(analyzer.Error, "No known package provides it")
		}
		fixes := append(siblingWith(p, needed), s.fixes(p, needed)...)
		if len(fixes) == 0 {
			fixes = repaired(p, needed)
		}
		p.Report(f, fixes...)
		return
	}
	p.Report(f, append(siblingWith(p, needed), s.fixes(p, needed)...)...)
}

// externalRequirement returns the external requirement of the wheel's metadata that is about a
// library, by the names of the library, its project and its package in conda; "" if there is none.
func externalRequirement(p *analyzer.Pass, needed string, s provider) string {
	if p.Facts.Metadata == nil || len(p.Facts.Metadata.External) == 0 {
		return ""
	}
	stem, _, _ := strings.Cut(needed, ".so")
	names := append([]string{stem, strings.TrimPrefix(stem, "lib"), strings.ToLower(s.Project)},
		s.Packages(platform.Conda)...)
	for _, e := range p.Facts.Metadata.External {
		if name := pkgmeta.ExternalName(e); name != "" && slices.Contains(names, name) {
			return e
		}
	}
	return ""
}

// holderOn returns the package of a release of Debian or Ubuntu that contains a library, or "".
// From Debian 13 and Ubuntu 24.04 on the names of many end in t64.
func holderOn(p *platform.Platform, soname string) string {
	own, holders := p.Packages(), debian.Holders(soname, p.Name)
	t64 := ecosystemOf(p) == platform.Debian13
	best := ""
	for _, name := range holders {
		switch {
		case slices.Contains(own, name):
			return name
		case best == "" || strings.HasSuffix(name, "t64") == t64:
			best = name
		}
	}
	return best
}

// libPython matches the library of a CPython that was built as one.
var libPython = lazyregexp.New(`^libpython([23])\.([0-9]+)[a-z]*\.so\.1\.0$`)

// ofInterpreter reports whether a library is libpython of a Python in the wheel's tags.
func ofInterpreter(p *analyzer.Pass, needed string) bool {
	m := libPython.FindStringSubmatch(needed)
	return m != nil && p.Facts.Wheel != nil &&
		slices.ContainsFunc(
			p.Facts.Wheel.Tags,
			func(t pkgmeta.Tag) bool { return t.Python == "cp"+m[1]+m[2] },
		)
}

// modulesFirst sorts the modules that fail if a library is missing before all other objects.
func modulesFirst(views []*analyzer.View) []*analyzer.View {
	rank := func(v *analyzer.View) int {
		if v.Extension() && !v.Alternative {
			return 0
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(views), func(a, b *analyzer.View) int {
		return rank(a) - rank(b)
	})
}

// notLookedUp lists the declared packages that could not be looked up and that may have a library,
// as far as is known. Those that are given as files are known. It is "" if there are none.
func notLookedUp(p *analyzer.Pass, library string) string {
	var names []string
	for _, u := range p.Packages.Unresolved {
		if !p.Together(u.Package) &&
			!packages.History().Lacks(u.Package, u.Extras, platform.OfFamily(library)) {
			names = append(names, u.Package)
		}
	}
	for r := range p.Packages.All() {
		if !r.Known && !p.Together(r.Name) {
			names = append(names, r.Name)
		}
	}
	return strings.Join(names, ", ")
}
