package analyzer_test

import (
	"bytes"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/fix"
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
