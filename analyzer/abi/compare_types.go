package abi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// typeComparison follows the types of the interfaces of both libraries in parallel. Each pair of
// types is compared once. Named types are queued, so that a long chain of them does not need deep
// recursion.
type typeComparison struct {
	*comparison
	pairs      map[[2]TypeID]*pair
	functions  map[[2]TypeID]string // results for pairs of function types
	incomplete bool
	work       []*pair
	reported   map[string]bool  // names of types with a change
	changes    []*typeChange    // changes of types, completed by finish
	reach      [][]TypeID       // types that use a type of old; created on demand
	users      map[TypeID][]int // exports of old by their type
}

// pair is a pair of corresponding types, and the path on which they were reached.
type pair struct {
	a, b   TypeID
	from   *pair
	symbol int // export of old, if from is nil
	step   string
}

type typeChange struct {
	Change
	id TypeID // in old
}

// compareTypes compares the types of the exports that both libraries have.
func (c *comparison) compareTypes() {
	t := &typeComparison{
		comparison: c,
		pairs:      map[[2]TypeID]*pair{}, functions: map[[2]TypeID]string{},
		reported: map[string]bool{},
		users:    map[TypeID][]int{},
	}
	c.types = t
	for i := range c.old.Symbols {
		a := &c.old.Symbols[i]
		if a.Type != 0 {
			t.users[a.Type] = append(t.users[a.Type], i)
		}
	}
	seen := map[[2]TypeID]bool{}
	private := matching(c.Private)
	for i := range c.old.Symbols {
		if c.matched[i] < 0 || c.broken[i] || isPrivate(c.old.Symbols[i].Version) {
			continue
		}
		a, b := &c.old.Symbols[i], &c.new.Symbols[c.matched[i]]
		if a.Type == 0 || b.Type == 0 || (a.Kind == elfobj.IFunc) != (b.Kind == elfobj.IFunc) ||
			seen[[2]TypeID{a.Type, b.Type}] ||
			a.Weak && isStandardLibrary(c.old, a.Name) || c.Hidden.symbol(c.result, a) ||
			private(a.ID(), "") {
			continue
		}
		seen[[2]TypeID{a.Type, b.Type}] = true
		t.symbol(i, a, b)
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
		out = append(out, t.signature(p, x, y, 0)...)
		change.Effect = "A program passes or expects the wrong values."
		change.Fix = "Keep the function as it was, and export the new one under another name " +
			"or version."
	} else {
		change.Rule = RuleData
		if d := t.ref(p, a.Type, b.Type, true, 0, "the type of "+Readable(a.Name)); d != "" {
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

// signature compares the parameters and results of two functions. It returns the differences that
// are not changes of a named type.
func (t *typeComparison) signature(p *pair, x, y *Type, depth int) []string {
	var out []string
	switch {
	case x.Elem == 0 && y.Elem != 0 && t.new.inMemory(y.Elem):
		out = append(out, fmt.Sprintf("it returned nothing and returns %s in memory now, whose address "+
			"callers have to pass", t.new.spell(y.Elem)))
	case x.Elem == 0 || t.old.Types[x.Elem].Kind == Unknown:
		// a result in registers, which old programs do not use
	case y.Elem == 0:
		out = append(out, fmt.Sprintf("it returned %s and returns nothing now", t.old.spell(x.Elem)))
	default:
		t.passing(p, x.Elem, y.Elem)
		if d := t.ref(p, x.Elem, y.Elem, true, depth+1, "its result"); d != "" {
			out = append(out, "its result "+d)
		}
	}
	if x.Unprototyped || y.Unprototyped {
		// Only the definition of an export says that an empty list is one.
		if n := len(y.Params); p.from == nil && depth == 0 && n > 0 {
			out = append(out, fmt.Sprintf("it took no parameters and has %d now", n))
		}
		return out
	}
	if len(x.Params) != len(y.Params) {
		return append(
			out,
			fmt.Sprintf("it had %s and has %d now", counted(len(x.Params), "parameter"), len(y.Params)),
		)
	}
	for k := range x.Params {
		what := fmt.Sprintf("parameter %d", k+1)
		if n := x.Params[k].Name; n != "" {
			what += " (" + n + ")"
		}
		t.passing(p, x.Params[k].Type, y.Params[k].Type)
		if d := t.ref(p, x.Params[k].Type, y.Params[k].Type, true, depth+1, what); d != "" {
			out = append(out, what+" "+d)
		}
	}
	// The name of a C++ function has its parameters, and not every compiler describes the variable
	// ones.
	mangled := p.from == nil && depth == 0 && strings.HasPrefix(t.old.Symbols[p.symbol].Name, "_Z")
	if x.Variadic != y.Variadic && !mangled {
		out = append(
			out,
			map[bool]string{
				true:  "it takes variable arguments now",
				false: "it no longer takes variable arguments",
			}[y.Variadic],
		)
	}
	return out
}

// function is signature for function types inside other types.
func (t *typeComparison) function(p *pair, a, b TypeID, depth int) string {
	key := [2]TypeID{a, b}
	if d, ok := t.functions[key]; ok {
		return d
	}
	t.functions[key] = "" // ends the recursion for a function type that contains itself
	d := strings.Join(t.signature(p, &t.old.Types[a], &t.new.Types[b], depth+1), ", ")
	t.functions[key] = d
	return d
}

// ref compares two types where they are used. It returns their difference as the end of a sentence;
// "" if they are equal or a named type has its own change. value means that they are used by value,
// not through a pointer.
func (t *typeComparison) ref(p *pair, a, b TypeID, value bool, depth int, step string) string {
	x, y := &t.old.Types[a], &t.new.Types[b]
	if a == 0 || b == 0 || x.Kind == Unknown || y.Kind == Unknown {
		return ""
	}
	if depth > maxTypeDepth { // compilers do not produce such types
		return "is nested deeper than compat follows"
	}
	was := func() string {
		return fmt.Sprintf("was %s and is %s now", t.old.spell(a), t.new.spell(b))
	}
	switch {
	case x.composite() && y.composite():
		return t.composites(p, a, b, value, step)
	case x.Kind == Enum && y.Kind == Enum:
		return t.composites(p, a, b, true, step)
	case x.integral() && y.integral():
		// Behind a pointer, char and unsigned char are both bytes.
		if x.Size != y.Size ||
			(value || x.Size > 1) && x.Kind == Base && y.Kind == Base && x.Encoding != y.Encoding &&
				signed(x) != signed(y) ||
			(x.Encoding == encodingBool) != (y.Encoding == encodingBool) && value {
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
			if d := t.function(p, x.Elem, y.Elem, depth); d != "" {
				return "is a function whose type changed: " + d
			}
			return ""
		}
		return t.ref(p, x.Elem, y.Elem, false, depth+1, step)
	case x.Kind == Array && y.Kind == Array:
		// The size of an open array is that of its symbol, or of the structure that it ends.
		open := slices.Contains(x.Counts, -1) || slices.Contains(y.Counts, -1)
		if value && !open && !slices.Equal(x.Counts, y.Counts) && t.old.size(a) != t.new.size(b) {
			return was()
		}
		// arrays of char contain bytes, signed or not
		text := t.old.Types[x.Elem].Size == 1 && t.new.Types[y.Elem].Size == 1
		return t.ref(p, x.Elem, y.Elem, value && !text, depth+1, step)
	case x.Kind == Base && y.Kind == Base:
		if x.Size != y.Size || x.Encoding != y.Encoding {
			return was()
		}
		return ""
	case x.Kind == Function && y.Kind == Function:
		return t.function(p, a, b, depth)
	}
	if x.Kind == Array && !value {
		return t.ref(p, x.Elem, b, false, depth+1, step)
	}
	if y.Kind == Array && !value {
		return t.ref(p, a, y.Elem, false, depth+1, step)
	}
	if x.Declared || y.Declared {
		return ""
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
func (t *typeComparison) composites(p *pair, a, b TypeID, value bool, step string) string {
	x, y := &t.old.Types[a], &t.new.Types[b]
	if x.Declared || y.Declared {
		t.declared(p, x, y)
		return ""
	}
	if !value && x.Private { // old programs were built with the old headers
		if !t.old.headers {
			t.blind.private.add(x.Name)
		}
		return ""
	}
	if x.Name != y.Name && x.Name != "" && y.Name != "" && plain(x.Name) != plain(y.Name) &&
		(!t.sameShape(a, b) || otherArguments(x.Name, y.Name, t.old.Class, maxNested)) {
		return fmt.Sprintf("was %s and is %s now", t.old.spell(a), t.new.spell(b))
	}
	key := [2]TypeID{a, b}
	if t.pairs[key] != nil {
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
	n := &pair{a: a, b: b, from: p, symbol: p.symbol, step: step}
	t.pairs[key] = n
	t.work = append(t.work, n)
	return ""
}

// passing reports a class that is no longer passed in registers but by reference to a copy, or the
// reverse.
func (t *typeComparison) passing(p *pair, a, b TypeID) {
	x, y := &t.old.Types[a], &t.new.Types[b]
	if !x.composite() || !y.composite() || x.Name != y.Name || x.System || x.Declared ||
		y.Declared ||
		t.reported[x.Name+" passing"] {
		return
	}
	was, is := t.old.byReference(x), t.new.byReference(y)
	if was == is {
		return
	}
	t.reported[x.Name+" passing"] = true
	c := Change{
		Rule:     RuleConvention,
		Severity: Error,
		Type:     x.Name,
		Old:      place(x.File, x.Line),
		New:      place(y.File, y.Line),
		Detail: x.Name + " was passed by value (in registers or on the stack), and the C++ ABI " +
			"now passes it by address: its destructor, copy constructor or move constructor is " +
			"no longer trivial.",
		Effect: "A program passes a value where an address is expected.",
		Fix:    "Keep the class trivially copyable.",
	}
	if was {
		c.Detail = x.Name + " was passed by address, and the C++ ABI now passes it by value (in " +
			"registers or on the stack): its destructor, copy constructor and move constructor " +
			"are now trivial."
		c.Effect = "A program passes an address where a value is expected."
		c.Fix = "Keep the destructor, copy constructor or move constructor that was not trivial."
	}
	c.Fix += " For new functions, take it by pointer or reference (const T&) in the declaration."
	t.note(p, a, c)
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
				t.ref(p, m.Type, n.Type, true, 0, m.Name) == ""
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
	t.reported[x.Type] = true
	x.subject = t.old.Types[id].Kind
	t.changes = append(t.changes, &typeChange{x, id})
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
}
