package causetext

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
)

// The counts say what has to be done where.
func TestCountsNamePlaces(t *testing.T) {
	fixes := []analyzer.CauseFix{{Fix: fix.Fix{Kind: fix.KindPin}}}
	builder := analyzer.Cause{Actor: result.Builder, Severity: analyzer.Error, Fixes: fixes}
	change := analyzer.Cause{Actor: result.Installer, Severity: analyzer.Error, Fixes: fixes}
	unfixed := analyzer.Cause{Actor: result.Builder, Severity: analyzer.Error}
	other := builder
	other.Unclaimed = true
	install := analyzer.Cause{Actor: result.Installer, Severity: analyzer.Warning,
		Fixes: []analyzer.CauseFix{{Fix: fix.Fix{Kind: fix.KindEnvironment}}}}
	for _, c := range []struct {
		causes []analyzer.Cause
		want   string
	}{
		{[]analyzer.Cause{builder}, "1 error: fix it in the wheel."},
		{[]analyzer.Cause{builder, builder}, "2 errors: fix both in the wheel."},
		{[]analyzer.Cause{install}, "1 warning: fix it on the user's machine, nothing in " +
			"the wheel."},
		{[]analyzer.Cause{builder, install}, "1 error and 1 warning: fix cause 1 in the " +
			"wheel, cause 2 on the user's machine."},
		{[]analyzer.Cause{other}, "1 error: fix it with one more wheel, nothing in the " +
			"wheel."},
		{[]analyzer.Cause{change, builder, builder, builder, change}, "5 errors: fix " +
			"causes 1 and 5 where it is installed, causes 2 to 4 in the wheel."},
		{[]analyzer.Cause{builder, unfixed}, "2 errors: fix cause 1 in the wheel."},
		{[]analyzer.Cause{unfixed, install}, "1 error and 1 warning: fix cause 2 on the " +
			"user's machine."},
		{[]analyzer.Cause{unfixed, unfixed}, "2 errors."},
	} {
		if got := Counts(&analyzer.Report{Causes: c.causes}); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	r := &analyzer.Report{Environment: true, Causes: []analyzer.Cause{change, change}}
	if got := Counts(r); got != "2 errors." {
		t.Errorf("got %q for an environment", got)
	}
}

// The error that forbids it for everything decides whether an artifact may be shipped.
func TestShip(t *testing.T) {
	const no = "Do not ship this wheel."
	of := func(only string) analyzer.Cause {
		return analyzer.Cause{New: true, Severity: analyzer.Error, Only: only,
			Ship: "Do not ship this wheel for " + only + "."}
	}
	whole := analyzer.Cause{New: true, Severity: analyzer.Error, Ship: no}
	unclaimed := of("Alpine 3.20")
	unclaimed.Unclaimed = true
	other := of("RHEL 7")
	other.Unclaimed = true
	excluded := of("use with torch 3")
	excluded.Excluded = true
	may := analyzer.Cause{New: true, Severity: analyzer.Warning, Ship: "This wheel may be shipped."}
	old := analyzer.Cause{Severity: analyzer.Error, Ship: no}
	for want, causes := range map[string][]analyzer.Cause{
		"": {old},
		"Do not ship this wheel for Alpine 3.20.": {of("Alpine 3.20"), may, old},
		"Do not ship this wheel for Alpine 3.20; for use with torch 2.": {
			of("Alpine 3.20"), of("use with torch 2"),
		},
		"Not for Alpine 3.20; for RHEL 7: pip does not install this wheel there, since no tag " +
			"claims it.": {
			unclaimed, other, may,
		},
		"Do not ship this wheel for Alpine 3.20, which its tags do not claim; for use with torch 2.": {
			unclaimed, of("use with torch 2"),
		},
		"Not for use with torch 3.": {excluded, may},
		"Not for Alpine 3.20, which its tags do not claim; for use with torch 3.": {unclaimed, excluded},
		"Do not ship this wheel for RHEL 8; for use with torch 3.": {
			of("RHEL 8"), excluded,
		},
		no: {of("Alpine 3.20"), whole},
		"No error is new, but the base has errors.": {may, old},
		"This wheel may be shipped.":                {may},
	} {
		if got := Ship(&analyzer.Report{Causes: causes}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	r := &analyzer.Report{Causes: []analyzer.Cause{of("Alpine 3.20")}, Targets: []analyzer.Target{
		{Name: "alpine3.20", Verdict: analyzer.Incompatible},
		{Name: "debian12", Verdict: analyzer.Compatible},
		{Name: "debian13", Verdict: analyzer.Compatible},
		{Name: "debian13", Verdict: analyzer.Unchecked},
	}}
	want := "Do not ship this wheel for Alpine 3.20; no error was found on the other platform that " +
		"was checked."
	if got := Ship(r); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Of several artifacts, none may be shipped.
func TestShipOfSeveral(t *testing.T) {
	for want, artifacts := range map[string][]string{
		"Do not ship this wheel.":   {"a/x-1.whl", "a/x-1.whl"},
		"Do not ship these wheels.": {"a/x-1.whl", "b/x-1.whl"},
		"Do not ship these files.":  {"a/x-1.whl", "lib.so"},
	} {
		r := &analyzer.Report{}
		for _, a := range artifacts {
			r.Causes = append(r.Causes, analyzer.Cause{New: true, Severity: analyzer.Error, Artifact: a,
				Ship: "Do not ship this wheel."})
		}
		if got := Ship(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// In no combination of two causes, whether they are new, what they say, and the setting of fail_on,
// the sentence contradicts the verdict or the exit code.
func TestShipNeverContradictsTheOutcome(t *testing.T) {
	const (
		may     = "may be shipped"
		unknown = "Whether this wheel may be shipped is not known."
	)
	var kinds []analyzer.Cause
	for _, fresh := range []bool{true, false} {
		for _, c := range []analyzer.Cause{
			{Severity: analyzer.Error, Ship: "Do not ship this wheel."},
			{Severity: analyzer.Error, Ship: "Do not ship this wheel for Alpine 3.20.", Only: "Alpine 3.20"},
			{Severity: analyzer.Error, Ship: ""},
			{Severity: analyzer.Error, Ship: unknown, Undecided: true},
			{Severity: analyzer.Warning, Ship: "The wheel itself may be shipped; it fails elsewhere."},
			{Severity: analyzer.Warning, Ship: "This wheel may be shipped, but should be improved."},
			{Severity: analyzer.Warning, Ship: unknown, Undecided: true},
			{Severity: analyzer.Warning, Ship: ""},
		} {
			c.New, c.Artifact = fresh, "x-1-py3-none-any.whl"
			kinds = append(kinds, c)
		}
	}
	n := 0
	for _, a := range kinds {
		for _, b := range kinds {
			for _, failOn := range []analyzer.Severity{analyzer.Error, analyzer.Warning, analyzer.Off} {
				for _, unread := range []bool{false, true} {
					r := &analyzer.Report{Verdict: analyzer.Compatible, Causes: []analyzer.Cause{a, b}}
					for i, c := range r.Causes {
						r.Causes[i].Findings = []int{i}
						r.Findings = append(r.Findings, analyzer.Finding{
							Severity: c.Severity, New: c.New, Artifact: c.Artifact,
						})
						if c.Severity == analyzer.Error {
							r.Verdict = analyzer.Incompatible
						}
					}
					if unread {
						r.Unread = []analyzer.Unread{{Path: "y.whl", Reason: "it is damaged"}}
						if r.Verdict == analyzer.Compatible {
							r.Verdict = analyzer.Unchecked
						}
					}
					r.Decide(failOn)
					n++
					got := Ship(r)
					says := strings.Contains(got, may) && !strings.HasPrefix(got, "Whether ")
					what := fmt.Sprintf("%s, outcome %s, fail_on %q, %+v: %q", r.Verdict, r.Outcome, failOn,
						r.Causes, got)
					if says && (r.Outcome != analyzer.OutcomePass || r.Verdict != analyzer.Compatible) {
						t.Errorf("it may be shipped: %s", what)
					}
					newError := func(c analyzer.Cause) bool {
						return c.New && c.Severity == analyzer.Error && c.Ship != "" && !c.Undecided
					}
					if (newError(a) || newError(b)) != strings.HasPrefix(got, "Do not ship this wheel") &&
						r.Outcome != analyzer.OutcomeFail {
						t.Errorf("an error does not forbid it: %s", what)
					}
				}
			}
		}
	}
	if n != 16*16*3*2 {
		t.Errorf("%d combinations", n)
	}
}

// That wheels may be shipped is said of all of them.
func TestShipSeveral(t *testing.T) {
	r := &analyzer.Report{Causes: []analyzer.Cause{{New: true, Severity: analyzer.Warning,
		Ship: "This wheel may be shipped, but should be improved."}}}
	for n, want := range map[int]string{1: "This wheel", 3: "These wheels"} {
		r.Artifacts = nil
		for range n {
			r.Artifacts = append(r.Artifacts, analyzer.Artifact{Kind: analyzer.KindWheel})
		}
		if got := Ship(r); got != want+" may be shipped, but should be improved." {
			t.Errorf("%d: got %q", n, got)
		}
	}
}
