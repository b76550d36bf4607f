package abi

import "testing"

// structure returns a library with f(struct s *), g(const struct s &) if by is reference, and
// h(struct s) if by is direct. struct s has members of 4 bytes.
func structure(by access, members ...string) *Library {
	l := exporting("f", "unrelated")
	l.Evidence = EvidenceDWARF
	s := Type{Kind: Struct, Name: "s", Size: 4 * uint64(len(members)), File: "s.h", Line: 1}
	for i, name := range members {
		s.Members = append(s.Members, Member{Name: name, Offset: 32 * uint64(i), Type: 1})
	}
	l.Types = []Type{
		{Kind: Void},
		{Kind: Base, Name: "int", Size: 4, Encoding: encodingSigned},
		s,
		{Kind: Pointer, Size: 8, Elem: 2},
		{Kind: Reference, Size: 8, Elem: 2},
		{Kind: Function, Elem: 1, Params: []Param{{Name: "p", Type: 3}}},
	}
	switch by {
	case direct:
		l.Types[5].Params = append(l.Types[5].Params, Param{Type: 2})
	case throughReference:
		l.Types[5].Params[0].Type = 4
	}
	l.Symbols[0].Type = 5
	return l
}

func TestSuppressedMembers(t *testing.T) {
	for text, want := range map[string]bool{ // whether it hides that m was inserted after a
		"name = s": true,
		"name = s\nhas_data_member_inserted_at = 32":                                     false,
		"name = s\nhas_size_change = yes\nhas_data_member_inserted_at = 32":              true,
		"name = s\nhas_size_change = yes\nhas_data_member_inserted_at = 8":               true,
		"name = s\nhas_size_change = yes\nhas_data_member_inserted_at = 64":              false,
		"name = s\nhas_size_change = yes\nhas_data_member_inserted_at = end":             false,
		"name = s\nhas_size_change = yes\nhas_data_member_inserted_at = offset_after(a)": true,
		"name = s\nhas_size_change = yes\nhas_data_member_inserted_at = offset_of(x)":    false,

		"name = s\nhas_size_change=yes\nhas_data_member_inserted_between={32, 40}": true,
		"name = s\nhas_size_change=yes\nhas_data_member_inserted_between={8, 16}":  false,
		"name = s\nhas_size_change=yes\n" +
			"has_data_member_inserted_between={offset_after(a), offset_of(b)}": true,
		"name = s\nhas_size_change=yes\n" +
			"has_data_member_inserted_between={offset_of_last_data_member_regexp(^a), end}": true,
		"name = s\nhas_size_change=yes\n" +
			"has_data_members_inserted_between={{0, 8}, {offset_after(a), end}}": true,
		"name = s\nhas_size_change=yes\nhas_data_members_inserted_between={{0, 8}, {72, end}}": false,

		"name = s\nhas_data_member = {a, b}":                            true,
		"name = s\nhas_data_member = {a, m}":                            false,
		"name = s\nhas_data_member_regexp = ^b":                         true,
		"name = s\nhas_data_member_regexp = ^m":                         false,
		"name = s\nhas_strict_flexible_array_data_member_conversion=no": true,
		"name = s # a remark":                                           true,
		"name_regexp = ^\\\\w$":                                         true,
		"name = t":                                                      false,
		"type_kind = struct":                                            true,
		"type_kind = union":                                             false,
		"file_name_regexp = old/libx":                                   true,
		"file_name_regexp = ^libx":                                      false,
		"file_name_not_regexp = old/":                                   true,
		"file_name_not_regexp = libx":                                   false,
		"accessed_through = pointer\nname = s":                          true,
		"accessed_through = reference-or-pointer\nname = s":             true,
		"accessed_through = direct\nname = s":                           false,
		"accessed_through = reference\nname = s":                        false,
		"has_data_member = a":                                           false, // says no type
	} {
		old, new := structure(0, "a", "b"), structure(0, "a", "m", "b")
		old.Name, new.Name = "old/libx.so", "new/libx.so"
		hides(t, old, new, "[suppress_type]\n"+text, want)
	}
}

// hides checks whether suppressions hide all changes of two libraries.
func hides(t *testing.T, old, new *Library, text string, want bool) {
	t.Helper()
	s, _, problems := ParseSuppressions([]byte(text + "\n"))
	if len(problems) > 0 {
		t.Errorf("%q: %q", text, problems)
	}
	r := Compare(old, new, Options{Hidden: s})
	s.Apply(r)
	if got := len(r.Changes) == 0; got != want {
		t.Errorf("%q hides: %t, want %t\n%s", text, got, want, written(r))
	}
}

func TestSuppressedAccess(t *testing.T) {
	for by, want := range map[access]map[string]bool{
		direct:           {"direct": false, "pointer": false, "reference-or-pointer": false},
		throughReference: {"direct": false, "reference": true, "reference-or-pointer": true},
	} {
		for way, hidden := range want {
			hides(t, structure(by, "a"), structure(by, "m", "a"),
				"[suppress_type]\nname = s\naccessed_through = "+way, hidden)
		}
	}
}

