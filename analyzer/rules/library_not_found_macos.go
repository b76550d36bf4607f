package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dyld"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/macos"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// checkLibraryNotFoundMacOS reports libraries that dyld does not find and that are not in the
// artifact. bundled-library-not-reachable reports those in the artifact, and
// dependency-library-not-reachable those in other packages.
func checkLibraryNotFoundMacOS(p *analyzer.Pass) {
	eachMissing(p, func(m dyld.Missing) {
		base := path.Base(m.Needed.Path)
		if m.Lacks != nil || len(p.MacOS.Named(base)) > 0 || p.MacOS.Unread(base) {
			return
		}
		needed, by := m.Needed.Path, m.NeededBy
		f := analyzer.Finding{
			Object:   by.Name,
			Library:  needed,
			Chain:    imageChain(m.Chain, needed),
			Severity: macOSSeverity(p, by, analyzer.Error),
		}
		where := by.Name + inSlice(p, by.Name) + " needs " + needed
		release, python := dyld.PythonLibrary(needed)
		since := macos.Library(needed)
		provider := dependencyFor(p, needed)
		if provider == "" {
			provider = dependencyAt(p, m)
		}
		dylib, _ := strings.CutSuffix(base, ".dylib")
		certain, perhaps := p.Facts.DependencyProvides(dylib)
		if !certain { // libz.1 of the package libz
			stem, _, _ := strings.Cut(dylib, ".")
			certain, _ = p.Facts.DependencyProvides(stem)
		}
		if certain || nodeModule(p, m) {
			return // a package that it depends on provides it
		}
		var fixes []fix.Candidate
		switch {
		case python && p.MacOS.Python != "" && release != p.MacOS.Python:
			return // python-library-mismatch reports it
		case python:
			f.Severity = analyzer.Warning
			f.Message = where + ", the library of one Python installation. Other installations " +
				"(Homebrew, conda, uv) have it at another path"
			fixes = append(fixes, fix.Candidate{Fix: fix.Fix{Kind: fix.KindLinkFlag,
				Title:   fix.Titled("Link the module without the library of Python"),
				Command: "-undefined dynamic_lookup"}})
		case macos.Aborts(needed):
			f.Message = where + ", and macOS 10.15 and later terminate a process that loads it"
			fixes = append(fixes, delocate(p,
				fix.Titled("Link with your own build of OpenSSL and bundle it")))
		case since.After(p.MacOS.OS):
			f.Message = fmt.Sprintf("%s, which is in macOS from %v on, not in %v", where,
				since.Since, p.MacOS.OS)
			f.Version = since.Since.String()
			fixes = append(fixes, retagMacOS(p, since.Since)...)
			fixes = append(fixes, fix.Candidate{Fix: fix.Fix{Kind: fix.KindLinkFlag,
				Title:   fix.Titled("Link the framework weakly, so that it may be absent"),
				Command: "-weak_framework " + quoted(needed)}})
		case macos.System(needed):
			f.Severity = analyzer.Warning
			f.Message = where + ", which no known release of macOS has"
			fixes = append(fixes, delocate(p,
				fix.Titled("Build or install %s, link with it and bundle it", path.Base(needed))))
		case provider != "" && p.Packages.Release(provider) == nil:
			f.Severity = analyzer.Warning
			f.Package = provider
			f.Message = fmt.Sprintf("%s, which is not in the %s. %s, which it requires, may "+
				"provide it: compat does not know what packages contain on macOS", where, kindName(p),
				provider)
			fixes = append(fixes, fix.Candidate{Fix: fix.Fix{Kind: fix.KindSource,
				Title: fix.Titled("Import %s before the module", provider)}})
		case perhaps && strings.HasPrefix(needed, "@rpath/"):
			f.Severity = analyzer.Warning
			f.Message = where + ", which is not in the package. A package that it depends on may " +
				"provide it"
		case optionalModule(p, m):
			f.Severity = analyzer.Warning
			f.Message = where + ", which is not in the " + kindName(p) + " or in macOS. Other modules " +
				"in its folder load without the library, so it may be an optional backend"
			fixes = append(fixes, delocate(p,
				fix.Titled("Bundle %s into the %s", path.Base(needed), kindName(p))))
		case ofPackageOnly(dylib) != "" && p.Facts.Kind == analyzer.KindWheel:
			// it must not be loaded twice, so a copy is no fix
			name := ofPackageOnly(dylib)
			f.Message = fmt.Sprintf("%s of %s, which the wheel does not require", where, name)
			fixes = append(fixes, fix.Candidate{Fix: fix.Fix{Kind: fix.KindDependency,
				Title: fix.Titled("Declare the dependency %s, which has the library",
					fix.Requirement(name)),
				Requirement: name}})
		default:
			f.Message = where + ", which is not in the " + kindName(p) + " or in macOS" + builtAt(m)
			bundle := delocate(p, fix.Titled("Bundle %s into the %s", path.Base(needed), kindName(p)))
			fixes = append(fixes, bundle,
				fix.Candidate{Fix: fix.Fix{Kind: fix.KindLinkFlag,
					Last: true, Title: fix.Titled("Link the static library instead of %s",
						path.Base(needed))}})
			if name := formula(m); name != "" {
				packages := fix.SystemPackages{With: fix.Homebrew, Names: []string{name}}
				if with := bundle.Fix.Bundling; with != nil {
					with.System = &packages
				}
				install := fix.Install(fix.Titled("Install Homebrew's package %s", name), packages)
				install.Last = true
				fixes = append(fixes, fix.Candidate{Fix: install})
			}
		}
		p.Report(f, fixes...)
	})
}

