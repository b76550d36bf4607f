package rules

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

// Parts of mangled names that depend on the ABI of std::string. The namespace and the tag of
// functions that return a string are of GCC 5 and later, the abbreviations of the older ABI.
var (
	newABI = []string{"NSt7__cxx11", "B5cxx11"}
	oldABI = []string{"Ss", "Sb"}
)

// otherStringABI finds the same function with the other ABI of std::string in the libraries of the
// load, or else in another object of the artifact: a linker drops a library (--as-needed) of which
// it finds no symbol. A function of the older ABI that only returns a string is not found: nothing
// in its name says so.
func otherStringABI(
	p *analyzer.Pass,
	v *analyzer.View,
	symbol string,
) (twin string, of *dynlink.Library, flag string) {
	start := len(symbol)
	for _, part := range slices.Concat(newABI, oldABI) {
		if i := strings.Index(symbol, part); i >= 0 {
			start = min(start, i)
		}
	}
	const shortest = len("_Z") + 1
	if !strings.HasPrefix(symbol, "_Z") || start == len(symbol) || start < shortest {
		return "", nil, ""
	}
	flag = "-D" + fix.StringABI + "=1"
	if hasNewABI(symbol) {
		flag = "-D" + fix.StringABI + "=0"
	}
	wanted := withoutStringABI(symbol)
	if wanted == "" {
		return "", nil, ""
	}
	var libraries []*dynlink.Library
	for _, f := range v.Loading.Found {
		libraries = append(libraries, f.Library)
	}
	for _, u := range p.Views {
		libraries = append(libraries, u.Library)
	}
	for _, l := range libraries {
		if !l.Known || l == v.Library {
			continue
		}
		for name := range l.Exports(symbol[:start]) {
			if hasNewABI(name) != hasNewABI(symbol) && withoutStringABI(name) == wanted {
				return name, l, flag
			}
		}
	}
	return "", nil, ""
}

func hasNewABI(symbol string) bool {
	return slices.ContainsFunc(newABI, func(part string) bool {
		return strings.Contains(symbol, part)
	})
}

// withoutStringABI returns a demangled name that is the same for both ABIs; "" if it is not
// mangled.
func withoutStringABI(symbol string) string {
	return ofBothABIs.Replace(analyzer.Demangle(symbol))
}

var ofBothABIs = strings.NewReplacer(
	"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string",
	"std::__cxx11::", "std::",
	"[abi:cxx11]", "",
)

// withStringABI returns the compiler flag of the other ABI. A library that the object does not link
// was dropped by the linker, or has to be linked too.
func withStringABI(v *analyzer.View, of *dynlink.Library, flag string) []fix.Candidate {
	title := fix.Titled("Compile with the std::string ABI of %s", fix.Library(of.Names()[0]))
	if !v.Loading.Has(of) {
		title = title.Append(", and link it")
	}
	return []fix.Candidate{{Fix: fix.Fix{
		Kind:    fix.KindLinkFlag,
		Title:   title,
		Command: "CXXFLAGS=" + shellword.Quote(flag),
	}}}
}
