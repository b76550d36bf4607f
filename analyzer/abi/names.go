package abi

import (
	"fmt"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Readable returns the demangled name of a symbol.
func Readable(name string) string {
	if !strings.HasPrefix(name, "_Z") || len(name) > maxMangled {
		return name
	}
	return demangle.Filter(name, demangle.NoClones)
}

// maxMangled limits the length of names that are demangled.
const maxMangled = 16 << 10

// classOf returns the class of a virtual table or typeinfo symbol.
func classOf(symbol string) string {
	_, class, _ := strings.Cut(Readable(symbol), " for ")
	if class == "" {
		return symbol
	}
	return class
}

// method returns the name of a virtual function inside its class, which an override shares; "" if
// the symbol does not contain it.
func method(symbol string) string {
	if symbol == "" || symbol == "__cxa_pure_virtual" || symbol == "__cxa_deleted_virtual" {
		return ""
	}
	name := Readable(symbol)
	if i := strings.Index(name, "thunk to "); i >= 0 {
		name = name[i+len("thunk to "):]
	}
	for _, d := range []string{"D0Ev", "D1Ev", "D2Ev"} {
		if strings.HasSuffix(symbol, d) {
			return map[bool]string{true: "~ (deleting destructor)", false: "~"}[d == "D0Ev"]
		}
	}
	// find the last "::" outside of template arguments and parameters
	depth, cut := 0, 0
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '<':
			if !strings.HasSuffix(name[:i], "operator") &&
				!strings.HasSuffix(name[:i], "operator<") {
				depth++
			}
		case '>':
			if depth > 0 && name[i-1] != '-' && !strings.HasSuffix(name[:i], "operator") {
				depth--
			}
		case '(':
			if depth == 0 && !strings.HasPrefix(name[i:], "(anonymous namespace)") &&
				!strings.HasSuffix(name[:i], "operator") {
				return name[cut:]
			}
		case ':':
			if depth == 0 && i+1 < len(name) && name[i+1] == ':' {
				cut = i + 2
				i++
			}
		}
	}
	return name[cut:]
}

// spell returns a type in approximate C syntax.
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

// spelled returns the name of a named type with its kind.
func spelled(k Kind, name string) string {
	if name == "" {
		return "an unnamed " + string(k)
	}
	return string(k) + " " + name
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
