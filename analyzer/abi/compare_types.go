package abi

import (
	"fmt"
	"slices"
	"strings"
)

// typeComparison follows the types of the interfaces of both libraries in parallel. Each pair of
// types is compared once. Named types are queued, so that a long chain of them does not need deep
// recursion.
type typeComparison struct {
	*comparison
	pairs      map[[2]TypeID]*pair
	functions  map[functionPair]string       // results for pairs of function types
	private    func(symbol, typ string) bool // matches Options.Private
	incomplete bool
	work       []*pair
	reported   map[string]Severity // names of types with a change
	changes    []*typeChange       // changes of types, completed by finish
	reach      [][]TypeID          // types that use a type of old; created on demand
	users      map[TypeID][]int    // exports of old by their type
	oldNames   map[string]bool     // of structures and unions; created on demand
	newNames   map[string]bool
	typed      map[string]bool // exports with a type on both sides; created on demand
}

// pair is a pair of corresponding types, and the path on which they were reached.
type pair struct {
	a, b   TypeID
	from   *pair
	symbol int // export of old, if from is nil
	step   string
	access access // how the types are used
}

type typeChange struct {
	Change
	id   TypeID // in old
	pair *pair  // nil if the change is of how values are passed
}

// compareTypes compares the types of the exports that both libraries have.
func (c *comparison) compareTypes() {
	t := &typeComparison{
		comparison: c,
		pairs:      map[[2]TypeID]*pair{}, functions: map[functionPair]string{},
		reported: map[string]Severity{},
		users:    map[TypeID][]int{},
		private:  matching(c.Private),
	}
	c.types = t
	for i := range c.old.Symbols {
		a := &c.old.Symbols[i]
		if a.Type != 0 {
			t.users[a.Type] = append(t.users[a.Type], i)
		}
	}
	seen := map[[2]TypeID]bool{}
	for i := range c.old.Symbols {
		if c.matched[i] < 0 || c.broken[i] || isPrivate(c.old.Symbols[i].Version) {
			continue
		}
		a, b := &c.old.Symbols[i], &c.new.Symbols[c.matched[i]]
		if a.Type == 0 || b.Type == 0 || seen[[2]TypeID{a.Type, b.Type}] ||
			a.Weak && isStandardLibrary(c.old, a.Name) || c.Hidden.symbol(c.result, a, c.about(i)) ||
			t.private(a.ID(), "") {
			continue
		}
		seen[[2]TypeID{a.Type, b.Type}] = true
		if isTable(a.Name) {
			if x := &t.old.Types[a.Type]; x.Private { // not what programs know
				t.blind.private.add(x.Name)
				continue
			}
			t.ref(&pair{symbol: i, step: classOf(a.Name)}, a.Type, b.Type, use{step: classOf(a.Name)})
		} else {
			t.symbol(i, a, b)
		}
		for len(t.work) > 0 {
			p := t.work[0]
			t.work = t.work[1:]
			t.named(p)
		}
	}
	t.finish()
}

// symbol compares the type of one export.
func (t *typeComparison) symbol(i int, a, b *Symbol) {
	x, y := &t.old.Types[a.Type], &t.new.Types[b.Type]
	p := &pair{symbol: i, step: Readable(a.Name)}
	change := Change{
		Rule:     RuleSignature,
		Severity: Error,
		Symbol:   a.ID(),
		Old:      place(a.File, a.Line),
		New:      place(b.File, b.Line),
	}
	var out []string
	if x.Kind == Function && y.Kind == Function {
		if x.Convention != y.Convention {
			change.Rule = RuleConvention
			out = append(out, "the calling convention changed")
		}
		out = append(out, t.signature(p, x, y, use{by: library})...)
		change.Effect = "Existing programs pass or expect the wrong values."
		change.Fix = "Keep the function as it was, and export the new one under another name " +
			"or version."
	} else {
		change.Rule = RuleData
		u := use{value: true, step: "the type of " + Readable(a.Name)}
		if d := t.ref(p, a.Type, b.Type, u); d != "" {
			out = append(out, "its type "+d)
		}
		change.Effect = "A program reads or writes the wrong memory."
		change.Fix = "Keep the variable as it was, and export the new one under another name."
	}
	if len(out) > 0 {
		change.Detail = Readable(a.Name) + ": " + strings.Join(out, "; ") + "."
		t.add(change, i)
	}
}

