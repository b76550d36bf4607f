package abi

import (
	"slices"
	"strings"
)

// measure computes properties of a type from the types that it contains. Types may contain each
// other in many ways, so the number of steps is limited, far above what real types need. Both
// libraries have the same limit, so that it does not cause differences.
type measure struct {
	*Library
	left int
}

const maxMeasured = 1 << 16

func (l *Library) measure() *measure { return &measure{l, maxMeasured} }

// step reports whether a step is left.
func (m *measure) step() bool {
	m.left--
	return m.left >= 0
}

// field is a member of a type, or of an unnamed structure or union in it.
type field struct {
	Member
	bits uint64 // size
}

// fields lists the members of a type; unnamed structures and unions are replaced by their members.
func (l *Library) fields(t *Type) []field { return l.measure().fields(t, 0, nil) }

func (m *measure) fields(t *Type, base uint64, out []field) []field {
	for _, member := range t.Members {
		if !m.step() {
			break
		}
		in := &m.Types[member.Type]
		member.Offset += base
		switch {
		case member.Name == "" && in.composite():
			out = m.fields(in, member.Offset, out)
		case member.Name == "" || strings.HasPrefix(member.Name, "_vptr"):
		default:
			f := field{member, uint64(member.Bits)}
			if f.bits == 0 {
				f.bits = 8 * m.size(member.Type)
			}
			out = append(out, f)
		}
	}
	return out
}

// scalars appends the numbers and pointers in a type, in the order of their offsets. ok is false
// for a union with several members, a class with base classes or virtual functions, an open array,
// and a type with too many of them.
func (m *measure) scalars(id TypeID, base uint64, out []Member) (all []Member, ok bool) {
	t := &m.Types[id]
	if !m.step() || t.Declared || len(out) > maxScalars {
		return out, false
	}
	switch t.Kind {
	case Array:
		size := 8 * m.size(t.Elem)
		if size == 0 {
			return out, false
		}
		for at := uint64(0); at < 8*m.size(id); at += size {
			if out, ok = m.scalars(t.Elem, base+at, out); !ok {
				return out, false
			}
		}
		return out, true
	case Struct, Union:
		if len(t.Bases) > 0 || len(t.Virtuals) > 0 || t.Kind == Union && len(t.Members) != 1 {
			return out, false
		}
		for _, x := range t.Members {
			if x.Bits > 0 {
				x.Offset += base
				out = append(out, x)
			} else if out, ok = m.scalars(x.Type, base+x.Offset, out); !ok {
				return out, false
			}
		}
		return out, true
	case Base, Enum, Pointer, Reference:
		return append(out, Member{Offset: base, Type: id}), true
	}
	return out, false
}

// maxScalars limits the numbers and pointers of a type that are compared one by one.
const maxScalars = 1 << 12

// dimensions returns the numbers of elements of an array and of the arrays that are its elements,
// and their element. Some formats have an array type for each dimension.
func (l *Library) dimensions(id TypeID) (counts []int64, elem TypeID) {
	for range maxTypeDepth {
		t := &l.Types[id]
		if t.Kind != Array {
			break
		}
		counts = append(counts, t.Counts...)
		id = t.Elem
	}
	return counts, id
}

// otherCounts reports whether arrays have other numbers of elements. That of an open array is in
// the symbol, or in the structure that it ends.
func otherCounts(a, b []int64) bool {
	return !slices.Contains(a, -1) && !slices.Contains(b, -1) && !slices.Equal(a, b)
}

// format distinguishes floating-point numbers of one size: it is "" for the usual format. BTF does
// not record that a number is complex or decimal but in its name.
func (l *Library) format(t *Type) string {
	switch {
	case t.Encoding != encodingFloat:
	case strings.Contains(t.Name, "omplex"):
		return "complex"
	case strings.Contains(t.Name, "Decimal"):
		return "decimal"
	case strings.Contains(t.Name, "loat128") && (l.Machine == "x86_64" || l.Class == 32):
		return "binary128" // a long double has 80 bits there
	case t.Name == "__bf16":
		return "bfloat16"
	}
	return ""
}

