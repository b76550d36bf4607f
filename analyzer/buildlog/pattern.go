package buildlog

import (
	"fmt"
	"strings"
	"sync"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// pattern is one form of message.
type pattern struct {
	id      string
	class   string   // "": decided from the symbol, the version and the library
	stage   stage    // who says it
	needles []string // every line that matches holds one of them
	// expr is RE2. Groups: sym (may end in @VERSION), ver, lib, obj; syms and libs are lists.
	// Matched as often as it is found in the line.
	expr   string
	before before            // what the file before the match is
	fill   func(*match) bool // looks at what the groups can't say; false: no message after all
	// example is a line that matches, near one that must give no diagnosis at all.
	example, near string

	re *lazyregexp.Regexp
}

type stage int

const (
	loading stage = iota // a loader or a runtime
	musl                 // musl's loader, whose libc lacks what glibc has
	linking              // a linker
)

type before int

const (
	nothing  before = iota
	anObject        // the file before is who asked, or at fault
	// the file before is who should have provided it, the one before that who asked
	aLibrary
	aLinkObject // the object, archive member or shared library before
)

// match is a pattern found in a line.
type match struct {
	*pattern
	line                 string // the whole line
	prefix, rest         string // what stands before and after the match
	sym, ver, lib, obj   string
	syms, libs           string
	symbols, libraryList []string // more than one, each a diagnosis
}

// patterns are tried in this order; a line belongs to the first that finds something in it.
var patterns = sync.OnceValue(func() []*pattern { return compile(families...) })

var families = [][]pattern{
	lldPatterns,
	linkerPatterns,
	gpuPatterns,
	jvmPatterns,
	nodePatterns,
	androidPatterns,
	wheelPatterns,
	hostPatterns,
	muslPatterns,
	loaderPatterns,
	buildPatterns,
	loosePatterns,
}

// triggers finds the lines that are worth a look.
var triggers = sync.OnceValue(func() *automaton { return newAutomaton(needles(patterns())) })

// Needles of what is no message of its own: see context.go.
const (
	anEscape = 127 - iota
	aContext
)

func compile(families ...[]pattern) []*pattern {
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

// find returns the pattern's matches in a line, at most 32.
func (p *pattern) find(line string) []match {
	var out []match
	end := 0
	for _, at := range p.re.FindAllStringSubmatchIndex(line, 32) {
		m := match{pattern: p, line: line, prefix: line[end:at[0]], rest: line[at[1]:]}
		end = at[1]
		for i, name := range p.re.SubexpNames() {
			if name == "" || at[2*i] < 0 {
				continue
			}
			switch text := line[at[2*i]:at[2*i+1]]; name {
			case "sym":
				m.sym = text
			case "ver":
				m.ver = text
			case "lib":
				m.lib = text
			case "obj":
				m.obj = text
			case "syms":
				m.syms = text
			case "libs":
				m.libs = text
			}
		}
		if p.fill != nil && !p.fill(&m) {
			continue
		}
		m.takeBefore()
		out = append(out, m)
	}
	return out
}

func (m *match) takeBefore() {
	switch m.before {
	case anObject:
		if m.obj == "" {
			m.obj, _ = fileBefore(m.prefix, false)
		}
	case aLibrary:
		var rest string
		if m.lib == "" {
			m.lib, rest = fileBefore(m.prefix, false)
		}
		if m.obj == "" && rest != "" {
			if f, _ := fileBefore(rest, false); f != "" {
				m.obj = f
			} else if !strings.Contains(rest, " ") {
				m.obj = program(rest)
			}
		}
	case aLinkObject:
		if m.obj == "" {
			m.obj, _ = fileBefore(m.prefix, true)
		}
	}
}

// diagnoses spreads a match: one for each symbol and library of its lists.
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

// splitVersion takes apart what linkers print: "pow@GLIBC_2.29", "pow@@GLIBC_2.29", a demangled
// name with either, or nothing.
func splitVersion(s string) (name, version string) {
	i := strings.LastIndexByte(s, '@')
	if i <= 0 || !versionNode.MatchString(s[i+1:]) {
		return s, ""
	}
	return strings.TrimRight(s[:i], "@"), s[i+1:]
}

var versionNode = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.+\-]*$`)
