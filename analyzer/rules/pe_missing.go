package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform/windows"
	"github.com/compat-app/compat/analyzer/winload"
)

// missingDLL is a DLL that a load does not find.
type missingDLL struct {
	winload.Missing
	user *analyzer.WindowsObject // the file that needs it
	root *analyzer.WindowsObject // the file whose load fails
}

// missingDLLs lists the DLLs that the loads of the artifact do not find, once for each file that
// needs them. Delay-loaded DLLs are skipped, because the load succeeds without them.
func missingDLLs(p *analyzer.Pass) []missingDLL {
	var out []missingDLL
	seen := map[string]bool{}
	for _, root := range p.Windows.Objects {
		if root.Load == nil {
			continue
		}
		for _, m := range root.Load.Missing {
			user := p.Windows.Of(m.NeededBy)
			if m.Delay || user == nil {
				continue
			}
			key := user.Path + "\x00" + strings.ToLower(m.Name)
			if !seen[key] {
				seen[key] = true
				out = append(out, missingDLL{m, user, root})
			}
		}
	}
	return out
}

// checkMissingDLLs is library-not-found on Windows.
func checkMissingDLLs(p *analyzer.Pass) {
	for _, m := range missingDLLs(p) {
		if m.Library.Kind == windows.Python || unreachable(m) {
			continue // python-library-mismatch and bundled-library-not-reachable report it
		}
		if len(m.Elsewhere) > 0 && plugin(m.root) {
			continue // the program that loads the plug-in has loaded the DLL
		}
		name := strings.ToLower(m.Name)
		certain, perhaps := p.Facts.DependencyProvides(strings.TrimSuffix(name, ".dll"))
		if certain || providedByRequirement(p, name) {
			continue
		}
		f := analyzer.Finding{
			Object: m.user.Path, Library: m.Name, Chain: chainOf(m, m.Name),
			Message: fmt.Sprintf(
				"%s needs %s, which is neither in the %s nor part of Windows",
				m.user.Path, m.Name, artifactNoun(p),
			),
		}
		if m.Forwards != "" {
			f.Message = fmt.Sprintf(
				"%s forwards its exported symbol %s to %s, which is neither in the %s nor part of Windows",
				m.user.Path, m.Forwards, m.Name, artifactNoun(p),
			)
		}
		fixes := bundling(p, m)
		f.Why = "no known package has it"
		switch provider := providerOf(p, name); {
		case m.Library.Kind == windows.APISet && m.Library.Presence == windows.Unknown:
			f.Severity, f.Why = analyzer.Warning, ""
			f.Message = fmt.Sprintf(
				"%s needs the API set %s, which no known version of Windows has",
				m.user.Path,
				m.Name,
			)
			fixes = []fix.Candidate{
				relink(fix.Titled("Link with an import library of the oldest Windows that you support")),
			}
		case m.Library.Kind == windows.APISet:
			f.Why = ""
			f.Message = fmt.Sprintf("%s needs %s, which is not the name of an API set", m.user.Path, m.Name)
			fixes = []fix.Candidate{relink(fix.Titled("Link with the import libraries of the Windows " +
				"SDK"))}
		case m.Library.Kind == windows.Runtime:
			if p.Facts.Conda() && !m.Library.Runtime.Debug {
				continue // part of vc14_runtime, which conda-build adds
			}
			f.Severity, f.Message, fixes = runtimeMissing(p, m, fixes)
			switch v := m.Library.Runtime; {
			case v.Debug:
				f.Why = "" // the message says it
			case v.Modern:
				f.Why = "many systems have the Visual C++ 2015-2022 runtime, and a package provides it"
			case f.Severity == analyzer.Warning:
				f.Why = unused(m)
			}
		case m.Library.Kind == windows.Driver || m.Library.Kind == windows.Optional:
			f.Severity = analyzer.Warning
			f.Why = "it is installed with " + m.Library.Source
			f.Message += ". It is installed with " + m.Library.Source
			fixes = []fix.Candidate{{
				Fix: fix.Fix{
					Kind:  fix.KindEnvironment,
					Title: fix.Titled("Install %s", m.Library.Source),
				},
			}}
		case provider != "":
			f.Severity, f.Why = analyzer.Warning, "the package "+provider+" provides it"
			f.Message += ". The package " + provider + " provides it, but the wheel does not declare it"
			fixes = append(declaring(p, provider), fixes...)
		case plugin(m.root):
			f.Severity, f.Why = analyzer.Warning, "only a plug-in needs it, and is not loaded without it"
			f.Message += ". Only this plug-in needs it, and is not loaded without it"
		case similarRequirement(p, name) != "" &&
			p.Packages.Release(similarRequirement(p, name)) == nil:
			f.Severity, f.Why = analyzer.Warning, "a package that it requires may provide it"
			f.Message += ". " + similarRequirement(
				p,
				name,
			) + " may provide it, but its Windows DLLs are not known"
		case perhaps:
			f.Severity, f.Why = analyzer.Warning, "a package that it requires may provide it"
			f.Message += ". One of the packages that it depends on may provide it"
		case unusedByModules(p, m.root):
			f.Severity, f.Why = analyzer.Warning, unused(m)
			f.Message += ". No file in the wheel appears to load " + path.Base(m.root.Path)
		case len(m.Elsewhere) > 0:
			f.Severity, f.Why = analyzer.Warning, "it may already be loaded"
			f.Message = fmt.Sprintf(
				"%s needs %s, which the %s has in another folder. It loads only if that folder is "+
					"searched or the DLL is already loaded", m.user.Path, m.Name, artifactNoun(p),
			)
			fixes = nil
		}
		p.Report(f, fixes...)
	}
}

