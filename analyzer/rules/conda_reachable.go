package rules

import (
	"fmt"
	"path"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
)

// checkCondaReachable reports libraries of other conda packages that are given, to which no search
// path of an object leads. The RPATH of conda's programs is one of them, but does not apply to an
// object that has a RUNPATH.
func checkCondaReachable(p *analyzer.Pass) {
	own := map[*dynlink.Library]bool{}
	for _, v := range p.Views {
		own[v.Library] = true
	}
	for _, v := range p.Views {
		for _, found := range v.Loading.Found {
			l := found.Library
			if found.NeededBy != v.Library || found.By != dynlink.ByPackage || own[l] ||
				l.Kind != dynlink.FromArtifact && l.Kind != dynlink.FromPackage || loadedWith(p, v, l) {
				continue
			}
			reportCondaUnreachable(p, v, l)
		}
	}
}

func reportCondaUnreachable(p *analyzer.Pass, v *analyzer.View, l *dynlink.Library) {
	name := l.Names()[0]
	why := unreached{by: v, library: l}.paths(p)
	f := analyzer.Finding{
		Object:  v.Path,
		Library: name,
		Chain:   analyzer.Chain(v.Library, l),
		Message: fmt.Sprintf("%s needs %s of another package (%s), but %s", v.Path, name, l.Path, why),
	}
	f.Headline = f.Message
	linked := v.Public() && path.Dir(v.Path) == "lib"
	switch {
	case v.Alternative:
		f.Severity = analyzer.Warning
		f.Message += ". This file is one of several variants, and only one is loaded"
	case p.Facts.SetsUp, v.Extension() && mayBeLoaded(p, v, l, []*analyzer.View{v}):
		f.Severity = analyzer.Warning
		f.Message += ". compat could not determine whether something loads it first"
	case !v.Program() && !v.Extension() && !linked && !v.Linked():
		f.Severity = analyzer.Warning
		f.Message += ". It works only where the program that loads it has already loaded " +
			"the library"
	default:
		f.Message += ", and nothing in the package loads it first"
	}
	var fixes []fix.Candidate
	if to := runPath(p, v, path.Dir(l.Path)); to != "" {
		fixes = append(fixes, searching(p, v, to))
	}
	p.Report(f, fixes...)
}
