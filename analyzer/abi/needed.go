package abi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform"
)

// libraries reports removed DT_NEEDED entries. The new library no longer finds what it imports from
// such a library without a version, unless the program loads that library for another reason. A
// program that uses the library without linking it no longer finds it either.
func (c *comparison) libraries() {
	for _, n := range c.old.Needed {
		if slices.Contains(c.new.Needed, n) {
			continue
		}
		x := Change{
			Rule:     RuleNeeded,
			Severity: Note,
			Detail:   fmt.Sprintf("The library no longer needs %s (DT_NEEDED).", n),
			Effect:   fmt.Sprintf("Only a program that uses %s without linking against it can fail.", n),
		}
		if lost, system := c.lost(n); len(lost) > 0 {
			x.Severity, x.Symbol = Error, lost[0]
			x.Detail = fmt.Sprintf("The library no longer needs %s (DT_NEEDED), but still uses %s of it.",
				n, symbolList(lost))
			x.Effect = fmt.Sprintf("A program that does not link %s itself ends with an undefined "+
				"symbol.", n)
			if system != "" {
				x.Severity = Warning
				x.Effect = fmt.Sprintf("On %s and older systems, a program that does not link %s itself "+
					"ends with an undefined symbol.", system, n)
			}
			x.Fix = fmt.Sprintf("Link the library with %s again.", n)
		}
		c.add(x)
	}
}

// maxListed limits the symbols in a sentence.
const maxListed = 5