// ref compares two types where they are used. It returns their difference as the end of a sentence;
// "" if they are equal or a named type has its own change.
func (t *typeComparison) ref(p *pair, a, b TypeID, u use) string {
	x, y := &t.old.Types[a], &t.new.Types[b]
	if x.Kind == Unknown || y.Kind == Unknown {
		t.blind.unknown.add(Readable(t.old.Symbols[p.symbol].Name))
		return ""
	}
	if a == 0 || b == 0 {
		return ""
	}
	if u.depth > maxTypeDepth { // compilers do not produce such types
		return "is nested deeper than compat follows"
	}
	was := func() string {
		return fmt.Sprintf("was %s and is now %s", t.old.spell(a), t.new.spell(b))
	}
	switch {
	case x.composite() && y.composite():
		return t.composites(p, a, b, u)
	case x.Kind == Enum && y.Kind == Enum:
		u.value = true
		return t.composites(p, a, b, u)
	case x.integral() && y.integral():
		// Behind a pointer, char and unsigned char are both bytes.
		if x.Size != y.Size ||
			(u.value || x.Size > 1) && x.Kind == Base && y.Kind == Base && x.Encoding != y.Encoding &&
				signed(x) != signed(y) ||
			(x.Encoding == encodingBool) != (y.Encoding == encodingBool) && u.value {
			return was()
		}
		return ""
	case x.address() && y.address():
		if x.Kind == MemberPointer || y.Kind == MemberPointer {
			if x.Kind != y.Kind || x.Size != 0 && y.Size != 0 && x.Size != y.Size {
				return was()
			}
		}
		if t.old.Types[x.Elem].Kind == Function && t.new.Types[y.Elem].Kind == Function {
			if d := t.function(p, x.Elem, y.Elem, u); d != "" {
				return "is a function whose type changed: " + d
			}
			return ""
		}
		return t.ref(p, x.Elem, y.Elem, u.pointee(x.Kind))
	case x.Kind == Array && y.Kind == Array:
		m, c := t.old.dimensions(a)
		n, d := t.new.dimensions(b)
		if t.old.size(a) != t.new.size(b) && otherCounts(m, n) || !u.value && otherCounts(m, n) ||
			len(m) == len(n) && otherCounts(m[1:], n[1:]) {
			return was()
		}
		// arrays of char contain bytes, signed or not
		in := u.inside()
		in.value = u.value && (t.old.Types[c].Size != 1 || t.new.Types[d].Size != 1)
		return t.ref(p, c, d, in)
	case x.Kind == Base && y.Kind == Base:
		if x.Size != y.Size || x.Encoding != y.Encoding || t.old.format(x) != t.new.format(y) {
			return was()
		}
		return ""
	case x.Kind == Function && y.Kind == Function:
		return t.function(p, a, b, u)
	}
	if x.Kind == Array && !u.value {
		return t.ref(p, x.Elem, b, u.inside())
	}
	if y.Kind == Array && !u.value {
		return t.ref(p, a, y.Elem, u.inside())
	}
	return was()
}

// DW_ATE_ values.
const (
	encodingBool       = 2
	encodingFloat      = 4
	encodingSigned     = 5
	encodingSignedChar = 6
	encodingUnsigned   = 7
	encodingUnsigChar  = 8
	encodingUTF        = 16
)

func signed(t *Type) bool {
	return t.Encoding == encodingSigned || t.Encoding == encodingSignedChar
}

func (t *Type) composite() bool { return t.Kind == Struct || t.Kind == Union }

// address reports whether the type is a pointer or reference; these are passed in the same way.
func (t *Type) address() bool {
	return t.Kind == Pointer || t.Kind == Reference || t.Kind == MemberPointer
}

func (t *Type) integral() bool {
	if t.Kind == Enum {
		return true
	}
	if t.Kind != Base {
		return false
	}
	switch t.Encoding {
	case encodingBool,
		encodingSigned,
		encodingSignedChar,
		encodingUnsigned,
		encodingUnsigChar,
		encodingUTF:
		return true
	}
	return false
}

// composites compares two structures, unions or enumerations where they are used.
func (t *typeComparison) composites(p *pair, a, b TypeID, u use) string {
	x, y := &t.old.Types[a], &t.new.Types[b]
	renamed := x.Name != y.Name && x.Name != "" && y.Name != "" && plain(x.Name) != plain(y.Name)
	was := func() string {
		return fmt.Sprintf("was %s and is now %s", t.old.spell(a), t.new.spell(b))
	}
	if otherStandard(x.Name, y.Name) || strings.HasPrefix(x.Name, "std::") &&
		otherArguments(plain(x.Name), plain(y.Name), t.old.Class, maxNested) {
		return was()
	}
	// old programs were built with the old headers
	if hidden := !u.value && x.Private; hidden || x.Declared || y.Declared {
		switch {
		// A type that both libraries have, or that the old one had, is another one: not a new name.
		case renamed && t.other(x.Name, y.Name):
			return was()
		case !hidden:
			t.declared(p, x, y)
		default:
			t.blind.private.add(x.Name)
		}
		return ""
	}
	if renamed &&
		(!t.sameShape(a, b) || otherArguments(plain(x.Name), plain(y.Name), t.old.Class, maxNested)) {
		return was()
	}
	key := [2]TypeID{a, b}
	if known := t.pairs[key]; known != nil {
		known.access |= max(u.via, direct)
		return ""
	}
	if len(t.pairs) == maxPairs {
		if !t.incomplete {
			t.incomplete = true
			t.result.Problems = append(
				t.result.Problems,
				fmt.Sprintf("more than %d pairs of types; the rest was not compared", maxPairs),
			)
		}
		return ""
	}
	n := &pair{
		a: a, b: b, from: p, symbol: p.symbol, step: u.step, access: max(u.via, direct),
	}
	t.pairs[key] = n
	t.work = append(t.work, n)
	return ""
}

