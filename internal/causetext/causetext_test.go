package causetext

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

// If one command removes several causes, the plan says so, and what is left to apply.
func TestPlanWithOneCommand(t *testing.T) {
	fixes := []analyzer.CauseFix{{}}
	r := &analyzer.Report{Causes: []analyzer.Cause{
		{ID: "a", Fixes: fixes}, {ID: "b", Fixes: fixes}, {ID: "c", Fixes: fixes},
	}}
	r.Plan.Tried = []string{"b", "c"}
	r.Plan.Fixes = []result.PlannedFix{{Cause: "a"}, {Cause: "c"}}
	want := "compat tried one command on a copy: causes 2 and 3 are gone. " +
		"Apply the fix of cause 1 too, which was not tried."
	if got := PlanSentence(r); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// If the fixes of an environment do not work together, the sentence says why.
func TestPlanContradicts(t *testing.T) {
	for _, c := range []struct{ cost, want string }{
		{"another version of numpy", "did not try them together."},
		{fix.Remain + ": a.so needs f", "tried them together, and errors remain."},
		{fix.ConflictsWith + "one 2 requires numpy>=2, not 1.26.4",
			"tried them together, and pip cannot resolve them: one 2 requires numpy>=2, not 1.26.4."},
	} {
		r := &analyzer.Report{Environment: true}
		for _, id := range []string{"a", "b"} {
			r.Causes = append(r.Causes, analyzer.Cause{ID: id, Fixes: []analyzer.CauseFix{{}}})
			r.Plan.Fixes = append(r.Plan.Fixes, result.PlannedFix{Cause: id, Fix: fix.Fix{
				Cost: []string{c.cost},
			}})
		}
		want := "Apply the fix of each of causes 1 and 2; compat " + c.want
		if got := PlanSentence(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A fix that removes several causes is that of the first one.
func TestPlanOfOneFix(t *testing.T) {
	r := &analyzer.Report{Plan: result.Plan{Verified: true}}
	for _, id := range []string{"a", "b"} {
		x := fix.Fix{Title: fix.Titled("Change torch"), Verified: true}
		r.Causes = append(r.Causes, analyzer.Cause{ID: id, Fixes: []analyzer.CauseFix{{Fix: x}}})
		r.Plan.Fixes = append(r.Plan.Fixes, result.PlannedFix{Cause: id, Fix: x})
	}
	const want = "compat tried the fix of cause 1 on a copy, which removes causes 1 and 2: no error " +
		"is left."
	if got := PlanSentence(r); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A command with the name of the artifact enters its folder, once. An archive has no folder.
func TestCommands(t *testing.T) {
	for _, c := range []struct {
		artifact string
		command  shellword.Line
		want     string
	}{
		{"w-1-x.whl", "wheel tags w-1-x.whl", "wheel tags w-1-x.whl"},
		{"my dist/w-1-x.whl", "wheel tags w-1-y.whl", "(cd 'my dist' && wheel tags w-1-y.whl)"},
		{"dist/w-1-x.whl", "pip install numpy", "pip install numpy"},
		{"a/w-1-x.whl", "(cd a && wheel tags w-1-x.whl)\n(cd b && wheel tags w-1-x.whl)",
			"(cd a && wheel tags w-1-x.whl)\n(cd b && wheel tags w-1-x.whl)"},
		{"dist/all.tar.gz/in/w-1-x.whl", "wheel tags w-1-x.whl",
			"wheel tags w-1-x.whl  # after unpacking dist/all.tar.gz"},
		{"dist/w-1-x.whl", "", ""},
	} {
		got := Commands(&analyzer.Cause{Artifact: c.artifact},
			analyzer.CauseFix{Fix: fix.Fix{Command: c.command}})
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: got %q, want %q", c.artifact, got, c.want)
		}
	}
}

// What users can do is no alternative to what the builder has to fix.
func TestLabel(t *testing.T) {
	c := &analyzer.Cause{Actor: result.Builder, Artifact: "w-1-py3-none-any.whl"}
	c.Fixes = []analyzer.CauseFix{
		{Fix: fix.Fix{Kind: fix.KindPatchelf}}, {Fix: fix.Fix{Kind: fix.KindRebuild}},
		{Fix: fix.Fix{Kind: fix.KindEnvironment}},
	}
	for i, want := range []string{"Fix", "Or", "For users"} {
		if got := Label(c, i); got != want {
			t.Errorf("fix %d: got %q, want %q", i, got, want)
		}
	}
	c.Actor = result.Installer // who is the user
	if got := Label(c, 2); got != "Or" {
		t.Errorf("got %q, want %q", got, "Or")
	}
	c.Together = true
	if got := Label(c, 1); got != "And" {
		t.Errorf("got %q, want %q", got, "And")
	}
}

// The findings of other rules are parts of a cause, unless they follow from what its title says.
func TestAlso(t *testing.T) {
	r := &analyzer.Report{Findings: []analyzer.Finding{
		{Rule: "tag-excludes-platform"}, {Rule: "library-not-found", Headline: "needs libc.so.6"},
	}}
	c := &analyzer.Cause{Findings: []int{0, 1}}
	if got := Also(r, c); len(got) != 1 || got[0].Text != "needs libc.so.6" {
		t.Errorf("got %v", got)
	}
	c.Covers = true
	if got := Also(r, c); got != nil {
		t.Errorf("got %v", got)
	}
}
