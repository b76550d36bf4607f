package causetext

import (
	"reflect"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

const (
	planned   shellword.Line = "compat fix --write fixed --only tag w-1-py3-none-any.whl"
	bundling  shellword.Line = "delocate-wheel -v fixed/w-1-py3-none-any.whl"
	saving    shellword.Line = "pip download --no-deps w==1"
	changing  shellword.Line = "compat fix --python 3.12 requirements.txt"
	goneShort                = "tried: this cause is gone"
	goneFirst                = "tried on a copy: this cause is gone"
)

// written is said of the first command that writes a wheel.
const written = "The corrected wheel is written to the folder fixed."

// one returns a cause with one finding and fixes.
func one(id string, fixes ...analyzer.CauseFix) analyzer.Cause {
	return analyzer.Cause{ID: id, New: true, Artifact: "w-1-py3-none-any.whl", Findings: []int{0},
		Fixes: fixes}
}

func offered(title string, command shellword.Line, verified bool) analyzer.CauseFix {
	return analyzer.CauseFix{Clears: 1, Fix: fix.Fix{
		Title: fix.Titled("%s", title), Command: command, Verified: verified}}
}

// bundled returns a fix that a program makes.
func bundled(with fix.Bundler) analyzer.CauseFix {
	x := offered("Bundle b", bundling, false)
	x.Bundling = &fix.Bundling{With: with}
	x.NextBuild = "For the next build, run " + string(with) + " after it."
	return x
}

// Commands are shown once, in the order in which they are run, and the first tried fix says what
// that means.
func TestSteps(t *testing.T) {
	tag := offered("Tag it", planned, true)
	declare := offered("Declare c", "c", true) // its title has the command
	bundle := offered("Bundle b", bundling, false)
	link := offered("Link d", "cc -ld", false)
	two := []string{string(planned), string(bundling)}
	for name, c := range map[string]struct {
		causes []analyzer.Cause
		plan   analyzer.Plan
		want   [][]Step
		rest   []string
	}{
		"a command reads what that of a later cause writes": {
			causes: []analyzer.Cause{one("bundle", bundle, link), one("tag", tag)},
			plan:   analyzer.Plan{Command: planned, Tried: []string{"tag"}},
			want: [][]Step{{
				{"not tried", two, "The compat fix command makes the change of cause 2 and writes the wheel " +
					"that the last command reads."},
				{"not tried", []string{"cc -ld"}, ""},
			}, {{goneFirst, nil, "The compat fix command of cause 1 does this too."}}},
		},
		"an alternative reads it": {
			causes: []analyzer.Cause{one("link", link, bundle), one("tag", tag)},
			plan:   analyzer.Plan{Command: planned, Tried: []string{"tag"}},
			want: [][]Step{{
				{"not tried", []string{"cc -ld"}, ""},
				{
					"not tried", two[1:],
					"Run the command of cause 2 first: it writes the wheel that this one reads.",
				},
			}, {{goneFirst, two[:1], written}}},
		},
		"one command for several causes": {
			causes: []analyzer.Cause{one("declare", declare), one("tag", tag), one("link", link),
				one("other", offered("Link e", "cc -ld", false))},
			plan: analyzer.Plan{Command: planned, Tried: []string{"declare", "tag"}},
			want: [][]Step{
				{{goneFirst, two[:1], written}},
				{{goneShort, nil, "The command of cause 1 does this too."}},
				{{"not tried", []string{"cc -ld"}, ""}},
				{{"not tried", nil, "The command of cause 3 does this too."}},
			},
		},
		"the wheel is no file yet": {
			causes: []analyzer.Cause{
				one("tag", tag, offered("Or so", "wheel tags w-1-py3-none-any.whl", true)),
			},
			plan: analyzer.Plan{Command: planned, Save: saving},
			want: [][]Step{{
				{goneFirst, []string{string(saving), string(planned)}, written},
				{goneShort, []string{"wheel tags w-1-py3-none-any.whl"}, ""},
			}},
		},
		"tools with a folder of their own": {
			causes: []analyzer.Cause{one("bundle", bundled(fix.Auditwheel), bundled(fix.Delvewheel),
				bundled(fix.Delocate), bundled(fix.Auditwheel))},
			want: [][]Step{{
				{"not tried", two[1:], "auditwheel writes to the folder wheelhouse. For the next build, " +
					"run auditwheel after it."},
				{"not tried", two[1:], "delvewheel writes to the folder wheelhouse. For the next build, " +
					"run delvewheel after it."},
				{"not tried", two[1:], "The command changes the wheel in place. For the next build, run " +
					"delocate-wheel after it."},
				{"not tried", two[1:], ""},
			}},
		},
		"a file with pins": {
			causes: []analyzer.Cause{one("pin", offered("Change c", changing, true))},
			plan:   analyzer.Plan{Command: changing},
			want: [][]Step{{{goneFirst, []string{string(changing)},
				"The command changes the file in place; with --dry-run it only prints the change."}}},
		},
		"no fix has the command": {
			causes: []analyzer.Cause{one("link", link)},
			plan:   analyzer.Plan{Command: planned},
			want:   [][]Step{{{"not tried", []string{"cc -ld"}, ""}}},
			rest:   two[:1],
		},
	} {
		steps := StepsOf(&analyzer.Report{Causes: c.causes, Plan: c.plan}, nil, true)
		for i, want := range c.want {
			for j := range want {
				if got := steps.Of(i, j); !reflect.DeepEqual(got, want[j]) {
					t.Errorf("%s: cause %d, fix %d: got %q, want %q", name, i+1, j+1, got, want[j])
				}
			}
		}
		if got := steps.Rest(); !reflect.DeepEqual(got, c.rest) {
			t.Errorf("%s: the rest is %q, want %q", name, got, c.rest)
		}
	}
}

// Only the causes that are shown together refer to each other.
func TestStepsOfSomeCauses(t *testing.T) {
	r := &analyzer.Report{Causes: []analyzer.Cause{
		one("a", offered("Tag it", planned, true)), one("b", offered("Write it", planned, true)),
	}, Plan: analyzer.Plan{Command: planned, Tried: []string{"a", "b"}}}
	got := StepsOf(r, []int{1}, true).Of(1, 0)
	if want := (Step{goneFirst, []string{string(planned)}, written}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A fix that removes a part of a cause says which.
func TestFixStateOfAPart(t *testing.T) {
	c := &analyzer.Cause{Findings: []int{0, 1, 2}}
	for want, x := range map[string]analyzer.CauseFix{
		"tried: 2 of the 3 findings of this cause are gone": {Clears: 2, Fix: fix.Fix{Verified: true}},
		"tried: this cause is gone":                         {Clears: 3, Fix: fix.Fix{Verified: true}},
		"not tried; for 2 of the 3 findings of this cause":  {Clears: 2},
		"not tried": {Clears: 3},
	} {
		if got := FixState(c, x); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
