package abi

import "strings"

// measure computes what follows from a type and those inside it. Types may contain each other in
// many ways, so the number of steps is bounded; no real type comes near. Both libraries are
// measured alike, so that a limit makes no difference between them.
type measure struct {
	*Library
	left int
}

const maxMeasured = 1 << 16

func (l *Library) measure() *measure { return &measure{l, maxMeasured} }

// step tells whether there are steps left.
func (m *measure) step() bool {
	m.left--
	return m.left >= 0
}

// field is a member of a type, or of an unnamed structure or union in it.
type field struct {
	Member
	bits uint64 // its size
}

// fields lists the members of a type, with those of unnamed structures and unions in their place.
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

// byReference tells a class whose values are passed by the address of a copy: one with a
// destructor, copy or move constructor that does something (Itanium C++ ABI, 3.1.2.3).
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

// alignment is what a type is aligned to, in bytes.
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

// slots is how many slots of the virtual table a class takes over from its first base classes.
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
				size = 2 // one that destroys, and one that also frees
			}
			n = max(n, v.Slot+size)
		}
	}
	return n
}

// size is how many bytes a type has; 0 where that is open.
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
