// Package debian describes which packages of Debian contain a library, and which other packages
// these depend on.
//
//	debian.ClosureOf([]string{"libldap2", "libc6"}).Provides("liblber.so.2")  // Yes
//
// The data is of several releases at once, because the name of a package contains the version of
// its libraries. It is embedded and decoded on first use.
package debian

import (
	"bytes"
	_ "embed"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/compat-app/compat/internal/lazyregexp"
)

//go:generate go run github.com/compat-app/compat/internal/gen/debian -out data/libraries.gz

//go:embed data/libraries.gz
var packed []byte

// In separates the name of a package from the releases of Debian that have it, in the data, with
// commas: "libicu72@debian12". A library has its own only if they are others. None means that only
// a release to come has it.
const In = "@"

// Private precedes the names of libraries in folders that the loader does not search, in the data.
const Private = "/"

// entry is a package: the SONAMEs of its libraries, and names of packages that it depends on. A
// virtual package depends on those that provide it.
type entry struct{ sonames, depends []string }

// holder is a package that contains a library, and the releases, separated by commas, in which it
// does.
type holder struct{ name, releases string }

type table struct {
	packages map[string]entry
	holders  map[string][]holder // by SONAME
	releases []string            // of which the files are known
	alike    map[string][]string // packages by name with "#" for each number
}

var data = sync.OnceValue(func() *table {
	t := &table{
		packages: map[string]entry{}, holders: map[string][]holder{}, alike: map[string][]string{},
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(err) // embedded data, which a test decodes
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(text)) {
		has, depends, ok := strings.Cut(line, " :")
		words := strings.Fields(has)
		if !ok || words[0] == "#" {
			continue
		}
		name, every, _ := strings.Cut(words[0], In)
		for i, word := range words[1:] {
			soname, own, differ := strings.Cut(word, In)
			words[i+1] = soname
			if !differ {
				own = every
			}
			if !strings.HasPrefix(soname, Private) {
				t.holders[soname] = append(t.holders[soname], holder{name, own})
			}
			for release := range strings.SplitSeq(own, ",") {
				if release != "" && !slices.Contains(t.releases, release) {
					t.releases = append(t.releases, release)
				}
			}
		}
		t.packages[name] = entry{words[1:], strings.Fields(depends)}
		pattern := number.ReplaceAllString(name, "#")
		t.alike[pattern] = append(t.alike[pattern], name)
	}
	return t
})

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
	t := data()
	c := &Closure{sonames: map[string]bool{}}
	queue, seen := slices.Clone(names), map[string]bool{}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		e, ok := t.find(name)
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
func (t *table) find(name string) (e entry, ok bool) {
	e, known := t.packages[name]
	own := number.FindAllString(name, -1)
	if len(e.sonames) > 0 || len(own) == 0 {
		return e, known
	}
	for _, other := range slices.Backward(t.alike[number.ReplaceAllString(name, "#")]) {
		like := t.packages[other]
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
	t := data()
	known := slices.Contains(t.releases, distribution)
	for strings.Contains(name, ".so") && out == nil {
		for _, h := range t.holders[name] {
			if !known || slices.Contains(strings.Split(h.releases, ","), distribution) {
				out = append(out, h.name)
			}
		}
		name = name[:strings.LastIndexByte(name, '.')]
	}
	return out
}
