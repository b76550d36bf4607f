package abi

import (
	"os"
	"strings"
	"testing"
)

// exporting returns a library with exports and no types.
func exporting(names ...string) *Library {
	l := &Library{
		Name: "libx.so.1", SONAME: "libx.so.1", Machine: "x86_64", Class: 64, Order: "little",
		Evidence: EvidenceSymbols, Versym: true,
	}
	for _, n := range names {
		s := Symbol{Kind: "func"}
		s.Name, s.Version, _ = strings.Cut(n, "@")
		if s.Version != "" {
			l.Versions = append(l.Versions, s.Version)
		}
		l.Symbols = append(l.Symbols, s)
	}
	return l
}

const symbolsFile = `libx.so.1 libx1 #MINVER#
| libx1 #MINVER#, libx-compat
* Build-Depends-Package: libx-dev
 X_1@X_1 1.0
 open@X_1 1.0
 (optional)maybe@Base 1.0
 (arch=!amd64 !arm64)other@Base 1.0
 (symver)X_PRIVATE 1.0
 (c++)"Shape::area() const@Base" 1.2
#MISSING: 1.3# gone@Base 1.0
`

func TestSymbolsFile(t *testing.T) {
	old, err := ParseAny("debian/libx1.symbols", []byte(symbolsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		new  *Library
		want string
	}{
		{"all there", exporting("open@X_1", "_ZNK5Shape4areaEv"),
			"none, breaks 0 of 2\n"},
		{"one more", exporting("open@X_1", "_ZNK5Shape4areaEv", "more"),
			"compatible, breaks 0 of 2\nnote debian-symbols more: more is not in the symbols file.\n"},
		{"one less", exporting("open@X_1"),
			"breaking, breaks 1 of 2\nerror exported-symbol-removed Shape::area() const: " +
				"Shape::area() const is no longer exported.\n"},
	} {
		if got := written(Compare(old, c.new, Options{})); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, c.want)
		}
	}
	for text, why := range map[string]string{
		"":                                   "names no library",
		" a@Base 1\n":                        "before the name",
		"nothing\n":                          "is not valid in a symbols file",
		"libx.so.1 libx1\nliby.so.1 liby1\n": "only files with one library",
	} {
		if _, err := ParseAny("x.symbols", []byte(text)); err == nil ||
			!strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
}

// TestXML reads the output of abidw 2.2 for testdata/xml/point.c, and compares it with the same
// build of the library and with one whose structure has an additional member.
func TestXML(t *testing.T) {
	b, err := os.ReadFile("testdata/xml/point.abi")
	if err != nil {
		t.Fatal(err)
	}
	old, err := ParseAny("point.abi", b)
	if err != nil {
		t.Fatal(err)
	}
	same, grown := read(t, "testdata/xml/point.so"), read(t, "testdata/xml/grown.so")
	if r := Compare(old, same, Options{}); r.Verdict != None || !r.Types() {
		t.Errorf("the same library, types compared: %v:\n%s", r.Types(), written(r))
	}
	const want = `breaking, breaks 1 of 2
error type-layout-changed point: struct point: it had 8 bytes and now has 12; the member y moved ` +
		`from byte 4 to byte 8; the member z was added at byte 4.
`
	if got := written(Compare(old, grown, Options{})); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	// A group of two libraries, one of which has the types that both use.
	_, types, _ := strings.Cut(string(b), "<abi-instr")
	types, _, _ = strings.Cut(types, "</abi-corpus>")
	second := strings.ReplaceAll(string(b), "<abi-instr"+types, "")
	group := "<abi-corpus-group>" + string(b) + second + "</abi-corpus-group>"
	all, err := ParseAll("group.abi", []byte(group))
	if err != nil || len(all) != 2 {
		t.Fatalf("%d libraries, %v", len(all), err)
	}
	if r := Compare(all[0], grown, Options{}); written(r) != want {
		t.Errorf("in a group: got\n%swant\n%s", written(r), want)
	}
	if all[1].Evidence != EvidenceSymbols || len(all[1].Symbols) != len(old.Symbols) {
		t.Errorf("the second library has %d symbols, evidence %s", len(all[1].Symbols), all[1].Evidence)
	}
	if _, err := ParseAny("group.abi", []byte(group)); err == nil {
		t.Error("a group was read as one library")
	}
	deep := strings.Repeat("<abi-corpus>", 1000)
	for _, text := range []string{deep, "<abi-corpus", "<abi-corpus-group></abi-corpus-group>"} {
		if _, err := ParseAny("x.abi", []byte(text)); err == nil {
			t.Errorf("%.40q was read", text)
		}
	}
}

