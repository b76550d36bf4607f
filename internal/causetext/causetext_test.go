package causetext

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

// The plan says that commands rename the wheel if one of them is for a file that is not there yet.
func TestPlanWithRenamedWheel(t *testing.T) {
	const wheel = "dist/widget-1.0-py3-none-manylinux1_x86_64.whl"
	cause := func(id string, command shellword.Line) analyzer.Cause {
		return analyzer.Cause{ID: id, Artifact: wheel, Severity: analyzer.Error, Fixes: []analyzer.CauseFix{
			{Fix: fix.Fix{Command: command}},
		}}
	}
	tag := cause("tag", "wheel tags --remove --platform-tag manylinux_2_28_x86_64 "+
		"widget-1.0-py3-none-manylinux1_x86_64.whl")
	renamed := cause("bundle", "auditwheel repair widget-1.0-py3-none-manylinux_2_28_x86_64.whl")
	moved := cause("tag", "wheel tags --remove --python-tag cp38 wheelhouse/widget-1.0-*.whl")
	built := cause("bundle", "auditwheel repair widget-1.0-py3-none-linux_x86_64.whl")
	install := cause("install", "apt-get install libb64-0d")
	const apply = "Apply the fix of each of causes 1 and 2; compat did not try them together."
	const order = " Run the commands from top to bottom: one writes the wheel that the next one reads."
	for _, c := range []struct {
		causes []analyzer.Cause
		want   string
	}{
		{[]analyzer.Cause{tag, renamed}, apply + order},
		{[]analyzer.Cause{install, moved}, apply + order},
		{[]analyzer.Cause{install, tag}, apply},
		{[]analyzer.Cause{tag, tag}, apply}, // one command
		{[]analyzer.Cause{tag, built}, apply},
	} {
		r := &analyzer.Report{Artifacts: []analyzer.Artifact{{Path: wheel}}, Causes: c.causes}
		for _, x := range c.causes {
			r.Plan.Fixes = append(r.Plan.Fixes, result.PlannedFix{Cause: x.ID})
		}
		c.causes[0].ID += "-1"
		r.Plan.Fixes[0].Cause += "-1"
		if got := PlanSentence(r); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// If one command removes several causes, the plan says so, and what is left to apply.
func TestPlanWithOneCommand(t *testing.T) {
	r := &analyzer.Report{Causes: []analyzer.Cause{{ID: "a"}, {ID: "b"}, {ID: "c"}}}
	r.Plan.Tried = []string{"b", "c"}
	r.Plan.Fixes = []result.PlannedFix{{Cause: "a"}, {Cause: "c"}}
	want := "compat tried one command for causes 2 and 3: both are gone. " +
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
	const want = "compat tried the fix of cause 1: no error is left."
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
