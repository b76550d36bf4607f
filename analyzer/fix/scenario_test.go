package fix

import (
	"slices"
	"testing"
)

// TestSetRunPath checks that fixes for two libraries of one object both count.
func TestSetRunPath(t *testing.T) {
	const object = "pkg/ext.so"
	s := All{
		SetRunPath{Object: object, RunPath: "$ORIGIN/lib:$ORIGIN/a"},
		SetRunPath{Object: object, RunPath: "$ORIGIN/lib:$ORIGIN/b"},
	}.Apply(Scenario{})
	if want := "$ORIGIN/lib:$ORIGIN/a:$ORIGIN/b"; s.RunPath[object] != want {
		t.Errorf("%s, want %s", s.RunPath[object], want)
	}
}

func TestRequiring(t *testing.T) {
	var m Merger
	m.Add(Pin{Requirement: "tool<3", Direct: true})
	m.Add(All{
		Pin{Requirement: "tool>=1", Direct: true},
		Pin{Requirement: "other<2", Direct: true},
		SetRunPath{Object: "pkg/ext.so", RunPath: "$ORIGIN/../tool"},
	})
	s := m.Requiring("tool>=1,<3").Apply(Scenario{})
	if !slices.Equal(s.Requires, []string{"tool>=1,<3", "other<2"}) || len(s.RunPath) != 1 {
		t.Errorf("%v %v", s.Requires, s.RunPath)
	}
	m.Add(nil)
	if c := m.Requiring("tool>=1,<3"); c != nil {
		t.Error("a fix that cannot be simulated was left out:", c)
	}
}
