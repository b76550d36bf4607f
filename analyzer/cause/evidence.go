package cause

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/result"
)

const (
	shownSymbols = 6 // per row
	shownObjects = 3
	shownRows    = 40
)

// evidence returns the table of a cause, with a row for each version of a library. The row with
// the most findings comes first; for symbol versions that are too new, the version that the
// fewest systems with the same libc have. Each symbol and object is counted once; the same object
// in several artifacts is one.
func evidence(g *group) []result.Evidence {
	type key struct{ library, version string }
	type row struct {
		key
		symbols, objects set[string]
		demangled        map[string]string
		findings         int
	}
	byKey := map[key]*row{}
	var rows []*row
	for _, f := range g.all {
		if g.states(f) {
			continue
		}
		if f.Library+f.Version+f.Symbol == "" && (f.Object == "" || g.guest(f)) {
			continue // the title says all
		}
		k := key{f.Library, f.Version}
		r := byKey[k]
		if r == nil {
			r = &row{key: k, demangled: map[string]string{}}
			byKey[k] = r
			rows = append(rows, r)
		}
		r.findings++
		if f.Symbol != "" && r.symbols.add(f.Symbol) && f.Demangled != "" &&
			len(r.symbols.list) <= shownSymbols {
			r.demangled[f.Symbol] = f.Demangled
		}
		if f.Object != "" {
			r.objects.add(f.Object)
		}
	}
	systems := map[string]int{} // on which a version exists: the rarest one is decisive
	if g.kind.Systems != nil {
		for _, r := range rows {
			systems[r.version] = g.kind.Systems(g, r.version)
		}
	}
	slices.SortStableFunc(rows, func(a, b *row) int {
		return cmp.Or(systems[a.version]-systems[b.version], b.findings-a.findings,
			strings.Compare(a.library, b.library),
			strings.Compare(a.version, b.version))
	})
	out := make([]result.Evidence, 0, min(len(rows), shownRows))
	for _, r := range rows[:min(len(rows), shownRows)] {
		e := result.Evidence{Version: r.version, Library: r.library, Symbols: []string{}}
		if e.Version != "" && ofMacOS(g.all[0]) {
			e.Version = macOS + e.Version // a number alone says nothing
		}
		for _, s := range r.symbols.list[:min(len(r.symbols.list), shownSymbols)] {
			// overloads have the same short name
			if name := Short(s, r.demangled[s]); !slices.Contains(e.Symbols, name) {
				e.Symbols = append(e.Symbols, name)
			}
		}
		e.MoreSymbols = len(r.symbols.list) - len(e.Symbols)
		e.Objects = r.objects.list[:min(len(r.objects.list), shownObjects)]
		e.MoreObjects = len(r.objects.list) - len(e.Objects)
		if e.Objects == nil {
			e.Objects = []string{}
		}
		out = append(out, e)
	}
	return out
}

// macOS precedes the release of macOS in a row.
const macOS = "macOS "

// namedFirst moves the rows with symbol versions that texts name to the front, in that order.
func namedFirst(rows []result.Evidence, texts ...string) {
	words := strings.FieldsFunc(strings.Join(texts, " "), func(c rune) bool {
		return strings.ContainsRune(" ,;:()", c)
	})
	place := func(e result.Evidence) int {
		i := slices.IndexFunc(words, func(w string) bool {
			// "needs glibc 2.34 or later", "needs macOS 14.0"
			return w == e.Version || "GLIBC_"+w == e.Version || macOS+w == e.Version
		})
		if i < 0 {
			return len(words)
		}
		return i
	}
	slices.SortStableFunc(rows, func(a, b result.Evidence) int { return place(a) - place(b) })
}

// Short returns a short name of a symbol: demangled, without parameters, template arguments and
// inline namespaces ("std::string::_M_create"). A name that is not mangled is unchanged.
func Short(symbol, demangled string) string {
	return clip(short(symbol, demangled), maxSymbol)
}

// Names reports whether a name is that of a symbol: as it is in the file, demangled, or short,
// which overloads and instances of a template have in common.
func Names(name, symbol string) bool {
	if name == symbol {
		return true
	}
	demangled := result.Demangle(symbol)
	if demangled == "" {
		return false
	}
	s := short(symbol, demangled)
	return name == demangled || name == s || name == clip(s, maxSymbol)
}

// short is Short without a limit.
func short(symbol, demangled string) string {
	if demangled == "" {
		if demangled = result.Demangle(symbol); demangled == "" {
			return symbol
		}
	}
	s := strings.NewReplacer("std::__cxx11::", "std::", "std::__1::", "std::",
		"(anonymous namespace)", "(anonymous)", "[abi:cxx11]", "").Replace(demangled)
	s = dropTemplates(s)
	s = strings.ReplaceAll(s, "std::basic_string", "std::string")
	if i := parameters(s); i > 0 {
		s = s[:i]
	}
	// "void ns::f" starts with its return type
	if i := strings.LastIndexByte(s, ' '); i >= 0 && !strings.Contains(s, "operator") &&
		!strings.HasPrefix(s, "vtable") && !strings.HasPrefix(s, "typeinfo") &&
		!strings.Contains(s, " for ") {
		s = s[i+1:]
	}
	return s
}

const maxSymbol = 60

// dropTemplates removes template arguments, but not operators that contain < or >.
func dropTemplates(s string) string {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if depth == 0 && strings.HasSuffix(s[:i], "operator") || c == '>' && i > 0 && s[i-1] == '-' {
			b.WriteByte(c)
			continue
		}
		switch {
		case c == '<':
			depth++
		case c == '>' && depth > 0:
			depth--
		case depth == 0:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// parameters returns the index of the parameter list of a function, or -1.
func parameters(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] != '(' || strings.HasPrefix(s[i:], "(anonymous)") {
			continue
		}
		if strings.HasSuffix(s[:i], "operator") { // operator()(int)
			continue
		}
		return i
	}
	return -1
}

// clip limits a name to a number of characters.
func clip(s string, limit int) string {
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	return string(r[:limit-1]) + "…"
}

// base returns the file name of an object.
func base(object string) string { return path.Base(object) }
