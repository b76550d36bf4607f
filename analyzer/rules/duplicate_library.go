package rules

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/lazyregexp"
)

var duplicateLibrary = &analyzer.Rule{
	ID:       "duplicate-library",
	Title:    "two copies of one library in a wheel",
	Severity: analyzer.Note,
	Doc: `A wheel holds two different libraries under one SONAME, or two versions of one library. The loader knows a library by its SONAME: the copy that is loaded first serves every later user of the name, whatever their
paths lead to. Two versions under different SONAMEs are both loaded, and what they export without versions is taken from the first for both.

It is a warning where an object imports a symbol that its own copy has and the other copy lacks: after the other one was loaded, its import fails with "undefined symbol". Otherwise it is a note: two copies also have two
sets of global state (two OpenMP runtimes, two memory pools), which shows in crashes and not in messages.

Ship one copy that all modules find by their RUNPATH, or let auditwheel give the copies names of their own.

Not seen: copies that other packages bring, and copies with the same exports that behave differently. Objects with the same build ID, and alternatives of which one is loaded at run time, are no finding.`,
	References: []string{"gABI, DT_SONAME", "glibc: elf/dl-load.c, _dl_map_object"},
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
			Title: "Ship one copy, and let every module's RUNPATH lead to it",
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
					"%s and %s are different libraries with the SONAME %s: the one that is loaded first serves both",
					b.Path,
					a.Path,
					s,
				)
				if user, i := torn(p, a, b); user != nil {
					f.Severity, f.Symbol, f.Version = analyzer.Warning, i.Name, i.Version
					f.Message += fmt.Sprintf(
						", and %s imports %s, which only one of them has",
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
							"%s and %s are two versions of %s, and one load brings both: what they export without versions is taken from the first",
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

// graft is how auditwheel and delocate name what they copy into a wheel: libfoo-1a2b3c4d.so.1.
var graft = lazyregexp.New(`^(lib.+?)-[0-9a-f]{8}(\.so)(\.[0-9.]+)?$`)

// grafted is the name that a copied library had, without its version; "" for a library that was not
// copied by such a tool.
func grafted(soname string) string {
	m := graft.FindStringSubmatch(soname)
	if m == nil {
		return ""
	}
	return m[1] + m[2]
}

// processorFolder is where glibc looks first on processors that can run it.
var processorFolder = lazyregexp.New(`(^|/)(glibc-hwcaps/[^/]+|haswell|avx512_1)/`)

// sameContent tells whether two objects are one as far as the loader can tell.
func sameContent(a, b *analyzer.View) bool {
	if a.BuildID != "" && a.BuildID == b.BuildID {
		return true
	}
	return a.BuildID == b.BuildID && a.Exports.Equal(b.Exports) && slices.Equal(a.Needed, b.Needed)
}

// wanted tells whether an object needs a library by that name; what nobody needs is loaded by path.
func wanted(p *analyzer.Pass, soname string) bool {
	return slices.ContainsFunc(
		p.Views,
		func(v *analyzer.View) bool { return slices.Contains(v.Needed, soname) },
	)
}

// torn finds an object that imports from one copy what the other lacks.
func torn(p *analyzer.Pass, a, b *analyzer.View) (*analyzer.View, elfobj.Import) {
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

// together tells whether one load brings both.
func together(p *analyzer.Pass, a, b *analyzer.View) bool {
	return slices.ContainsFunc(p.Views, func(v *analyzer.View) bool {
		return v.Loading.Chain(a.Library) != nil && v.Loading.Chain(b.Library) != nil
	})
}