// unused says that nothing in the wheel loads the file that needs a DLL.
func unused(m missingDLL) string {
	return "no file in the wheel appears to load " + path.Base(m.root.Path)
}

// runtimeMissing describes a missing DLL of a Visual C++ runtime.
func runtimeMissing(
	p *analyzer.Pass, m missingDLL, bundle []fix.Candidate,
) (analyzer.Severity, string, []fix.Candidate) {
	v := m.Library.Runtime
	switch {
	case v.Debug:
		return analyzer.Error, fmt.Sprintf(
			"%s needs %s of the debug runtime of Visual C++, which only Visual Studio has",
			m.user.Path,
			m.Name,
		), []fix.Candidate{relink(fix.Titled("Build in release mode (/MD, not /MDd)"))}
	case v.Modern:
		static := relink(fix.Titled("Link the C++ runtime statically (/MT)"))
		return analyzer.Warning, fmt.Sprintf(
			"%s needs %s of the Visual C++ 2015-2022 runtime, which Python does not install. It is "+
				"missing on a fresh Windows",
			m.user.Path,
			m.Name,
		), append(append(bundle, static), declaring(p, "msvc-runtime")...)
	}
	severity := analyzer.Error
	if unusedByModules(p, m.root) {
		severity = analyzer.Warning
	}
	return severity, fmt.Sprintf(
		"%s needs %s of the Visual C++ %s runtime, which neither Windows nor Python has",
		m.user.Path, m.Name, v.Product,
	), append(bundle, relink(fix.Titled("Build with Visual C++ 2015 or later")))
}

// chainOf lists the files from the loaded one to the missing DLL, each needing the next.
func chainOf(m missingDLL, name string) []string {
	return append(loadPath(m.root, m.user), name)
}

// loadPath lists the files from a root to another file of its load, each needing the next.
func loadPath(root, to *analyzer.WindowsObject) []string {
	if root == to || root.Load == nil {
		return []string{to.Path}
	}
	by := map[*winload.File]*winload.File{}
	for _, f := range root.Load.Found {
		if f.File != nil {
			by[f.File] = f.NeededBy
		}
	}
	out := []string{to.Path}
	for f := by[to.File]; f != nil && f != root.File && len(out) < len(by); f = by[f] {
		out = append(out, f.Path)
	}
	out = append(out, root.Path)
	slices.Reverse(out)
	return out
}

// unreachable reports whether the wheel contains the missing DLL of a module in a folder that is
// not searched. Visual C++ runtimes are excluded, because many machines have them installed.
func unreachable(m missingDLL) bool {
	runtime := m.Library.Runtime != nil && m.Library.Runtime.Modern
	return len(m.Elsewhere) > 0 && m.root.Extension() && !runtime
}

// artifactNoun returns the word for the kind of artifact in messages.
func artifactNoun(p *analyzer.Pass) string {
	switch {
	case p.Facts.Kind == analyzer.KindWheel:
		return "wheel"
	case p.Facts.Kind == analyzer.KindObject:
		return "given files"
	case p.Facts.Conda():
		return "package"
	}
	return "archive"
}