// ofPackageOnly returns the Python package that alone has a library on all systems, such as torch
// for libc10; "" if there is none. The table of providers has the names of Linux.
func ofPackageOnly(dylib string) string {
	provider, known := platform.ProviderOf(dylib + ".so")
	if names := provider.Packages(platform.PyPI); known && len(names) > 0 &&
		provider.Kind == platform.PackageProvider {
		return names[0]
	}
	return ""
}

// eachMissing visits each library that a load of the artifact does not find, once per image.
func eachMissing(p *analyzer.Pass, visit func(dyld.Missing)) {
	seen := map[[2]string]bool{}
	for _, l := range p.MacOS.Loads {
		for _, m := range l.Missing {
			key := [2]string{m.NeededBy.Name, m.Needed.Path}
			if !seen[key] && macOSFile(p, m.NeededBy.Name) != nil {
				seen[key] = true
				visit(m)
			}
		}
	}
}

func kindName(p *analyzer.Pass) string {
	if p.Facts.Kind == analyzer.KindWheel {
		return "wheel"
	}
	return "artifact"
}

// Folders of package managers: the default prefixes of Homebrew on Apple silicon and Intel, and
// that of MacPorts, by their installation guides. Other prefixes are only called those of the
// machine that built the file.
var (
	homebrew = lazyregexp.New(`^/(?:opt/homebrew|usr/local)/(?:opt|Cellar)/([a-z0-9][a-z0-9@.+_-]*)/`)
	macPorts = lazyregexp.New(`^/opt/local/`)
)

// formula returns the package of Homebrew whose folder the loader searched for a library; "" if it
// searched none.
func formula(m dyld.Missing) string {
	for _, at := range append([]string{m.Needed.Path}, m.Searched...) {
		if found := homebrew.FindStringSubmatch(at); found != nil {
			return found[1]
		}
	}
	return ""
}

// builtAt describes a path that exists only on the machine that built a file.
func builtAt(m dyld.Missing) string {
	switch library := m.Needed.Path; {
	case formula(m) != "":
		return ". The build machine has it from Homebrew's package " + formula(m)
	case macPorts.MatchString(library):
		return ". The build machine has it from MacPorts"
	case strings.HasPrefix(library, "/"):
		return ". The path exists only on the build machine"
	case strings.HasPrefix(library, "@executable_path/"):
		return ". @executable_path is the folder of python"
	}
	return ""
}

