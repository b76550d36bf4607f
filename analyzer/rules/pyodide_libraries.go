package rules

import (
	"fmt"
	"path"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform/pyodide"
	"github.com/compat-app/compat/internal/shellword"
)

// checkLibraryNotFoundPyodide reports needed libraries that are not in the wheel.
func checkLibraryNotFoundPyodide(p *analyzer.Pass) {
	for _, o := range p.Pyodide.Objects {
		if o.Load == nil {
			continue
		}
		for _, m := range o.Load.Missing {
			if m.NeededBy != o.File || len(m.Elsewhere) > 0 {
				continue
			}
			p.Report(analyzer.Finding{
				Object: o.Path, Library: m.Name, Chain: []string{o.Path, m.Name},
				Severity: severityPyodide(p, o, analyzer.Error),
				Message: fmt.Sprintf("%s needs %s, which is neither in the wheel nor in Pyodide", o.Path,
					m.Name),
			}, fix.Candidate{Fix: fix.Fix{
				Kind: fix.KindRebuild, Title: fix.Titled("Bundle %s into the wheel", fix.Library(m.Name)),
				Command: "pyodide auditwheel repair --libdir " + quoted("DIR") + " " + quoted(p.Facts.Path),
			}}, fix.Candidate{Fix: fix.Fix{
				Kind: fix.KindRebuild, Title: fix.Titled("Link %s statically", fix.Library(m.Name)),
			}})
		}
		for _, f := range o.Load.Found {
			if f.File != nil || f.NeededBy != o.File {
				continue
			}
			of := pyodide.Package(f.Name)
			p.Report(analyzer.Finding{
				Object: o.Path, Library: f.Name, Chain: []string{o.Path, f.Name},
				Severity: analyzer.Warning,
				Message: fmt.Sprintf("%s needs %s of the package %s in Pyodide's distribution, which a wheel "+
					"cannot declare as a dependency", o.Path, f.Name, of),
			}, fix.Candidate{Fix: fix.Fix{
				Kind:  fix.KindEnvironment,
				Title: fix.Titled("Load the package %s before the wheel (pyodide.loadPackage)", of),
			}})
		}
	}
}

// checkReachablePyodide reports libraries of the wheel that are in no folder which is searched.
func checkReachablePyodide(p *analyzer.Pass) {
	for _, o := range p.Pyodide.Objects {
		if o.Load == nil {
			continue
		}
		for _, m := range o.Load.Missing {
			if m.NeededBy != o.File || len(m.Elsewhere) == 0 {
				continue
			}
			at := m.Elsewhere[0].Path
			to := "$ORIGIN/" + relativeFolder(path.Dir(o.File.Path), path.Dir(at))
			f := analyzer.Finding{
				Object: o.Path, Library: m.Name, Chain: []string{o.Path, at},
				Severity: severityPyodide(p, o, analyzer.Error),
				Message: fmt.Sprintf("%s needs %s, which the wheel has in %s, but no run path leads to it",
					o.Path, m.Name, path.Dir(at)),
			}
			if p.Facts.MayPreload(o.Path, m.Name, at) {
				f.Severity = analyzer.Warning
				f.Message += ". The Python code of the wheel may load it first"
			}
			p.Report(f, fix.Candidate{Fix: fix.Fix{
				Kind: fix.KindLinkFlag, Title: fix.Titled("Link with a run path that leads to the library"),
				Command: shellword.Quote("-Wl,-rpath," + to),
			}})
		}
	}
}
