package causetext

import (
	"reflect"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/mdsafe"
	"github.com/compat-app/compat/internal/shellword"
)

const (
	planned   shellword.Line = "compat fix --write fixed --only tag w-1-py3-none-any.whl"
	bundling  shellword.Line = "delocate-wheel -v fixed/w-1-py3-none-any.whl"
	saving    shellword.Line = "pip download --no-deps w==1"
	changing  shellword.Line = "compat fix --python 3.12 requirements.txt"
	goneShort                = "tried: this error is gone"
	goneFirst                = "tried on a copy: this error is gone"
)

// written is said of the first command that writes a wheel.
const written = "The command writes the corrected wheel to ./fixed."

// one returns a cause with one finding and fixes.
func one(id string, fixes ...analyzer.CauseFix) analyzer.Cause {
	return analyzer.Cause{ID: id, Severity: analyzer.Error, New: true,
		Artifact: "w-1-py3-none-any.whl", Findings: []int{0}, Fixes: fixes}
}

func offered(title string, command shellword.Line, verified bool) analyzer.CauseFix {
	return analyzer.CauseFix{Clears: 1, Fix: fix.Fix{
		Title: fix.Titled("%s", title), Command: command, Verified: verified}}
}

// bundled returns a fix that a program makes.
func bundled(with fix.Bundler) analyzer.CauseFix {
	x := offered("Bundle b", bundling, false)
	x.Bundling = &fix.Bundling{With: with}
	x.NextBuild = "For the next build, run " + string(with) + " on its wheel."
	return x
}

// said is a Step without its label.
type said struct {
	State    string
	Commands []string
	Remark   string
}

func sayingOf(s Step) said { return said{s.By + s.State, s.Commands, s.Remark} }

// Of a single cause, each command is shown once, and the first tried fix says what that means.
func TestStepsOfOneCause(t *testing.T) {
	tag := offered("Tag it", planned, true)
	bundle := offered("Bundle b", bundling, false)
	link := offered("Link d", "cc -ld", false)
	both := one("both", bundle, tag)
	both.Together = true
	two := []string{string(planned), string(bundling)}
	for name, c := range map[string]struct {
		cause analyzer.Cause
		plan  analyzer.Plan
		want  []said
		rest  []string
	}{
		"a command reads what the other one writes": {
			cause: both,
			plan:  analyzer.Plan{Command: planned},
			want: []said{
				{"not tried", two, "The compat fix command writes the wheel that the last command reads."},
				{goneFirst, nil, "The command above does this too."},
			},
		},
		"the wheel is no file yet": {
			cause: one("tag", tag, offered("Or so", "wheel tags w-1-py3-none-any.whl", true)),
			plan:  analyzer.Plan{Command: planned, Save: saving},
			want: []said{
				{goneFirst, []string{string(saving), string(planned)},
					written + " --only limits it to cause 1."},
				{goneShort, []string{"wheel tags w-1-py3-none-any.whl"}, ""},
			},
		},
		"tools with a folder of their own": {
			cause: one("bundle", bundled(fix.Auditwheel), bundled(fix.Delvewheel),
				bundled(fix.Delocate), bundled(fix.Auditwheel)),
			want: []said{
				{"not tried", two[1:], "auditwheel writes to the folder wheelhouse. For the next build, " +
					"run auditwheel on its wheel."},
				{"not tried", two[1:], "delvewheel writes to the folder wheelhouse. For the next build, " +
					"run delvewheel on its wheel."},
				{"not tried", two[1:], "The command changes the wheel in place. For the next build, run " +
					"delocate-wheel on its wheel."},
				{"not tried", two[1:], ""},
			},
		},
		"a file with pins": {
			cause: one("pin", offered("Change c", changing, true)),
			plan:  analyzer.Plan{Command: changing},
			want: []said{{goneFirst, []string{string(changing)},
				"The command changes the file in place; with --dry-run it only prints the change."}},
		},
		"no fix has the command": {
			cause: one("link", link),
			plan:  analyzer.Plan{Command: planned},
			want:  []said{{"not tried", []string{"cc -ld"}, ""}},
			rest:  two[:1],
		},
	} {
		steps := StepsOf(&analyzer.Report{Causes: []analyzer.Cause{c.cause}, Plan: c.plan}, nil, true)
		for j, want := range c.want {
			if got := sayingOf(steps.Of(0, j)); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: fix %d: got %q, want %q", name, j+1, got, want)
			}
		}
		if got := steps.Rest(); !reflect.DeepEqual(got, c.rest) {
			t.Errorf("%s: the rest is %q, want %q", name, got, c.rest)
		}
		if steps.Runs() != nil || steps.Other() != "" {
			t.Errorf("%s: one cause has a list of commands: %+v", name, steps.Runs())
		}
	}
}

