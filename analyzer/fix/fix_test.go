package fix_test

import (
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/fix"
)

// TestRequirements checks what a change of several packages changes, in its order.
func TestRequirements(t *testing.T) {
	together := fix.All{
		fix.AsRequired{Requirements: []string{"torch==2.5.1"}, Pins: []string{"torch==2.5.1"}},
		fix.Pin{Requirement: "triton==3.1.0"},
	}
	for _, c := range []struct {
		fix  fix.Fix
		want []string
	}{
		{fix.Fix{Change: together}, []string{"torch==2.5.1", "triton==3.1.0"}},
		{fix.Fix{Change: fix.Releases{"numba==0.61.0"}}, []string{"numba==0.61.0"}},
		{fix.Fix{Change: fix.Retag{}, Requirement: "numpy<2"}, []string{"numpy<2"}},
		{fix.Fix{Change: fix.Retag{}}, nil},
	} {
		if got := c.fix.Requirements(); !slices.Equal(got, c.want) {
			t.Errorf("%+v changes %q, want %q", c.fix.Change, got, c.want)
		}
	}
}