// requirementNames lists the packages that the wheel requires.
func requirementNames(p *analyzer.Pass) []string {
	var out []string
	if p.Facts.Metadata != nil {
		for _, q := range p.Facts.Metadata.Requires {
			out = append(out, q.Name)
		}
	}
	return out
}

// providedByRequirement reports whether the wheel or the user requires a package that is known to
// contain a DLL. Whether the sources of that package add its folder to the search is not known.
func providedByRequirement(p *analyzer.Pass, dll string) bool {
	if r, _ := installing(p, dll); r != nil {
		return true
	}
	known, requiring := windows.Providers(dll)
	for _, name := range slices.Concat(known, requiring) {
		if r := p.Packages.Release(name); r != nil && r.Known {
			continue // this version does not have it
		}
		if slices.Contains(requirementNames(p), name) || p.Given(name) || p.Scenario.Declares(name) {
			return true
		}
	}
	return false
}

// installing returns the package of the environment that installs a library, given by its file name
// in any case, and the path; nil if no package that was read does.
func installing(p *analyzer.Pass, library string) (*packages.Release, string) {
	for r := range p.Packages.All() {
		for _, l := range r.Libraries {
			if strings.EqualFold(path.Base(l.Path), library) {
				return r, l.Path
			}
		}
	}
	return nil, ""
}

// providerOf returns a package that is known to contain a DLL, "" for none. Of several it prefers
// one with a name similar to the wheel's: pyside6-addons for pyside6-essentials. Of a DLL that the
// wheel itself should have, it takes no other.
func providerOf(p *analyzer.Pass, dll string) string {
	own := ""
	if p.Facts.Wheel != nil {
		own = pkgmeta.Normalize(p.Facts.Wheel.Name)
	}
	all, _ := windows.Providers(dll)
	names := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		return name == own || name == "msvc-runtime"
	})
	family, _, _ := strings.Cut(own, "-")
	for _, name := range names {
		if first, _, _ := strings.Cut(name, "-"); first == family {
			return name
		}
	}
	if len(names) == 0 || slices.Contains(all, own) {
		return ""
	}
	return names[0]
}

// similarRequirement returns a required package whose name contains that of a DLL, "" for none.
func similarRequirement(p *analyzer.Pass, dll string) string {
	plain := func(s string) string { return strings.NewReplacer("-", "", "_", "", ".", "").Replace(s) }
	stem := plain(strings.TrimPrefix(strings.TrimSuffix(dll, path.Ext(dll)), "lib"))
	for _, name := range requirementNames(p) {
		own := plain(strings.TrimPrefix(strings.TrimPrefix(name, "py"), "lib"))
		if len(own) > 2 &&
			(strings.HasPrefix(stem, own) || len(stem) > 2 && strings.HasPrefix(own, stem)) {
			return name
		}
	}
	return ""
}

// unusedByModules reports whether a file is a DLL or program that the wheel probably works without:
// it is not imported by a module of a wheel that has modules, or not named in a Python source while
// other DLLs load. Such a file may be left over, or need other software. DLLs that the package
// loads with their whole folder are excluded.
func unusedByModules(p *analyzer.Pass, root *analyzer.WindowsObject) bool {
	if root.Extension() || p.Facts.Startup.Loads(root.Installed) {
		return false
	}
	named := p.Facts.Startup.Names(root.Path)
	return slices.ContainsFunc(p.Windows.Objects, func(o *analyzer.WindowsObject) bool {
		return o.Load != nil && (o.Extension() || !named && loads(p, o))
	})
}

// loads reports whether a load finds all DLLs; Visual C++ runtimes and packages with the DLLs are
// assumed to be installed.
func loads(p *analyzer.Pass, o *analyzer.WindowsObject) bool {
	return !slices.ContainsFunc(o.Load.Missing, func(m winload.Missing) bool {
		return !m.Delay && (m.Library.Runtime == nil || !m.Library.Runtime.Modern) &&
			providerOf(p, strings.ToLower(m.Name)) == ""
	})
}

// plugin reports whether a DLL is in a folder of plug-ins, which are optional.
func plugin(o *analyzer.WindowsObject) bool {
	return o.DLL && !o.Extension() && inPluginFolder(o.Path)
}

// inPluginFolder reports whether a file is in a folder of plug-ins of Qt and others. The program
// that loads a plug-in has loaded the libraries that both use.
func inPluginFolder(file string) bool {
	file = "/" + strings.ToLower(path.Dir(file)) + "/"
	return strings.Contains(file, "/plugins/") || strings.Contains(file, "/qml/")
}
