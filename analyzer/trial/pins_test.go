package trial

import (
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/result"
)

// Versions in the range of a finding do not help, and what is outside of it may. A range around
// another version that fails says nothing about this one.
func TestOutsideRanges(t *testing.T) {
	found := func(r *result.Range) judge.Found {
		return judge.Found{Finding: &result.Finding{Range: r}}
	}
	removed := found(&result.Range{Package: "torch", Fails: packages.Highest, Lowest: "2.3.0",
		Before: "2.3.1", First: "2.4.0", Highest: "2.15.0"})
	added := found(&result.Range{Package: "torch", Fails: packages.Lowest, Lowest: "2.3.0",
		Before: "2.3.0", First: "2.3.1", Highest: "2.15.0"})
	other := found(&result.Range{Package: "numpy", Fails: packages.Highest, Lowest: "1.0",
		Before: "1.26", First: "2.0", Highest: "2.15.0"})
	versions := []string{"2.2.0", "2.3.0", "2.3.1", "2.4.0", "2.10.0", "2.15.0", "2.16.0"}
	for failing, want := range map[string][]string{
		"2.15.0": {"2.2.0", "2.3.0", "2.3.1", "2.16.0"},
		"2.3.0":  {"2.2.0", "2.3.1", "2.4.0", "2.10.0", "2.15.0", "2.16.0"},
	} {
		good := outsideRanges([]judge.Found{removed, added, other, found(nil)}, "torch", failing)
		var got []string
		for _, v := range versions {
			if (versionEnd{all: good}).good(v) {
				got = append(got, v)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s fails: got %v, want %v", failing, got, want)
		}
	}
}