// symbolList returns "a, b and 3 more".
func symbolList(symbols []string) string {
	var shown []string
	for _, s := range symbols[:min(len(symbols), maxListed)] {
		shown = append(shown, Readable(s))
	}
	out := strings.Join(shown, ", ")
	if more := len(symbols) - len(shown); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

// lost returns the imports of the new library that on the newest system only a library has which it
// no longer needs. If there are none, and the library is part of the C library, it returns those of
// the newest older system with some, and the title of that system.
func (c *comparison) lost(gone string) (symbols []string, system string) {
	if len(c.new.Undefined) == 0 || strings.HasPrefix(gone, "libpython") {
		return nil, "" // an interpreter has the symbols of its library
	}
	if slices.ContainsFunc(c.new.Needed, func(n string) bool { return stem(n) == stem(gone) }) {
		return nil, "" // it is linked with another version
	}
	known := c.systems()
	if len(known) == 0 {
		c.blind.unread.add(gone)
		return nil, ""
	}
	for i, p := range known {
		if i > 0 && platform.LibcOf(gone) == "" {
			break
		}
		rest, own := c.closure(p, c.new.withLibc()), c.closure(p, []string{gone})
		for _, name := range c.new.Undefined {
			switch {
			case rest.has(name):
			case own.unread, own.has(name) && rest.unread:
				c.blind.unread.add(gone)
			case own.has(name):
				symbols = append(symbols, name)
				c.lostSymbols[name] = true
			}
		}
		if len(symbols) > 0 {
			if i > 0 {
				system = platform.Title(p.Name)
			}
			break
		}
	}
	return symbols, system
}

// undefined reports imports that the old library does not have and that nothing which the new one
// needs has: it uses a library that it is not linked with. Where a library was not read, nothing is
// reported.
func (c *comparison) undefined() {
	if c.old.Undefined == nil || len(c.new.Undefined) == 0 || c.new.extends() {
		return
	}
	known := c.systems() // reads the tables of all distributions
	if len(known) == 0 {
		return
	}
	rest := c.closure(known[0], c.new.withLibc())
	effect := "A program that does not bring it ends with an undefined symbol."
	if program := c.old.program; program != nil {
		all := append(c.new.withLibc(), program.Needed...)
		old := func(n string) bool { return n == c.old.SONAME }
		rest = c.closure(known[0], slices.DeleteFunc(all, old))
		rest.objects = append(rest.objects, program)
		effect = "The program ends with an undefined symbol."
	}
	if rest.unread {
		return
	}
	var symbols []string
	for _, name := range c.new.Undefined {
		_, before := slices.BinarySearch(c.old.Undefined, name)
		if !before && !c.lostSymbols[name] && !rest.has(name) {
			symbols = append(symbols, name)
		}
	}
	if len(symbols) == 0 {
		return
	}
	x := Change{
		Rule:     RuleUndefined,
		Severity: Error,
		Symbol:   symbols[0],
		Detail: fmt.Sprintf("The library now uses %s, which none of the libraries that it needs has.",
			symbolList(symbols)),
		Effect: effect,
		Fix:    "Link the library with the one that has it.",
	}
	before := c.closure(known[0], c.old.withLibc())
	if !strings.HasPrefix(c.old.SONAME, "lib") &&
		slices.ContainsFunc(c.old.Undefined, func(name string) bool { return !before.has(name) }) {
		x.Severity = Warning // a plug-in: the program that opens it may have more symbols for it
	}
	c.add(x)
}

// extends reports whether a library is an extension module, which takes symbols of the interpreter.
func (l *Library) extends() bool {
	return slices.ContainsFunc(l.Symbols, func(s Symbol) bool {
		return strings.HasPrefix(s.Name, "PyInit_") || strings.HasPrefix(s.Name, "napi_register_module")
	})
}

// withLibc returns what a library needs and what programs load also if the library does not need
// it: the C library, and that of C++ if the library exports C++ functions.
func (l *Library) withLibc() []string {
	all := append([]string{cmp.Or(l.musl(), "libc.so.6")}, l.Needed...)
	if slices.ContainsFunc(l.Symbols, func(s Symbol) bool { return strings.HasPrefix(s.Name, "_Z") }) {
		all = append(all, "libstdc++.so.6")
	}
	return all
}

// musl returns the name of musl's C library if a library needs it, otherwise "".
func (l *Library) musl() string {
	i := slices.IndexFunc(l.Needed, func(n string) bool { return platform.LibcOf(n) == "musl" })
	if i < 0 {
		return ""
	}
	return l.Needed[i]
}

// systems returns the distributions with the C library of the libraries, the newest first; nil for
// a machine of which none is known.
func (c *comparison) systems() (found []*platform.Platform) {
	libc := cmp.Or(c.new.musl(), c.old.musl(), "libc.so.6")
	for _, p := range platform.All(c.new.Machine) {
		if p.Kind == platform.Distribution && p.Library(libc) != nil && p.Contents() == "read" {
			found = append(found, p)
		}
	}
	slices.SortStableFunc(found, func(a, b *platform.Platform) int {
		switch {
		case platform.Older(b.LibcVersion, a.LibcVersion):
			return -1
		case platform.Older(a.LibcVersion, b.LibcVersion):
			return 1
		}
		return 0
	})
	return found
}

// closure is a set of libraries and what they need, directly and indirectly, on a system.
type closure struct {
	objects   []*elfobj.Object
	libraries []*platform.Library
	unread    bool // others were not read
}

func (c *comparison) closure(p *platform.Platform, sonames []string) (all closure) {
	seen := map[string]bool{}
	for work := slices.Clone(sonames); len(work) > 0; work = work[1:] {
		soname := work[0]
		if seen[soname] {
			continue
		}
		seen[soname] = true
		if c.Dependency != nil && platform.LibcOf(soname) == "" {
			if o := c.Dependency(soname); o != nil {
				all.objects = append(all.objects, o)
				work = append(work, o.Needed...)
				continue
			}
		}
		if l := p.Library(soname); l != nil && l.Known {
			all.libraries = append(all.libraries, l)
			work = append(work, l.Needed...)
		} else {
			all.unread = true
		}
	}
	return all
}

// has reports whether one of the libraries that were read has a symbol for a reference without a
// version.
func (all closure) has(symbol string) bool {
	return slices.ContainsFunc(all.objects, func(o *elfobj.Object) bool {
		return slices.ContainsFunc(o.Exports.Named(symbol), func(i int32) bool {
			return !o.Exports.At(int(i)).Hidden
		})
	}) || slices.ContainsFunc(all.libraries, func(l *platform.Library) bool {
		return l.Binds(symbol, "")
	})
}
