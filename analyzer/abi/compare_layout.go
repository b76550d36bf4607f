package abi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// named compares two named types, or unnamed ones in the same place.
func (t *typeComparison) named(p *pair) {
	x, y := &t.old.Types[p.a], &t.new.Types[p.b]
	var d layoutDifference
	rule := RuleLayout
	effect := "A program reserves the old size, or reads and writes members at their old " +
		"offsets."
	fix := "Append members only to structures that only the library allocates, or use reserved " +
		"members; otherwise change the SONAME."
	switch {
	case x.Kind == Enum:
		rule, effect, fix = RuleEnumerator, "A program passes or expects the old values.",
			"Keep the values of existing enumerators, and append new ones."
		t.enumeration(p, x, y, &d)
	default:
		if t.virtuals(p, x, y, &d) {
			rule, effect, fix = RuleVtable, "A program calls the wrong virtual function, or "+
				"its derived classes have virtual tables with the old layout.",
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
	if t.reported[name] && name != "" || len(d.errors) == 0 && len(d.notes) == 0 ||
		x.System && len(d.errors) == 0 {
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
	switch {
	case len(d.errors) == 0:
		c.Severity, c.Effect, c.Fix = Note, "", ""
	case !d.public && x.Size == y.Size:
		c.Severity, c.Fix = Warning, ""
		c.Effect = "None, as long as only the library and its inline functions use names that " +
			"start with two underscores."
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

// layoutDifference collects the changes of one type.
type layoutDifference struct {
	errors, notes []string
	layout        bool     // sizes, offsets or bases changed, not only virtual functions
	public        bool     // an error affects names that are not reserved to the implementation
	enumerators   []string // existing ones that changed
}

func (d *layoutDifference) fail(format string, a ...any) {
	d.errors = append(d.errors, fmt.Sprintf(format, a...))
	d.layout = true
	d.public = true
}

// failMember is fail for a member or enumerator. Names with two leading underscores are reserved to
// the implementation; programs do not use them.
func (d *layoutDifference) failMember(name, format string, a ...any) {
	public := d.public || !strings.HasPrefix(name, "__")
	d.fail(format, a...)
	d.public = public
}

// enumeration compares enumerators. A renamed enumerator keeps its value in old programs.
func (t *typeComparison) enumeration(_ *pair, x, y *Type, d *layoutDifference) {
	if x.Size != y.Size && x.Size != 0 && y.Size != 0 {
		d.fail("it had %s and has %d now", counted(int(x.Size), "byte"), y.Size)
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
		case ok && now > e.Value && bound.MatchString(e.Name) && added(e.Value, now):
			d.notes = append(d.notes, fmt.Sprintf(
				"%s, the end of the values, was %d and is %d now", e.Name, e.Value, now))
		case ok && now != e.Value && x.Size == y.Size:
			d.failMember(e.Name, "%s was %d and is %d now", e.Name, e.Value, now)
		case !ok && values[e.Value]:
			d.notes = append(d.notes, fmt.Sprintf("%s (%d) has another name now", e.Name, e.Value))
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
// are added: FOO_LAST, MAX_FOO, FOO_COUNT, kFooCount.
var bound = lazyregexp.New(
	`(?i:^|_)(?i:last|max|count|num|end|sentinel|total|n)(?i:$|_)|[a-z](?:Last|Max|Count|End)$`,
)

// reserved matches the names of members that only reserve space. In a type of another size they are
// members as others, because a name does not prove it.
var reserved = lazyregexp.New(
	`(?i)reserved|unused|(^|_)(pad|padding|spare|p?dummy|filler|rsvd|rfu)[0-9]*($|_)|^_*pad[0-9]*$`,
)

// layout compares size, members and base classes.
func (t *typeComparison) layout(p *pair, x, y *Type, d *layoutDifference) {
	switch {
	case x.Kind == y.Kind:
	case t.sameScalars(p, p.a, p.b):
		d.notes = append(d.notes, fmt.Sprintf(
			"it was a %s and is a %s now, with the same layout", x.Kind, y.Kind))
	default:
		d.fail("it was a %s and is a %s now", x.Kind, y.Kind)
	}
	// differences that a change of a member's or base class's own type may explain
	var own layoutDifference
	if x.Size != y.Size {
		own.fail("it had %s and has %d now", counted(int(x.Size), "byte"), y.Size)
	} else if a, b := t.old.alignment(x), t.new.alignment(y); a != b && max(x.Align, y.Align) > 0 &&
		!t.old.Unaligned && !t.new.Unaligned {
		own.fail("it was aligned to %s and is aligned to %d now", counted(int(a), "byte"), b)
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
	for i := range before {
		m := &before[i]
		n := byName[m.Name]
		if i < len(after) && after[i].Name == m.Name {
			n = &after[i]
		}
		if reserves(m.Name) {
			continue
		}
		if n == nil {
			if at := byOffset[m.Offset]; at != nil && at.bits == m.bits && !had[at.Name] {
				renamed[at.Name] = true
				n = at
				d.notes = append(d.notes, fmt.Sprintf("the member %s is called %s now", m.Name, n.Name))
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
		if m.Bits != n.Bits && !t.old.Partial && !t.new.Partial {
			d.failMember(m.Name, "the member %s had %d bits and has %d now", m.Name, m.bits, n.bits)
		}
		local := t.ref(p, m.Type, n.Type, true, 0, "member "+m.Name+" of "+spelled(x.Kind, x.Name))
		switch {
		case local == "":
		case t.sameScalars(p, m.Type, n.Type):
			d.notes = append(d.notes, fmt.Sprintf(
				"the member %s %s, with the same layout", m.Name, local))
		default:
			d.failMember(m.Name, "the member %s %s", m.Name, local)
		}
		grown = grown || m.bits != n.bits
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
				"the base class %s %s virtual now",
				t.old.spell(a.Type),
				map[bool]string{true: "is", false: "is not"}[b.Virtual],
			)
		case a.Offset != b.Offset && !a.Virtual: // that of a virtual base is in the virtual table
			own.fail("the base class %s moved from byte %d to %d", t.old.spell(a.Type), a.Offset, b.Offset)
		}
		if local := t.ref(p, a.Type, b.Type, true, 0, "base class of "+x.Name); local != "" {
			d.fail("the base class %s", local)
		}
		grown = grown || t.old.size(a.Type) != t.new.size(b.Type)
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

// virtuals compares the virtual functions that a class declares, and reports whether one changed.
// An override uses the slot of the base class's function.
func (t *typeComparison) virtuals(_ *pair, x, y *Type, d *layoutDifference) bool {
	if len(x.Virtuals) == 0 && len(y.Virtuals) == 0 {
		return false
	}
	before, after := t.old.slots(x), t.new.slots(y)
	inherited := min(before, after)
	now := map[string]int64{}
	for _, v := range y.Virtuals {
		now[virtualKey(v.Name)] = v.Slot
	}
	had := map[string]bool{}
	found := false
	fail := func(format string, a ...any) {
		d.errors = append(d.errors, fmt.Sprintf(format, a...))
		found, d.public = true, true
	}
	for i, v := range x.Virtuals {
		k := virtualKey(v.Name)
		had[k] = true
		slot, ok := now[k]
		if i < len(y.Virtuals) && virtualKey(y.Virtuals[i].Name) == k {
			slot = y.Virtuals[i].Slot
		}
		switch {
		case v.Slot < inherited && !ok:
		case !ok:
			fail("the virtual function %s (slot %d) is gone", Readable(v.Name), v.Slot)
		case k == "~" && (slot == 0 || v.Slot == 0):
			// Clang writes 0 for each destructor. One that moved follows a function that was added or is
			// gone.
		case slot != v.Slot && slot >= 0 && v.Slot >= 0:
			fail("the virtual function %s moved from slot %d to %d", Readable(v.Name), v.Slot, slot)
		}
	}
	for _, v := range y.Virtuals {
		if !had[virtualKey(v.Name)] && v.Slot >= inherited {
			fail("the virtual function %s was added in slot %d", Readable(v.Name), v.Slot)
		}
	}
	return found
}

// virtualKey returns the name that identifies a virtual function; compilers name destructors
// differently.
func virtualKey(name string) string {
	for _, d := range []string{"D0Ev", "D1Ev", "D2Ev", "D4Ev"} {
		if strings.HasSuffix(name, d) {
			return "~"
		}
	}
	if strings.HasPrefix(name, "~") {
		return "~"
	}
	return name
}
