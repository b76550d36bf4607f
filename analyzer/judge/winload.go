package judge

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/winload"
)

// WindowsLoad is an artifact as the Windows loader sees it.
type WindowsLoad struct {
	Machine string // machine of the platform: "amd64"
	Objects []*WindowsObject
	// Unchecked is the number of files that were not loaded because there are too many.
	Unchecked int

	byFile map[*winload.File]*WindowsObject
	found  int // number of DLLs in all loads
}

// WindowsObject is a PE file with its load.
type WindowsObject struct {
	*facts.PEObject
	File   *winload.File
	Python winload.Python // the interpreter that imports it
	// Load is set for modules, programs, and DLLs that none of them imports. It is nil for other
	// files and for files for another machine.
	Load *winload.Load
	// Users are the files that load it.
	Users []*WindowsObject

	environment *winload.Environment // of Load
}

// Of returns the object for a file, or nil if it does not belong to the artifact.
func (w *WindowsLoad) Of(f *winload.File) *WindowsObject {
	return w.byFile[f]
}

// loadOther loads an artifact with a set of packages on a platform other than Linux.
func (s *Session) loadOther(c Case, with *packages.Set) *packageSet {
	p := c.Target.Platform
	set := &packageSet{
		Set: with, platform: p, found: map[*Rule][]Found{}, of: map[*facts.Object]*View{},
	}
	set.linker = &linker{
		session: s, facts: c.Artifact, platform: p, set: set, scenario: c.Scenario,
	}
	switch p.OS {
	case platform.Windows:
		set.windows = s.loadWindows(c, with)
	case platform.MacOS:
		set.macOS = s.loadMacOS(c, with)
	case platform.Android:
		set.android = s.loadAndroid(c, with)
	case platform.IOS:
		set.iOS = loadIOS(c)
	case platform.Emscripten:
		set.pyodide = s.loadPyodide(c, with)
	}
	return set
}

// loadWindows loads every module and program for the machine, and then the DLLs that none of
// them loads, which ctypes or another program opens.
func (s *Session) loadWindows(c Case, with *packages.Set) *WindowsLoad {
	w := &WindowsLoad{
		Machine: c.Target.Platform.Arch, byFile: map[*winload.File]*WindowsObject{},
	}
	var files []*winload.File
	for _, o := range c.Artifact.PE {
		f := &winload.File{Path: o.Installed, Object: o.Object}
		files = append(files, f)
		w.byFile[f] = &WindowsObject{PEObject: o, File: f, Python: pythonOf(c.Artifact, o)}
		w.Objects = append(w.Objects, w.byFile[f])
	}
	for _, sibling := range s.alongside(c.Artifact, c.Target.Platform, with) {
		for _, o := range sibling.PE {
			files = append(files, &winload.File{Path: o.Installed, Object: o.Object})
		}
	}
	imported := s.imports(c.Artifact, with)
	for r := range with.All() {
		for _, l := range r.Libraries {
			if l.PE != nil {
				files = append(files, &winload.File{
					Path: l.Path, Object: l.PE, Package: r.ID(), Imported: imported[r.Name],
				})
			}
		}
	}
	environments := map[winload.Python]*winload.Environment{}
	load := func(o *WindowsObject) {
		e := environments[o.Python]
		if e == nil {
			e = winload.New(o.Python, w.Machine, files, c.Artifact.Startup)
			e.Folders = slices.Concat(condaFolders(c.Artifact), c.Scenario.DLLFolders)
			e.Bundled = slices.Clone(c.Scenario.Bundled)
			for _, p := range c.Artifact.UnreadPE { // the DLL may be one of them
				e.Bundled = append(e.Bundled, strings.ToLower(path.Base(p)))
			}
			environments[o.Python] = e
		}
		o.Load, o.environment = e.Load(o.File), e
		w.found += len(o.Load.Found)
		for _, x := range o.Load.Found[1:] {
			if user := w.Of(x.File); x.File != nil && user != nil {
				user.Users = append(user.Users, o)
			}
		}
	}
	for _, imported := range []bool{true, false} {
		for _, o := range w.Objects {
			first := o.Extension() || !o.DLL
			if first != imported || !imported && len(o.Users) > 0 || !o.RunsOn(w.Machine) {
				continue
			}
			if w.found > maxFound {
				w.Unchecked++
				continue
			}
			load(o)
		}
	}
	return w
}

// alongside returns the artifacts whose files a load finds by the files that were read of them:
// those that are installed with an artifact and that the packages of the load do not have.
func (s *Session) alongside(
	f *facts.Artifact,
	p *platform.Platform,
	with *packages.Set,
) []*facts.Artifact {
	return slices.DeleteFunc(slices.Clone(s.othersOf(f, p)), func(a *facts.Artifact) bool {
		return with.Release(project(a)) != nil
	})
}

// imports returns the packages that an artifact may import before its modules are loaded: those
// that it requires, also indirectly, and those that the user gave or, in an environment, those that
// its sources import.
func (s *Session) imports(f *facts.Artifact, with *packages.Set) map[string]bool {
	out := map[string]bool{}
	var queue []pkgmeta.Requirement
	if f.Metadata != nil {
		queue = slices.Clone(f.Metadata.Requires)
	}
	if s.judge.environment == nil {
		queue = append(queue, s.judge.given...)
	} else {
		for r := range with.All() {
			if slices.ContainsFunc(r.Libraries, func(l packages.Library) bool {
				folder, _, _ := strings.Cut(l.Path, "/")
				return f.Startup.Imported(folder)
			}) {
				queue = append(queue, pkgmeta.Requirement{Name: r.Name})
			}
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		if name := queue[0].Name; !out[name] {
			out[name] = true
			if r := with.Release(name); r != nil {
				queue = append(queue, r.Requires...)
			}
		}
	}
	return out
}

// maxFound limits the number of DLLs in all loads of an artifact; the maximum in 60 popular
// wheels is 8,000.
const maxFound = 500_000

// condaFolders returns the folders that the python of a conda environment adds to the DLL search,
// relative to site-packages: that of python.exe, and those that conda-forge's patch "Add
// CondaEcosystemModifyDllSearchPath" for CPython adds, without Scripts and bin. The search with
// CONDA_DLL_SEARCH_MODIFICATION_ENABLE, which includes PATH, is not modelled.
func condaFolders(f *facts.Artifact) []string {
	if !f.Conda() {
		return nil
	}
	return []string{
		"../..",
		"../../Library/mingw-w64/bin",
		"../../Library/usr/bin",
		"../../Library/bin",
	}
}
