package abi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/platform"
)

// Options are facts about other libraries. The zero value has none.
type Options struct {
	// Find returns the library that the loader takes for a DT_NEEDED entry of by, or, with nil, of
	// the new library; nil if it was not read. May be nil.
	Find func(soname string, by *Needed) *Needed
	// linked reports whether another library that was read needs one of this name. May be nil.
	linked func(soname string) bool
	// Hidden are suppressions, and Private patterns as those of Result.Private, for functions and
	// variables whose types are not compared, because programs do not use them.
	Hidden  Suppressions
	Private []string
	// Uses reports whether a program imports a symbol of the old library; version is "" if it has
	// none. Then only what the program uses is compared. Nil means all programs.
	Uses func(name, version string) bool
}

// comparison is the state of Compare.
type comparison struct {
	Options
	old, new *Library
	result   *Result
	newest   map[string][]int // exports of new by name
	// by export of old: the export of new that an old program binds to, or -1
	matched []int
	broken  map[int]bool        // exports of old that an error affects
	strong  map[string]bool     // exports of old that are not weak; created on demand
	aliases map[TypeID][]string // exports of old by type; created on demand
	types   *typeComparison
	blind   blind
	// imports of new that only a library has which it no longer needs
	lostSymbols map[string]bool
	known       []*platform.Platform // see systems
	closures    map[string]*closure
}

// Compare reports the changes for programs that were built against old and run with new.
func Compare(old, new *Library, o Options) *Result {
	old = old.resolved(new).used(o.Uses)
	r := &Result{
		Changes:    []Change{},
		Library:    old.SONAME,
		Interfaces: len(old.Symbols),
		files:      []string{old.Name, new.Name},
	}
	if r.Library == "" {
		r.Library = old.Name
	}
	r.Evidence.Old, r.Evidence.New = old.Evidence, new.Evidence
	r.Problems = append(slices.Clone(old.Problems), new.Problems...)
	c := &comparison{
		Options: o,
		old:     old,
		new:     new,
		result:  r,
		newest:  make(map[string][]int, len(new.Symbols)),
		matched: make([]int, len(old.Symbols)),
		broken:  map[int]bool{},

		lostSymbols: map[string]bool{},
		closures:    map[string]*closure{},
	}
	for i := range new.Symbols {
		c.newest[new.Symbols[i].Name] = append(c.newest[new.Symbols[i].Name], i)
	}
	c.mode()
	c.symbols()
	if r.Types() {
		c.compareTypes()
		c.notTyped()
	}
	c.data()
	c.tables()
	if o.Uses == nil {
		c.additions()
	}
	c.libraries()
	c.undefined()
	r.Broken = len(c.broken)
	if old.SONAME != new.SONAME && old.SONAME != "" && new.SONAME != "" {
		c.renamed()
	}
	r.Blind, r.PrivateTypes = c.sentences(), len(c.blind.private.list)
	r.finish()
	return r
}

// used returns the library with the exports that a program imports. Its virtual tables stay,
// because a program calls through those of objects that it gets.
func (l *Library) used(uses func(name, version string) bool) *Library {
	if uses == nil {
		return l
	}
	out := *l
	out.Symbols = slices.DeleteFunc(slices.Clone(l.Symbols), func(s Symbol) bool {
		return !uses(s.Name, s.Version)
	})
	return &out
}

func (c *comparison) add(x Change, affected ...int) {
	x.Affects = max(x.Affects, len(affected))
	if x.Symbol != "" && len(affected) == 1 {
		s := &c.old.Symbols[affected[0]]
		x.variable, x.about = isVariable(s.Kind), c.about(affected[0])
	}
	for _, i := range affected {
		if x.Severity == Error {
			c.broken[i] = true
		}
		if len(x.Affected) < maxAffected && x.Symbol == "" {
			x.Affected = append(x.Affected, c.old.Symbols[i].ID())
		}
	}
	c.result.Changes = append(c.result.Changes, x)
}

