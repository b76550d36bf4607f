package result_test

import (
	"reflect"
	"testing"

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

// A share of undecided imports is named from a fifth on.
func TestShare(t *testing.T) {
	for undecided, want := range map[int]string{
		0: "", 199: "", 200: "20 percent of the imports are undecided",
		999: "99 percent of the imports are undecided",
	} {
		r := &result.Report{Artifacts: []result.Artifact{
			{Accounting: &result.Accounting{Imports: 1000, Found: 1000 - undecided, Undecided: undecided,
				Why: []result.Undecided{{Reason: result.NotRead, Library: "liba.so", Count: undecided}}}},
		}}
		if got := r.Share(); got != want {
			t.Errorf("%d: got %q, want %q", undecided, got, want)
		}
	}
}
