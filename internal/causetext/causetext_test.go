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
	const order = " Run the commands in the order of the causes, because they rename the wheel."
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

// If the command of the plan is that of a later cause, the plan says which is run first.
func TestPlanWithCommandOfALaterCause(t *testing.T) {
	const plan shellword.Line = "compat fix --write fixed --only tag widget-1.0-py3-none-any.whl"
	r := &analyzer.Report{Causes: []analyzer.Cause{{}, {}, {}}}
	r.Plan.Command = plan
	for i, command := range []shellword.Line{"apt-get install libb64-0d",
		"compat fix --in-place fixed/widget-1.0-py3-none-any.whl", plan} {
		r.Causes[i].Fixes = []analyzer.CauseFix{{Fix: fix.Fix{Command: command}}}
	}
	want := "Run the command of cause 3 before that of cause 2, because it renames the wheel."
	if got := PlanSentence(r); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Plan.Tried = []string{"b", "c"}
	for i, id := range []string{"a", "b", "c"} {
		r.Causes[i].ID = id
	}
	r.Plan.Fixes = []result.PlannedFix{{Cause: "a"}, {Cause: "c"}}
	want = "The command of cause 3 was tried and clears causes 2 and 3. " +
		"Apply the fix of cause 1 too, which was not tried. " + want
	if got := PlanSentence(r); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Plan = result.Plan{Command: plan}
	r.Causes[1].Fixes[0].Command = plan
	if got := PlanSentence(r); got != "" {
		t.Errorf("got %q for one command", got)
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
	const want = "The fix of cause 1 was tried and leaves no error."
	if got := PlanSentence(r); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The counts say who has to act on which cause.
func TestCountsNameActors(t *testing.T) {
	const b, i = result.Builder, result.Installer
	for _, c := range []struct {
		actors []result.Actor
		want   string
	}{
		{[]result.Actor{i}, "1 error."},
		{[]result.Actor{b, b}, "2 errors, all for the builder."},
		{[]result.Actor{i, b, b, b, i}, "5 errors. Causes 1 and 5 are for whoever installs it, " +
			"causes 2 to 4 for the builder."},
		{[]result.Actor{b, i}, "2 errors. Cause 1 is for the builder, cause 2 for whoever installs it."},
	} {
		r := &analyzer.Report{}
		for _, actor := range c.actors {
			r.Causes = append(r.Causes, analyzer.Cause{Severity: analyzer.Error, Actor: actor})
		}
		if got := Counts(r); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// The error that forbids it decides whether an artifact may be shipped.
func TestShip(t *testing.T) {
	const no, yes = "Do not ship this wheel.", "This wheel may be shipped, but not for Alpine 3.20."
	for want, causes := range map[string][]analyzer.Cause{
		"": {{Severity: analyzer.Error, Ship: no}}, // the base has it too
		yes: {
			{New: true, Severity: analyzer.Error, Ship: yes},
			{New: true, Severity: analyzer.Warning, Ship: "This wheel may be shipped."},
			{Severity: analyzer.Error, Ship: no},
		},
		no: {
			{New: true, Severity: analyzer.Error, Ship: yes},
			{New: true, Severity: analyzer.Error, Ship: no},
		},
	} {
		if got := Ship(&analyzer.Report{Causes: causes}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Of several artifacts, none may be shipped.
func TestShipOfSeveral(t *testing.T) {
	for want, artifacts := range map[string][]string{
		"Do not ship this wheel.":   {"a/x-1.whl", "a/x-1.whl"},
		"Do not ship these wheels.": {"a/x-1.whl", "b/x-1.whl"},
		"Do not ship these files.":  {"a/x-1.whl", "lib.so"},
	} {
		r := &analyzer.Report{}
		for _, a := range artifacts {
			r.Causes = append(r.Causes, analyzer.Cause{New: true, Severity: analyzer.Error, Artifact: a,
				Ship: "Do not ship this wheel."})
		}
		if got := Ship(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
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
