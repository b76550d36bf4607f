package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/lazyregexp"
)

var wrongArchitecture = &analyzer.Rule{
	ID:       "wrong-architecture",
	Title:    "An object does not fit the platform of the wheel's tag",
	Severity: analyzer.Warning,
	Doc: `A wheel whose tag names one architecture contains an object for another. The loader fails
with "cannot open shared object file" or "wrong ELF class". So does one for Linux in a wheel whose
tags are only for other systems and that has no binary for them, and a wheel with tags for several
architectures that has no binary for one of them.

The same is checked for the architecture that a Debian, Alpine or conda package declares. Libraries
of the 32-bit variant (i386 in a package for amd64), and paths that name the other architecture, as
in cross compilers, are not reported, except in a multiarch folder of Debian whose programs cannot
load them, or if no binary of the package fits. ARM with soft floating point (armel) is another
architecture than armhf, which is that of armv7l in a wheel.

In an npm package each folder prebuilds/linux-x64, in a jar each folder such as linux-x86-64 or
Linux/aarch64, is for one architecture, whose programs load the file in it.

Fix: build the object for the architecture of the tag, or remove it from the wheel. If all binaries
are for one other architecture, the tag may be wrong.

A wheel with the platform tag any is installed on every system. It is reported if a module that
Python imports is in it, and all binaries are for one system and architecture: an error if the wheel
has no Python source, which could do without the module, or if the package imports the module in any
case: its __init__.py, or a module that this imports, has the statement at the start of a line.
Fix: build a wheel with a platform tag, or change the tag.
This is not checked for macOS.

On macOS a file may have slices for several architectures, and each architecture of the tag needs
one: universal2 promises x86_64 and arm64. Fix: build each slice and join them (` + "`lipo`" + `,
` + "`delocate-merge`" + `), or tag the wheel for one architecture. It is also an error for a
library that a module loads.

On Windows a file for another machine fails with "%1 is not a valid Win32 application" (error
193). A DLL that no module of the wheel needs is not reported where others fit the tag, and
programs and .NET files of intermediate code never are.

On iOS a file also has to be for the SDK of the tag: iphoneos for devices, or iphonesimulator.

In Pyodide a library (.so) has to be WebAssembly that is linked for dynamic loading
(-sSIDE_MODULE): "need to see wasm magic number", "need the dylink section to be first". One for
another system makes the installation fail since the ABI 2025_0.

Severity: an error for a module that Python imports (see above for the tag any), if no binary of the
wheel or package fits what it is for, and for a public library of a package; a warning otherwise:
some contain objects for several architectures and select one at run time, or have them for tests.`,
	Cause: cause.Rule{
		Kind:  wrongPlatform,
		Warns: "no module of the wheel loads the file, or it works on the other platforms of its tag",
	},
	Explains:   []string{"macos-wrong-architecture", "windows-wrong-architecture"},
	References: []string{"gABI, e_machine", "PEP 425, platform tag"},
	Check:      checkArchitecture,
	Windows:    checkMachine,
	MacOS:      checkArchitectureMacOS,
	Android:    checkArchitectureAndroid,
	IOS:        checkArchitectureIOS,
	Pyodide:    checkArchitecturePyodide,
}

// wrongPlatform is the kind of causes of objects that do not fit the tag.
var wrongPlatform = &cause.Kind{
	Title: func(t *cause.Text) string { return t.Objects() + ": " + t.First().Reason },
	Task: func(*cause.Text) cause.Task {
		return cause.Task{
			Actor: result.Builder,
			Do:    "build it for the platform of its tag, or tag it for what it contains",
		}
	},
}

// builtForOther returns the finding of an object. what follows "is" in its message.
func builtForOther(object, what string) analyzer.Finding {
	return analyzer.Finding{
		Object: object, Chain: []string{object}, Reason: what,
		Headline: object + " is " + what, Message: object + " is " + what,
	}
}

// families are architectures whose libraries distributions put in packages of the other one.
var families = [][]string{{"x86_64", "i686", "x32"}, {"ppc64", "ppc"}, {"s390x", "s390"}}

// multiarch matches a library in a folder that loaders of one architecture search on Debian.
var multiarch = lazyregexp.New(`^(?:usr/)?lib/([a-z0-9_]+-linux-gnu[a-z0-9]*)/[^/]+$`)

