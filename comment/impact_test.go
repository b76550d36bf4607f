package comment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/impact"
)

func TestWithImpact(t *testing.T) {
	check := Check{Conclusion: "success", Title: "Compatible", Summary: "All is well.\n", Clean: true}
	if got := WithImpact(check, nil); got.Summary != check.Summary {
		t.Errorf("%+v", got)
	}
	hostile := "a](http://evil.test) @acme/owners <img src=x> `x"
	i := &Impact{FailOn: "error", Rows: []ImpactRow{
		{Repository: "acme/mill", URL: "https://github.test/acme/mill", Package: "gear 2.0", Wheel: "mill 1",
			Verdict: impact.Breaks, Reason: "mill/_m.so imports " + hostile},
		{Repository: "acme/saw", URL: "https://github.test/)x(", Package: "gear 2.0", Wheel: "saw " + hostile,
			Verdict: impact.Works},
		{Repository: "acme/lock", Pins: []ImpactPin{{hostile, "1"}, {"b", "1"}, {"c", "1"}, {"d", "1"}}},
		{Repository: "acme/farm", Package: "gear 2.0", Wheel: "saw 1", Verdict: impact.Works,
			Files: []string{hostile, "b", "c", "d"}, Builder: "acme/" + hostile},
	}}
	got := WithImpact(check, i)
	if got.Conclusion != "failure" || got.Clean || !got.Create ||
		!strings.HasPrefix(got.Title, "acme/mill breaks: ") ||
		!strings.Contains(got.Summary, "4 other repositories") ||
		!strings.Contains(got.Summary, "and 1 more") {
		t.Errorf("%+v", got)
	}
	judge := judge
	judge.Tags = append(slices.Clone(judge.Tags), "h2")
	if alive := judge.Alive(got.Summary); alive != "" || strings.Contains(got.Summary, ")x(") {
		t.Errorf("the summary has %s:\n%s", alive, got.Summary)
	}
	i.FailOn = "never"
	if got = WithImpact(check, i); got.Conclusion != "success" || !strings.Contains(got.Title,
		"breaks acme/mill") {
		t.Errorf("%+v", got)
	}
	// A check that fails anyway keeps its title, and the section has a limit.
	for n := range 2000 {
		r := i.Rows[0]
		r.Repository = fmt.Sprintf("acme/mill-%d", n)
		i.Rows = append(i.Rows, r)
	}
	check.Conclusion, i.FailOn = "failure", "error"
	if got = WithImpact(check, i); got.Title != "Compatible" || len(got.Summary) > maxImpact+1000 ||
		!strings.Contains(got.Summary, " more\n") {
		t.Errorf("%s: %d bytes", got.Title, len(got.Summary))
	}
}
