package abi

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// maxTables limits the bytes of virtual tables and typeinfo. libQt6Widgets has 300 KB.
const maxTables = 64 << 20

// isTable reports whether a symbol is data that C++ compilers generate: a virtual table, VTT,
// typeinfo or construction virtual table.
func isTable(name string) bool {
	return strings.HasPrefix(name, "_ZTV") || strings.HasPrefix(name, "_ZTI") ||
		strings.HasPrefix(name, "_ZTT") ||
		strings.HasPrefix(name, "_ZTC")
}

// readTables reads virtual tables and typeinfo as they are after relocation. They contain the order
// of virtual functions and the base classes even without debug information.
func (l *Library) readTables(c *elfobj.Contents, addrs []uint64) error {
	var spans []elfobj.Span
	total := uint64(0)
	seen := map[uint64]bool{}
	for i := range l.Symbols {
		s := &l.Symbols[i]
		if !isTable(s.Name) || addrs[i] == 0 || s.Size == 0 || seen[addrs[i]] ||
			total+s.Size > maxTables {
			continue
		}
		seen[addrs[i]] = true
		total += s.Size
		spans = append(spans, elfobj.Span{Addr: addrs[i], Size: s.Size})
		l.Tables = append(l.Tables, Table{Symbol: s.Name, Size: s.Size})
	}
	if len(spans) == 0 {
		return nil
	}
	words, err := c.Words(spans)
	if err != nil {
		return err
	}
	at := l.namesAt(words, addrs)
	for i, list := range words {
		out := make([]string, len(list))
		for k, w := range list {
			switch {
			case w.Symbol != "":
				out[k] = w.Symbol
			case w.Moved:
				out[k] = at[w.Value]
			default:
				v := int64(w.Value)
				if l.Class == 32 {
					v = int64(int32(w.Value))
				}
				out[k] = "#" + strconv.FormatInt(v, 10)
			}
		}
		l.Tables[i].Words = out
	}
	slices.SortFunc(l.Tables, func(a, b Table) int { return cmp.Compare(a.Symbol, b.Symbol) })
	return nil
}

// namesAt returns the names of the addresses in tables, as Table.Words has them.
func (l *Library) namesAt(words [][]elfobj.Word, addrs []uint64) map[uint64]string {
	const most = 16 // of an address; functions that do nothing may all have the same
	at := map[uint64][]int{}
	for _, list := range words {
		for _, w := range list {
			if w.Symbol == "" && w.Moved {
				at[w.Value] = nil
			}
		}
	}
	for i, addr := range addrs {
		if all, ok := at[addr]; ok && len(all) <= most {
			at[addr] = append(all, i)
		}
	}
	out := make(map[uint64]string, len(at))
	for addr, all := range at {
		if len(all) > most {
			continue
		}
		var strong, weak []string
		for _, i := range all {
			s := &l.Symbols[i]
			same := strings.TrimSuffix(s.Name, "D2Ev") + "D1Ev" // destructors always have two names
			switch {
			case strings.HasSuffix(s.Name, "D2Ev") && slices.ContainsFunc(all, func(k int) bool {
				return l.Symbols[k].Name == same
			}):
			case s.Weak:
				weak = append(weak, s.Name)
			default:
				strong = append(strong, s.Name)
			}
		}
		slices.Sort(strong)
		slices.Sort(weak)
		out[addr] = strings.Join(append(strong, weak...), " ")
	}
	return out
}

// table returns the table of a symbol, or nil.
func (l *Library) table(symbol string) *Table {
	i, ok := slices.BinarySearchFunc(
		l.Tables,
		symbol,
		func(t Table, s string) int { return cmp.Compare(t.Symbol, s) },
	)
	if !ok {
		return nil
	}
	return &l.Tables[i]
}

// tables compares the virtual tables and typeinfo of classes. Programs contain indexes of virtual
// functions, and a copy of the table in the tables of derived classes.
func (c *comparison) tables() {
	type difference struct {
		class, rule, detail string
		i                   int
	}
	changed := map[string]difference{} // by class in its mangled form
	var order []string
	for i := range c.old.Symbols {
		s := &c.old.Symbols[i]
		if c.matched[i] < 0 || !isTable(s.Name) || isStandardLibrary(c.old, s.Name) {
			continue
		}
		a, b := c.old.table(s.Name), c.new.table(s.Name)
		if a == nil || b == nil {
			continue
		}
		rule, detail := RuleVtable, ""
		switch s.Name[:4] {
		case "_ZTV":
			detail = vtableDifference(a, b)
		case "_ZTI":
			rule, detail = RuleLayout, typeinfoDifference(a, b)
		case "_ZTT":
			if a.Size != b.Size {
				rule, detail = RuleLayout, fmt.Sprintf(
					"Its virtual base classes changed (the VTT had %d bytes and now has %d).",
					a.Size,
					b.Size,
				)
			}
		}
		if detail == "" {
			continue
		}
		mangled := s.Name[4:]
		if _, twice := changed[mangled]; !twice {
			order = append(order, mangled)
			changed[mangled] = difference{classOf(s.Name), rule, detail, i}
		} else if rule == RuleLayout { // the base classes explain the table
			changed[mangled] = difference{classOf(s.Name), rule, detail, i}
		}
	}
	for _, mangled := range order {
		d := changed[mangled]
		if c.failed(d.class) {
			continue
		}
		base := c.baseAmong(mangled, func(m string) bool {
			_, ok := changed[m]
			return ok || c.failed(classOf("_ZTI"+m))
		})
		if base != "" { // a derived class's table contains that of its base
			continue
		}
		c.add(Change{Rule: d.rule, Severity: Error, Type: d.class, Detail: d.detail,
			Effect: "Existing programs call the wrong virtual function, or their derived classes " +
				"have virtual tables with the old layout.",
			Fix: keepVirtuals}, d.i)
	}
}

