package abi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/compat-app/compat/internal/lazyregexp"
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

var (
	suffixed = lazyregexp.New(`\b([0-9]+)[uUlL]+\b`)
	spaced   = lazyregexp.New(`\s*([*&<>,()])\s*`)
)

// plain returns the name of an instance of a template in one form: compilers write numbers with and
// without suffixes, and set spaces in other places (Ring<3UL, int *>, Ring<3, int*>).
func plain(name string) string {
	if !strings.Contains(name, "<") {
		return name
	}
	return spaced.ReplaceAllString(suffixed.ReplaceAllString(name, "$1"), "$1")
}

// otherStandard reports whether two names are of different classes or templates of the standard
// library: std::map and std::set. Reserved names are parts of its implementation, which releases
// rename, and inline namespaces such as std::__cxx11 are not compared.
func otherStandard(a, b string) bool {
	x, ok := standardName(a)
	y, also := standardName(b)
	return ok && also && x != y
}

// standardName returns the name of a class or template of the standard library without inline
// namespaces and arguments.
func standardName(name string) (string, bool) {
	head, _, _ := strings.Cut(name, "<")
	if !strings.HasPrefix(head, "std::") {
		return "", false
	}
	parts := strings.Split(head, "::")
	last := parts[len(parts)-1]
	parts = slices.DeleteFunc(parts, func(p string) bool { return strings.HasPrefix(p, "_") })
	return strings.Join(parts, "::"), !strings.HasPrefix(last, "_")
}

// maxNested is how many templates may contain each other in a name.
const maxNested = 8

// otherArguments reports whether two names are instances of one class template with arguments that
// programs store in different ways: arithmetic types of another size or kind, or other numbers. An
// instance of another template of the standard library, std::greater for std::less, is other code
// in programs; names without arguments may be typedefs. Arguments that are other classes are
// compared where their members are. class is 32 or 64, depth how many templates may contain each
// other.
func otherArguments(a, b string, class, depth int) bool {
	name, after, ok := strings.Cut(strings.TrimSuffix(a, ">"), "<")
	other, afterB, also := strings.Cut(strings.TrimSuffix(b, ">"), "<")
	if !ok || !also || name != other || depth == 0 {
		return false
	}
	x, y := arguments(after), arguments(afterB)
	for i := range min(len(x), len(y)) {
		if x[i] == y[i] {
			continue
		}
		m, known := stored(x[i], class)
		n, alsoKnown := stored(y[i], class)
		if known && alsoKnown && m != n || otherArguments(x[i], y[i], class, depth-1) ||
			strings.Contains(x[i], "<") && strings.Contains(y[i], "<") && otherStandard(x[i], y[i]) {
			return true
		}
	}
	return false
}

// arguments splits the text between the angle brackets of a template.
func arguments(s string) []string {
	var list []string
	depth, start := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
		case ',':
			if depth == 0 {
				list, start = append(list, strings.TrimSpace(s[start:i])), i+1
			}
		}
	}
	return append(list, strings.TrimSpace(s[start:]))
}

// stored describes how an arithmetic type, a pointer to one, or a number is stored: "8 bytes",
// "8 bytes, floating point". It reports false for all other template arguments.
func stored(argument string, class int) (string, bool) {
	if digits := strings.TrimRight(argument, "ul"); digits != "" &&
		strings.Trim(digits, "0123456789") == "" {
		return digits, true
	}
	pointee := strings.TrimRight(argument, "*& ")
	size, long, kind := 0, 0, ""
	for word := range strings.FieldsSeq(pointee) {
		switch word {
		case "const", "signed", "unsigned", "int":
		case "long":
			long++
		case "char", "char8_t":
			size = 1
		case "bool":
			size, kind = 1, ", Boolean"
		case "short", "char16_t":
			size = 2
		case "wchar_t", "char32_t":
			size = 4
		case "float":
			size, kind = 4, ", floating point"
		case "double":
			size, kind = 8, ", floating point"
		case "__int128":
			size = 16
		default:
			return "", false
		}
	}
	switch {
	case long > 0 && kind != "":
		size = 16
	case long == 1:
		size = class / 8
	case long > 1:
		size = 8
	case size == 0: // int
		size = 4
	}
	return fmt.Sprint(size, " bytes", kind, argument[len(pointee):]), pointee != ""
}
