package result_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/result"
)

func TestAccounting(t *testing.T) {
	a := result.Accounting{Imports: 5, Found: 2, Missing: 1}
	a.Undecide(result.NotFound, "libb.so.1", 1)
	a.Undecide(result.NotRead, "liba.so.1", 0)
	a.Undecide(result.NotRead, "liba.so.1", 1)
	b := result.Accounting{Imports: 3, Found: 1}
	b.Undecide(result.NotRead, "liba.so.1", 2)
	a.Add(b)
	want := result.Accounting{Imports: 8, Found: 3, Missing: 1, Undecided: 4, Why: []result.Undecided{
		{Reason: result.NotRead, Library: "liba.so.1", Count: 3},
		{Reason: result.NotFound, Library: "libb.so.1", Count: 1},
	}}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("got %+v, want %+v", a, want)
	}
	if got := a.Why[0].String(); got != "liba.so.1 was not read" {
		t.Errorf("reason %q", got)
	}
	if !a.Worse(&b) || b.Worse(&a) || a.Worse(&a) {
		t.Error("the accounting with a missing import is worse")
	}
}

// From a fifth on, the share of undecided imports is named, with what makes them certain.
func TestUnsure(t *testing.T) {
	const because = " percent of the imports (needed symbols) could not be checked, " +
		"because liba.so was not read; to " +
		"be certain, "
	const there = " on a system that has that library."
	wheel, object := result.Artifact{Kind: facts.KindWheel}, result.Artifact{Kind: facts.KindObject}
	for _, c := range []struct {
		undecided int
		artifacts []result.Artifact
		want      string
	}{
		{0, []result.Artifact{wheel}, ""},
		{199, []result.Artifact{wheel}, ""},
		{200, []result.Artifact{wheel}, "20" + because + "install and import it once" + there},
		{999, []result.Artifact{wheel, object}, "99" + because + "install and import them once" + there},
		{500, []result.Artifact{object}, "50" + because + "load it once" + there},
		{500, []result.Artifact{object, object}, "50" + because + "load them once" + there},
	} {
		r := &result.Report{Artifacts: c.artifacts}
		r.Artifacts[0].Accounting = &result.Accounting{
			Imports: 1000, Found: 1000 - c.undecided, Undecided: c.undecided,
			Why: []result.Undecided{{Reason: result.NotRead, Library: "liba.so", Count: c.undecided}},
		}
		if got := r.Unsure(); got != c.want {
			t.Errorf("%d: got %q, want %q", c.undecided, got, c.want)
		}
		if c.undecided < 200 {
			continue
		}
		r.Artifacts[0].Accounting.Why[0].Reason = result.OfHost
		if got := r.Unsure(); !strings.HasSuffix(got, " once in that program.") {
			t.Errorf("%d: got %q for symbols of the program", c.undecided, got)
		}
		r.Environment = true
		if got := r.Unsure(); !strings.HasSuffix(got, "import the packages once in that program.") {
			t.Errorf("%d: got %q for an environment", c.undecided, got)
		}
	}
}
