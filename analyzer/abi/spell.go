package abi

import (
	"fmt"
	"strings"
)

// spell is a type as C writes it, roughly.
func (l *Library) spell(id TypeID) string { return l.spellDepth(id, 0) }

func (l *Library) spellDepth(id TypeID, depth int) string {
	t := &l.Types[id]
	if depth > 8 {
		return "…"
	}
	elem := func() string { return l.spellDepth(t.Elem, depth+1) }
	switch t.Kind {
	case Void:
		return "void"
	case Base:
		return fmt.Sprintf("%s (%s)", t.Name, counted(int(t.Size), "byte"))
	case Pointer, MemberPointer, Reference:
		mark := "*"
		if t.Kind == Reference {
			mark = "&"
		}
		if l.Types[t.Elem].Kind == Function {
			return elem()
		}
		s, _, _ := strings.Cut(elem(), " (")
		return s + " " + mark
	case Array:
		var dims strings.Builder
		for _, c := range t.Counts {
			if c < 0 {
				dims.WriteString("[]")
			} else {
				fmt.Fprintf(&dims, "[%d]", c)
			}
		}
		s, _, _ := strings.Cut(elem(), " (")
		return s + dims.String()
	case Function:
		return fmt.Sprintf("a function with %s", counted(len(t.Params), "parameter"))
	case Struct, Union, Enum:
		return spelled(t.Kind, t.Name)
	}
	return "a type that is not known"
}

// spelled is a named type.
func spelled(k Kind, name string) string {
	if name == "" {
		return "an unnamed " + string(k)
	}
	return string(k) + " " + name
}
