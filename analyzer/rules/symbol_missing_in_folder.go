package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/shellword"
)

var symbolMissingInFolder = &analyzer.Rule{
	ID:       "symbol-missing-in-folder",
	Title:    "A library in a folder that is searched first lacks a symbol",
	Severity: analyzer.Error,
	Doc: `The loader uses a library from a folder that is searched before the right one.
LD_LIBRARY_PATH (--library-path) is searched before the DT_RUNPATH of an object and before the
system's folders. The DT_RPATH of conda's python (--conda-prefix) is searched before both for
every object without a DT_RUNPATH. That library lacks a symbol or a version node that the object
needs, although another library of the same name has it: "undefined symbol:
__nvJitLinkGetErrorLogSize_12_9, version libnvJitLink.so.12", "version ` + "`GLIBCXX_3.4.30'" + `
not found".

Examples: the lib64 folder of a CUDA toolkit in LD_LIBRARY_PATH hides the newer libraries of the
nvidia packages. A conda environment with an old libstdc++ hides the one of the system.

Fix: remove the folder from LD_LIBRARY_PATH, or update the library in it.

Severity: a warning where a library of such a folder needs another one that is not found.

Not detected: folders that were not given, and variants for a CPU (glibc-hwcaps) in them.`,
	Cause: cause.Rule{
		Lacks: cause.LacksSymbolOfLoaded, Where: " on the search path",
		Warns: "it works where another copy of the library was loaded before",
	},
	References: []string{"ld.so(8), LD_LIBRARY_PATH", "glibc: elf/dl-load.c, _dl_map_object"},
	Check:      checkSymbolInFolder,
}

func checkSymbolInFolder(p *analyzer.Pass) {
	reported := map[*dynlink.Library]bool{}
	for _, v := range p.Views {
		for b := range v.Bindings().Failed() {
			l := b.Provider
			if l == nil || l.Kind != dynlink.FromFolder {
				continue
			}
			what := "does not define the symbol"
			if b.Outcome == dynlink.NoVersion {
				what = "does not define " + b.Import.Version
			}
			p.Report(analyzer.Finding{
				Object:  v.Path,
				Symbol:  b.Import.Name,
				Version: b.Import.Version,
				Library: l.Names()[0],
				Chain:   analyzer.Chain(v.Loading.Chain(l)...),
				Message: fmt.Sprintf(
					"%s imports %s from %s. The loader uses %s%s. That copy %s%s",
					v.Path,
					analyzer.Versioned(b.Import.Name, b.Import.Version),
					l.Names()[0],
					origin(l),
					because(v, l),
					what,
					inPlace(p, l, b),
				),
			}, folderFixes(l)...)
		}
		for _, m := range v.Loading.Missing {
			if l := m.NeededBy; l.Kind == dynlink.FromFolder && !reported[l] {
				reported[l] = true
				f := analyzer.Finding{
					Object:   v.Path,
					Library:  m.Name,
					Severity: analyzer.Warning,
					Chain:    append(analyzer.Chain(v.Loading.Chain(l)...), m.Name),
				}
				f.Message = fmt.Sprintf(
					"%s, which %s loads, needs %s, which is not found",
					origin(l),
					v.Path,
					m.Name,
				)
				if provider, known := platform.Known(m.Name); known {
					f.Message = fmt.Sprintf(
						"%s, which %s loads, needs %s. %s provides it",
						origin(l),
						v.Path,
						m.Name,
						provider,
					)
				}
				p.Report(f)
			}
		}
	}
}

// origin is the path of a library in a folder, with its conda package.
func origin(l *dynlink.Library) string {
	if strings.HasPrefix(l.Path, l.Origin) {
		return l.Path
	}
	return l.Path + " (" + l.Origin + ")"
}

// because explains why the loader uses a library of a folder.
func because(v *analyzer.View, l *dynlink.Library) string {
	i := slices.IndexFunc(v.Loading.Found, func(f dynlink.Found) bool { return f.Library == l })
	if i < 0 {
		return ""
	}
	switch f := v.Loading.Found[i]; f.By {
	case dynlink.ByPath:
		return " from LD_LIBRARY_PATH"
	case dynlink.ByRPath:
		if f.NeededBy.RPath == "" {
			return " through the DT_RPATH of the program or of another library"
		}
		return " through the DT_RPATH of " + f.NeededBy.Path
	case dynlink.ByRunPath:
		return " through the DT_RUNPATH of " + f.NeededBy.Path
	}
	return ""
}

// inPlace names the library of a package or of the platform that has the symbol and is hidden by
// the folder's.
func inPlace(p *analyzer.Pass, l *dynlink.Library, b dynlink.Binding) string {
	name := l.Names()[0]
	for r := range p.Packages.All() {
		for i := range r.Libraries {
			if have := dynlink.OfPackage(r, &r.Libraries[i]); have.Names()[0] == name &&
				have.Known &&
				have.Defines(b.Import.Name, b.Import.Version) {
				return fmt.Sprintf(". %s of %s==%s has it", have.Path, r.Name, r.Version)
			}
		}
	}
	if s := p.Platform.Library(name); s != nil && s.Known &&
		s.Has(b.Import.Name, b.Import.Version) {
		return ". The library of " + p.Platform.Name + " has it"
	}
	return ""
}

// folderFixes returns fixes of the library itself. Removing the folder from the search path is
// tried for every finding elsewhere.
func folderFixes(l *dynlink.Library) []fix.Candidate {
	if origin(l) == l.Path {
		dir, file := path.Split(l.Path)
		return []fix.Candidate{
			{
				Fix: fix.Fix{
					Kind: fix.KindRebuild,
					Title: fix.Titled("Build against %s%s, the library that is loaded", dir,
						fix.Library(file)),
				},
			},
		}
	}
	name, _, _ := strings.Cut(l.Origin, " ")
	return []fix.Candidate{
		{
			Fix: fix.Fix{
				Kind:    fix.KindEnvironment,
				Title:   fix.Titled("Update %s in the conda environment", l.Origin),
				Command: "conda update " + shellword.Quote(name),
			},
		},
	}
}
