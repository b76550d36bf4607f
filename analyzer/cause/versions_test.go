package cause_test

import (
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/result"
)

// Of several symbols, the title says from which version on the first one is missing.
func TestWidestRange(t *testing.T) {
	lacks := func(symbol, before, first string) result.Finding {
		return result.Finding{
			Rule: "symbol-missing-in-package", Severity: result.Error, Object: "a.so", Symbol: symbol,
			Library: "libtorch.so", Package: "torch", Range: &result.Range{
				Package: "torch", Requirement: "torch>=2.3", Lowest: "2.3.0", Before: before, First: first,
				Highest: "2.15.0", Fails: packages.Highest,
			},
		}
	}
	r := report(lacks("f", "2.6.0", "2.7.0"), lacks("g", "2.3.1", "2.4.0"),
		lacks("h", "2.9.0", "2.10.0"))
	const want = "fails with torch 2.4.0 and later, which lack f and 2 more symbols, needed by a.so"
	if got := r.Causes[0].Title; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
