package abi

import "testing"

// The number of types that were treated as private is in each result, also where headers decided it
// and no blind spot has their names.
func TestPrivateTypes(t *testing.T) {
	sides := func(source bool, headers string) *Result {
		old, new := structure(0, "a"), structure(0, "a", "m")
		for _, l := range []*Library{old, new} {
			l.Symbols = l.Symbols[:1] // f, which has a type
			if source {
				l.Types[2].File, l.Types[2].Private = "s.c", true
			}
			if headers != "" {
				h := NewHeaders()
				h.Add("h.h", []byte(headers))
				l.SetHeaders(h)
			}
		}
		return Compare(old, new, Options{})
	}
	for _, test := range []struct {
		name    string
		source  bool   // a source file defines the structure
		headers string // "" = none are given
		private int
		blind   int
		verdict Verdict
	}{
		{"of a header", false, "", 0, 0, Breaking},
		{"of a source file", true, "", 1, 1, None},
		{"not in the headers", true, "struct s;", 1, 0, None},
		{"in the headers", true, "struct s { int a; };", 0, 0, Breaking},
	} {
		r := sides(test.source, test.headers)
		if r.PrivateTypes != test.private || len(r.Blind) != test.blind || r.Verdict != test.verdict {
			t.Errorf("%s: %d private types, blind spots %q, %s", test.name, r.PrivateTypes, r.Blind,
				written(r))
		}
	}
	table := func() *Library {
		l := structure(0, "a")
		l.Symbols = exporting("_ZTV1s").Symbols
		l.Types[2].Private, l.Symbols[0].Type = true, 2
		return l
	}
	if r := Compare(table(), table(), Options{}); r.PrivateTypes != 1 || len(r.Blind) != 1 {
		t.Errorf("virtual table of a private class: %d private types, blind spots %q",
			r.PrivateTypes, r.Blind)
	}
	var whole Result
	whole.merge(sides(true, ""), true)
	whole.merge(sides(true, "struct s;"), true)
	if whole.PrivateTypes != 2 {
		t.Errorf("%d private types of a package, want 2", whole.PrivateTypes)
	}
}