// sharedBy maps libraries that other packages load from a package to that package. The list is kept
// by hand, without a recorded origin or versions. A package that is not listed is found by its name
// only (dependencyFor).
var sharedBy = map[string]string{"libc10": "torch", "libtorch": "torch", "libarrow": "pyarrow",
	"libparquet": "pyarrow", "libtensorflow": "tensorflow", "libshiboken6": "shiboken6",
	"libpyside6": "pyside6", "libshiboken2": "shiboken2", "libpyside2": "pyside2"}

// dependencyFor returns a declared requirement whose package may provide a library: the path is in
// the package's folder, or the library is named after the package. "" without one.
func dependencyFor(p *analyzer.Pass, library string) string {
	if p.Facts.Metadata == nil {
		return ""
	}
	stem, _, _ := strings.Cut(path.Base(library), ".")
	folders := strings.Split(path.Dir(library), "/")
	for _, q := range p.Facts.Metadata.Requires {
		name := pkgmeta.Normalize(q.Name)
		module := strings.ReplaceAll(name, "-", "_")
		switch lib := strings.ToLower(stem); {
		case slices.Contains(folders, module), slices.Contains(folders, q.Name):
			return name
		case strings.HasPrefix(lib, "lib"+module):
			return name
		}
		for prefix, of := range sharedBy {
			if of == name && strings.HasPrefix(stem, prefix) {
				return name
			}
		}
	}
	return ""
}

// dependencyAt returns a declared requirement whose package is installed at the path of a missing
// library: the path is in a folder that is not part of the artifact, in a package with the
// requirement's name. "" without one.
func dependencyAt(p *analyzer.Pass, m dyld.Missing) string {
	site := strings.TrimSuffix(m.NeededBy.Path, m.NeededBy.Name)
	if p.Facts.Metadata == nil || !strings.HasSuffix(m.NeededBy.Path, m.NeededBy.Name) {
		return ""
	}
	family := ""
	for _, s := range m.Searched {
		at, inside := strings.CutPrefix(s, site)
		own := slices.ContainsFunc(p.Facts.MachO, func(o *analyzer.MachObject) bool {
			return path.Dir(o.Path) == path.Dir(at)
		})
		top, _, nested := strings.Cut(at, "/")
		if !inside || own || !nested {
			continue
		}
		for _, q := range p.Facts.Metadata.Requires {
			switch name := pkgmeta.Normalize(q.Name); {
			case name == pkgmeta.Normalize(top):
				return name
			case strings.HasPrefix(name, pkgmeta.Normalize(top)+"-"):
				family = name
			}
		}
	}
	return family
}

// nodeModule reports whether a library is searched in the folder of a dependency of an npm package.
func nodeModule(p *analyzer.Pass, m dyld.Missing) bool {
	site, ok := strings.CutSuffix(m.NeededBy.Path, m.NeededBy.Name)
	return ok && slices.ContainsFunc(m.Searched, func(s string) bool {
		at, inside := strings.CutPrefix(s, site)
		return inside && p.Facts.InDependency(at)
	})
}

// optionalModule reports whether a module is one of several backends, for the missing library: it
// is named after the library, and other modules of its folder load (numba's omppool and tbbpool).
func optionalModule(p *analyzer.Pass, m dyld.Missing) bool {
	const shortest = 3
	library, _, _ := strings.Cut(strings.TrimPrefix(path.Base(m.Needed.Path), "lib"), ".")
	if len(library) < shortest || !m.NeededBy.Module() ||
		!strings.Contains(path.Base(m.NeededBy.Name), library) {
		return false
	}
	return slices.ContainsFunc(p.MacOS.Loads, func(l *dyld.Loading) bool {
		return l.Root != m.NeededBy && l.Root.Module() && len(l.Missing) == 0 &&
			path.Dir(l.Root.Name) == path.Dir(m.NeededBy.Name)
	})
}
