package trial

import (
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// cost returns what a changed scenario breaks: requirements that are no longer satisfied, and
// libraries that the system must provide now.
func (t *Verifier) cost(w *trial) []string {
	out := newConflicts(t.costs(w.sets, w.with), t.conflicts)
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

// costs returns the requirements that the selected releases do not satisfy. In an environment, the
// versions in with are those of a fix. Of a package that it does not name, another version is
// chosen if nothing pins it, and if a lock file does, whose tool resolves it again.
func (t *Verifier) costs(sets []*packages.Set, with []string) []string {
	var out []string
	for _, s := range sets {
		for _, x := range s.Conflicts {
			text := conflictText(x)
			if by := x.Release; by != (packages.ID{}) && t.session.Pinned() {
				given, locked := t.session.Pin(by.Name)
				_, other := t.session.Pin(x.Package)
				switch named := names(with); {
				case !named[by.Name] && !given:
					continue
				case !named[by.Name] && locked:
					text = "another version of " + by.Name + ": " + by.Version + " requires " +
						x.Requirement + ", not " + x.Chosen
				case named[by.Name] && !named[x.Package] && other:
					text = "another version of " + x.Package + ": " + by.Name + " " + by.Version +
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

// names returns the packages of some requirements.
func names(requirements []string) map[string]bool {
	out := map[string]bool{}
	for _, r := range requirements {
		if q, err := pkgmeta.ParseRequirement(r); err == nil {
			out[q.Name] = true
		}
	}
	return out
}

// ownConflict is the prefix of a cost: a requirement of the artifact that the fix violates.
const ownConflict = fix.ConflictsWith + "the artifact itself requires "

func conflictText(x packages.Conflict) string {
	if x.By == packages.Artifact {
		return ownConflict + x.Requirement + ", not " + x.Chosen
	}
	return fix.ConflictsWith + x.By + " requires " + x.Requirement + ", not " + x.Chosen
}

func newConflicts(now, known []string) []string {
	return slices.DeleteFunc(
		slices.Clone(now),
		func(s string) bool { return slices.Contains(known, s) },
	)
}
