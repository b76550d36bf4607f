package main

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/abi"
)

// A comparison of types always states how many it took for private; one of symbols has none.
func TestDiffTextPrivateTypes(t *testing.T) {
	for evidence, want := range map[abi.Evidence]string{
		abi.EvidenceDWARF:   "\n  Types treated as private: 3.\n",
		abi.EvidenceSymbols: "",
	} {
		r := &abi.Result{Library: "libx.so.1", Verdict: abi.None, PrivateTypes: 3}
		r.Evidence.Old, r.Evidence.New = evidence, evidence
		var out strings.Builder
		if err := writeDiffText(&out, r, []*abi.Result{r}, false); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "Types treated as private"); got != (want != "") ||
			!strings.Contains(out.String(), want) {
			t.Errorf("%s: %q, want %q in it", evidence, out.String(), want)
		}
	}
}