// Of several causes, the commands are a list in the order in which they are run, each once, and the
// steps name the command that makes them.
func TestRuns(t *testing.T) {
	tag := offered("Tag it", planned, true)
	declare := offered("Declare c", "c", true) // its title has the command
	bundle := offered("Bundle b", bundling, false)
	link := offered("Link d", "cc -ld", false)
	install := offered("Install e", "apt-get install e", false)
	install.Kind = fix.KindEnvironment
	users := one("users", install)
	users.Actor = result.Installer
	for name, c := range map[string]struct {
		causes []analyzer.Cause
		plan   analyzer.Plan
		want   [][]said
		runs   string
	}{
		"a command reads what that of a later cause writes": {
			causes: []analyzer.Cause{one("bundle", bundle, link), one("tag", tag)},
			plan:   analyzer.Plan{Command: planned, Tried: []string{"tag"}},
			want: [][]said{{
				{"command 2, not tried", nil, ""},
				{"not tried", []string{"cc -ld"}, ""},
			}, {{"command 1, " + goneFirst, nil, ""}}},
			runs: "Run these commands, in this order:\n" +
				"Cause 2, in the wheel (tried). " + written + "\n$ " + string(planned) + "\n" +
				"Cause 1, in the wheel (not tried).\n$ " + string(bundling) + "\n",
		},
		"an alternative reads it": {
			causes: []analyzer.Cause{one("link", link, bundle), one("tag", tag)},
			plan:   analyzer.Plan{Command: planned, Tried: []string{"tag"}},
			want: [][]said{{
				{"command 1, not tried", nil, ""},
				{
					"not tried", []string{string(bundling)},
					"Run command 2 first: it writes the wheel that this one reads.",
				},
			}, {{"command 2, " + goneFirst, nil, ""}}},
			runs: "Run these commands, in this order:\n" +
				"Cause 1, in the wheel (not tried).\n$ cc -ld\n" +
				"Cause 2, in the wheel (tried). " + written + "\n$ " + string(planned) + "\n",
		},
		"one command for several causes": {
			causes: []analyzer.Cause{one("declare", declare), one("tag", tag), one("link", link),
				one("other", offered("Link e", "cc -ld", false)), users},
			plan: analyzer.Plan{Command: planned, Tried: []string{"declare", "tag"}},
			want: [][]said{
				{{"command 1, " + goneFirst, nil, ""}}, {{"command 1, " + goneShort, nil, ""}},
				{{"command 2, not tried", nil, ""}}, {{"command 2, not tried", nil, ""}},
				{{"command 3, not tried", nil, ""}},
			},
			runs: "Run these commands, in this order:\n" +
				"Causes 1 and 2, in the wheel (tried). " + written + "\n$ " + string(planned) + "\n" +
				"Causes 3 and 4, in the wheel (not tried).\n$ cc -ld\n" +
				"Cause 5, on the user's machine (not tried).\n$ apt-get install e\n",
		},
		"a cause without a command": {
			causes: []analyzer.Cause{one("tag", tag), one("source", offered("Change the source", "", false)),
				one("none")},
			plan: analyzer.Plan{Command: planned, Save: saving},
			want: [][]said{{{"command above, " + goneFirst, nil, ""}}, {{"not tried", nil, ""}}},
			runs: "Run this for cause 1, in the wheel (tried). " + written + "\n$ " + string(saving) +
				"\n$ " + string(planned) + "\nWithout a command: cause 2; see below.\n",
		},
		"no fix has the command": {
			causes: []analyzer.Cause{one("none"), one("nor this")},
			plan:   analyzer.Plan{Command: planned},
			runs:   "Run this for what can be fixed in files. " + written + "\n$ " + string(planned) + "\n",
		},
	} {
		steps := StepsOf(&analyzer.Report{Causes: c.causes, Plan: c.plan}, nil, true)
		for i, want := range c.want {
			for j := range want {
				if got := sayingOf(steps.Of(i, j)); !reflect.DeepEqual(got, want[j]) {
					t.Errorf("%s: cause %d, fix %d: got %q, want %q", name, i+1, j+1, got, want[j])
				}
			}
		}
		lines := []string{steps.RunsTitle()}
		for i, x := range steps.Runs() {
			lines = append(lines, steps.About(i))
			for _, command := range x.Commands {
				lines = append(lines, "$ "+command)
			}
		}
		got := strings.Join(NonEmpty(append(lines, steps.Other())...), "\n") + "\n"
		if got != c.runs || steps.Rest() != nil {
			t.Errorf("%s: got\n%s\nand %q, want\n%s", name, got, steps.Rest(), c.runs)
		}
		markdown := RunsMarkdown(steps)
		for _, x := range steps.Runs() {
			if n := strings.Count(markdown, x.Commands[0]); n != 1 {
				t.Errorf("%s: a command is %d times in %s", name, n, markdown)
			}
		}
	}
}