func TestSuppressedFunctions(t *testing.T) {
	for text, want := range map[string]bool{
		"[suppress_function]\nparameter = '0 s*":                         true,
		"[suppress_function]\nparameter = '0 /^s/":                       true,
		"[suppress_function]\nparameter = '1 s*":                         false,
		"[suppress_function]\nparameter = '0 t*":                         false,
		"[suppress_function]\nreturn_type_name = int":                    true,
		"[suppress_function]\nreturn_type_regexp = ^long":                false,
		"[suppress_variable]\ntype_name_regexp = .":                      false,
		"[allow_type]\nname = other":                                     true,
		"[allow_type]\nname = s":                                         false,
		"[allow_type]\nname = other\n[allow_type]\nname = s":             false,
		"[suppress_function]\nname = f\nallow_other_aliases = yes":       true,
		"[suppress_function]\nsymbol_name = f\nallow_other_aliases = no": true,
	} {
		hides(t, structure(0, "a", "b"), structure(0, "a", "m", "b"), text, want)
	}
	for text, want := range map[string]bool{"^libx": true, "old/": false} {
		old, new := structure(0, "a", "b"), structure(0, "a", "m", "b")
		old.Name, new.Name = "old/libx.so", "new/libx.so"
		hides(t, old, new, "[suppress_file]\nfile_name_regexp = "+text, want)
	}
	// a second name of f is not suppressed, so that f is not
	old, new := structure(0, "a", "b"), structure(0, "a", "m", "b")
	for _, l := range []*Library{old, new} {
		l.Symbols[1].Type = l.Symbols[0].Type
	}
	hides(t, old, new, "[suppress_function]\nsymbol_name = f\nallow_other_aliases = no", false)
	hides(t, old, new, "[suppress_function]\nsymbol_name_regexp = .\nallow_other_aliases = no", true)
}

func TestWrongSuppressions(t *testing.T) {
	for text, want := range map[string]string{
		"name = s\nhas_tentacles = yes":                               "unknown property has_tentacles",
		"name = s\naccessed_through = telepathy":                      "accessed_through is direct, pointer, reference or reference-or-pointer",
		"name = s\nhas_data_member_inserted_at = here":                "has_data_member_inserted_at has a position that is not a number of bits, end or a function: here",
		"name = s\nhas_data_member_inserted_between = {1}":            "has_data_member_inserted_between has a range without an end",
		"name = s\nhas_data_member_inserted_at = offset_upon(a)":      "has_data_member_inserted_at has an unknown function offset_upon",
		"name = s\nhas_data_member_inserted_between = {offset_of(a)}": "has_data_member_inserted_between has a range without an end",
	} {
		_, _, problems := ParseSuppressions([]byte("[suppress_type]\n" + text + "\n"))
		if want = "line 3: " + want + "; the section is not applied"; len(problems) != 1 ||
			problems[0] != want {
			t.Errorf("%q: %q, want %q", text, problems, want)
		}
	}
}

// As in libabigail, class is each structure, and struct is none that was defined as class.
func TestSuppressedClass(t *testing.T) {
	for kinds, want := range map[string][2]bool{ // hides a struct, and a class
		"struct": {true, false}, "class": {true, true}, "union": {false, false},
		"struct, class": {true, true},
	} {
		for i, class := range []bool{false, true} {
			old, new := structure(0, "a"), structure(0, "a", "m")
			for _, l := range []*Library{old, new} {
				l.Types[2].IsClass = class
			}
			hides(t, old, new, "[suppress_type]\ntype_kind = "+kinds, want[i])
		}
	}
}

// The type of a function or variable matches as the old library has it or as the new one has it.
func TestSuppressedOnEitherSide(t *testing.T) {
	variable := func() (old, new *Library) {
		old, new = structure(0, "a"), structure(0, "a")
		for i, l := range []*Library{old, new} {
			l.Types = append(l.Types, Type{Kind: Base, Name: "long", Size: 8, Encoding: encodingSigned})
			l.Symbols = l.Symbols[:1]
			l.Symbols[0].Kind, l.Symbols[0].Type = "object", TypeID(1+5*i)
		}
		return old, new
	}
	function := func() (old, new *Library) {
		old, new = structure(0, "a"), structure(0, "a")
		new.Types = append(new.Types, Type{Kind: Base, Name: "long", Size: 8, Encoding: encodingSigned})
		new.Types[5].Elem, new.Types[5].Params = 6, []Param{{Name: "p", Type: 6}}
		return old, new
	}
	for text, want := range map[string]bool{
		"[suppress_variable]\ntype_name = int":           true,
		"[suppress_variable]\ntype_name = long":          true,
		"[suppress_variable]\ntype_name = char":          false,
		"[suppress_variable]\ntype_name_regexp = ^long":  true,
		"[suppress_variable]\ntype_name_not_regexp = ^c": true,
		"[suppress_variable]\ntype_name_not_regexp = ^l": false,
	} {
		old, new := variable()
		hides(t, old, new, text, want)
	}
	for text, want := range map[string]bool{
		"[suppress_function]\nreturn_type_name = int":      true,
		"[suppress_function]\nreturn_type_name = long":     true,
		"[suppress_function]\nreturn_type_regexp = ^short": false,
		"[suppress_function]\nparameter = '0 s*":           true,
		"[suppress_function]\nparameter = '0 long":         true,
		"[suppress_function]\nparameter = '0 int":          false,
	} {
		old, new := function()
		hides(t, old, new, text, want)
	}
}
