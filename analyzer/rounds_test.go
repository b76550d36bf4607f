package analyzer_test

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
)

// A fix that is found only after another one was applied is applied too, and belongs to its cause
// in the report. What is left after that needs one more round, and another one is not made.
func TestFixesOfLaterRounds(t *testing.T) {
	data := built(t, "soname libx.so\nneeded libc.so.6\nexecstack yes\n")
	stack := &analyzer.Rule{ID: "a", Severity: analyzer.Error, Check: func(p *analyzer.Pass) {
		if p.Views[0].ExecStack != "no" && !p.Scenario.NoStack["libx.so"] {
			p.Report(analyzer.Finding{Object: "libx.so"}, fix.Candidate{Fix: fix.Fix{
				Title: fix.Titled("stack"), Kind: fix.KindPatchelf},
				Change: fix.ClearExecStack{Object: "libx.so"}})
		}
	}}
	// Each of the others has a fix only with the RUNPATH of the one before.
	after := func(id, before, want string) *analyzer.Rule {
		return &analyzer.Rule{ID: id, Severity: analyzer.Error, Check: func(p *analyzer.Pass) {
			v := p.Views[0]
			if path := p.Scenario.RunPath["libx.so"]; path >= want || v.RunPath >= want {
				return
			}
			var fixes []fix.Candidate
			if v.ExecStack == "no" && v.RunPath == before {
				fixes = []fix.Candidate{{Fix: fix.Fix{Title: fix.Titled("path %s", want),
					Kind: fix.KindPatchelf}, Change: fix.SetRunPath{Object: "libx.so", RunPath: want}}}
			}
			p.Report(analyzer.Finding{Object: "libx.so"}, fixes...)
		}}
	}
	a := analyzer.New([]*analyzer.Rule{stack, after("b", "", "$ORIGIN/1"),
		after("c", "$ORIGIN/1", "$ORIGIN/2"), after("d", "$ORIGIN/2", "$ORIGIN/3")})
	run := func(only []string) (*analyzer.Report, *analyzer.Execution, []byte) {
		r, done, err := a.Fix(t.Context(), []analyzer.Input{
			{Name: "libx.so", Content: bytes.NewReader(data), Size: int64(len(data))},
		}, analyzer.Options{}, analyzer.FixOptions{Only: only})
		if err != nil || len(done.Files) != 1 {
			t.Fatalf("%v, %d files", err, len(done.Files))
		}
		out, err := io.ReadAll(done.Files[0].Reader())
		if err != nil {
			t.Fatal(err)
		}
		return r, done, out
	}
	r, done, out := run(nil)
	if got := done.Files[0].Causes; !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("fixed %q", got)
	}
	if !slices.Equal(r.Plan.Tried, []string{"a", "b", "c"}) ||
		!slices.Equal(r.Plan.Leaves, []string{"d"}) || len(r.Plan.Fixes) != 3 {
		t.Errorf("plan %+v", r.Plan)
	}
	left := done.After.Findings
	if len(left) != 1 || left[0].Rule != "d" {
		t.Errorf("left %+v", left)
	}
	if done.Last == nil || len(done.Last.Causes) != 1 || len(done.Last.Causes[0].Fixes) != 1 ||
		done.Last.Causes[0].Fixes[0].Title.String() != "path $ORIGIN/3" {
		t.Errorf("the last report is %+v", done.Last)
	}
	for _, c := range r.Causes {
		if tried := len(c.Fixes) == 1 && c.Fixes[0].Verified; tried != (c.ID != "d") {
			t.Errorf("%s: fixes %+v", c.ID, c.Fixes)
		}
	}
	if _, _, again := run(nil); !bytes.Equal(again, out) {
		t.Error("a second run wrote other bytes")
	}
	if _, done, _ := run([]string{"a", "c"}); !slices.Equal(done.Files[0].Causes, []string{"a"}) {
		t.Errorf("with only a and c, fixed %q", done.Files[0].Causes)
	}
}

// A cause of which a finding is left is not reported as fixed.
func TestPartlyFixed(t *testing.T) {
	data := built(t, "soname libx.so\nneeded libc.so.6\nexecstack yes\n")
	rule := &analyzer.Rule{ID: "a", Severity: analyzer.Error, Check: func(p *analyzer.Pass) {
		p.Report(analyzer.Finding{Object: "libx.so", Symbol: "stays"})
		if p.Views[0].ExecStack != "no" && !p.Scenario.NoStack["libx.so"] {
			p.Report(analyzer.Finding{Object: "libx.so", Symbol: "goes"}, fix.Candidate{Fix: fix.Fix{
				Title: fix.Titled("stack"), Kind: fix.KindPatchelf},
				Change: fix.ClearExecStack{Object: "libx.so"}})
		}
	}}
	r, done, err := analyzer.New([]*analyzer.Rule{rule}).Fix(t.Context(), []analyzer.Input{
		{Name: "libx.so", Content: bytes.NewReader(data), Size: int64(len(data))},
	}, analyzer.Options{}, analyzer.FixOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Causes) != 1 || len(done.Files) != 1 || !slices.Equal(done.Partly, []string{"a"}) ||
		done.Applied["a"] != 1 {
		t.Errorf("%d causes; %+v", len(r.Causes), done)
	}
	// the printed command succeeds, since it does what it says
	if got := string(r.Plan.Command); got != "compat fix --write fixed --only a --partly libx.so" {
		t.Errorf("command %q", got)
	}
}