// onPurpose reports whether an object for another architecture than a package is where the
// libraries of a 32-bit variant or of a cross compiler are. fits is set if others fit the package.
func onPurpose(o *analyzer.Object, declared string, fits bool) bool {
	built, folder := o.BuiltFor(), multiarch.FindStringSubmatch(o.Path)
	if slices.ContainsFunc(families, func(f []string) bool {
		return slices.Contains(f, built) && slices.Contains(f, declared)
	}) {
		return folder == nil || folder[1] == dynlink.Triplet(built)
	}
	return strings.Contains(o.Path, built) && (folder == nil || fits)
}

// checkPackage reports objects that do not fit the architecture that a package declares, or its
// system if it has no binary for it. One of several may be test data.
func checkPackage(p *analyzer.Pass) {
	declared := p.Facts.Arch
	forLinux := !strings.Contains(declared, "-") // osx-arm64
	fits := slices.ContainsFunc(p.Facts.Objects, func(o *analyzer.Object) bool {
		return o.BuiltFor() == declared
	})
	for _, o := range p.Facts.Objects {
		built := o.BuiltFor()
		switch {
		case built == declared, o.Arch() != p.Platform.Arch, onPurpose(o, declared, fits):
			continue
		case !forLinux && p.Facts.Binaries() > len(p.Facts.Objects):
			continue
		case !forLinux:
			built = "Linux on " + built
		}
		f := builtForOther(o.Path, fmt.Sprintf("built for %s, but the package is for %s", built,
			declared))
		if !fits || o.Public() {
			f.Severity = analyzer.Error
		}
		p.Report(f, fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindRebuild, Title: fix.Titled("Build %s for %s", o.Path, declared),
		}})
	}
}

func checkArchitecture(p *analyzer.Pass) {
	if p.Facts.Arch != "" {
		checkPackage(p)
		return
	}
	checkArchitectureFolders(p)
	if p.Facts.Kind != analyzer.KindWheel || p.Requested {
		return
	}
	for _, v := range p.Views {
		if v.Extension() && v.Exports.Any(isHook) {
			reportAnyTag(p, v.Path, "Linux on "+v.Arch())
		}
	}
	forLinux, known := linuxTags(p.Facts.PlatformTags())
	if !known || !forLinux && p.Facts.Binaries() > len(p.Facts.Objects) {
		return
	}
	reportNoBinaryFor(p)
	for _, o := range p.Facts.Objects {
		built, tag := o.BuiltFor(), p.Platform.Arch
		switch {
		case forLinux && (p.Facts.Tagged(built) || !p.Facts.Tagged(tag)):
			continue
		case !forLinux && o.Arch() != tag: // reported on a platform of the object
			continue
		case !forLinux:
			built, tag = "Linux on "+built, strings.Join(p.Facts.PlatformTags(), " and ")
		}
		f := builtForOther(o.Path, fmt.Sprintf("built for %s, but the wheel's tag is for %s", built, tag))
		if o.Extension() || !forLinux || noneFits(p) { // not for Linux: no binary is for its systems
			f.Severity = analyzer.Error
		}
		if forLinux && !severalSystems(p) && built == o.Arch() {
			to := otherArch(p.Facts.PlatformTags(), built)
			p.Report(f, fix.Candidate{Fix: retagged(p, pkgmeta.Tag{Platform: to}, fix.Fix{
				Kind:  fix.KindPlatformTag,
				Title: fix.Tagging("for the architecture of its binaries: " + to),
				Cost:  []string{notInstalledOn(tag)},
			})}, fix.Candidate{Fix: fix.Fix{Kind: fix.KindRebuild, Title: fix.Titled("Build the wheel "+
				"for %s", tag)}})
			continue
		}
		p.Report(f, fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindRebuild, Title: fix.Titled("Build %s for %s", o.Path, tag),
		}})
	}
}

// reportNoBinaryFor reports a wheel for several architectures whose binaries leave out one of them.
func reportNoBinaryFor(p *analyzer.Pass) {
	if noneFits(p) || p.Facts.Binaries() > len(p.Facts.Objects) {
		return
	}
	var rest []string
	lacks := ""
	for _, t := range p.Facts.PlatformTags() {
		arch := platform.ParseTag(t).Arch
		if slices.ContainsFunc(p.Facts.Objects, func(o *analyzer.Object) bool {
			return o.BuiltFor() == arch
		}) {
			rest = append(rest, t)
		} else if slices.Contains(platform.Architectures(), arch) {
			lacks = arch
		}
	}
	if lacks == "" || len(rest) == 0 {
		return
	}
	first := p.Facts.Objects[0]
	f := builtForOther(first.Path, fmt.Sprintf("built for %s, and no binary of the wheel is for %s, "+
		"which its tags also name", first.BuiltFor(), lacks))
	f.Severity = analyzer.Error
	to := strings.Join(rest, ".")
	p.Report(f, fix.Candidate{Fix: retagged(p, pkgmeta.Tag{Platform: to}, fix.Fix{
		Kind:  fix.KindPlatformTag,
		Title: fix.Tagging("for the architecture of its binaries: " + to),
		Cost:  []string{notInstalledOn(lacks)},
	})}, fix.Candidate{Fix: fix.Fix{
		Kind: fix.KindRebuild, Title: fix.Titled("Build a wheel for %s", lacks),
	}})
}

