package buildlog

import (
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// pattern is one form of message.
type pattern struct {
	id      string
	class   string   // "" if it depends on the symbol, the version and the library
	stage   stage    // which kind of program prints it
	needles []string // every matching line contains at least one
	// An RE2 expression with the groups sym (may end in @VERSION), ver, lib, obj, named, and
	// the lists syms and libs. A line may have several matches.
	expr   string
	before before            // the meaning of the file before the match
	fill   func(*match) bool // sets more fields; returns false if the line is not a message
	// example is a line that matches, and similar is one that must not match.
	example, similar string

	re *lazyregexp.Regexp
}

type stage int

const (
	loading stage = iota // a loader or a runtime
	musl                 // musl's loader; musl's libc lacks symbols of glibc
	linking              // a linker
	bionic               // Android's loader
	darwin               // dyld
	wasm                 // Emscripten's loader
)

type before int

const (
	nothing  before = iota
	anObject        // the object that requires it, or the invalid file
	// The library that should provide it, after the object that requires it.
	aLibrary
	aLinkObject // the object, archive member or shared library
)

// match is a match of a pattern in a line.
type match struct {
	*pattern
	line                 string // the whole line
	prefix, rest         string // the text before and after the match
	sym, ver, lib, obj   string
	syms, libs           string
	named                string   // see Diagnosis
	symbols, libraryList []string // if there are several; each is a diagnosis
}

// find returns the matches of the pattern in a line, at most 32.
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
			case "named":
				m.named = text
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

// splitVersion splits a symbol as printed by linkers: "pow@GLIBC_2.29", "pow@@GLIBC_2.29", or a
// demangled name, with or without a version. Names that Visual C++ mangles have none.
func splitVersion(s string) (name, version string) {
	i := strings.LastIndexByte(s, '@')
	if i <= 0 || s[0] == '?' || !versionNode.MatchString(s[i+1:]) {
		return s, ""
	}
	return strings.TrimRight(s[:i], "@"), s[i+1:]
}

var versionNode = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.+\-]*$`)
