package abi

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// named compares two named types, or unnamed ones in the same place.
func (t *typeComparison) named(p *pair) {
	x, y := &t.old.Types[p.a], &t.new.Types[p.b]
	d := layoutDifference{implementation: implementation.MatchString(t.old.SONAME)}
	rule := RuleLayout
	effect := "Existing programs reserve the old size, or read and write members at their old " +
		"offsets."
	fix := "Append members only to structures that only the library allocates, or use reserved " +
		"members; otherwise change the SONAME."
	switch {
	case x.Kind == Enum:
		rule, effect, fix = RuleEnumerator, "Existing programs pass or expect the old values.",
			"Keep the values of existing enumerators, and append new ones."
		t.enumeration(p, x, y, &d)
	default:
		t.arguments(p, x, y)
		if t.virtuals(p, x, y, &d) {
			rule, effect, fix = RuleVtable, "Existing programs call the wrong virtual function, or "+
				"their derived classes have virtual tables with the old layout.",
				keepVirtuals
		}
		t.layout(p, x, y, &d)
		if d.layout {
			rule = RuleLayout
		}
	}
	name := x.Name
	if name == "" {
		name = y.Name
	}
	if len(d.errors) == 0 && (len(d.notes) == 0 || x.System) {
		return
	}
	c := Change{
		Rule:     rule,
		Severity: Error,
		Type:     name,
		Old:      place(x.File, x.Line),
		New:      place(y.File, y.Line),
		Effect:   effect,
		Fix:      fix,
	}
	if x.composite() && p.access&direct == 0 && !t.old.headers && !x.System && x.File != "" {
		c.Fix += fmt.Sprintf(" If programs do not see %s, give the public headers with --headers.",
			path.Base(x.File))
	}
	switch {
	case len(d.errors) == 0:
		c.Severity, c.Effect, c.Fix = Note, "", ""
	case !d.public && x.Size == y.Size:
		c.Severity, c.Fix = Warning, ""
		c.Effect = "None, as long as only the library and its inline functions use names that " +
			"start with two underscores."
	}
	if was, ok := t.reported[name]; ok && name != "" && rank(was) <= rank(c.Severity) {
		return
	}
	if name == "" { // an unnamed type is reported under the name of the enclosing type
		for q := p.from; q != nil && c.Type == ""; q = q.from {
			c.Type = t.old.Types[q.a].Name
		}
	}
	all := append(d.errors, d.notes...)
	if len(all) > maxDetails {
		all = append(all[:maxDetails], fmt.Sprintf("and %d more differences", len(all)-maxDetails))
	}
	what := spelled(x.Kind, name)
	if name == "" && strings.HasPrefix(p.step, "member ") {
		what += " (" + p.step + ")"
	}
	c.Detail = what + ": " + strings.Join(all, "; ") + "."
	c.enumerators = d.enumerators
	if c.Type == "" {
		c.Symbol = t.old.Symbols[p.symbol].ID()
	}
	t.note(p, p.a, c)
}

// maxDetails limits the listed differences of one type.
const maxDetails = 8

var implementation = lazyregexp.New(
	`^(lib(c|m|pthread|rt|dl|resolv|stdc\+\+|c\+\+|gcc_s)|ld(-linux.*)?)\.so`,
)

// layoutDifference collects the changes of one type.
type layoutDifference struct {
	errors, notes []string
	layout        bool // sizes, offsets or bases changed, not only virtual functions
	public        bool // an error affects names that are not reserved to the implementation
	// the library is that of C or C++
	implementation bool
	enumerators    []string // existing ones that changed
}

func (d *layoutDifference) fail(format string, a ...any) {
	d.errors = append(d.errors, fmt.Sprintf(format, a...))
	d.layout = true
	d.public = true
}

// failMember is fail for a member or enumerator. Names with two leading underscores are reserved to
// the implementation; programs do not use them. In other libraries they are names as others, which
// inline functions in programs use.
func (d *layoutDifference) failMember(name, format string, a ...any) {
	public := d.public || !d.implementation || !strings.HasPrefix(name, "__")
	d.fail(format, a...)
	d.public = public
}

