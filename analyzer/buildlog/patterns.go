package buildlog

import (
	"fmt"

	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// patterns are tried in this order. The first one that matches a line is used.
var patterns = lazy.Value[[]*pattern]{New: func() []*pattern {
	return compilePatterns(families...)
}}

var families = [][]pattern{
	lldPatterns,
	linkerPatterns,
	gpuPatterns,
	jvmPatterns,
	nodePatterns,
	androidPatterns,
	macosPatterns,
	windowsPatterns,
	wheelPatterns,
	pythonPatterns,
	hostPatterns,
	muslPatterns,
	loaderPatterns,
	buildPatterns,
	loosePatterns,
}

// triggers finds the lines that may match.
var triggers = lazy.Value[*automaton]{New: func() *automaton {
	return newAutomaton(needles(patterns.Get()))
}}

// Bits of needles that belong to no pattern: see context.go.
const (
	anEscape = 127 - iota
	aContext
)

func compilePatterns(families ...[]pattern) []*pattern {
	var out []*pattern
	for _, f := range families {
		for i := range f {
			f[i].re = lazyregexp.New(f[i].expr)
			out = append(out, &f[i])
		}
	}
	if len(out) > aContext {
		panic(fmt.Sprintf("%d patterns do not fit a set", len(out)))
	}
	return out
}

func needles(patterns []*pattern) map[string]set {
	out := map[string]set{}
	add := func(needle string, i int) {
		s := out[needle]
		s.add(i)
		out[needle] = s
	}
	for i, p := range patterns {
		for _, n := range p.needles {
			add(n, i)
		}
	}
	add("\x1b", anEscape)
	for _, n := range contextNeedles {
		add(n, aContext)
	}
	return out
}

// diagnoses returns a diagnosis for each symbol and library of the lists.
func (m *match) diagnoses() []Diagnosis {
	symbols, libraries := append(m.symbols, m.sym), append(m.libraryList, m.lib)
	var out []Diagnosis
	for _, s := range symbols {
		for _, l := range libraries {
			if len(symbols) > 1 && s == "" || len(libraries) > 1 && l == "" {
				continue
			}
			d := Diagnosis{
				Rule:    m.id,
				Version: bound(m.ver),
				Library: bound(unquote(l)),
				Object:  bound(unquote(m.obj)),
				named:   bound(m.named),
			}
			name, version := splitVersion(s)
			if d.Symbol = bound(name); version != "" {
				d.Version = bound(version)
			}
			d.Class = m.class
			if d.Class == "" {
				d.Class = classify(&d, m.stage)
			}
			out = append(out, d)
		}
	}
	return out
}