// FuzzParseAny checks that a description that can be read is equal to itself.
func FuzzParseAny(f *testing.F) {
	xml, err := os.ReadFile("testdata/xml/point.abi")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(xml)
	f.Add([]byte(symbolsFile))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParseAny("x.symbols", b)
		if err != nil {
			return
		}
		if r := Compare(l, l, Options{}); r.Verdict != None {
			t.Errorf("compared with itself: %s", written(r))
		}
	})
}

func TestSuppressions(t *testing.T) {
	old, new := exporting("a", "b@X_1", "_ZN3foo3barEi", "kept"), exporting("kept", "added")
	names := func(r *Result) string {
		var out []string
		for _, c := range r.Changes {
			name, _, _ := strings.Cut(c.Symbol, "@")
			out = append(out, name)
		}
		return strings.Join(out, " ")
	}
	for text, want := range map[string]string{
		"":                                       "_ZN3foo3barEi a b added",
		"[suppress_function]\n":                  "_ZN3foo3barEi a b added",
		"[suppress_function]\nsymbol_name = a\n": "_ZN3foo3barEi b added",
		"[suppress_function]\nsymbol_name_regexp = ^[ab]$\n":                 "_ZN3foo3barEi added",
		"[suppress_function]\nname_regexp = ^foo::\n":                        "a b added",
		"[suppress_function]\nname = foo::bar(int)\n":                        "a b added",
		"[suppress_function]\nname_not_regexp = ^foo::\n":                    "_ZN3foo3barEi",
		"[suppress_function]\nsymbol_version = X_1\n":                        "_ZN3foo3barEi a added",
		"[suppress_function]\nchange_kind = added-function\nname_regexp=.\n": "_ZN3foo3barEi a b",
		"[suppress_file]\nsoname_regexp = libx\n":                            "",
		"[suppress_type]\nname_regexp = .\n":                                 "_ZN3foo3barEi a b added",
		// a condition on types is not met without types
		"[suppress_function]\nname_regexp = .\nparameter = '0 int\n": "_ZN3foo3barEi a b added",
		// sections with unknown conditions suppress nothing
		"[suppress_function]\nname_regexp = .\nparamter = '0 int\n": "_ZN3foo3barEi a b added",
		"[suppress_function]\nname_regexp = (\n":                    "_ZN3foo3barEi a b added",
		"[suppress_everything]\nname_regexp = .\n":                  "_ZN3foo3barEi a b added",
	} {
		s, unused, problems := ParseSuppressions([]byte(text))
		r := Compare(old, new, Options{})
		s.Apply(r)
		if got := names(r); got != want {
			t.Errorf("%q leaves %q, want %q (%v)", text, got, want, problems)
		}
		unknown := strings.Contains(text, "= (") || strings.Contains(text, "everything") ||
			strings.Contains(text, "paramter")
		if unknown != (len(problems) > 0) || len(unused) > 0 {
			t.Errorf("%q: problems %q, unused %q", text, problems, unused)
		}
	}
}

func TestSuppressedEnumerators(t *testing.T) {
	library := func(values ...Enumerator) *Library {
		l := exporting("f")
		l.Evidence = EvidenceDWARF
		l.Types = []Type{
			{Kind: Void},
			{Kind: Enum, Name: "state", Size: 4, Enumerators: values},
			{Kind: Function, Params: []Param{{Type: 1}}},
		}
		l.Symbols[0].Type = 2
		return l
	}
	old := library(Enumerator{"IDLE", 0}, Enumerator{"DONE", 1})
	new := library(Enumerator{"IDLE", 0}, Enumerator{"BUSY", 1}, Enumerator{"DONE", 2})
	for text, want := range map[string]Verdict{
		"changed_enumerators = LAST, DONE":       None,
		"changed_enumerators = BUSY":             Breaking,
		"changed_enumerators_regexp = ^X, ^DO":   None,
		"changed_enumerators_regexp = ^BU":       Breaking,
		"name = other\nchanged_enumerators=DONE": Breaking,
	} {
		s, unused, problems := ParseSuppressions([]byte("[suppress_type]\n" + text + "\n"))
		r := Compare(old, new, Options{})
		s.Apply(r)
		if r.Verdict != want || len(unused)+len(problems) > 0 {
			t.Errorf("%s: %s, want %s (%q, %q)", text, r.Verdict, want, unused, problems)
		}
	}
}