// enumeration compares enumerators. A renamed enumerator keeps its value in old programs.
func (t *typeComparison) enumeration(_ *pair, x, y *Type, d *layoutDifference) {
	switch {
	case x.Size != y.Size && x.Size != 0 && y.Size != 0:
		d.fail("it had %s and now has %d", counted(int(x.Size), "byte"), y.Size)
	case x.Size < 4 && x.Encoding != 0 && y.Encoding != 0 && signed(x) != signed(y):
		d.fail("its integer type was %s and is now %s", signedness(x), signedness(y))
	}
	byName, values := map[string]int64{}, map[int64]bool{}
	for _, e := range y.Enumerators {
		byName[e.Name] = e.Value
		values[e.Value] = true
	}
	had := map[string]bool{}
	for _, e := range x.Enumerators {
		had[e.Name] = true
	}
	// whether an enumerator was added whose value is from low to high
	added := func(low, high int64) bool {
		return slices.ContainsFunc(y.Enumerators, func(e Enumerator) bool {
			return !had[e.Name] && e.Value >= low && e.Value <= high
		})
	}
	for i, e := range x.Enumerators {
		now, ok := byName[e.Name]
		if i < len(y.Enumerators) && y.Enumerators[i].Name == e.Name {
			now = y.Enumerators[i].Value
		}
		reported := len(d.errors) + len(d.notes)
		switch {
		case ok && now > e.Value && bound.MatchString(e.Name) && added(e.Value, now) &&
			ends(x.Enumerators, e.Name, e.Value) && ends(y.Enumerators, e.Name, now):
			d.notes = append(d.notes, fmt.Sprintf(
				"%s, the end of the values, was %d and is now %d", e.Name, e.Value, now))
		case ok && now != e.Value && x.Size == y.Size:
			d.failMember(e.Name, "%s was %d and is now %d", e.Name, e.Value, now)
		case !ok && values[e.Value]:
			d.notes = append(d.notes, fmt.Sprintf("%s (%d) now has another name", e.Name, e.Value))
		case !ok:
			d.failMember(e.Name, "%s (%d) is gone", e.Name, e.Value)
		}
		if len(d.errors)+len(d.notes) > reported {
			d.enumerators = append(d.enumerators, e.Name)
		}
	}
	for _, e := range y.Enumerators {
		if !had[e.Name] && len(d.notes) < maxDetails {
			d.notes = append(d.notes, fmt.Sprintf("%s (%d) was added", e.Name, e.Value))
		}
	}
}

// bound matches the names of enumerators that only mark the end of the values, and move when others
// are added: FOO_LAST, MAX_FOO, FOO_COUNT, kFooCount. FOO_END is often a value that functions
// return.
var bound = lazyregexp.New(
	`(?i:^|_)(?i:last|max|count|num|sentinel|total|n)(?i:$|_)|[a-z](?:Last|Max|Count)$`,
)

// ends reports whether the value of an enumerator is that of another one, or follows it.
func ends(all []Enumerator, name string, value int64) bool {
	return slices.ContainsFunc(all, func(e Enumerator) bool {
		return e.Name != name && (e.Value == value || e.Value == value-1)
	})
}

func signedness(t *Type) string {
	if signed(t) {
		return "signed"
	}
	return "unsigned"
}

// reserved matches the names of members that only reserve space. In a type of another size they are
// members as others, because a name does not prove it.
var reserved = lazyregexp.New(
	`(?i)reserved|unused|(^|_)(pad|padding|spare|p?dummy|filler|rsvd|rfu)[0-9]*($|_)|^_*pad[0-9]*$`,
)

// reservedOnly matches names that say nothing else.
var reservedOnly = lazyregexp.New(
	`(?i)^_*(reserved|unused|pad|padding|spare|p?dummy|filler|rsvd|rfu)_*[0-9]*$`,
)