// about returns the type of an export of old, with its other names if suppressions ask for them.
func (c *comparison) about(i int) *about {
	s := &c.old.Symbols[i]
	out := &about{old: c.old, a: s.Type}
	if at := c.matched[i]; at >= 0 {
		out.new, out.b = c.new, c.new.Symbols[at].Type
	}
	if s.Type == 0 || !c.Hidden.aliased() {
		return out
	}
	if c.aliases == nil {
		c.aliases = map[TypeID][]string{}
		for i := range c.old.Symbols {
			o := &c.old.Symbols[i]
			c.aliases[o.Type] = append(c.aliases[o.Type], o.Name)
		}
	}
	out.aliases = c.aliases[s.Type]
	return out
}

// mode compares properties of all code of the library.
func (c *comparison) mode() {
	a, b := c.old, c.new
	var what string
	switch {
	case a.Machine == "" || b.Machine == "": // from a symbols file
		return
	case a.Machine != b.Machine:
		what = fmt.Sprintf("The library was built for %s and is now built for %s.", a.Machine, b.Machine)
	case a.Class != b.Class || a.Order != b.Order:
		what = fmt.Sprintf(
			"The library was %d-bit %s-endian and is now %d-bit %s-endian.",
			a.Class,
			a.Order,
			b.Class,
			b.Order,
		)
	case floatMode(a) != floatMode(b):
		what = fmt.Sprintf(
			"The floating-point calling convention changed (e_flags %#x, now %#x).",
			a.EFlags,
			b.EFlags,
		)
	default:
		return
	}
	c.add(
		Change{
			Rule:     RuleMode,
			Severity: Error,
			Detail:   what,
			Effect:   "Programs cannot load the new library.",
			Fix:      "Build with the same target and -m flags as before.",
		},
	)
}

// floatMode returns the bits of e_flags that select the calling convention for floating-point
// values.
func floatMode(l *Library) uint32 {
	switch l.Machine {
	case "arm", "armv7l", "armv6l":
		return l.EFlags & 0x600 // EF_ARM_ABI_FLOAT_HARD and _SOFT
	case "riscv64", "riscv32":
		return l.EFlags & 0x6 // EF_RISCV_FLOAT_ABI
	case "ppc64", "ppc64le":
		return l.EFlags & 0x3 // ABI version
	}
	return 0
}

// renamed handles a changed SONAME: old programs load the old file, so they keep working.
func (c *comparison) renamed() {
	r := c.result
	r.NewSONAME = c.new.SONAME
	breaks := 0
	for i := range r.Changes {
		if r.Changes[i].Severity == Error {
			breaks++
			r.Changes[i].Severity = Note
		}
	}
	detail := fmt.Sprintf(
		"The SONAME changed from %s to %s. Programs that were built against %s keep loading "+
			"the old library, and have to be rebuilt to use the new one.",
		c.old.SONAME,
		c.new.SONAME,
		c.old.SONAME,
	)
	if breaks == 0 {
		detail += " The new SONAME was not necessary: no incompatible ABI change was found."
	}
	r.Changes = append(r.Changes, Change{Rule: RuleSoname, Severity: Note, Detail: detail})
	r.Broken = 0
}

// isStandardLibrary reports whether a name is from the C++ standard library: programs contain their
// own copies of its templates.
func isStandardLibrary(l *Library, name string) bool {
	if strings.HasPrefix(l.SONAME, "libstdc++") || strings.HasPrefix(l.SONAME, "libc++") {
		return false
	}
	rest, ok := strings.CutPrefix(name, "_Z")
	if !ok {
		return false
	}
	for _, p := range []string{"TV", "TI", "TS", "TT", "GV", "GR"} {
		rest = strings.TrimPrefix(rest, p)
	}
	rest = strings.TrimLeft(rest, "ZNKVRO")
	for _, p := range []string{
		"St", "Ss", "Sa", "Sb", "Si", "So", "Sd", "9__gnu_cxx", "10__cxxabiv1",
	} {
		if strings.HasPrefix(rest, p) {
			return true
		}
	}
	return false
}