// other reports whether a structure is not the one with another name, but one that the old library
// also had, or one next to it. How compilers write arguments of templates does not count.
func (t *typeComparison) other(was, is string) bool {
	old, new := t.names()
	x, _, _ := strings.Cut(was, "<")
	y, _, _ := strings.Cut(is, "<")
	return x != y && (old[is] || new[was])
}

// names returns the names of the structures, classes and unions of both libraries.
func (t *typeComparison) names() (old, new map[string]bool) {
	if t.oldNames == nil {
		t.oldNames, t.newNames = t.old.composites(), t.new.composites()
	}
	return t.oldNames, t.newNames
}

// sameShape reports whether types with different names have the same shape, so that one was
// renamed.
func (t *typeComparison) sameShape(a, b TypeID) bool {
	x, y := &t.old.Types[a], &t.new.Types[b]
	if x.Kind != y.Kind || x.Size != y.Size || len(x.Members) != len(y.Members) ||
		len(x.Bases) != len(y.Bases) ||
		len(x.Enumerators) != len(y.Enumerators) {
		return false
	}
	for k := range x.Members {
		if x.Members[k].Offset != y.Members[k].Offset ||
			t.old.size(x.Members[k].Type) != t.new.size(y.Members[k].Type) {
			return false
		}
	}
	for k := range x.Enumerators {
		if x.Enumerators[k].Value != y.Enumerators[k].Value {
			return false
		}
	}
	return true
}

// sameScalars reports whether two types have equal numbers and pointers at the same offsets in
// memory, such as an array and a structure of its elements. As parameters they can be passed in
// different ways.
func (t *typeComparison) sameScalars(p *pair, a, b TypeID) bool {
	if t.old.size(a) != t.new.size(b) {
		return false
	}
	before, ok := t.old.measure().scalars(a, 0, nil)
	after, also := t.new.measure().scalars(b, 0, nil)
	return ok && also && len(before) > 0 &&
		slices.EqualFunc(before, after, func(m, n Member) bool {
			return m.Offset == n.Offset && m.Bits == n.Bits &&
				t.ref(p, m.Type, n.Type, use{value: true, step: m.Name}) == ""
		})
}

// note stores a change of a type; finish adds the affected exports.
func (t *typeComparison) note(p *pair, id TypeID, x Change) {
	for q := p; q != nil; q = q.from {
		if q.step != "" {
			x.Path = append(x.Path, q.step)
		}
	}
	slices.Reverse(x.Path)
	if was, ok := t.reported[x.Type]; !ok || rank(x.Severity) < rank(was) {
		t.reported[x.Type] = x.Severity
	}
	x.subject = t.old.Types[id].Kind
	change := &typeChange{Change: x, id: id}
	if p.from != nil && p.a == id {
		change.pair = p
		change.about = &about{old: t.old, new: t.new, a: p.a, b: p.b}
	}
	t.changes = append(t.changes, change)
}

const (
	maxPairs     = 1 << 20 // pairs of types; libstdc++ has a few thousand
	maxExplained = 2000    // changed types for which affected exports are listed
)

// finish adds the changes of types, with the exports that use them.
func (t *typeComparison) finish() {
	if len(t.changes) == 0 {
		return
	}
	t.reach = make([][]TypeID, len(t.old.Types))
	for i := range t.old.Types {
		t.old.Types[i].uses(func(used TypeID) { t.reach[used] = append(t.reach[used], TypeID(i)) })
	}
	seen := make([]int, len(t.old.Types))
	for n, x := range t.changes {
		if x.pair != nil {
			x.about.access = x.pair.access
		}
		if n == maxExplained {
			t.result.Problems = append(
				t.result.Problems,
				fmt.Sprintf(
					"more than %d types changed; the effects of the rest were not computed",
					maxExplained,
				),
			)
		}
		if n >= maxExplained {
			t.add(x.Change)
			continue
		}
		var affected []int
		work := []TypeID{x.id}
		seen[x.id] = n + 1
		for len(work) > 0 {
			id := work[len(work)-1]
			work = work[:len(work)-1]
			affected = append(affected, t.users[id]...)
			for _, by := range t.reach[id] {
				if seen[by] != n+1 {
					seen[by] = n + 1
					work = append(work, by)
				}
			}
		}
		slices.Sort(affected)
		t.add(x.Change, affected...)
	}
}

// uses calls yield with each type that a type refers to.
func (t *Type) uses(yield func(TypeID)) {
	if t.Elem != 0 {
		yield(t.Elem)
	}
	for i := range t.Members {
		yield(t.Members[i].Type)
	}
	for i := range t.Bases {
		yield(t.Bases[i].Type)
	}
	for i := range t.Params {
		yield(t.Params[i].Type)
	}
	for i := range t.Virtuals {
		yield(t.Virtuals[i].Type)
	}
	for _, id := range t.Arguments {
		yield(id)
	}
}
