package report

import (
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
)

func objects(r *analyzer.Report) int {
	n := 0
	for _, a := range r.Artifacts {
		n += a.Objects
	}
	return n
}

// platformNames returns the distinct display names of the platforms in a report.
func platformNames(r *analyzer.Report) []string {
	var names []string
	for _, t := range r.Targets {
		if name := cause.PlatformName(t.Name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// subject returns the name that a finding is about: a symbol, library or version, or else the
// rule.
func subject(f *analyzer.Finding) string {
	for _, s := range []string{f.Symbol, f.Library, f.Version} {
		if s != "" {
			return s
		}
	}
	return f.Rule
}