func TestSymbolsFileWithoutSymbols(t *testing.T) {
	for _, text := range []string{
		"", "# empty\n", "libx.so.1 libx1 #MINVER#\n",
		"libx.so.1 libx1 #MINVER#\n (arch=amd64)f@Base 1.0\n",
	} {
		if _, err := ParseAny("libx1.symbols", []byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestPrivatePatterns(t *testing.T) {
	r := Compare(exporting("a", "b@X_1", "_ZN3foo6detail3barEi"), exporting(), Options{})
	r.Private([]string{"a", "X_*", "foo::detail::*"})
	if r.Verdict != Compatible || r.Broken != 0 {
		t.Errorf("%s", written(r))
	}
}

func TestGlobs(t *testing.T) {
	is := Globs([]string{"include/**", "src/*.hpp"})
	for file, want := range map[string]bool{
		"/build/include/x/y.h": true, "include/x.h": true, "/b/src/a.hpp": true,
		"/b/src/sub/a.hpp": false, "/usr/myinclude/x.h": false, "x.h": false,
	} {
		if is(file) != want {
			t.Errorf("%s: %v", file, !want)
		}
	}
}

func TestTemplateArguments(t *testing.T) {
	for _, c := range []struct {
		old, new string
		want     bool
	}{
		{"std::vector<int, std::allocator<int> >",
			"std::vector<long int, std::allocator<long int> >", true},
		{"std::vector<long unsigned int>", "std::vector<unsigned long>", false},
		{"std::vector<long>", "std::vector<long long>", false},
		{"std::vector<unsigned>", "std::vector<int>", false},
		{"std::vector<int>", "std::vector<float>", true},
		{"std::vector<bool*>", "std::vector<char*>", true},
		{"std::map<int, std::vector<short> >", "std::map<int, std::vector<char> >", true},
		{"std::bitset<32ul>", "std::bitset<64ul>", true},
		{"std::array<int, 4ul>", "std::array<int, 4>", false},
		{"std::vector<Point>", "std::vector<Position>", false},
		{"std::function<void (int, char)>", "std::function<void (int, long)>", false},
		{"std::list<int>", "std::deque<long>", false},
		{"std::complex<long double>", "std::complex<double>", true},
		{"std::vector<short int>", "std::vector<short>", false},
		{"Point", "Position", false},
	} {
		if got := otherArguments(c.old, c.new, 64, 8); got != c.want {
			t.Errorf("%s and %s: %t", c.old, c.new, got)
		}
	}
}

func TestRecordsAlignment(t *testing.T) {
	for producer, want := range map[string]bool{
		"GNU C++17 12.2.0 -mtune=generic -g": true,
		"GNU C 4.8.5 20150623":               false,
		"clang version 14.0.6":               true,
		"clang LLVM (rustc version 1.70.0)":  true,
		"":                                   true,
		"clang based Intel(R) oneAPI DPC++/C++ Compiler 2024.2.0":              true,
		"Intel(R) C++ Intel(R) 64 Compiler Classic for applications, 2021.8.0": false,
	} {
		if got := recordsAlignment(producer); got != want {
			t.Errorf("%q: %t", producer, got)
		}
	}
}

// TestOtherCompiler compares one class as two compilers describe it: one writes the argument of a
// base's template as in the source, no alignment, and the slot of the deleting destructor; the other
// writes the type that the argument stands for, the alignment, and no slot of a destructor.
func TestOtherCompiler(t *testing.T) {
	library := func(argument string, align uint32, slot int64, variadic bool, more ...Virtual) *Library {
		l := exporting("_ZN1M3logEPKcz")
		l.Class, l.Evidence, l.Unaligned = 64, EvidenceDWARF, align == 0
		l.Types = []Type{
			{Kind: Void},
			{Kind: Struct, Name: "Base<" + argument + ">", Size: 8,
				Members: []Member{{Name: "n", Type: 2}}},
			{Kind: Base, Name: "unsigned long", Size: 8, Encoding: 7},
			{Kind: Struct, Name: "M", Size: 64, Align: align, Bases: []BaseClass{{Type: 1, Offset: 8}},
				Virtuals: append(more, Virtual{Name: "_ZN1MD1Ev", Slot: slot})},
			{Kind: Pointer, Elem: 3, Size: 8},
			{Kind: Function, Params: []Param{{Type: 4}}, Variadic: variadic},
		}
		l.Symbols[0].Type = 5
		return l
	}
	old := library("uintptr_t", 0, 1, false)
	if r := Compare(old, library("unsigned long", 64, 0, true), Options{}); r.Verdict == Breaking {
		t.Errorf("%s", written(r))
	}
	for what, new := range map[string]*Library{
		"other argument": library("float", 0, 1, false),
		"new virtual":    library("uintptr_t", 0, 2, false, Virtual{Name: "_ZN1M1gEv", Slot: 0}),
	} {
		if what == "other argument" {
			new.Types[2] = Type{Kind: Base, Name: "float", Size: 4, Encoding: 4}
		}
		if r := Compare(old, new, Options{}); r.Verdict != Breaking {
			t.Errorf("%s: %s", what, written(r))
		}
	}
}
