// Package debian describes which packages of Debian contain a library, and which other packages
// these depend on.
//
//	debian.ClosureOf([]string{"libldap2", "libc6"}).Provides("liblber.so.2")  // Yes
//
// The data is of several releases at once, because the name of a package contains the version of
// its libraries. It is embedded and decoded on first use.
package debian

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/internal/inflate"
	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/symboltable"
)

//go:generate go run github.com/compat-app/compat/internal/gen/debian -out data

// librariesFile has a line for each library: its SONAME, and the packages that contain it, sorted,
// each with In and the numbers of the releases, from 1 to 9, in which it does: "libicu72@2".
// Without a number, only a release to come has it. The last line of the comment has the releases.
//
// dependsFile has a line for each package, and those on which it depends.
//
// The lines are in ascending order and are searched where they are, because most checks ask for a
// few libraries.
var (
	//go:embed data/libraries.gz
	librariesFile []byte
	//go:embed data/depends.gz
	dependsFile []byte
)

// In separates the name of a package from numbers of releases, in the data.
const In = "@"

// Private precedes the names of libraries in folders that the loader does not search, in the data.
const Private = "/"

var libraries = lazy.Value[table]{New: func() (t table) {
	comment, lines, _ := strings.Cut(inflate.Embedded(librariesFile), "\n\n")
	t.lines = lines
	t.releases = strings.Fields(comment[strings.LastIndexByte(comment, '\n')+len("\n# "):])
	return t
}}

// table is librariesFile.
type table struct {
	releases []string // of which the files are known
	lines    string
}

// entry is a package: the SONAMEs of its libraries, and names of packages that it depends on. A
// virtual package depends on those that provide it.
type entry struct{ sonames, depends []string }

// packages are all entries, which only checks of packages of Debian need.
type packages struct {
	entries map[string]entry
	alike   map[string][]string // names by pattern, see pattern
}

var all = lazy.Value[*packages]{New: func() *packages {
	p := &packages{entries: map[string]entry{}, alike: map[string][]string{}}
	sonames := map[string][]string{}
	for line := range strings.Lines(libraries.Get().lines) {
		words := strings.Fields(line)
		for _, holder := range words[1:] {
			name, _, _ := strings.Cut(holder, In)
			sonames[name] = append(sonames[name], words[0])
		}
	}
	for line := range strings.Lines(inflate.Embedded(dependsFile)) {
		words := strings.Fields(line)
		name := words[0]
		p.entries[name] = entry{sonames[name], words[1:]}
		pattern := number.ReplaceAllString(name, "#")
		p.alike[pattern] = append(p.alike[pattern], name)
	}
	return p
}}

// number matches a version in the name of a package, with what a transition of all packages to
// another ABI added: libssl3t64.
var number = lazyregexp.New(`[0-9]+(?:\.[0-9]+)*(?:t64)?`)

// Answer is whether a closure contains a library.
type Answer int

const (
	No  Answer = iota
	Yes        // one of them contains it, or one that it depends on
	// Unknown: one contains it in a private folder, or it is not known what one of them depends on.
	Unknown
)

// Closure is what packages contain, and those that they depend on.
type Closure struct {
	sonames map[string]bool
	unknown bool // it is not known what one of them depends on
}

// ClosureOf returns the closure of packages.
func ClosureOf(names []string) *Closure {
	p := all.Get()
	c := &Closure{sonames: map[string]bool{}}
	queue, seen := slices.Clone(names), map[string]bool{}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		e, ok := p.find(name)
		c.unknown = c.unknown || !ok && !slices.Contains(without, name)
		for _, soname := range e.sonames {
			c.sonames[soname] = true
		}
		queue = append(queue, e.depends...)
	}
	return c
}

// Provides reports whether one of the packages contains a library, by its SONAME or the name of its
// file with a longer version (libgomp.so.1.0.0).
func (c *Closure) Provides(name string) Answer {
	answer := No
	for n := name; strings.Contains(n, ".so"); n = n[:strings.LastIndexByte(n, '.')] {
		switch {
		case c.sonames[n]:
			return Yes
		case c.unknown || c.sonames[Private+n]:
			answer = Unknown
		}
	}
	return answer
}

// without are packages on which many depend and that lead to no library.
var without = []string{
	"libc6.1", "media-types", "multiarch-support", "netbase", "sensible-utils",
}

// find returns a package. One whose files are not in the data has the libraries of a package that
// differs from it in a number, with that number: libicu76 has libicuuc.so.76, because libicu72 has
// libicuuc.so.72. What it depends on is that of the others only if the data does not have it: of
// trixie, the mirror has no list of files, but the dependencies.
func (p *packages) find(name string) (e entry, ok bool) {
	e, known := p.entries[name]
	own := number.FindAllString(name, -1)
	if len(e.sonames) > 0 || len(own) == 0 {
		return e, known
	}
	for _, other := range slices.Backward(p.alike[number.ReplaceAllString(name, "#")]) {
		like := p.entries[other]
		if !known {
			e.depends = append(e.depends, like.depends...)
		}
		for i, n := range number.FindAllString(other, -1) {
			from, to := strings.TrimSuffix(n, "t64"), strings.TrimSuffix(own[i], "t64")
			for _, s := range like.sonames {
				if s, ok := replaceVersion(s, from, to); ok {
					e.sonames = append(e.sonames, s)
				}
			}
		}
		ok = true
	}
	return e, ok || known
}

// replaceVersion replaces the version of a SONAME, after ".so." or before ".so".
func replaceVersion(soname, from, to string) (string, bool) {
	if stem, found := strings.CutSuffix(soname, ".so."+from); found {
		return stem + ".so." + to, true
	}
	if stem, found := strings.CutSuffix(soname, from+".so"); found {
		return stem + to + ".so", true
	}
	return "", false
}

// Releases reports whether the names of two packages differ only in their versions: libssl3 and
// libssl1.1.
func Releases(a, b string) bool {
	return number.ReplaceAllString(a, "#") == number.ReplaceAllString(b, "#")
}

// Holders returns the packages that contain a library by its SONAME or the name of its file,
// sorted; nil if there are none. They are those of a release of Debian, such as "debian12", or of
// all releases for a distribution of which the files are not known, such as "ubuntu22.04" or "".
func Holders(name, distribution string) (out []string) {
	t := libraries.Get()
	release := strconv.Itoa(slices.Index(t.releases, distribution) + 1)
	for strings.Contains(name, ".so") && out == nil {
		holders, _ := symboltable.Line(t.lines, name)
		for holder := range strings.FieldsSeq(holders) {
			p, in, _ := strings.Cut(holder, In)
			if release == "0" || strings.Contains(in, release) {
				out = append(out, p)
			}
		}
		name = name[:strings.LastIndexByte(name, '.')]
	}
	return out
}
