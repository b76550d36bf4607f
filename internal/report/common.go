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

// platformNames are the targets of a report by the names people use, each once.
func platformNames(r *analyzer.Report) []string {
	var names []string
	for _, t := range r.Targets {
		if name := cause.PlatformName(t.Name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// subject is the one word that a finding is about.
func subject(f *analyzer.Finding) string {
	for _, s := range []string{f.Symbol, f.Library, f.Version} {
		if s != "" {
			return s
		}
	}
	return f.Rule
}