// layout compares size, members and base classes.
func (t *typeComparison) layout(p *pair, x, y *Type, d *layoutDifference) {
	switch {
	case x.Kind == y.Kind:
	case t.sameScalars(p, p.a, p.b):
		d.notes = append(d.notes, fmt.Sprintf(
			"it was a %s and is now a %s, with the same layout", x.Kind, y.Kind))
	default:
		d.fail("it was a %s and is now a %s", x.Kind, y.Kind)
	}
	// differences that a change of a member's or base class's own type may explain
	own := layoutDifference{implementation: d.implementation}
	if x.Size != y.Size {
		own.fail("it had %s and now has %d", counted(int(x.Size), "byte"), y.Size)
	} else if a, b := t.old.alignment(x), t.new.alignment(y); a != b && max(x.Align, y.Align) > 0 &&
		!t.old.Unaligned && !t.new.Unaligned {
		own.fail("it was aligned to %s and is now aligned to %d", counted(int(a), "byte"), b)
	}
	grown := t.bases(p, x, y, d, &own)
	before, after := t.old.fields(x), t.new.fields(y)
	byName, byOffset := map[string]*field{}, map[uint64]*field{}
	for i := range after {
		byName[after[i].Name] = &after[i]
		if byOffset[after[i].Offset] == nil {
			byOffset[after[i].Offset] = &after[i]
		}
	}
	had := map[string]bool{}
	for i := range before {
		had[before[i].Name] = true
	}
	reserves := func(name string) bool { return x.Size == y.Size && reserved.MatchString(name) }
	renamed := map[string]bool{}
	// In space that was reserved, others are; a number that became another kind of number in its
	// place is a member like others.
	used := func(m, n *field) bool {
		a, b := &t.old.Types[m.Type], &t.new.Types[n.Type]
		return m.Offset != n.Offset || m.bits != n.bits ||
			reservedOnly.MatchString(m.Name) &&
				(a.Encoding == encodingFloat) == (b.Encoding == encodingFloat)
	}
	for i := range before {
		m := &before[i]
		n := byName[m.Name]
		if i < len(after) && after[i].Name == m.Name {
			n = &after[i]
		}
		if reserves(m.Name) && (n == nil || used(m, n)) {
			continue
		}
		if n == nil {
			if at := byOffset[m.Offset]; at != nil && at.bits == m.bits && !had[at.Name] {
				renamed[at.Name] = true
				n = at
				d.notes = append(d.notes, fmt.Sprintf("the member %s is now called %s", m.Name, n.Name))
			} else {
				d.failMember(m.Name, "the member %s at %s is gone", m.Name, offset(m.Offset))
				continue
			}
		}
		if m.Offset != n.Offset {
			own.failMember(m.Name, "the member %s moved from %s to %s",
				m.Name,
				offset(m.Offset),
				offset(n.Offset),
			)
		}
		if m.Bits != n.Bits && !t.old.NoBits && !t.new.NoBits {
			d.failMember(m.Name, "the member %s had %d bits and now has %d", m.Name, m.bits, n.bits)
		}
		local := t.ref(p, m.Type, n.Type,
			use{value: true, step: "member " + m.Name + " of " + spelled(x.Kind, x.Name)})
		switch {
		case local == "", t.sameBit(m, n):
		case !t.sameElements(m.Type, n.Type) && t.sameScalars(p, m.Type, n.Type):
			d.notes = append(d.notes, fmt.Sprintf(
				"the member %s %s, with the same layout", m.Name, local))
		default:
			d.failMember(m.Name, "the member %s %s", m.Name, local)
		}
		grown = grown || m.bits != n.bits && t.reports(m.Type, n.Type)
	}
	for i := range after {
		n := &after[i]
		if had[n.Name] || renamed[n.Name] || reserves(n.Name) {
			continue
		}
		d.notes = append(d.notes, fmt.Sprintf("the member %s was added at %s", n.Name, offset(n.Offset)))
		if n.Offset < 8*x.Size && x.Size == y.Size {
			continue // in padding, in reserved space, or in a union
		}
		grown = false
	}
	if x.System {
		if x.Size != y.Size && !grown {
			d.errors, d.notes = own.errors[:1], nil
		} else {
			d.errors, d.notes = nil, nil
		}
		return
	}
	if !grown || len(d.errors) > 0 {
		d.errors = append(own.errors, d.errors...)
		d.public = d.public || own.public
		d.layout = d.layout || own.layout
	}
}

// sameBit reports whether two members are one bit that is 0 or 1.
func (t *typeComparison) sameBit(m, n *field) bool {
	x, y := &t.old.Types[m.Type], &t.new.Types[n.Type]
	return m.Bits == 1 && n.Bits == 1 && x.integral() && y.integral() && !signed(x) && !signed(y)
}

// sameElements reports whether two types are arrays of elements of one kind, so that they differ in
// the numbers of elements.
func (t *typeComparison) sameElements(a, b TypeID) bool {
	m, c := t.old.dimensions(a)
	n, d := t.new.dimensions(b)
	return len(m) > 0 && len(n) > 0 && t.old.Types[c].Kind == t.new.Types[d].Kind
}

