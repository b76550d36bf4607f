package analyzer_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// What is left in a file with a fix is not attributed to another file whose path differs only in
// its spelling, so the fix does not count as one that works.
func TestFixOfOneOfTwoSpellings(t *testing.T) {
	o, err := elftest.Parse("elf x86_64\nsoname libx.so\nneeded libc.so.6\nexecstack yes\n")
	if err != nil {
		t.Fatal(err)
	}
	data, err := elftest.Write(o)
	if err != nil {
		t.Fatal(err)
	}
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
