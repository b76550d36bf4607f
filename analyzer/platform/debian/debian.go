// Package debian describes which packages of Debian contain a library, and which other packages
// with libraries these depend on.
//
//	debian.Provide([]string{"libldap2", "libc6"}, "liblber.so.2")  // Yes
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

// entry is a package: the SONAMEs of its libraries, and names of packages that it depends on.
type entry struct{ sonames, depends []string }

type table struct {
	packages map[string]entry
	holders  map[string][]string // packages by SONAME
	alike    map[string][]string // packages by name with "#" for each number
}

var data = sync.OnceValue(func() *table {
	t := &table{map[string]entry{}, map[string][]string{}, map[string][]string{}}
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
		name := words[0]
		t.packages[name] = entry{words[1:], strings.Fields(depends)}
		for _, soname := range words[1:] {
			t.holders[soname] = append(t.holders[soname], name)
		}
		pattern := number.ReplaceAllString(name, "#")
		t.alike[pattern] = append(t.alike[pattern], name)
	}
	return t
})

// number matches a version in the name of a package, with what a transition of all packages to
// another ABI added: libssl3t64.
var number = lazyregexp.New(`[0-9]+(?:\.[0-9]+)*(?:t64)?`)

// Answer is whether packages provide a library.
type Answer int

const (
	No      Answer = iota
	Yes            // one of them contains it, or one that it depends on
	Unknown        // it is not known what one of them depends on
)

// Provide reports whether packages, or those that they depend on, provide a library.
func Provide(depends []string, soname string) Answer {
	t := data()
	answer := No
	queue, seen := slices.Clone(depends), map[string]bool{}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		e, ok := t.find(name)
		switch {
		case slices.ContainsFunc(e.sonames, func(s string) bool { return is(soname, s) }):
			return Yes
		case !ok && !slices.Contains(without, name):
			answer = Unknown
		}
		queue = append(queue, e.depends...)
	}
	return answer
}

// without are packages on which many depend and that bring no library.
var without = []string{
	"adduser", "ca-certificates", "debconf", "debconf-2.0", "init-system-helpers", "install-info",
	"libc6.1", "lsb-base", "media-types", "mime-support", "multiarch-support", "netbase",
	"sensible-utils", "tzdata", "ucf",
}

// find returns a package. One of another release than those of the data has the libraries of a
// package that differs from it in a number, with that number: libicu76 has libicuuc.so.76, because
// libicu72 has libicuuc.so.72.
func (t *table) find(name string) (e entry, ok bool) {
	if e, ok := t.packages[name]; ok {
		return e, true
	}
	own := number.FindAllString(name, -1)
	if len(own) == 0 {
		return entry{}, false
	}
	for _, other := range slices.Backward(t.alike[number.ReplaceAllString(name, "#")]) {
		like := t.packages[other]
		e.depends = append(e.depends, like.depends...)
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
	return e, ok
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

// is reports whether a name in DT_NEEDED is that of a library: its SONAME, or its file name with a
// longer version (libgomp.so.1.0.0).
func is(needed, soname string) bool {
	rest, ok := strings.CutPrefix(needed, soname)
	return ok && (rest == "" || strings.Contains(soname, ".so.") && rest[0] == '.')
}

// Releases reports whether the names of two packages differ only in their versions: libssl3 and
// libssl1.1.
func Releases(a, b string) bool {
	return number.ReplaceAllString(a, "#") == number.ReplaceAllString(b, "#")
}

// Holders returns the packages that contain a library by its SONAME or the name of its file,
// sorted; nil if there are none.
func Holders(name string) []string {
	for strings.Contains(name, ".so") {
		if list := data().holders[name]; list != nil {
			return list
		}
		name = name[:strings.LastIndexByte(name, '.')]
	}
	return nil
}