// arguments compares the types that a class template has as arguments: objects of them may be in
// memory that only functions of the template know. A declared one is often only a name.
func (t *typeComparison) arguments(p *pair, x, y *Type) {
	for i := range min(len(x.Arguments), len(y.Arguments)) {
		a, b := x.Arguments[i], y.Arguments[i]
		if !t.old.Types[a].Declared && !t.new.Types[b].Declared {
			t.ref(p, a, b, use{depth: 1, step: "argument of " + spelled(x.Kind, x.Name)})
		}
	}
}

// bases compares base classes, and reports whether the size of one changed. A base class without
// data may be added or removed if no offset changes.
func (t *typeComparison) bases(p *pair, x, y *Type, d, own *layoutDifference) (grown bool) {
	name := func(l *Library, b *BaseClass) string { return plain(l.Types[b.Type].Name) }
	find := func(l *Library, in *Type, k int, wanted string) *BaseClass {
		if k < len(in.Bases) && name(l, &in.Bases[k]) == wanted {
			return &in.Bases[k]
		}
		for i := range in.Bases {
			if name(l, &in.Bases[i]) == wanted {
				return &in.Bases[i]
			}
		}
		// Compilers write an argument as it is in the source, or as the type that it stands for:
		// Monitor<uintptr_t>, Monitor<unsigned long>. What such a base contains is compared.
		if k < len(in.Bases) {
			x, _, isTemplate := strings.Cut(wanted, "<")
			y, _, _ := strings.Cut(name(l, &in.Bases[k]), "<")
			if isTemplate && x == y &&
				!otherArguments(wanted, name(l, &in.Bases[k]), l.Class, maxNested) {
				return &in.Bases[k]
			}
		}
		return nil
	}
	for k := range x.Bases {
		a := &x.Bases[k]
		b := find(t.new, y, k, name(t.old, a))
		switch {
		case b == nil && x.Size == y.Size && t.old.empty(a):
			d.notes = append(d.notes, fmt.Sprintf("the base class %s is gone", t.old.spell(a.Type)))
			continue
		case b == nil:
			d.fail("the base class %s is gone", t.old.spell(a.Type))
			continue
		case a.Virtual != b.Virtual:
			d.fail(
				"the base class %s %s virtual",
				t.old.spell(a.Type),
				map[bool]string{true: "is now", false: "is no longer"}[b.Virtual],
			)
		case a.Offset != b.Offset && !a.Virtual: // that of a virtual base is in the virtual table
			own.fail("the base class %s moved from byte %d to %d", t.old.spell(a.Type), a.Offset, b.Offset)
		}
		u := use{value: true, step: "base class of " + x.Name}
		if local := t.ref(p, a.Type, b.Type, u); local != "" {
			d.fail("the base class %s", local)
		}
		grown = grown || t.old.size(a.Type) != t.new.size(b.Type) && t.reports(a.Type, b.Type)
	}
	for k := range y.Bases {
		b := &y.Bases[k]
		switch {
		case find(t.old, x, k, name(t.new, b)) != nil:
		case x.Size == y.Size && t.new.empty(b):
			d.notes = append(d.notes, fmt.Sprintf("the base class %s was added", t.new.spell(b.Type)))
		default:
			d.fail("the base class %s was added", t.new.spell(b.Type))
		}
	}
	return grown
}

// reports reports whether a change of a type, or of the elements of an array, is reported, so that
// it explains how a structure changed that contains it: both sides have its layout, and the options
// do not hide it.
func (t *typeComparison) reports(a, b TypeID) bool {
	_, a = t.old.dimensions(a)
	_, b = t.new.dimensions(b)
	x, y := &t.old.Types[a], &t.new.Types[b]
	if x.Declared || y.Declared {
		return false
	}
	if x.Name == "" || len(t.Private) == 0 && len(t.Hidden.sections) == 0 {
		return true
	}
	return !t.private("", x.Name) && !t.Hidden.hides(t.result, &Change{
		Rule: RuleLayout, Type: x.Name, Old: place(x.File, x.Line), New: place(y.File, y.Line),
		about: &about{old: t.old, new: t.new, a: a, b: b, access: direct},
	})
}

// empty reports whether a base class has no data and no virtual functions.
func (l *Library) empty(b *BaseClass) bool {
	t := &l.Types[b.Type]
	return !b.Virtual && len(t.Members) == 0 && len(t.Virtuals) == 0 && len(t.Bases) == 0 &&
		t.Size <= 1
}

func offset(bits uint64) string {
	if bits%8 != 0 {
		return fmt.Sprintf("byte %d, bit %d", bits/8, bits%8)
	}
	return fmt.Sprintf("byte %d", bits/8)
}
