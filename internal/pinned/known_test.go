package pinned

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
)

// A pair that is known not to work is named, unless the report has an error of its package.
func TestKnownBadPairs(t *testing.T) {
	pins := func(list ...string) *Pinned {
		p := &Pinned{}
		for _, x := range list {
			var pin Pin
			pin.Requirement = x
			p.Pins = append(p.Pins, pin)
		}
		return p
	}
	bad := pins("palletjack==2.2.0", "pyarrow==16.1.0", "numpy==1.26.4")
	r := analyzer.NewReport("")
	got := strings.Join(bad.knownBad(r), "\n")
	want := "palletjack==2.2.0 is known not to work with pyarrow>=16.1: ImportError: " +
		"libarrow.so.1600: cannot open shared object file: No such file or directory; " +
		"pyarrow==16.0.* works"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r.Artifacts = []analyzer.Artifact{{
		Path: "a.whl", Wheel: &analyzer.Wheel{Name: "palletjack", Version: "2.2.0"},
	}}
	r.Findings = []analyzer.Finding{{Severity: analyzer.Error, Artifact: "a.whl"}}
	if got := bad.knownBad(r); got != nil {
		t.Error(got)
	}
	good := pins("palletjack==2.2.0", "pyarrow==16.0.0", "h5py==3.10.0", "numpy==1.26.4")
	if got := good.knownBad(analyzer.NewReport("")); got != nil {
		t.Error(got)
	}
}
