package analyzer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// What is left in a file with a fix is not attributed to another file whose path differs only in
// its spelling, so the fix does not count as one that works.
func TestFixOfOneOfTwoSpellings(t *testing.T) {
	data := built(t, "soname libx.so\nneeded libc.so.6\nexecstack yes\n")
	var inputs []analyzer.Input
	for _, name := range []string{"./libx.so", "libx.so"} {
		inputs = append(inputs,
			analyzer.Input{Name: name, Content: bytes.NewReader(data), Size: int64(len(data))})
	}
	rule := &analyzer.Rule{ID: "stays", Severity: analyzer.Error, Check: func(p *analyzer.Pass) {
		if !p.Scenario.NoStack["libx.so"] { // the change works only if it is simulated
			p.Report(analyzer.Finding{Object: "libx.so"}, fix.Candidate{Fix: fix.Fix{
				Title: fix.Titled("x")}, Change: fix.ClearExecStack{Object: "libx.so"}})
		}
	}}
	r, done, err := analyzer.New([]*analyzer.Rule{rule}).Fix(t.Context(), inputs, analyzer.Options{},
		analyzer.FixOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Causes) == 0 || len(done.Files) > 0 {
		t.Errorf("%d causes, fixed %+v", len(r.Causes), done.Files)
	}
}

// A fix that was not simulated, because too many others were, is applied to the bytes together with
// those that work.
func TestFixThatWasNotSimulated(t *testing.T) {
	data := built(t, "soname libx.so\nneeded libc.so.6\nexecstack yes\n")
	stack := &analyzer.Rule{ID: "a", Severity: analyzer.Error, Check: func(p *analyzer.Pass) {
		if p.Views[0].ExecStack != "no" && !p.Scenario.NoStack["libx.so"] {
			p.Report(analyzer.Finding{Object: "libx.so"}, fix.Candidate{Fix: fix.Fix{
				Title: fix.Titled("stack"), Kind: fix.KindPatchelf},
				Change: fix.ClearExecStack{Object: "libx.so"}})
		}
	}}
	path := &analyzer.Rule{ID: "b", Severity: analyzer.Error, Check: func(p *analyzer.Pass) {
		const want = "$ORIGIN"
		if p.Views[0].RunPath == want || p.Scenario.RunPath["libx.so"] == want {
			return
		}
		var all []fix.Candidate
		for n := range 100 {
			all = append(all, fix.Candidate{Fix: fix.Fix{Title: fix.Titled("folder"),
				Kind: fix.KindPatchelf}, Change: fix.SetRunPath{Object: "libx.so",
				RunPath: fmt.Sprintf("/none/%d", n)}})
		}
		all = append(all, fix.Candidate{Fix: fix.Fix{Title: fix.Titled("path"),
			Kind: fix.KindPatchelf}, Change: fix.SetRunPath{Object: "libx.so", RunPath: want}})
		p.Report(analyzer.Finding{Object: "libx.so"}, all...)
	}}
	r, done, err := analyzer.New([]*analyzer.Rule{stack, path}).Fix(t.Context(), []analyzer.Input{
		{Name: "libx.so", Content: bytes.NewReader(data), Size: int64(len(data))},
	}, analyzer.Options{}, analyzer.FixOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Causes {
		t.Logf("%s: %+v", c.ID, c.Fixes)
	}
	if len(done.Files) != 1 || len(done.Files[0].Causes) != 2 || done.After.Problems() {
		t.Fatalf("fixed %+v", done.Files)
	}
	if len(r.Causes) != 2 || !r.Causes[0].Fixes[0].Verified || !r.Causes[1].Fixes[0].Verified {
		t.Errorf("causes %+v", r.Causes)
	}
}

// What is not read again of a wheel with fixes has the same result as if it were.
func TestFixedIsReadWhereItDiffers(t *testing.T) {
	a := analyzer.New(rules.All())
	read := func(name string, data []byte) analyzer.Input {
		return analyzer.Input{Name: name, Content: bytes.NewReader(data), Size: int64(len(data))}
	}
	for _, w := range []cases.Wheel{
		cases.CaseA("1.5.0"), cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9"),
	} {
		name, data := w.File()
		r, done, err := a.Fix(t.Context(), []analyzer.Input{read(name, data)}, analyzer.Options{},
			analyzer.FixOptions{})
		if err != nil || len(done.Files) != 1 {
			t.Fatalf("%s: %v, %d files; %+v", name, err, len(done.Files), r.Causes)
		}
		fixed, err := io.ReadAll(done.Files[0].Reader())
		if err != nil {
			t.Fatal(err)
		}
		again, err := a.Check(t.Context(), []analyzer.Input{read(done.Files[0].File, fixed)},
			analyzer.Options{NoFixes: true})
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(done.After)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: after the fix\n%s\nread again\n%s", name, got, want)
		}
	}
}

// A requirement is written into the wheel also where a version was specified that it does not
// admit: pip then does not take that version.
func TestFixOfARequirementWithAGivenVersion(t *testing.T) {
	name, data := cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8").File()
	r, done, err := analyzer.New(rules.All()).Fix(t.Context(), []analyzer.Input{
		{Name: name, Content: bytes.NewReader(data), Size: int64(len(data))},
	}, analyzer.Options{With: []string{"nvidia-nvjitlink-cu12==12.8.93"}}, analyzer.FixOptions{})
	if err != nil || len(r.Causes) != 1 || len(done.Files) != 1 {
		t.Fatalf("%v, causes %+v, %d files", err, r.Causes, len(done.Files))
	}
	if x := r.Causes[0].Fixes[0]; !x.Verified || done.After.Problems() ||
		!strings.Contains(string(r.Plan.Command), "--with nvidia-nvjitlink-cu12==12.8.93") {
		t.Errorf("%+v, %s, after it %+v", x, r.Plan.Command, done.After.Findings)
	}
	for _, w := range done.After.Targets[0].With {
		if w == "nvidia-nvjitlink-cu12==12.8.93" {
			t.Errorf("checked again with %s", w)
		}
	}
}
