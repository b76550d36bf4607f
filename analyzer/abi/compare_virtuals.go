package abi

import (
	"fmt"
	"strings"
)

// virtuals compares the virtual functions that a class declares, and reports whether one changed.
// An override uses the slot of the base class's function.
func (t *typeComparison) virtuals(p *pair, x, y *Type, d *layoutDifference) bool {
	if len(x.Virtuals) == 0 && len(y.Virtuals) == 0 {
		return false
	}
	before, after := t.old.slots(x), t.new.slots(y)
	inherited := min(before, after)
	now := map[string]Virtual{}
	for _, v := range y.Virtuals {
		now[virtualKey(v.Name)] = v
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
		w, ok := now[k]
		if i < len(y.Virtuals) && virtualKey(y.Virtuals[i].Name) == k {
			w = y.Virtuals[i]
		}
		slot := w.Slot
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
		if ok && !x.System {
			if d := t.virtual(p, v, w); d != "" {
				fail("the virtual function %s: %s", Readable(v.Name), d)
			}
		}
	}
	for _, v := range y.Virtuals {
		if !had[virtualKey(v.Name)] && v.Slot >= inherited {
			fail("the virtual function %s was added in slot %d", Readable(v.Name), v.Slot)
		}
	}
	return found
}

// virtual compares the types of a virtual function, which programs implement or call. It returns ""
// for a difference that is one of an export.
func (t *typeComparison) virtual(p *pair, v, w Virtual) string {
	if v.Type == 0 || w.Type == 0 {
		if v.Type != w.Type {
			t.blind.virtuals.add(Readable(v.Name))
		}
		return ""
	}
	x, y := &t.old.Types[v.Type], &t.new.Types[w.Type]
	out := t.signature(p, x, y, use{depth: 1})
	if len(out) > 0 && t.exportsTyped(v.Name) &&
		len(t.signature(p, x, y, use{depth: 1, by: library})) > 0 {
		return ""
	}
	return strings.Join(out, ", ")
}

// exportsTyped reports whether both libraries export a symbol with a type.
func (t *typeComparison) exportsTyped(name string) bool {
	if t.typed == nil {
		t.typed = map[string]bool{}
		for i, k := range t.matched {
			if s := &t.old.Symbols[i]; k >= 0 && s.Type != 0 && t.new.Symbols[k].Type != 0 {
				t.typed[s.Name] = true
			}
		}
	}
	return t.typed[name]
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
