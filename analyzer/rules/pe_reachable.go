package rules

import (
	"fmt"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform/windows"
	"github.com/compat-app/compat/internal/shellword"
)

// checkReachableDLLs is bundled-library-not-reachable on Windows.
func checkReachableDLLs(p *analyzer.Pass) {
	for _, m := range missingDLLs(p) {
		if !unreachable(m) || m.Library.Kind == windows.Python {
			continue
		}
		at := m.Elsewhere[0]
		f := analyzer.Finding{
			Severity: analyzer.Error, Object: m.user.Path, Library: m.Name,
			Chain: chainOf(m, m.Name),
			Message: fmt.Sprintf(
				"%s needs %s, which the wheel has in %s. Windows does not search that folder when "+
					"Python imports %s", m.user.Path, m.Name, path.Dir(at.Path), m.root.Path,
			),
		}
		by := loadedBy(p, m)
		if m.SystemOnly && by == nil {
			f.Message = fmt.Sprintf(
				"%s needs %s, which the wheel has in %s, but it is linked with DependentLoadFlags 0x%x: "+
					"Windows searches only System32 for its DLLs", m.user.Path, m.Name, path.Dir(at.Path),
				m.user.LoadFlags,
			)
			p.Report(f, relink(fix.Titled(
				"Link %s without /DEPENDENTLOADFLAG:0x800, or load the DLLs first with ctypes",
				path.Base(m.user.Path))))
			continue
		}
		if by != nil {
			f.Severity = analyzer.Warning
			f.Message = fmt.Sprintf(
				"%s needs %s, which the wheel has in %s. It is found only after %s was imported",
				m.user.Path, m.Name, path.Dir(at.Path), by.Path,
			)
		}
		fixes := addFolder(p, m.root.Installed, path.Dir(at.Path))
		fixes = append(fixes,
			fix.Candidate{
				Fix: fix.Fix{
					Kind:    fix.KindRebuild,
					Title:   fix.Titled("Let delvewheel copy the DLL from its folder in the extracted wheel"),
					Command: repairWithFolder(p, m.root, at.Path),
					Last:    true,
				},
			},
			fix.Candidate{
				Fix: fix.Fix{
					Kind: fix.KindRebuild,
					Title: fix.Titled("Copy %s into the folder of %s",
						fix.Library(path.Base(at.Path)), path.Base(m.root.Path)),
					Last: true, // there would be two of it
				},
				Change: fix.Bundle{DLL: m.Name},
			},
		)
		p.Report(f, fixes...)
	}
}

// repairWithFolder returns the command that extracts the wheel and lets delvewheel also search the
// folder of a DLL in it; dll is relative to site-packages. DLLs of other packages, which the load
// of root finds, stay outside: delvewheel fails if it does not find them.
func repairWithFolder(p *analyzer.Pass, root *analyzer.WindowsObject, dll string) shellword.Line {
	var installed []string
	for _, x := range root.Load.Found {
		if x.File != nil && x.File.Package != (packages.ID{}) {
			installed = withName(installed, x.File.Name())
		}
	}
	var repair shellword.Line = "delvewheel repair "
	for _, name := range fix.Families(installed, nil) {
		repair += "--exclude " + shellword.Quote(name) + " "
	}
	if p.Facts.Wheel == nil {
		return repair + quoted(p.Facts.Path)
	}
	for _, o := range p.Windows.Objects {
		if o.Installed == dll {
			dll = o.Path // may be below NAME.data
			break
		}
	}
	return extract(p) + " && " + repair + "--add-path " + folderOf(p) + "/" +
		shellword.Quote(path.Dir(dll)) + " " + quoted(p.Facts.Path) + " && rm -r " + folderOf(p)
}

// loadedBy returns another module of the same package whose load finds the DLL, or nil.
func loadedBy(p *analyzer.Pass, m missingDLL) *analyzer.WindowsObject {
	top := func(s string) string { first, _, _ := strings.Cut(s, "/"); return first }
	for _, o := range p.Windows.Objects {
		if o.Load == nil || !o.Extension() || top(o.Path) != top(m.root.Path) {
			continue
		}
		for _, x := range o.Load.Found {
			if x.File != nil && strings.EqualFold(path.Base(x.File.Path), path.Base(m.Name)) {
				return o
			}
		}
	}
	return nil
}
