package result

import (
	"testing"

	"github.com/compat-app/compat/analyzer/fix"
)

// A new build makes the edit of the present files useless if it is of all of them.
func TestReplaces(t *testing.T) {
	r := &Report{Findings: []Finding{{Artifact: "a.whl"}, {Artifact: "b.whl"}}}
	first := func(kind fix.Kind) []CauseFix { return []CauseFix{{Fix: fix.Fix{Kind: kind}}} }
	build := Cause{Severity: Error, Actor: Builder, Artifact: "a.whl", New: true,
		Fixes: first(fix.KindRebuild)}
	edit := build
	edit.Fixes = first(fix.KindPatchelf)
	with := func(c Cause, change func(*Cause)) *Cause { change(&c); return &c }
	ofBoth := func(c *Cause) { c.Findings = []int{0, 1} }
	old := func(c *Cause) { c.New = false }
	for _, c := range []struct {
		name        string
		build, edit *Cause
		want        bool
	}{
		{"the same wheel", &build, &edit, true},
		{"an edit of another wheel too", &build, with(edit, ofBoth), false},
		{"a build of both", with(build, ofBoth), with(edit, ofBoth), true},
		{"a build of the base too", with(build, old), &edit, false},
		{"an edit of the base too", &build, with(edit, old), true},
		{"two edits", &edit, &edit, false},
		{"two builds", &build, &build, false},
		{"a warning", with(build, func(c *Cause) { c.Severity = Warning }), &edit, false},
	} {
		if got := r.Replaces(c.build, c.edit); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
