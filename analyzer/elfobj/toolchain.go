package elfobj

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// Toolchain is how the object was probably built. All of it is a hint: strip removes .comment,
// and nothing follows from a missing entry.
type Toolchain struct {
	Tools     []Tool   `json:"tools"`     // in the order of .comment
	Languages []string `json:"languages"` // in the order of the variable languages
}

// Tool is a compiler or linker.
type Tool struct {
	// "gcc", "clang", "rustc", "lld", "mold", …; "" if the string is unknown.
	Name    string `json:"name"`
	Version string `json:"version"` // "9.4.0"; "" if Name is ""
	// The vendor's version: "Ubuntu 9.4.0-1ubuntu1~20.04.2", "Red Hat 10.2.1-11".
	Detail string `json:"detail,omitempty"`
	Text   string `json:"text"` // the complete string
}

// tools lists the strings that compilers and linkers write to .comment. The first group is the
// version.
var tools = []struct {
	name    string
	pattern *lazyregexp.Regexp
}{
	{"gcc", lazyregexp.New(`^GCC: \(.*?\) ([0-9][0-9.]*)`)},
	{"clang", lazyregexp.New(`\bclang version ([0-9][0-9.]*)`)},
	{"rustc", lazyregexp.New(`^rustc version ([0-9][0-9.]*)`)},
	{"lld", lazyregexp.New(`^Linker: .*?LLD ([0-9][0-9.]*)`)},
	{"mold", lazyregexp.New(`^mold ([0-9][0-9.]*)`)},
	{"ghc", lazyregexp.New(`^GHC ([0-9][0-9.]*)`)},
	{"ldc", lazyregexp.New(`^ldc version ([0-9][0-9.]*)`)},
	{"zig", lazyregexp.New(`^zig ([0-9][0-9.]*)`)},
	{"swift", lazyregexp.New(`\bSwift version ([0-9][0-9.]*)`)},
	{"icx", lazyregexp.New(`^Intel\(R\) .*Compiler ([0-9][0-9.]*)`)},
}

var (
	gccMaker   = lazyregexp.New(`^GCC: \((.*?)\) [0-9.]+(?: [0-9]{8})?(?: \((.*)\))?`)
	clangMaker = lazyregexp.New(`^(.*?)\s*clang version [0-9][0-9.]*(\S*)`)
	rustHash   = lazyregexp.New(`17h[0-9a-f]{16}E$`)
)

// tool parses one string of .comment.
func tool(text string) Tool {
	for _, t := range tools {
		m := t.pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		out := Tool{Name: t.name, Version: strings.TrimRight(m[1], "."), Text: text}
		switch t.name {
		case "gcc":
			if m := gccMaker.FindStringSubmatch(text); m != nil {
				if out.Detail = m[1]; m[2] != "" { // GCC: (GNU) 10.2.1 20210130 (Red Hat 10.2.1-11)
					out.Detail = m[2]
				}
			}
		case "clang":
			m := clangMaker.FindStringSubmatch(text)
			out.Detail = strings.TrimSpace(m[1] + " " + m[2])
		}
		return out
	}
	return Tool{Text: text}
}

// languages lists how each language is recognized: by tools, section names, needed libraries or
// symbols.
var languages = []struct {
	name             string
	tools            []string
	sections, needed []string
	symbol           func(string) bool
}{
	{
		"c++",
		nil,
		nil,
		[]string{"libstdc++.so.6", "libc++.so.1", "libc++_shared.so"},
		func(s string) bool {
			return s == "__gxx_personality_v0" || strings.HasPrefix(s, "_ZNSt") ||
				strings.HasPrefix(s, "_ZSt") ||
				s == "_Znwm" ||
				s == "_Znwj"
		},
	},
	{"rust", []string{"rustc"}, []string{".rustc"}, nil, func(s string) bool {
		return s == "rust_eh_personality" || strings.HasPrefix(s, "__rust_") ||
			strings.HasPrefix(s, "_ZN") && rustHash.MatchString(s)
	}},
	{
		"go",
		nil,
		[]string{".gopclntab", ".go.buildinfo"},
		nil,
		func(s string) bool { return strings.HasPrefix(s, "_cgo_") || s == "crosscall2" },
	},
	{
		"fortran",
		nil,
		nil,
		[]string{
			"libgfortran.so.3",
			"libgfortran.so.4",
			"libgfortran.so.5",
			"libifcore.so.5",
			"libflang.so",
		},
		func(s string) bool { return strings.HasPrefix(s, "_gfortran_") },
	},
	{"cython", nil, nil, nil, func(s string) bool { return strings.HasPrefix(s, "__pyx_") }},
	{
		"cuda",
		nil,
		[]string{".nv_fatbin", ".nvFatBinSegment", "__nv_relfatbin"},
		nil,
		func(s string) bool { return s == "__cudaRegisterFatBinary" },
	},
	{
		"hip",
		nil,
		[]string{".hip_fatbin", ".hipFatBinSegment"},
		nil,
		func(s string) bool { return s == "__hipRegisterFatBinary" },
	},
	{"haskell", []string{"ghc"}, nil, nil, func(s string) bool { return s == "hs_init" }},
	{
		"d",
		[]string{"ldc"},
		nil,
		nil,
		func(s string) bool { return strings.HasPrefix(s, "_d_dso_registry") },
	},
	{
		"swift",
		[]string{"swift"},
		[]string{"swift5_protocols"},
		[]string{"libswiftCore.so"},
		func(string) bool { return false },
	},
}

// Toolchain returns what is known about how the object was built.
func (o *Object) Toolchain() Toolchain {
	t := Toolchain{Tools: []Tool{}, Languages: []string{}}
	for _, c := range o.Comment {
		t.Tools = append(t.Tools, tool(c))
	}
	for _, l := range languages {
		if l.name == "go" && o.GoBuildID ||
			slices.ContainsFunc(t.Tools, func(u Tool) bool { return slices.Contains(l.tools, u.Name) }) ||
			slices.ContainsFunc(
				o.Sections,
				func(s Section) bool { return slices.Contains(l.sections, s.Name) },
			) ||
			slices.ContainsFunc(o.Needed, func(n string) bool { return slices.Contains(l.needed, n) }) ||
			o.Imports.Any(l.symbol) || o.Exports.Any(l.symbol) {
			t.Languages = append(t.Languages, l.name)
		}
	}
	return t
}