// inMemory reports whether a function returns a type in memory, whose address the caller passes: a
// class that is passed by reference, or a structure that is too large for registers. On x86 with 32
// bits it is every structure.
func (l *Library) inMemory(id TypeID) bool {
	t := &l.Types[id]
	registers := uint64(2 * l.Class / 8)
	if l.Machine == "i686" {
		registers = 0
	}
	return t.composite() && !t.Declared && (t.Size > registers || l.byReference(t))
}

// onX87 reports whether a function returns a type on the stack of the x87 floating-point unit, from
// which callers have to remove it.
func (l *Library) onX87(id TypeID) bool {
	t := &l.Types[id]
	switch l.Machine {
	case "x86_64":
		return t.Kind == Base && t.Size == 16 && t.Encoding == encodingFloat
	case "i686":
		return t.Kind == Base && t.Encoding == encodingFloat
	}
	return false
}

// byReference reports whether values of a class are passed by reference to a copy: it has a
// non-trivial destructor, copy or move constructor (Itanium C++ ABI, 3.1.2.3).
func (l *Library) byReference(t *Type) bool { return l.measure().byReference(t) }

func (m *measure) byReference(t *Type) bool {
	switch {
	case t.Passing == passByReference:
		return true
	case t.Passing == passByValue || !m.step():
		return false
	case len(t.Virtuals) > 0:
		return true
	}
	for i := range t.Bases {
		if t.Bases[i].Virtual || m.byReference(&m.Types[t.Bases[i].Type]) {
			return true
		}
	}
	for i := range t.Members {
		in := &m.Types[t.Members[i].Type]
		for in.Kind == Array && m.step() {
			in = &m.Types[in.Elem]
		}
		if in.composite() && m.byReference(in) {
			return true
		}
	}
	return false
}

// alignment returns the alignment of a type in bytes.
func (l *Library) alignment(t *Type) uint64 { return l.measure().alignment(t) }

func (m *measure) alignment(t *Type) uint64 {
	n := max(uint64(t.Align), 1)
	if !m.step() {
		return n
	}
	switch t.Kind {
	case Base, Pointer, Reference, MemberPointer, Enum:
		return max(n, min(t.Size, 16))
	case Array:
		return max(n, m.alignment(&m.Types[t.Elem]))
	}
	for i := range t.Members {
		n = max(n, m.alignment(&m.Types[t.Members[i].Type]))
	}
	for i := range t.Bases {
		n = max(n, m.alignment(&m.Types[t.Bases[i].Type]))
	}
	return n
}

// slots returns the number of virtual table slots that a class inherits from its primary bases.
func (l *Library) slots(t *Type) int64 { return l.measure().slots(t) }

func (m *measure) slots(t *Type) int64 {
	n := int64(0)
	for _, b := range t.Bases {
		base := &m.Types[b.Type]
		if b.Virtual && len(t.Bases) > 1 || b.Offset != 0 || !m.step() {
			continue
		}
		n = max(n, m.slots(base))
		for _, v := range base.Virtuals {
			size := int64(1)
			if virtualKey(v.Name) == "~" {
				size = 2 // the complete and the deleting destructor
			}
			n = max(n, v.Slot+size)
		}
	}
	return n
}

// size returns the size of a type in bytes; 0 if it is open.
func (l *Library) size(id TypeID) uint64 {
	n := uint64(1)
	for range maxTypeDepth {
		t := &l.Types[id]
		if t.Kind != Array {
			return n * t.Size
		}
		if t.Size != 0 {
			return n * t.Size
		}
		for _, c := range t.Counts {
			n *= uint64(max(c, 0))
		}
		id = t.Elem
	}
	return 0
}
