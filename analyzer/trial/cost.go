package trial

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
)

// cost returns what a changed scenario breaks: requirements that are no longer satisfied, and
// libraries that the system must provide now.
func (t *Verifier) cost(w *trial) []string {
	out := newConflicts(t.costs(w.sets), t.conflicts)
	for _, f := range w.found {
		if !fromSystem(f.Finding) || t.before[f.Identity()] {
			continue
		}
		text := fmt.Sprintf("needs the system library %s, because of %s", f.Library, f.Package)
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return append([]string{}, out...)
}

// costs returns the requirements that the selected releases do not satisfy. In an environment,
// another version of a package is chosen if nothing pins it, and if a lock file does, whose tool
// resolves it again.
func (t *Verifier) costs(sets []*packages.Set) []string {
	var out []string
	for _, s := range sets {
		for _, x := range s.Conflicts {
			text := conflictText(x)
			if x.Release != (packages.ID{}) && t.session.Pinned() {
				switch given, locked := t.session.Pin(x.Release.Name); {
				case !given:
					continue
				case locked:
					text = "another version of " + x.Release.Name + ": " + x.Release.Version +
						" requires " + x.Requirement + ", not " + x.Chosen
				}
			}
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

func conflictText(x packages.Conflict) string {
	if x.By == packages.Artifact {
		return fix.ConflictsWith + "the artifact itself requires " + x.Requirement +
			", not " + x.Chosen
	}
	return fix.ConflictsWith + x.By + " requires " + x.Requirement + ", not " + x.Chosen
}

func newConflicts(now, known []string) []string {
	return slices.DeleteFunc(
		slices.Clone(now),
		func(s string) bool { return slices.Contains(known, s) },
	)
}
