package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/platform"
)

// checkNeededBySibling checks the dependencies of the libraries of other packages and of an
// unpacked system that the artifact loads. Two installed packages may not fit together, and a
// system may lack a library that another one of its libraries needs.
func checkNeededBySibling(p *analyzer.Pass) {
	reported := map[[2]string]bool{}
	for _, v := range modulesFirst(p.Views) {
		for _, m := range v.Loading.Missing {
			key := [2]string{m.NeededBy.Path, m.Name}
			if reported[key] || m.NeededBy == v.Library {
				continue
			}
			switch kind := m.NeededBy.Kind; {
			case kind == dynlink.FromPackage:
				reported[key] = true
			case p.Facts.Root() && !v.Linked() && !openedLater(p, v, m.Name),
				kind != dynlink.FromArtifact && p.Platform.Kind == platform.System && !p.Facts.Root():
				reported[key] = true
				reportLackOfSystem(p, v, m)
				continue
			default:
				continue
			}
			f := analyzer.Finding{
				Object:  m.NeededBy.Path,
				Library: m.Name,
				Chain:   append(analyzer.Chain(v.Loading.Chain(m.NeededBy)...), m.Name),
			}
			f.Package = m.NeededBy.Package.Name
			f.Message = fmt.Sprintf(
				"%s of %s, which %s loads, needs %s. No installed package provides it",
				m.NeededBy.Path,
				m.NeededBy.Origin,
				v.Path,
				m.Name,
			)
			f.OtherPackage = true
			s := providerFor(p, v, m.Name)
			known := s.known && s.Available(platform.Debian)
			unknown := notLookedUp(p, m.Name)
			switch fixes := append(siblingWithout(p, m.NeededBy, m.Name), siblingWith(p, m.Name)...); {
			case known, s.inDebian && unknown == "" && otherVersion(p, m.Name) == nil:
				f.Severity, f.Message = analyzer.Warning, f.Message+". It is provided by "+s.String()
				f.Why = "provided by " + s.String()
				p.Report(f, s.installing(p)...)
			case unknown != "":
				f.Severity, f.Message = analyzer.Warning, fmt.Sprintf(
					"%s. It may come from %s, which could not be looked up",
					f.Message,
					unknown,
				)
				p.Report(f, fixes...)
			case otherVersion(p, m.Name) == nil &&
				(!v.Extension() || v.Alternative || !p.Installed && !p.Together(f.Package)):
				f.Severity, f.Message = analyzer.Warning, f.Message+". It has to come from the system"
				p.Report(f)
			default:
				p.Report(f, fixes...)
			}
		}
	}
}

// openedLater reports whether an object of a root is opened by a program, which may have loaded a
// library that the root has in a folder of its own.
func openedLater(p *analyzer.Pass, v *analyzer.View, needed string) bool {
	return !v.Program() && !v.Extension() && slices.ContainsFunc(p.Views, func(u *analyzer.View) bool {
		return u != v && slices.Contains(u.Library.Names(), needed)
	})
}

// optional reports whether an object of a root is one that a program works without: a plug-in, or
// Python's _tkinter, for which the small images of Python have no libraries.
func optional(p *analyzer.Pass, v *analyzer.View) bool {
	if !p.Facts.Root() || v.Program() {
		return false
	}
	return strings.HasPrefix(path.Base(v.Path), "_tkinter.") || !v.Extension() && !v.Searched()
}

// unopened reports whether nothing in a wheel loads a library when a module of it is imported: no
// object links it, and no source may load it. Native code that computes names opens such a library
// if it is used. Those of a wheel without modules are for other packages.
func unopened(p *analyzer.Pass, v *analyzer.View) bool {
	return p.Facts.Wheel != nil && !v.Extension() && !v.Program() && !v.Linked() && !p.MayOpen(v) &&
		slices.ContainsFunc(p.Views, (*analyzer.View).Extension)
}

// reportLackOfSystem reports a library that a library of the system needs and that the system does
// not have.
func reportLackOfSystem(p *analyzer.Pass, v *analyzer.View, m dynlink.Missing) {
	f := analyzer.Finding{
		Object:  v.Path,
		Library: m.Name,
		Chain:   append(analyzer.Chain(v.Loading.Chain(m.NeededBy)...), m.Name),
	}
	f.Message = fmt.Sprintf("%s needs %s, which needs %s, which %s does not have",
		v.Path, m.NeededBy.Names()[0], m.Name, p.Platform.Name)
	s := providerFor(p, v, m.Name)
	if s.Kind == platform.DriverProvider || optional(p, v) {
		f.Severity = analyzer.Warning
	}
	p.Report(f, s.installing(p)...)
}