// Only the causes that are shown together refer to each other.
func TestStepsOfSomeCauses(t *testing.T) {
	r := &analyzer.Report{Causes: []analyzer.Cause{
		one("a", offered("Tag it", planned, true)), one("b", offered("Write it", planned, true)),
	}, Plan: analyzer.Plan{Command: planned, Tried: []string{"a", "b"}}}
	got := sayingOf(StepsOf(r, []int{1}, true).Of(1, 0))
	if want := (said{goneFirst, []string{string(planned)}, written}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A fix that removes a part of a cause says which.
func TestFixStateOfAPart(t *testing.T) {
	c := &analyzer.Cause{Severity: analyzer.Error, Findings: []int{0, 1, 2}}
	for want, x := range map[string]analyzer.CauseFix{
		"tried: part of this error is gone": {Clears: 2, Fix: fix.Fix{Verified: true}},
		"tried: this error is gone":         {Clears: 3, Fix: fix.Fix{Verified: true}},
		"not tried; for part of this error": {Clears: 2},
		"not tried":                         {Clears: 3},
	} {
		if got := ShortState(c, x); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Because of a new build, a change of the present file is no step, and neither is the command that
// makes it.
func TestStepsOfANewBuild(t *testing.T) {
	const wheel = "w-1-py3-none-any.whl"
	of := func(id string, x analyzer.CauseFix) analyzer.Cause {
		return analyzer.Cause{ID: id, New: true, Severity: analyzer.Error, Actor: result.Builder,
			Artifact: wheel, Fixes: []analyzer.CauseFix{x}, Findings: []int{0}}
	}
	tag := offered("Tag the wheel", planned, true)
	tag.Kind, tag.NextBuild = fix.KindPlatformTag, fix.NextBuild+"use auditwheel repair --plat."
	r := &analyzer.Report{
		Artifacts: []analyzer.Artifact{{Path: wheel, Kind: analyzer.KindWheel}},
		Findings:  []analyzer.Finding{{Artifact: wheel}},
		Causes: []analyzer.Cause{
			of("build", offered("Build it with SSE2", "", false)), of("tag", tag),
		},
		Plan: analyzer.Plan{Command: planned, Tried: []string{"tag"}},
	}
	r.Causes[0].Fixes[0].Kind = fix.KindRebuild
	r.Plan.Fixes = []result.PlannedFix{{Cause: "build", Fix: r.Causes[0].Fixes[0].Fix},
		{Cause: "tag", Fix: tag.Fix}}
	steps := StepsOf(r, nil, true)
	got := steps.Of(1, 0)
	if got.Label != "Without a new build" || got.Commands != nil ||
		got.Remark != "For the new build of cause 1, use auditwheel repair --plat." {
		t.Errorf("got %+v", got)
	}
	if rest := steps.Rest(); rest != nil {
		t.Errorf("the rest is %q", rest)
	}
	want := "Build the wheel again for cause 1, and remove cause 2 in that build."
	if got := PlanSentence(r); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Causes[0].Severity = analyzer.Warning // it can be left as it is
	if got := StepsOf(r, nil, true).Of(1, 0); got.Label != "Fix" || got.By == "" {
		t.Errorf("got %+v for a warning", got)
	}
}

// In a pull request, what the build needs comes first, and the command is for what is built
// already. A command that changes no wheel stays as it is, and so does what others have to do.
func TestPullRequest(t *testing.T) {
	tag := offered("Tag it", "wheel tags w-1-py3-none-any.whl", true)
	tag.NextBuild = "For the next build, use auditwheel."
	edit := offered("Set a RUNPATH", planned, true)
	edit.Kind = fix.KindPatchelf
	require := offered("Require numpy<2", planned, true)
	require.Kind = fix.KindPin
	require.NextBuild = "For the next build, write the same requirement into its sources."
	image := offered("Build there", "IMAGE=manylinux2014", false)
	for name, c := range map[string]struct {
		actor                 result.Actor
		fix                   analyzer.CauseFix
		action, place         string
		remark, before, build string
	}{
		"tag": {result.Builder, tag, "In this pull request: do it. Affected: all.",
			"", "In the build, use auditwheel.", builtWheel,
			"In the build, use auditwheel."},
		"edit": {result.Builder, edit, "In this pull request: do it. Affected: all.",
			"", "In the build, run the command after the wheel is made.",
			builtWheel + " (the command writes the corrected wheel to ./fixed)",
			"In the build, run the command after the wheel is made."},
		"requirement": {result.Builder, require, "In this pull request: do it. Affected: all.",
			"", "",
			builtWheel + " (the command writes the corrected wheel to ./fixed)", ""},
		"setting": {result.Builder, image, "In this pull request: do it. Affected: all.",
			"", "", "", ""},
		"of others": {result.Upstream, tag, "They do it.",
			"fix it in another package, nothing in the wheel", "For the next build, use auditwheel.", "",
			""},
	} {
		x := one("a", c.fix)
		x.Actor, x.Action, x.Do, x.Affected = c.actor, "They do it.", "do it", "all"
		r := &analyzer.Report{Causes: []analyzer.Cause{x}, PullRequest: true,
			Artifacts: []analyzer.Artifact{{Kind: analyzer.KindWheel}}}
		if got := Action(r, &x, nil); got != c.action {
			t.Errorf("%s: action %q, want %q", name, got, c.action)
		}
		if got := Places(r, nil); got != c.place {
			t.Errorf("%s: place %q, want %q", name, got, c.place)
		}
		got := StepsOf(r, nil, true).Of(0, 0)
		if got.Remark != c.remark || got.Before != c.before || got.Build != c.build {
			t.Errorf("%s: got %q, %q, %q, want %q, %q, %q", name, got.Remark, got.Before, got.Build,
				c.remark, c.before, c.build)
		}
	}
}

// What is no command that can be run is shown with its cause, what users install is not in the
// wheel, and what was tried for a part is not called untried.
func TestRunsOfOtherKinds(t *testing.T) {
	symver := offered("Use the older memcpy", `__asm__(".symver memcpy,memcpy@GLIBC_2.2.5");`, true)
	symver.Kind = fix.KindSymver
	part := offered("Add it", "patchelf --add-needed liba.so w-1-py3-none-any.whl", true)
	require := offered("Require a", "", false)
	install := offered("Install b", "apt-get install b", false)
	install.Kind = fix.KindEnvironment
	both := one("c", require, install)
	both.Together = true
	r := &analyzer.Report{Artifacts: []analyzer.Artifact{{Kind: analyzer.KindWheel}},
		Causes: []analyzer.Cause{one("a", symver), one("b", part), both}}
	r.Causes[1].Findings = []int{0, 1}
	for i := range r.Causes {
		r.Causes[i].Actor = result.Builder
	}
	s := StepsOf(r, nil, true)
	var about []string
	for i := range s.Runs() {
		about = append(about, s.About(i))
	}
	want := []string{"Cause 2, in the wheel (tried: a part is gone).",
		"Cause 3, on the user's machine (not tried)."}
	if !reflect.DeepEqual(about, want) {
		t.Errorf("got %q, want %q", about, want)
	}
	if got, want := s.Of(0, 0).Commands, []string{string(symver.Command)}; !reflect.DeepEqual(got,
		want) {
		t.Errorf("the first cause has %q, want %q", got, want)
	}
	const other = "Without a command: cause 1, and a part of cause 3; see below."
	if got := s.Other(); got != other {
		t.Errorf("got %q, want %q", got, other)
	}
}

// A fix in one line has what the build needs before the command for what was built.
func TestLine(t *testing.T) {
	tag := offered("Tag it", "wheel tags w-1-py3-none-any.whl", true)
	tag.NextBuild = "For the next build, use auditwheel."
	link := offered("Link it", "-lz", false)
	link.Kind = fix.KindLinkFlag
	edit := offered("Edit it", "patchelf w-1-py3-none-any.whl", true)
	edit.Kind = fix.KindPatchelf
	for _, c := range []struct {
		fixes []analyzer.CauseFix
		pull  bool
		want  []string
	}{
		{[]analyzer.CauseFix{tag}, false,
			[]string{"Fix (tried on a copy: this error is gone): Tag it: wheel tags w-1-py3-none-any.whl"}},
		{[]analyzer.CauseFix{tag}, true, []string{"Fix (tried on a copy: this error is gone): Tag it. In the " +
			"build, use auditwheel. For a wheel that is already built: wheel tags w-1-py3-none-any.whl"}},
		{[]analyzer.CauseFix{edit, link}, false, []string{
			"Fix (tried on a copy: this error is gone): Edit it: patchelf w-1-py3-none-any.whl",
			"Or (not tried): Link it: -lz"}},
		{[]analyzer.CauseFix{edit, link}, true, []string{"Fix (not tried): Link it: -lz",
			"Or (tried on a copy: this error is gone): Edit it. In the build, run the command after the wheel is " +
				"made. For a wheel that is already built: patchelf w-1-py3-none-any.whl"}},
	} {
		x := one("a", c.fixes...)
		x.Actor = result.Builder
		r := &analyzer.Report{Causes: []analyzer.Cause{x}}
		if c.pull {
			r.OfPullRequest()
		}
		for i, want := range c.want {
			got := Line(r, 0, i, nil, string(r.Causes[0].Fixes[i].Command), mdsafe.Visible)
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
}

// The change of a line of the repository has the place of what its author has to find out, and of
// flags, but not of a command for a wheel that is already built.
func TestEdit(t *testing.T) {
	tag := offered("Tag it", "wheel tags w-1-py3-none-any.whl", true)
	tag.NextBuild = fix.NextBuild + "use auditwheel."
	flags := offered("Link it", "-lz", false)
	flags.Kind = fix.KindLinkFlag
	r := &analyzer.Report{Causes: []analyzer.Cause{one("a", tag, flags)},
		Findings: make([]analyzer.Finding, 1)}
	r.Causes[0].Actor = result.Builder
	r.OfPullRequest()
	for _, c := range []struct {
		edit         Edit
		line, inItem string
	}{
		{Edit{Fix: 0, At: "w.yml:8", Old: "  - run: a", New: "  - run: b"},
			"Fix (tried on a copy of the wheel, not in a build: this error is gone): Tag it. Change " +
				"this line to: - run: b. For a wheel that is already built: wheel tags w-1-py3-none-any.whl",
			"Change `w.yml:8`:\n\n   ```diff\n   -  - run: a\n   +  - run: b\n   ```\n\n" +
				"   For a wheel that is already built:\n\n   ```\n   wheel tags w-1-py3-none-any.whl\n   ```\n"},
		{Edit{Fix: 1, At: "CMakeLists.txt:2", Old: "add", New: "add\nlink -lz"},
			"Or (not tried): Link it. Add after this line: link -lz",
			"Add after `CMakeLists.txt:2`:\n\n   ```diff\n    add\n   +link -lz\n   ```\n"},
	} {
		got := Line(r, 0, c.edit.Fix, []Edit{c.edit}, string(r.Causes[0].Fixes[c.edit.Fix].Command),
			mdsafe.Visible)
		if got != c.line {
			t.Errorf("line: got %q, want %q", got, c.line)
		}
		item := Item(r, 0, ItemOptions{Edits: []Edit{c.edit}, Steps: StepsOf(r, nil, false)})
		if !strings.Contains(item, c.inItem) ||
			strings.Contains(item, "auditwheel") != (c.edit.Fix != 0) ||
			strings.Count(item, "-lz") != 1 {
			t.Errorf("item without %q:\n%s", c.inItem, item)
		}
	}
}

// In a pull request, the list of commands is for what is built or installed already.
func TestRunsOfPullRequest(t *testing.T) {
	user := offered("Install z", "apt-get install z", false)
	r := &analyzer.Report{
		PullRequest: true, Artifacts: []analyzer.Artifact{{Kind: analyzer.KindWheel}},
		Causes: []analyzer.Cause{one("a", offered("Tag it", planned, true)), one("b", user)},
	}
	r.Causes[0].Actor, r.Causes[1].Actor = result.Builder, result.Installer
	s := StepsOf(r, nil, true)
	const title = "Change the build as the causes below say. These commands are for what is already " +
		"built or installed, in this order:"
	if got := s.RunsTitle(); got != title {
		t.Errorf("got %q, want %q", got, title)
	}
	const about = "Cause 1, to correct a wheel that is already built (tried). " + written
	if got := s.About(0); got != about {
		t.Errorf("got %q, want %q", got, about)
	}
}
