package rules

import (
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

// The names of std::string in mangled symbols: in the ABI of GCC 5 and later, and in the older one.
const (
	newString = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
	oldString = "Ss"
)

// otherStringABI finds the same function with the other ABI of std::string in the libraries of a
// load. Names with substitutions inside are not found.
func otherStringABI(
	v *analyzer.View,
	symbol string,
) (twin string, of *dynlink.Library, flag string) {
	for _, x := range []struct{ from, to, flag string }{
		{newString, oldString, "-D_GLIBCXX_USE_CXX11_ABI=0"},
		{oldString, newString, "-D_GLIBCXX_USE_CXX11_ABI=1"},
	} {
		if !strings.HasPrefix(symbol, "_Z") || !strings.Contains(symbol, x.from) {
			continue
		}
		twin := strings.ReplaceAll(symbol, x.from, x.to)
		for _, f := range v.Loading.Found {
			if f.Library.Known && f.Library.Defines(twin, "") {
				return twin, f.Library, x.flag
			}
		}
	}
	return "", nil, ""
}

// withStringABI returns the compiler flag of the other ABI.
func withStringABI(of *dynlink.Library, flag string) []fix.Candidate {
	return []fix.Candidate{
		{
			Fix: fix.Fix{
				Kind:    fix.KindLinkFlag,
				Title:   "Compile with the std::string ABI of " + of.Names()[0],
				Command: "CXXFLAGS=" + shellword.Quote(flag),
			},
		},
	}
}
