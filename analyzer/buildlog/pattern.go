package buildlog

import (
	"strings"

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