// notInstalledOn is the cost of a tag without an architecture, for which the wheel has no binary.
func notInstalledOn(arch string) string { return "pip no longer installs it on " + arch }

// otherArch returns the platform tags of a wheel for Linux with another architecture, as its file
// name has them.
func otherArch(tags []string, arch string) string {
	var out []string
	for _, t := range tags {
		tag := platform.ParseTag(t)
		if slices.Contains(platform.Architectures(), tag.Arch) {
			tag.Arch = arch
			out = withName(out, tag.String())
		}
	}
	return strings.Join(out, ".")
}

// reportAnyTag reports a module of a wheel that pip installs on every system, where all binaries
// are for one.
func reportAnyTag(p *analyzer.Pass, module, built string) {
	if !onlyAny(p) || p.Facts.Wheel == nil || ofOwnPython(p, module) || severalSystems(p) {
		return
	}
	f := builtForOther(module, "built for "+built+", but the wheel's tag, any, is for every system")
	switch {
	case p.Facts.Imports(module):
		f.Severity = analyzer.Error
		f.Message += ". Elsewhere, the import of the package fails"
	case !p.Facts.Sources:
		f.Severity = analyzer.Error
	default:
		f.Message += ". Elsewhere, the package works only if it does without the module"
	}
	var fixes []fix.Candidate
	if f.Severity == analyzer.Error {
		fixes = append(fixes, tagOf(p, module))
	}
	p.Report(f, append(fixes, fix.Candidate{Fix: fix.Fix{
		Kind: fix.KindRebuild,
		Title: fix.Titled("Build a wheel with a platform tag, as build backends do for declared " +
			"extension modules, or remove the module"),
	}})...)
}

// tagOf returns the fix that tags the wheel for the system of a module, and for the CPython that
// imports it if it is the only one.
func tagOf(p *analyzer.Pass, module string) fix.Candidate {
	m, ok := parseModule(module)
	if !ok {
		m, ok = parsePYD(module)
	}
	if ok && m.cpython != "" {
		return builtFor(p, m, platformOf(p))
	}
	return fix.Candidate{Fix: retagged(p, pkgmeta.Tag{Platform: platformOf(p)}, fix.Fix{
		Kind: fix.KindPlatformTag, Title: fix.Tagging("for the system of the module: " + platformOf(p)),
	})}
}

// severalSystems reports whether the binaries of an artifact are for more than one system or
// architecture, so that one of them is chosen at run time.
func severalSystems(p *analyzer.Pass) bool {
	a := p.Facts
	systems := map[string]bool{}
	for _, o := range a.Objects {
		systems["linux "+o.Arch()] = true
	}
	for _, o := range a.PE {
		systems["windows "+o.Machine] = true
	}
	if len(a.MachO) > 0 {
		systems["macos"] = true
	}
	return len(systems) > 1 || len(a.UnreadPE)+len(a.UnreadMachO) > 0
}

// noneFits reports whether no binary of a wheel for Linux fits an architecture of its tags.
func noneFits(p *analyzer.Pass) bool {
	return p.Facts.Binaries() == len(p.Facts.Objects) &&
		!slices.ContainsFunc(p.Facts.Objects, func(o *analyzer.Object) bool {
			return p.Facts.Tagged(o.BuiltFor())
		})
}

// linuxTags reports whether some of the platform tags are for Linux; known is false if not all are
// for a system with other binaries, or for Linux on an architecture with a manylinux policy.
func linuxTags(tags []string) (some, known bool) {
	for _, t := range tags {
		switch tag := platform.ParseTag(t); {
		case slices.Contains([]platform.TagSystem{
			platform.TagMacOS, platform.TagWindows, platform.TagAndroid, platform.TagIOS,
			platform.TagWebAssembly, platform.TagFreeBSD,
		}, tag.System):
		case tag.System == platform.TagLinux && slices.Contains(platform.Architectures(), tag.Arch):
			some = true
		default:
			return some, false
		}
	}
	return some, len(tags) > 0
}
