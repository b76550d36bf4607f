package rules

import (
	"fmt"
	"path"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
)

var versionNeedWithoutLibrary = &analyzer.Rule{
	ID:       "version-need-without-library",
	Title:    "A version is needed of a library that is not loaded or has no version table",
	Severity: analyzer.Error,
	Doc: `An object needs versions of a library (DT_VERNEED), but neither lists the library in
DT_NEEDED nor loads anything that does. glibc's loader stops the whole process: "Inconsistency
detected by ld.so: dl-version.c: _dl_check_map_versions: Assertion ` + "`needed != NULL'" + `
failed!".

Linkers do not write such files. A tool removed the DT_NEEDED entry (patchelf --remove-needed) and
kept the version table.

Fix: add the DT_NEEDED entry again, or link without the library.

Before glibc 2.41 the loader stops in a similar way if the library is loaded, defines the symbol and
has no version table (DT_VERSYM): "dl-lookup.c: check_match: Assertion ... failed!". Another build
of the library is bundled than the one that the object was linked with. Such a library imports no
versioned symbol itself. One that has a version table without the version is reported as
undefined-symbol, and one that defines no versions is accepted. Fix: bundle the other build.

Not reported where the library is loaded by the process (Python has libc, libm, libdl) or by
another library of the load, and on musl, which has no symbol versions. An import of that library
that nothing else defines is reported as undefined-symbol.`,
	Cause: cause.Rule{
		Warns: "it works where the library was loaded before",
		Kind:  cause.TooNew,
		KindOf: func(f *analyzer.Finding) *cause.Kind {
			if f.ProvidedBy != nil { // the library is there, but it is another one
				return cause.Undefined
			}
			return nil
		},
	},
	References: []string{
		"glibc: elf/dl-version.c, _dl_check_map_versions",
		"glibc: elf/dl-lookup.c, check_match",
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
		if platform.Older(p.Platform.LibcVersion, "2.41") {
			checkVersionTable(p, v)
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
						Title:   fix.Titled("Add the DT_NEEDED entry again"),
						Command: edit(p, v.Path, addNeeded([]string{need.Library})),
					},
					Change: fix.AddNeeded{Object: v.Path, Libraries: []string{need.Library}},
				},
			)
		}
	}
}

// checkVersionTable reports symbols with a version in libraries of the artifact without DT_VERSYM.
func checkVersionTable(p *analyzer.Pass, v *analyzer.View) {
	for _, need := range v.VersionNeeds {
		without := unversioned(p)[need.Library]
		if without == nil {
			continue
		}
		for b := range v.Bindings().To(dynlink.FromArtifact) {
			l := b.Provider
			if b.Outcome != dynlink.Bound || l != without.Library || b.Import.Library != need.Library ||
				b.Import.Version == "" {
				continue
			}
			f := analyzer.Finding{
				Object:  v.Path,
				Symbol:  b.Import.Name,
				Version: b.Import.Version,
				Library: need.Library, ProvidedBy: &l.Path,
				Chain: analyzer.Chain(v.Library, l),
				Message: fmt.Sprintf("%s imports %s, but %s, which it loads as %s, has no version table. "+
					"The loader stops the process", v.Path,
					analyzer.Versioned(b.Import.Name, b.Import.Version), l.Path, need.Library),
			}
			if v.Alternative {
				f.Severity = analyzer.Warning
			}
			p.Report(f, fix.Candidate{Fix: fix.Fix{
				Kind: fix.KindRebuild,
				Title: fix.Titled("Bundle the %s that %s was linked with, or link with the one that "+
					"is bundled", fix.Library(need.Library), path.Base(v.Path)),
			}})
			break // the loader stops at the first one
		}
	}
}

// unversioned returns the first object of the artifact without DT_VERSYM for each of their names.
func unversioned(p *analyzer.Pass) map[string]*analyzer.View {
	return p.Once("unversioned", func() any {
		out := map[string]*analyzer.View{}
		for _, u := range slices.Backward(p.Views) {
			if !u.HasVersym {
				for _, name := range u.Library.Names() {
					out[name] = u
				}
			}
		}
		return out
	}).(map[string]*analyzer.View)
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
