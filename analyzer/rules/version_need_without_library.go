package rules

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
)

var versionNeedWithoutLibrary = &analyzer.Rule{
	ID:       "version-need-without-library",
	Title:    "A version of a library is needed, but the library is not loaded",
	Severity: analyzer.Error,
	Doc: `An object needs versions of a library (DT_VERNEED), but neither lists the library in
DT_NEEDED nor loads anything that does. glibc's loader stops the whole process: "Inconsistency
detected by ld.so: dl-version.c: _dl_check_map_versions: Assertion ` + "`needed != NULL'" + `
failed!".

Linkers do not write such files. A tool removed the DT_NEEDED entry (patchelf --remove-needed) and
kept the version table.

Fix: add the DT_NEEDED entry again, or link without the library.

Not reported where the library is loaded by the process (Python has libc, libm, libdl) or by
another library of the load, and on musl, which has no symbol versions. An import of that library
that nothing else defines is reported as undefined-symbol.`,
	References: []string{
		"glibc: elf/dl-version.c, _dl_check_map_versions",
		"LSB Core 5.0, chapter 10.7",
	},
	Check: checkVersionNeed,
}

func checkVersionNeed(p *analyzer.Pass) {
	if p.Platform.Libc != "glibc" {
		return
	}
	for _, v := range p.Views {
		if len(v.Loading.Missing) > 0 {
			continue // other rules report it, and the load fails earlier
		}
		for _, need := range v.VersionNeeds {
			named := func(l *dynlink.Library) bool { return slices.Contains(l.Names(), need.Library) }
			reported := func(b dynlink.Binding) bool {
				return b.Outcome == dynlink.NoSymbol && b.Import.Library == need.Library
			}
			listed := slices.Contains(v.Needed, need.Library) ||
				slices.Contains(v.Library.Needed, need.Library)
			if need.Library == "" || listed || slices.ContainsFunc(scopeOf(p, v), named) ||
				slices.ContainsFunc(slices.Collect(v.Bindings().Failed()), reported) {
				continue
			}
			f := analyzer.Finding{
				Object:  v.Path,
				Library: need.Library,
				Chain:   []string{v.Path, need.Library},
			}
			if len(need.Versions) > 0 {
				f.Version = need.Versions[0].Name
			}
			f.Message = fmt.Sprintf(
				"%s needs version %s of %s, which is not in DT_NEEDED and not loaded. "+
					"The loader stops the process",
				v.Path,
				f.Version,
				need.Library,
			)
			if v.Alternative || v.Host != analyzer.HostPython {
				f.Severity = analyzer.Warning
				f.Message += ", unless the program has already loaded it"
			}
			p.Report(
				f,
				fix.Candidate{
					Fix: fix.Fix{
						Kind:    fix.KindPatchelf,
						Title:   "Add the DT_NEEDED entry again",
						Command: edit(p, v.Path, addNeeded([]string{need.Library})),
					},
					Change: fix.AddNeeded{Object: v.Path, Libraries: []string{need.Library}},
				},
			)
		}
	}
}

// scopeOf returns all libraries that are loaded with an object: by itself, and by each object of
// the artifact that loads it.
func scopeOf(p *analyzer.Pass, v *analyzer.View) []*dynlink.Library {
	out := v.Loading.Scope()
	for _, u := range p.Views {
		if u != v && u.Loading.Chain(v.Library) != nil {
			out = append(out, u.Loading.Scope()...)
		}
	}
	return out
}
