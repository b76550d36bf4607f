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
	inputPatterns,
	definitionPatterns,
	otherLinkerPatterns,
	lldPatterns,
	linkerPatterns,
	gpuPatterns,
	jvmPatterns,
	nodePatterns,
	androidPatterns,
	refusedPatterns,
	wasmPatterns,
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
	anEscape = 255 - iota
	aContext
)

// firstMark is the bit of the first of settingMarks, whose lines show a setting.
const firstMark = 224

func compilePatterns(families ...[]pattern) []*pattern {
	var out []*pattern
	for _, f := range families {
		for i := range f {
			f[i].re = lazyregexp.New(f[i].expr)
			out = append(out, &f[i])
		}
	}
	if len(out) > firstMark || firstMark+len(settingMarks) > aContext {
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
	for i, m := range settingMarks {
		for _, phrase := range m.phrases {
			add(phrase, firstMark+i)
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
