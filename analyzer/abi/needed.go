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
		if other := c.otherVersion(n); other != "" {
			x.Detail = fmt.Sprintf("The library needs %s instead of %s (DT_NEEDED).", other, n)
			x.Effect = fmt.Sprintf("A program that is linked with %s itself loads both.", n)
		}
		if lost, system := c.lost(n); len(lost) > 0 {
			x.Severity, x.Symbol = Error, lost[0]
			x.Detail = fmt.Sprintf("The library no longer needs %s (DT_NEEDED), but still uses %s of it.",
				n, listed(readable(lost), maxListed))
			x.Effect = fmt.Sprintf("A program that does not link %s itself fails with an undefined "+
				"symbol.", n)
			if system != "" {
				x.Severity = Warning
				x.Effect = fmt.Sprintf("On %s and older systems, a program that does not link %s itself "+
					"fails with an undefined symbol.", system, n)
			}
			x.Fix = fmt.Sprintf("Link the library with %s again.", n)
		}
		c.add(x)
	}
}

// fromLibc returns the change for a symbol that new lacks and that programs find without a version
// in the C library, which they load also if new does not need it. Its types are not compared. ok is
// false if the newest system's has none, or if new is no shared library.
func (c *comparison) fromLibc(s *Symbol) (x Change, ok bool) {
	if s.Version != "" || c.new.Form != "" {
		return x, false
	}
	for i, p := range c.systems() {
		if p == nil {
			return x, false
		}
		has := c.closure(p, c.new.withLibc()).has(s.Name, "")
		switch {
		case i == 0 && !has:
			return x, false
		case i == 0:
			x = Change{
				Rule: RuleMoved, Severity: Note, Symbol: s.ID(), Old: place(s.File, s.Line),
				Detail: Readable(s.Name) + " is gone. Programs use the one in the C library instead.",
			}
			c.blind.moved.add(Readable(s.Name))
		case !has:
			x.Severity = Warning
			x.Effect = fmt.Sprintf("On %s and older systems, a program that uses it ends with an "+
				"undefined symbol.", platform.Title(p.Name))
			return x, true
		}
	}
	return x, true
}

// otherVersion returns the library that the new one needs in place of an earlier or later version,
// which the old one needed; "" if there is none.
func (c *comparison) otherVersion(gone string) string {
	i := slices.IndexFunc(c.new.Needed, func(n string) bool {
		return stem(n) == stem(gone) && !slices.Contains(c.old.Needed, n)
	})
	if i < 0 {
		return ""
	}
	return c.new.Needed[i]
}

// maxListed limits the names in a sentence about imports.
const maxListed = 5

