package abi

import "testing"

// A class that a library only declares is compared with the definition of another library of the
// same build.
func TestComplete(t *testing.T) {
	caller := func() *Library {
		l := exporting("_Z5driveP8Listener")
		l.Name, l.Evidence = "libcaller.so.1", EvidenceDWARF
		l.Types = []Type{
			{Kind: Void},
			{Kind: Struct, Name: "Listener", Declared: true, Class: true},
			{Kind: Pointer, Size: 8, Elem: 1},
			{Kind: Function, Params: []Param{{Type: 2}}},
		}
		l.Symbols[0].Type = 3
		return l
	}
	plugin := func(file string, virtuals ...string) *Library {
		l := exporting("create")
		l.Name, l.Evidence = "libplugin.so", EvidenceDWARF
		l.Types = []Type{
			{Kind: Void},
			{Kind: Pointer, Size: 8, Elem: 2},
			{Kind: Struct, Name: "Listener", Size: 8, File: file, Line: 1, Private: source(file)},
			{Kind: Function, Elem: 1},
		}
		for i, name := range virtuals {
			l.Types[2].Virtuals = append(l.Types[2].Virtuals, Virtual{Name: name, Slot: int64(i), Type: 3})
		}
		l.Symbols[0].Type = 3
		return l
	}
	for _, c := range []struct {
		file  string
		want  Verdict
		blind int
	}{
		{"listener.h", Breaking, 0},
		{"listener.cc", None, 1}, // another class of this name, which programs do not see
	} {
		old := []*Library{caller(), plugin(c.file, "opened", "closed")}
		new := []*Library{caller(), plugin(c.file, "opened", "paused", "closed")}
		Complete(old)
		Complete(new)
		r := Compare(old[0], new[0], Options{})
		if r.Verdict != c.want || len(r.Blind) != c.blind {
			t.Errorf("%s: %q\n%s", c.file, r.Blind, written(r))
		}
		if err := old[0].check(); err != nil {
			t.Error(err)
		}
	}
}
