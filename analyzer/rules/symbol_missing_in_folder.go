package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
)

var symbolMissingInFolder = &analyzer.Rule{
	ID:       "symbol-missing-in-folder",
	Title:    "a library in a folder that is searched first lacks a symbol",
	Severity: analyzer.Error,
	Doc: `The loader takes a library from a folder that comes before the right one: LD_LIBRARY_PATH (--library-path) is searched before an object's DT_RUNPATH and before the
system's folders, and the DT_RPATH of conda's python (--conda-prefix) before both for every object without a DT_RUNPATH. That library lacks a symbol or a version node that the object needs, though
another one of the same name has it: "undefined symbol: __nvJitLinkGetErrorLogSize_12_9, version libnvJitLink.so.12", "version ` + "`GLIBCXX_3.4.30'" + ` not found".

A CUDA toolkit's lib64 in LD_LIBRARY_PATH hides the newer libraries of the nvidia packages; a conda environment with an old libstdc++ hides the system's.

It is a warning where a library of such a folder needs another one that nothing brings.

To mend it, take the folder out of LD_LIBRARY_PATH, or update what lies in it.

Not seen: folders that nobody named; variants for a CPU (glibc-hwcaps) in them.`,
	References: []string{"ld.so(8), LD_LIBRARY_PATH", "glibc: elf/dl-load.c, _dl_map_object"},
	Check:      checkSymbolInFolder,
}

func checkSymbolInFolder(p *analyzer.Pass) {
	told := map[*dynlink.Library]bool{}
	for _, v := range p.Views {
		for b := range v.Bindings().Failed() {
			l := b.Provider
			if l == nil || l.Kind != dynlink.FromFolder {
				continue
			}
			what := "lacks it"
			if b.Outcome == dynlink.NoVersion {
				what = "has no version " + b.Import.Version
			}
			p.Report(analyzer.Finding{
				Object: v.Path, Symbol: b.Import.Name, Version: b.Import.Version, Library: l.Names()[0], Chain: analyzer.Chain(v.Loading.Chain(l)...),
				Message: fmt.Sprintf(
					"%s imports %s from %s, and %s, which the loader takes%s, %s%s",
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
			if l := m.NeededBy; l.Kind == dynlink.FromFolder && !told[l] {
				told[l] = true
				f := analyzer.Finding{
					Object:   v.Path,
					Library:  m.Name,
					Severity: analyzer.Warning,
					Chain:    append(analyzer.Chain(v.Loading.Chain(l)...), m.Name),
				}
				f.Message = fmt.Sprintf(
					"%s, which %s loads, needs %s, which nothing brings",
					origin(l),
					v.Path,
					m.Name,
				)
				if bringer, known := platform.Known(m.Name); known {
					f.Message = fmt.Sprintf(
						"%s, which %s loads, needs %s; %s brings it",
						origin(l),
						v.Path,
						m.Name,
						bringer,
					)
				}
				p.Report(f)
			}
		}
	}
}

// origin is the path of a library in a folder, with the conda package that brought it.
func origin(l *dynlink.Library) string {
	if strings.HasPrefix(l.Path, l.Origin) {
		return l.Path
	}
	return l.Path + " (" + l.Origin + ")"
}

// because says why the loader takes a library of a folder.
func because(v *analyzer.View, l *dynlink.Library) string {
	i := slices.IndexFunc(v.Loading.Found, func(f dynlink.Found) bool { return f.Library == l })
	if i < 0 {
		return ""
	}
	switch f := v.Loading.Found[i]; f.By {
	case dynlink.ByPath:
		return " because LD_LIBRARY_PATH is searched before DT_RUNPATH and the system's folders"
	case dynlink.ByRPath:
		if f.NeededBy.RPath == "" {
			return " by the DT_RPATH of the program that loads it, or of a library before"
		}
		return " by the DT_RPATH of " + f.NeededBy.Path
	case dynlink.ByRunPath:
		return " by the DT_RUNPATH of " + f.NeededBy.Path
	}
	return ""
}

// inPlace names a library beside the artifact, or of the platform, that has the symbol and is hidden by the folder's.
func inPlace(p *analyzer.Pass, l *dynlink.Library, b dynlink.Binding) string {
	name := l.Names()[0]
	for _, r := range p.Packages.Releases {
		for i := range r.Libraries {
			if have := dynlink.OfPackage(r, &r.Libraries[i]); have.Names()[0] == name &&
				have.Known &&
				have.Defines(b.Import.Name, b.Import.Version) {
				return fmt.Sprintf("; %s of %s==%s has it", have.Path, r.Name, r.Version)
			}
		}
	}
	if s := p.Platform.Library(name); s != nil && s.Known &&
		s.Has(b.Import.Name, b.Import.Version) {
		return "; that of " + p.Platform.Name + " has it"
	}
	return ""
}

// folderFixes offers what can be done about the library itself; whether it helps to leave the folder out is tried for every finding.
func folderFixes(l *dynlink.Library) []fix.Candidate {
	if origin(l) == l.Path {
		return []fix.Candidate{
			{
				Fix: fix.Fix{
					Kind:  fix.KindRebuild,
					Title: "Build against " + l.Path + ", the library that is loaded",
				},
			},
		}
	}
	name, _, _ := strings.Cut(l.Origin, " ")
	return []fix.Candidate{
		{
			Fix: fix.Fix{
				Kind:    fix.KindEnvironment,
				Title:   "Update " + l.Origin + " in the conda environment",
				Command: "conda update " + name,
			},
		},
	}
}
