package abi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// blind collects what programs of the old library can see and what was not compared.
type blind struct {
	private  names // types that were treated as private: of source files, or not in the headers
	declared names // classes whose layout the old library's debug information does not have
	gone     names // types whose layout the new one's does not have
	untyped  names // exports without a type on either side
	moved    names // exports of old that another library has now
	unknown  names // exports that use types which are not read
	virtuals names // virtual functions whose types one side does not have
	imports  names // imports of the new library that were not found
	unread   names // libraries that were not read and may have them
}

// names are unique and in order of discovery.
type names struct {
	list []string
	seen map[string]bool
}

func (n *names) add(name string) {
	if name == "" {
		name = "an unnamed type"
	}
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	if !n.seen[name] {
		n.seen[name] = true
		n.list = append(n.list, name)
	}
}

// maxBlind limits the names in a sentence.
const maxBlind = 20

// String returns the sorted names, as listed does.
func (n *names) String() string { return n.first(maxBlind) }

// first returns the sorted names, of which some are shown.
func (n *names) first(most int) string {
	slices.Sort(n.list)
	return listed(n.list, most)
}

// listed returns "a, b and 3 more".
func listed(names []string, most int) string {
	shown := names[:min(len(names), most)]
	out := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

// readable returns the demangled names of symbols.
func readable(symbols []string) []string {
	out := make([]string, len(symbols))
	for i, s := range symbols {
		out[i] = Readable(s)
	}
	return out
}

// declared notes a type that has no layout on one side or on both. C programs cannot use the
// members of a type that is only declared; C++ programs can implement a class that the library
// only calls, which compilers write as a declaration.
func (t *typeComparison) declared(p *pair, x, y *Type) {
	in := &t.old.Types[p.a]
	switch {
	case p.from != nil && in.System && !strings.Contains(in.Name, "<"): // a member of FILE
	case (x.System || y.System || strings.HasPrefix(x.Name, "std::")) && t.standard(x.Name):
	case !x.Declared:
		if !x.Private {
			t.blind.gone.add(x.Name)
		}
	case x.Class || strings.HasPrefix(t.old.Symbols[p.symbol].Name, "_Z"):
		t.blind.declared.add(x.Name)
	}
}

// standard reports whether an instance of a template of the standard library has only arguments
// that are compared elsewhere, or of the standard library.
func (t *typeComparison) standard(name string) bool {
	old, new := t.names()
	_, arguments, _ := strings.Cut(name, "<")
	for _, word := range words.FindAllString(arguments, -1) {
		if !strings.HasPrefix(word, "std::") && !strings.HasPrefix(word, "__") && !builtin(word) &&
			!(old[word] && new[word]) {
			return false
		}
	}
	return true
}

// words matches names with their namespaces.
var words = lazyregexp.New(`[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*`)

// builtin reports whether a word in a type is one of the language.
func builtin(word string) bool {
	switch word {
	case "const", "volatile", "signed", "unsigned", "char", "char8_t", "char16_t", "char32_t",
		"wchar_t", "short", "int", "long", "float", "double", "bool", "void", "true", "false",
		"nullptr", "decltype", "noexcept", "anonymous", "namespace", "unnamed", "class", "struct",
		"u", "ul", "l", "ull", "ll", "U", "UL", "L", "ULL", "LL":
		return true
	}
	return false
}

// notTyped notes exports that both libraries have and whose types are not known.
func (c *comparison) notTyped() {
	for i := range c.old.Symbols {
		a := &c.old.Symbols[i]
		if c.matched[i] < 0 || c.broken[i] || isPrivate(a.Version) || !c.programsUse(a) {
			continue
		}
		if b := &c.new.Symbols[c.matched[i]]; a.Type == 0 || b.Type == 0 {
			c.blind.untyped.add(Readable(a.Name))
		}
	}
}

// programsUse reports whether programs use an export by a type. The compiler makes tables and
// thunks (_ZT…), guards (_ZGV…) and copies of inline functions of the standard library.
func (c *comparison) programsUse(s *Symbol) bool {
	switch {
	case strings.HasPrefix(s.Name, "_ZT"), strings.HasPrefix(s.Name, "_ZGV"),
		s.Weak && isStandardLibrary(c.old, s.Name):
		return false
	}
	return s.Kind != elfobj.NoType
}

// guessed returns the private types of which only the debug information says that they are: those
// of a source file, which programs may know from a header with the same text.
func (c *comparison) guessed() *names {
	if c.old.headers {
		return &names{}
	}
	return &c.blind.private
}

// sentences returns the blind spots of a comparison, a sentence each; never nil.
func (c *comparison) sentences() []string {
	out := []string{}
	sides := []struct {
		name     string
		evidence Evidence
	}{{"old", c.old.Evidence}, {"new", c.new.Evidence}}
	for _, side := range sides {
		if side.evidence == EvidenceSymbols {
			out = append(out, "The "+side.name+" library has no types, so only symbols were compared.")
		}
	}
	for _, x := range []struct {
		format string
		names  *names
	}{
		{"Types that a source file defines, treated as private: %s. --headers decides that.",
			c.guessed()},
		{"Classes that are declared only: %s. Build with -femit-class-debug-always (GCC) or " +
			"-fstandalone-debug (Clang) to compare them.",
			&c.blind.declared},
		{"Types that the new library only declares: %s.", &c.blind.gone},
		{"Exports without types: %s.", &c.blind.untyped},
		{"Exports that moved to another library, whose types are not compared: %s.", &c.blind.moved},
		{"Exports with types that compat does not read: %s.", &c.blind.unknown},
		{"Virtual functions without types on one side: %s.", &c.blind.virtuals},
	} {
		if len(x.names.list) > 0 {
			out = append(out, fmt.Sprintf(x.format, x.names))
		}
	}
	if len(c.blind.imports.list) > 0 {
		c.result.Unread = fmt.Sprintf(
			"Not compared: whether libraries that were not read (%s) have what the new one imports: %s.",
			c.blind.unread.first(maxListed), c.blind.imports.first(maxListed))
		out = append(out, c.result.Unread)
	}
	for _, p := range c.result.Problems {
		out = append(out, "Not compared: "+p+".")
	}
	return out
}
