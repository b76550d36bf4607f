package pinned

import (
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
)

// knownBad returns a sentence about each pair of pins that is known not to work, and of which the
// report has no finding: the wheel of one of them could not be read, or no rule finds the reason.
func (e *Pinned) knownBad(r *analyzer.Report) (out []string) {
	found := map[string]bool{}
	for _, f := range r.Findings {
		if f.Severity == analyzer.Error {
			found[r.PackageOf(f.Artifact)] = true
		}
	}
	pins := e.releases()
	for _, k := range packages.History().KnownBad() {
		user := pins[k.Package]
		if found[user.Name+" "+user.Version] || !k.IsAbout(user, pins[k.With]) {
			continue
		}
		out = append(out, fmt.Sprintf("%s is known not to work with %s%s: %s; %s%s works",
			user, k.With, k.Bad, k.Error, k.With, k.Works))
	}
	return out
}
