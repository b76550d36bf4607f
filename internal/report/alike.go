package report

import (
	"cmp"
	"strings"

	"github.com/compat-app/compat/analyzer"
)

// Alike are findings whose messages differ only in the symbol.
type Alike struct {
	Finding analyzer.Finding `json:"finding"`           // the first of them
	Symbols []string         `json:"symbols,omitempty"` // of others, demangled if they can be
	More    int              `json:"more,omitempty"`    // symbols beyond these
}

// alikeOf returns findings in groups: the first groups, with the first symbols of each.
func alikeOf(findings []analyzer.Finding, groups, symbols int) []Alike {
	var out []Alike
	at := map[string]int{} // by what is the same
	for i := range findings {
		f := &findings[i]
		message := f.Message
		for _, name := range []string{f.Demangled, f.Symbol} {
			if name != "" {
				message = strings.ReplaceAll(message, name, "\x00")
			}
		}
		parts := append([]string{f.Rule, string(f.Severity), f.Artifact, message}, f.Chain...)
		key := strings.Join(parts, "\x01")
		n, known := at[key]
		switch {
		case known && f.Symbol != "" && len(out[n].Symbols) < symbols:
			out[n].Symbols = append(out[n].Symbols, cmp.Or(f.Demangled, f.Symbol))
		case known && f.Symbol != "":
			out[n].More++
		case len(out) < groups:
			at[key] = len(out)
			out = append(out, Alike{Finding: *f})
		}
	}
	return out
}
