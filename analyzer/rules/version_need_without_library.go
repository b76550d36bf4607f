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
	Title:    "versions that are needed of a library that is not loaded",
	Severity: analyzer.Error,
	Doc: `An object says which versions it needs of a library (DT_VERNEED), and neither lists the library in DT_NEEDED nor loads anything that does. glibc's loader looks the library up among those that are loaded,
and stops the whole process when it is not there: "Inconsistency detected by ld.so: dl-version.c: _dl_check_map_versions: Assertion ` + "`needed != NULL'" + ` failed!".

Linkers do not write such files. An editor took the DT_NEEDED entry away (patchelf --remove-needed) and left the version table. Put the entry back, or link without the library.

Where the library is loaded all the same, by the process (Python has libc, libm, libdl) or by another library of the load, nothing is wrong and there is no finding. An import of the library that nothing else
defines is told as undefined-symbol.

Not seen on musl, which knows no versions.`,
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
			continue // told already, and the load fails before
		}
		for _, need := range v.VersionNeeds {
			named := func(l *dynlink.Library) bool { return slices.Contains(l.Names(), need.Library) }
			told := func(b dynlink.Binding) bool { return b.Outcome == dynlink.NoSymbol && b.Import.Library == need.Library }
			listed := slices.Contains(v.Needed, need.Library) ||
				slices.Contains(v.Library.Needed, need.Library)
			if need.Library == "" || listed || slices.ContainsFunc(scopeOf(p, v), named) ||
				slices.ContainsFunc(slices.Collect(v.Bindings().Failed()), told) {
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
				"%s needs version %s of %s, which is not in DT_NEEDED and which nothing that it loads brings: the loader stops the process",
				v.Path,
				f.Version,
				need.Library,
			)
			if v.Alternative || v.Host != analyzer.HostPython {
				f.Severity = analyzer.Warning
				f.Message += ", unless the program has loaded it before"
			}
			p.Report(
				f,
				fix.Candidate{
					Fix: fix.Fix{
						Kind:    fix.KindPatchelf,
						Title:   "Put the DT_NEEDED entry back",
						Command: "patchelf --add-needed " + need.Library + " " + quoted(v.Path),
					},
					Change: fix.AddNeeded{Object: v.Path, Libraries: []string{need.Library}},
				},
			)
		}
	}
}

// scopeOf is what is loaded with an object: its own load, and that of each object of the artifact that brings it in.
func scopeOf(p *analyzer.Pass, v *analyzer.View) []*dynlink.Library {
	out := v.Loading.Scope()
	for _, u := range p.Views {
		if u != v && u.Loading.Chain(v.Library) != nil {
			out = append(out, u.Loading.Scope()...)
		}
	}
	return out
}
