package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform/windows"
	"github.com/compat-app/compat/analyzer/winload"
)

// checkUndefinedImports is undefined-symbol on Windows.
func checkUndefinedImports(p *analyzer.Pass) {
	seen := map[string]bool{}
	for _, root := range p.Windows.Objects {
		if root.Load == nil {
			continue
		}
		for _, u := range root.Load.Unresolved {
			user := p.Windows.Of(u.NeededBy)
			if user == nil {
				continue
			}
			key := user.Path + "\x00" + strings.ToLower(u.Library) + "\x00" + u.Symbol.String()
			if seen[key] {
				continue
			}
			seen[key] = true
			reportUndefinedImport(p, root, user, u)
		}
	}
}

func reportUndefinedImport(
	p *analyzer.Pass,
	root, user *analyzer.WindowsObject,
	u winload.Unresolved,
) {
	f := analyzer.Finding{
		Object: user.Path, Symbol: u.Symbol.String(), Library: u.Library,
		Chain: append(loadPath(root, user), u.Library),
	}
	what := "the symbol " + u.Symbol.String()
	if u.Symbol.Name == "" {
		what = fmt.Sprintf("ordinal %d", u.Symbol.Ordinal)
	}
	f.Message = fmt.Sprintf(
		"%s imports %s from %s, which does not export it",
		user.Path,
		what,
		u.Library,
	)
	if len(u.Through) > 0 {
		f.Message = fmt.Sprintf(
			"%s imports %s from %s, which forwards it to %s, which is not exported",
			user.Path, what, u.Library, u.Through[len(u.Through)-1],
		)
	}
	if plugin(root) || unusedByModules(p, root) {
		f.Severity = analyzer.Warning
	}
	if of := u.Provider; of != nil && of.Package != (packages.ID{}) {
		p.Report(f, ofPackageWindows(p, &f, u, what)...)
		return
	}
	p.Report(f, importFixes(p, user, u)...)
}

// ofPackageWindows describes a symbol that the DLL of another package does not export.
func ofPackageWindows(
	p *analyzer.Pass, f *analyzer.Finding, u winload.Unresolved, what string,
) []fix.Candidate {
	f.Message = fmt.Sprintf("%s imports %s from %s of %s, which does not export it", f.Object, what,
		u.Library, u.Provider.Package)
	r := p.Packages.Release(u.Provider.Package.Name)
	if r == nil || len(u.Through) > 0 {
		return nil
	}
	f.Package = r.Name
	return []fix.Candidate{p.Releases.OtherVersion(r, func(o *packages.Release) bool {
		return slices.ContainsFunc(o.Libraries, func(l packages.Library) bool {
			return l.PE != nil && strings.EqualFold(path.Base(l.Path), u.Provider.Name()) &&
				l.PE.Exports != nil && (&winload.File{Path: l.Path, Object: l.PE}).Exports(u.Symbol)
		})
	})}
}

// checkVersionTooNewWindows reports exports of Windows that were added after the oldest Windows on
// which the Python of the tag runs. Every Python runs on Windows 10, so an export of Windows 11 is
// an error; older releases are no longer supported.
func checkVersionTooNewWindows(p *analyzer.Pass) {
	seen := map[winload.TooNew]bool{}
	for _, root := range p.Windows.Objects {
		if root.Load == nil {
			continue
		}
		for _, n := range root.Load.TooNew {
			user := p.Windows.Of(n.NeededBy)
			if user == nil || seen[n] {
				continue
			}
			seen[n] = true
			f := analyzer.Finding{
				Object: user.Path, Symbol: n.Symbol.String(), Version: n.Since, Library: n.Library,
				Chain: append(loadPath(root, user), n.Library),
				Message: fmt.Sprintf(
					"%s imports %s from %s, which exports it from %s on. The Python of the wheel's tag "+
						"also runs on %s", user.Path, n.Symbol, n.Library, windows.Name(n.Since),
					windows.Name(root.Python.Windows(p.Windows.Machine)),
				),
			}
			if windows.Older(n.Since, windows.Eleven) || plugin(root) || unusedByModules(p, root) {
				f.Severity = analyzer.Warning
			}
			p.Report(f, fix.Candidate{Fix: fix.Fix{
				Kind: fix.KindSource,
				Title: fix.Titled(
					"Look %s up with GetProcAddress, and work without it on older releases of Windows",
					n.Symbol,
				),
			}})
		}
	}
}

// importFixes returns the fixes for an import that a DLL does not export.
func importFixes(
	p *analyzer.Pass,
	user *analyzer.WindowsObject,
	u winload.Unresolved,
) []fix.Candidate {
	lib := windows.Lookup(u.Library, p.Windows.Machine)
	switch {
	case u.Provider != nil:
		return []fix.Candidate{
			relink(fix.Titled("Bundle the %s that %s was linked with",
				fix.Library(u.Library), user.Path)),
			relink(fix.Titled("Rebuild %s against the %s of the wheel",
				user.Path, fix.Library(u.Library))),
		}
	case lib.Kind == windows.Python:
		return []fix.Candidate{{Fix: fix.Fix{
			Kind: fix.KindSource,
			Title: fix.Titled("Replace %s, which CPython %s does not export",
				u.Symbol, lib.Python.Release),
		}}}
	}
	return []fix.Candidate{{Fix: fix.Fix{
		Kind: fix.KindSource,
		Title: fix.Titled(
			"Look %s up with GetProcAddress and work without it, or remove the call", u.Symbol,
		),
	}}}
}

// checkStableImports is abi3-violation on Windows.
func checkStableImports(p *analyzer.Pass) {
	if p.Facts.ABI3 == nil || p.Facts.Wheel == nil {
		return
	}
	tag, minor, _ := abi3.Oldest(p.Facts.Wheel.Tags)
	_, newest, _ := abi3.Baseline(p.Facts.Wheel.Tags)
	for _, o := range p.Windows.Objects {
		if !o.Extension() || ofOnePythonDLL(o.Path) {
			continue
		}
		for _, d := range o.Imports {
			dll, ok := windows.ParsePython(strings.ToLower(d.Name))
			if !ok || !dll.Stable() {
				continue
			}
			for _, s := range d.Symbols {
				if abi3.Names(s.Name) {
					reportUnstable(p, o.Path, s.Name, tag, minor, newest)
				}
			}
		}
	}
}

// reportUnstable reports an import that the stable ABI of a tag does not contain.
func reportUnstable(p *analyzer.Pass, object, name, tag string, minor, newest int) {
	added, stable := abi3.Added(name)
	if stable && added <= minor {
		return
	}
	f := analyzer.Finding{
		Object:  object,
		Symbol:  name,
		Library: "python3.dll",
		Chain:   []string{object},
	}
	fixes := []fix.Candidate{limitedAPI(minor)}
	if stable {
		f.Message = joinedStableABI(object, name, tag, added, minor)
		if added <= newest {
			f.Severity = analyzer.Warning
		}
		fixes = append(fixes, raiseABI3(p, added))
	} else {
		f.Message = outsideStableABI(object, name, tag)
	}
	p.Report(f, fixes...)
}