// lost returns the imports of the new library that on the newest system only a library has which it
// no longer needs. If there are none, and the library is part of the C library, it returns those of
// the newest older system with some, and the title of that system. Imports that a library which was
// not read may have are a blind spot.
func (c *comparison) lost(gone string) (symbols []string, system string) {
	if len(c.new.Undefined) == 0 || strings.HasPrefix(gone, "libpython") {
		return nil, "" // an interpreter has the symbols of its library
	}
	for i, p := range c.systems() {
		if i > 0 && platform.LibcOf(gone) == "" {
			break
		}
		rest, own := c.closure(p, c.new.withLibc()), c.closure(p, []string{gone})
		for _, name := range c.new.Undefined {
			switch {
			case rest.has(name, ""):
			case own.has(name, "") && len(rest.unread) == 0:
				symbols = append(symbols, name)
				c.lostSymbols[name] = true
			case own.has(name, ""), len(own.unread) > 0:
				c.notFound(name, own, rest)
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

// notFound notes an import of the new library that a library which was not read may have.
func (c *comparison) notFound(symbol string, all ...*closure) {
	c.blind.imports.add(Readable(symbol))
	for _, some := range all {
		for _, soname := range some.unread {
			c.blind.unread.add(soname)
		}
	}
}

// undefined reports imports that the old library does not have and that nothing which the new one
// needs has: it uses a library that it is not linked with. If a library was not read, they are a
// blind spot.
func (c *comparison) undefined() {
	if c.old.Undefined == nil || len(c.new.Undefined) == 0 || c.new.extends() {
		return
	}
	var added []string
	for _, name := range c.new.Undefined {
		if _, before := slices.BinarySearch(c.old.Undefined, name); !before && !c.lostSymbols[name] {
			added = append(added, name)
		}
	}
	if len(added) == 0 {
		return
	}
	newest := c.systems()[0]
	rest := c.closure(newest, c.new.withLibc())
	effect := "A program that does not define it fails with an undefined symbol."
	if program := c.old.program; program != nil {
		all := append(c.new.withLibc(), program.Needed...)
		old := func(n string) bool { return n == c.old.SONAME }
		with := *c.closure(newest, slices.DeleteFunc(all, old))
		with.objects = append(slices.Clone(with.objects), program)
		rest = &with
		effect = "The program fails with an undefined symbol."
	}
	added = slices.DeleteFunc(added, func(name string) bool { return rest.has(name, "") })
	switch {
	case len(added) == 0:
		return
	case len(rest.unread) > 0:
		for _, name := range added {
			c.notFound(name, rest)
		}
		return
	}
	x := Change{
		Rule:     RuleUndefined,
		Severity: Error,
		Symbol:   added[0],
		Detail: fmt.Sprintf("The library now uses %s, which none of the libraries that it needs has.",
			listed(readable(added), maxListed)),
		Effect: effect,
		Fix:    "Link the library with the one that has it.",
	}
	before := c.closure(newest, c.old.withLibc())
	if c.plugin() && slices.ContainsFunc(c.old.Undefined, func(name string) bool {
		return !before.has(name, "")
	}) {
		x.Severity = Warning // the program that opens it may have more symbols for it
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

// systems returns the distributions with the C library of the libraries, the newest first; for a
// machine of which none is known, one nil. The tables of all distributions are read for it.
func (c *comparison) systems() []*platform.Platform {
	if c.known != nil {
		return c.known
	}
	libc := cmp.Or(c.new.musl(), c.old.musl(), "libc.so.6")
	for _, p := range platform.All(c.new.Machine) {
		if p.Kind == platform.Distribution && p.Library(libc) != nil && p.Contents() == "read" {
			c.known = append(c.known, p)
		}
	}
	slices.SortStableFunc(c.known, func(a, b *platform.Platform) int {
		switch {
		case platform.Older(b.LibcVersion, a.LibcVersion):
			return -1
		case platform.Older(a.LibcVersion, b.LibcVersion):
			return 1
		}
		return 0
	})
	if len(c.known) == 0 {
		c.known = []*platform.Platform{nil}
	}
	return c.known
}

// Needed is a file that the loader takes for a DT_NEEDED entry.
type Needed struct {
	Object *elfobj.Object
	Path   string // where it is; for Options.Find, which searches its own needed libraries from there
}

// maxNeeded limits the libraries that are read for one comparison.
const maxNeeded = 256

// closure is a set of libraries and what they need, directly and indirectly.
type closure struct {
	objects   []*elfobj.Object
	libraries []*platform.Library
	unread    []string // SONAMEs of others, which were not read
}

// closure returns the libraries of some names on a system, which may be nil, and what they need.
func (c *comparison) closure(p *platform.Platform, sonames []string) *closure {
	key := strings.Join(sonames, "\n")
	if p != nil {
		key += "\x00" + p.Name
	}
	all, ok := c.closures[key]
	if !ok {
		all = follow(c.Find, p, sonames)
		c.closures[key] = all
	}
	return all
}

// follow reads the libraries of some names, and what they need. A system's table is used for its C
// library, and for what find does not find. find may be nil, and so may the system.
func follow(
	find func(soname string, by *Needed) *Needed, p *platform.Platform, sonames []string,
) *closure {
	type entry struct {
		soname string
		by     *Needed
	}
	all, seen := &closure{}, map[string]bool{}
	var work []entry
	add := func(by *Needed, names []string) {
		for _, n := range names {
			if !seen[n] {
				seen[n] = true
				work = append(work, entry{n, by})
			}
		}
	}
	for add(nil, sonames); len(work) > 0; work = work[1:] {
		e := work[0]
		if find != nil && len(all.objects) < maxNeeded &&
			(p == nil || platform.LibcOf(e.soname) == "") {
			if n := find(e.soname, e.by); n != nil {
				all.objects = append(all.objects, n.Object)
				add(n, n.Object.Needed)
				continue
			}
		}
		if p != nil {
			if l := p.Library(e.soname); l != nil && l.Known {
				all.libraries = append(all.libraries, l)
				add(e.by, l.Needed)
				continue
			}
		}
		all.unread = append(all.unread, e.soname)
	}
	return all
}

// has reports whether a reference binds to one of the libraries that were read; version is "" for
// one without a version.
func (all *closure) has(symbol, version string) bool {
	return slices.ContainsFunc(all.objects, func(o *elfobj.Object) bool {
		oldest := o.OldestVersion()
		return elfobj.Binds(func(yield func(elfobj.Offer) bool) {
			for _, i := range o.Exports.Named(symbol) {
				if !yield(o.Exports.Offer(int(i), version, oldest)) {
					return
				}
			}
		})
	}) || slices.ContainsFunc(all.libraries, func(l *platform.Library) bool {
		return l.Binds(symbol, version)
	})
}
