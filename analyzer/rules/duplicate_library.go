package rules

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/lazyregexp"
)

var duplicateLibrary = &analyzer.Rule{
	ID:       "duplicate-library",
	Title:    "The wheel contains two versions of one library",
	Severity: analyzer.Note,
	Doc: `A wheel contains two different libraries with one SONAME, or two versions of one library.
The loader identifies a library by its SONAME: the copy that is loaded first is used by every
later user of that name, whatever their paths are. Two versions with different SONAMEs are both
loaded, and their unversioned symbols are all taken from the first.

Fix: ship one copy that all modules find by their RUNPATH, or let auditwheel give each copy a
unique name.

Severity: a warning where an object imports a symbol that only one of the two copies has; if the
other copy is loaded first, the import fails with "undefined symbol". Otherwise it is a note: two
copies have two sets of global state (two OpenMP runtimes, two memory pools), which can cause
crashes.

Not detected: copies in other packages, and copies with the same exports that behave differently.
Objects with the same build ID, and variants of which only one is loaded at run time, are not
reported.`,
	References: []string{"gABI, DT_SONAME", "glibc: elf/dl-load.c, _dl_map_object"},
	Cause:      cause.Rule{Warns: "it works where the copy that has the symbol is loaded first"},
	Check:      checkDuplicates,
}

func checkDuplicates(p *analyzer.Pass) {
	if p.Facts.Kind != analyzer.KindWheel {
		return
	}
	bySONAME, byStem := map[string][]*analyzer.View{}, map[string][]*analyzer.View{}
	var sonames, stems []string
	for _, v := range p.Views {
		if v.SONAME == "" || v.Extension() || processorFolder.MatchString(v.Path) {
			continue
		}
		if bySONAME[v.SONAME] == nil {
			sonames = append(sonames, v.SONAME)
		}
		bySONAME[v.SONAME] = append(bySONAME[v.SONAME], v)
		if s := grafted(v.SONAME); s != "" {
			if byStem[s] == nil {
				stems = append(stems, s)
			}
			byStem[s] = append(byStem[s], v)
		}
	}
	one := fix.Candidate{
		Fix: fix.Fix{
			Kind:  fix.KindRebuild,
			Title: fix.Titled("Ship one copy and set the RUNPATH of every module to it"),
		},
	}
	for _, s := range sonames {
		for i, a := range bySONAME[s] {
			for _, b := range bySONAME[s][:i] {
				if sameContent(a, b) || !wanted(p, s) {
					continue
				}
				f := analyzer.Finding{Object: a.Path, Library: s, Chain: []string{a.Path, b.Path}}
				f.Message = fmt.Sprintf(
					"%s and %s are different libraries with the SONAME %s. Only the first one is loaded",
					b.Path,
					a.Path,
					s,
				)
				if user, i := importsOne(p, a, b); user != nil {
					f.Severity, f.Symbol, f.Version = analyzer.Warning, i.Name, i.Version
					f.Message += fmt.Sprintf(
						". %s imports %s, which only one of them has",
						user.Path,
						analyzer.Versioned(i.Name, i.Version),
					)
				}
				p.Report(f, one)
			}
		}
	}
	for _, s := range stems {
		for i, a := range byStem[s] {
			for _, b := range byStem[s][:i] {
				if a.SONAME == b.SONAME || !together(p, a, b) {
					continue
				}
				p.Report(
					analyzer.Finding{
						Object:  a.Path,
						Library: a.SONAME,
						Chain:   []string{a.Path, b.Path},
						Message: fmt.Sprintf(
							"%s and %s are two versions of %s, and both are loaded. Their "+
								"unversioned symbols are all taken from the first",
							b.Path,
							a.Path,
							s,
						),
					},
					one,
				)
			}
		}
	}
}

// graft is how auditwheel and delocate name what they copy into a wheel: libfoo-1a2b3c4d.so.1, and
// libopenblas-r0-1a2b3c4d.3.3.so.
var graft = lazyregexp.New(`^(lib.+?)-[0-9a-f]{8}[0-9.]*(\.so)(\.[0-9.]+)?$`)

// grafted returns the original name of a library that such a tool copied, without its version. It
// is "" for other libraries.
func grafted(soname string) string {
	m := graft.FindStringSubmatch(soname)
	if m == nil {
		return ""
	}
	return m[1] + m[2]
}

// processorFolder is where glibc looks first on processors that can run it.
var processorFolder = lazyregexp.New(`(^|/)(glibc-hwcaps/[^/]+|haswell|avx512_1)/`)

// sameContent reports whether two objects are the same to the loader.
func sameContent(a, b *analyzer.View) bool {
	if a.BuildID != "" && a.BuildID == b.BuildID {
		return true
	}
	return a.BuildID == b.BuildID && a.Exports.Equal(b.Exports) && slices.Equal(a.Needed, b.Needed)
}

// wanted reports whether an object needs a library of that name. Other libraries are loaded by
// path.
func wanted(p *analyzer.Pass, soname string) bool {
	return slices.ContainsFunc(
		p.Views,
		func(v *analyzer.View) bool { return slices.Contains(v.Needed, soname) },
	)
}

// importsOne returns an object that imports a symbol from one copy that the other lacks.
func importsOne(p *analyzer.Pass, a, b *analyzer.View) (*analyzer.View, elfobj.Import) {
	for _, u := range p.Views {
		for x := range u.Bindings().All() {
			if x.Outcome != dynlink.Bound || x.Provider == nil {
				continue
			}
			own, other := x.Provider == a.Library, x.Provider == b.Library
			if own && !b.Library.Defines(x.Import.Name, x.Import.Version) ||
				other && !a.Library.Defines(x.Import.Name, x.Import.Version) {
				return u, x.Import
			}
		}
	}
	return nil, elfobj.Import{}
}

// together reports whether one object loads both.
func together(p *analyzer.Pass, a, b *analyzer.View) bool {
	return slices.ContainsFunc(p.Views, func(v *analyzer.View) bool {
		return v.Loading.Chain(a.Library) != nil && v.Loading.Chain(b.Library) != nil
	})
}
