package trial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

// asRequired offers the required versions as the first fix of findings that occur only because
// the user specified other versions than the artifact requires.
func (t *Verifier) asRequired(fresh []judge.Found, sets []*packages.Set) error {
	for _, x := range fresh {
		x.Fixes = []fix.Fix{}
	}
	var change fix.AsRequired
	changed := map[string]bool{} // packages
	for _, s := range sets {
		for _, c := range s.Conflicts {
			if c.By == packages.Artifact && t.session.Given(c.Package) &&
				!slices.Contains(change.Requirements, c.Requirement) {
				change.Requirements = append(change.Requirements, c.Requirement)
				change.Pins = append(change.Pins, t.concrete(c.Requirement))
				changed[c.Package] = true
			}
		}
	}
	if len(change.Requirements) == 0 {
		return nil
	}
	w, err := t.run(change.Apply(t.base.Scenario))
	for err == nil && w != nil && len(change.Implied) < maxTogether {
		next, more, required := t.nextPackage(w, changed)
		if !t.implied(next, more, required) {
			break
		}
		changed[next] = true
		change.Implied = append(change.Implied, more)
		w, err = t.run(change.Apply(t.base.Scenario))
	}
	if err != nil || w == nil {
		return err
	}
	for _, x := range fresh {
		if x.Severity == result.Note || !t.fixes(w, x) {
			continue
		}
		x.Fixes = append(x.Fixes, fix.Fix{
			Kind:        fix.KindEnvironment,
			Title:       fix.Titled("Install the versions that it requires"),
			Command:     "pip install " + shellword.Quoted(change.Pins),
			Requirement: change.Requirements[0],
			Verified:    true,
			Cost:        w.cost,
			Change:      change,
		})
	}
	return nil
}

// importOrder finds the findings that occur only because a package is imported before the
// artifact, and offers the other order as a fix.
func (t *Verifier) importOrder(fresh []judge.Found) error {
	for _, name := range t.session.First() {
		name = pkgmeta.Normalize(name)
		if !slices.ContainsFunc(fresh, func(x judge.Found) bool { return x.Severity != result.Note }) {
			return nil
		}
		t.most = len(t.known) + 1
		change := fix.ImportBefore{Package: name}
		w, err := t.run(change.Apply(t.base.Scenario))
		if err != nil || w == nil {
			return err
		}
		for _, x := range fresh {
			if x.Severity == result.Note || w.left[x.Identity()] {
				continue
			}
			x.Message += fmt.Sprintf(". It fails only if %s has been imported first", name)
			offer := fix.Fix{
				Kind:   fix.KindEnvironment,
				Title:  fix.Titled("Import it before %s", name),
				Change: change,
				Cost: []string{
					fmt.Sprintf("%s then uses the artifact's libraries with the same names", name),
				},
			}
			if offer.Verified = t.fixes(w, x); offer.Verified {
				x.Fixes = append(x.Fixes, offer)
			}
		}
	}
	return nil
}

// libraryPath finds the findings that occur only because a folder is in LD_LIBRARY_PATH, and
// offers to remove it.
func (t *Verifier) libraryPath(fresh []judge.Found) error {
	for _, f := range t.session.Folders() {
		if !slices.ContainsFunc(fresh, func(x judge.Found) bool { return x.Severity != result.Note }) {
			return nil
		}
		t.most = len(t.known) + 1
		change := fix.RemoveLibraryPath{Folder: f.Path}
		w, err := t.run(change.Apply(t.base.Scenario))
		if err != nil || w == nil {
			return err
		}
		for _, x := range fresh {
			if x.Severity == result.Note || !t.fixes(w, x) {
				continue
			}
			x.Message += fmt.Sprintf(". It works without %s in LD_LIBRARY_PATH", f.Path)
			offer := fix.Fix{
				Kind:     fix.KindEnvironment,
				Title:    fix.Titled("Remove %s from LD_LIBRARY_PATH", f.Path),
				Command:  "unset LD_LIBRARY_PATH",
				Verified: true,
				Cost:     w.cost,
				Change:   change,
			}
			if left := t.session.LibraryPath(change.Apply(t.base.Scenario)); len(left) > 0 {
				offer.Command = "export LD_LIBRARY_PATH=" + shellword.Quote(strings.Join(left, ":"))
			}
			x.Fixes = append(x.Fixes, offer)
		}
	}
	return nil
}