// failed reports whether the comparison of types reported an error of a class.
func (c *comparison) failed(class string) bool {
	return c.types != nil && c.types.reported[class] == Error
}

// keepVirtuals is the fix of changed virtual functions.
const keepVirtuals = "Do not add, remove or reorder virtual functions or base classes of " +
	"existing classes; otherwise change the SONAME."

// baseAmong returns a direct or indirect base class for which is returns true; "" without one.
func (c *comparison) baseAmong(mangled string, is func(mangled string) bool) string {
	seen := map[string]bool{mangled: true}
	for work := []string{mangled}; len(work) > 0; {
		t := c.old.table("_ZTI" + work[0])
		work = work[1:]
		if t == nil {
			continue
		}
		for k, w := range t.Words {
			base, ok := strings.CutPrefix(firstName(w), "_ZTI")
			if k < 2 || !ok || seen[base] {
				continue
			}
			if is(base) {
				return base
			}
			seen[base] = true
			work = append(work, base)
		}
	}
	return ""
}

// vtableDifference describes the change of a virtual table; "" if old programs can use the new one.
func vtableDifference(a, b *Table) string {
	for k := 0; k < min(len(a.Words), len(b.Words)); k++ {
		was, is := a.Words[k], b.Words[k]
		if sameWord(was, is) {
			continue
		}
		number := strings.HasPrefix(was, "#") || strings.HasPrefix(is, "#")
		switch {
		case number && was != "" && is != "" && was[0] == is[0]:
			return "The offset of a base class in it changed."
		case number && (was == "#0" || is == "#0"):
			// a pure virtual function of an abstract class may be zero
			continue
		case number:
			if was != "" && is != "" {
				return fmt.Sprintf("The order of its virtual table changed at word %d.", k)
			}
			continue
		case strings.HasPrefix(was, "_ZTI") || strings.HasPrefix(is, "_ZTI"):
			if was != "" && is != "" {
				return fmt.Sprintf("The order of its virtual table changed at word %d.", k)
			}
			continue
		}
		if sameMethod(was, is) {
			continue
		}
		return fmt.Sprintf(
			"Slot %d of its virtual table was %s and is now %s.",
			k-2,
			Readable(firstName(was)),
			Readable(firstName(is)),
		)
	}
	if a.Size != b.Size {
		return fmt.Sprintf(
			"Its virtual table had %d bytes and now has %d: virtual functions were %s.",
			a.Size,
			b.Size,
			map[bool]string{true: "added", false: "removed"}[b.Size > a.Size],
		)
	}
	return ""
}

// firstName returns the first symbol of a word.
func firstName(word string) string {
	name, _, _ := strings.Cut(word, " ")
	return name
}

// sameWord reports whether two words are equal, or have a name in common: a linker gives functions
// with the same code one address (identical code folding).
func sameWord(was, is string) bool {
	return was == is || slices.ContainsFunc(strings.Fields(was), func(name string) bool {
		return slices.Contains(strings.Fields(is), name)
	})
}

// sameMethod reports whether two words may be the same virtual function, or overrides of it.
func sameMethod(was, is string) bool {
	for _, x := range strings.Fields(was) {
		for _, y := range strings.Fields(is) {
			if x, y := method(x), method(y); x == "" || y == "" || x == y {
				return true
			}
		}
	}
	return was == "" || is == ""
}

// typeinfoDifference describes the change of the base classes; "" without one. The words of
// typeinfo are its kind, the name, then base classes.
func typeinfoDifference(a, b *Table) string {
	if len(a.Words) < 2 || len(b.Words) < 2 {
		return ""
	}
	if !sameWord(a.Words[0], b.Words[0]) && a.Words[0] != "" && b.Words[0] != "" {
		return fmt.Sprintf("Its base classes changed: %s, now %s.", bases(a), bases(b))
	}
	if a.Size != b.Size {
		return fmt.Sprintf("Its base classes changed: %s, now %s.", bases(a), bases(b))
	}
	for k := 2; k < min(len(a.Words), len(b.Words)); k++ {
		was, is := a.Words[k], b.Words[k]
		if !sameWord(was, is) && was != "" && is != "" {
			return fmt.Sprintf("Its base classes or their offsets changed: %s, now %s.", bases(a), bases(b))
		}
	}
	return ""
}

// bases lists the base classes in typeinfo.
func bases(t *Table) string {
	var out []string
	for _, w := range t.Words[2:] {
		if strings.HasPrefix(w, "_ZTI") {
			out = append(out, classOf(firstName(w)))
		}
	}
	kind := ""
	if strings.Contains(t.Words[0], "vmi_class") {
		kind = " (several or virtual)"
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ") + kind
}
