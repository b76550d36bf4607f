package subject

import (
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/test/hostiletest"
)

// The comment of a deployment review is Markdown too, with a short limit.
func TestHostileGateComments(t *testing.T) {
	names := hostiletest.Names()
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 9))
		next := func() string { return names[r.IntN(len(names))] }
		report := &analyzer.Report{}
		for range 30 {
			report.Findings = append(
				report.Findings,
				analyzer.Finding{
					Rule:     "symbol-version-too-new",
					Severity: analyzer.Error,
					Object:   next(),
					Symbol:   next(),
					Version:  next(),
					Library:  next(),
				},
			)
		}
		var skipped []artifact.Problem
		for range r.IntN(6) {
			skipped = append(skipped, artifact.Problem{Name: next(), Reason: "not selected"})
		}
		text := protectionComment(next(), skipped, report)
		if what := (hostiletest.Judge{Tags: []string{"p", "ul", "li"}}).Alive(text); what != "" {
			t.Errorf("%s in %s", what, text)
		}
		if n := utf8.RuneCountInString(text); n > 1024 {
			t.Errorf("%d characters", n)
		}
	}
}
