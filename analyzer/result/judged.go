package result

import (
	"fmt"
	"path"
	"slices"

	"github.com/compat-app/compat/analyzer/facts"
)

// Judged is a report, or one of its artifacts, in which nothing is known to be wrong. The sentences
// that say so are its methods, so none can be written about something that was not checked.
type Judged struct {
	objects int
	imports Accounting
	assumed bool // of other packages, libraries were not read
}

// Judged returns what the report says about all artifacts. ok is false unless its verdict is
// compatible.
func (r *Report) Judged() (j Judged, ok bool) {
	if r.Verdict != Compatible {
		return Judged{}, false
	}
	for i := range r.Artifacts {
		a := &r.Artifacts[i]
		j.objects += a.Objects
		j.assumed = j.assumed || a.Assumed != nil
	}
	j.imports = r.Accounting()
	return j, true
}

// JudgedArtifact returns what the report says about one artifact that no cause is about. ok is
// false if it has no object that was checked, or could not be read completely.
func (r *Report) JudgedArtifact(a *Artifact) (j Judged, ok bool) {
	if a.Objects == 0 || !r.Complete(a.Path) {
		return Judged{}, false
	}
	j = Judged{objects: a.Objects, assumed: a.Assumed != nil}
	if a.Accounting != nil {
		j.imports = *a.Accounting
	}
	return j, true
}

// Found is the clause that everything is found, or all that could be checked.
func (j Judged) Found() string {
	return "All needed symbols and libraries" + j.that(" that could be checked") + " are found"
}

// FoundFor is Found with the number of objects.
func (j Judged) FoundFor() string {
	need := "need"
	if j.objects == 1 {
		need = "needs"
	}
	return fmt.Sprintf("All symbols and libraries that %s %s%s are found",
		Count(j.objects, "file"), need, j.that(", and that could be checked,"))
}

// Except is the clause about imports that are undecided, with the most frequent reason; "" if all
// are found.
func (j Judged) Except() string {
	if j.imports.Undecided == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s undecided: %s", j.imports.Undecided,
		Count(j.imports.Imports, "import"), j.imports.Why[0])
}

// considerable is the share of undecided imports, as one in so many, from which a report says it
// next to its answer. Less is usual: C++ libraries of systems whose symbols are not known.
const considerable = 5

// Unsure is the sentence that a considerable part of the imports is undecided, why, and what makes
// it certain whether they are defined; "" if few are.
func (r *Report) Unsure() string {
	a := r.Accounting()
	if a.Undecided == 0 || a.Undecided*considerable < a.Imports {
		return ""
	}
	why := a.Why[0]
	if why.Library != "" {
		why.Library = path.Base(why.Library) // on macOS it is a long path
	}
	return fmt.Sprintf("%d percent of the imports (needed symbols) could not "+
		"be checked, because %s; to be certain, %s.", max(1, a.Undecided*100/a.Imports), why,
		r.toBeCertain(a.Why[0].Reason))
}

// toBeCertain says how to find out whether undecided imports are defined.
func (r *Report) toBeCertain(reason Reason) string {
	do := "load it once"
	switch wheel := func(a Artifact) bool { return a.Kind == facts.KindWheel }; {
	case r.Environment:
		do = "import the packages once"
	case slices.ContainsFunc(r.Artifacts, wheel) && len(r.Artifacts) == 1:
		do = "install and import it once"
	case slices.ContainsFunc(r.Artifacts, wheel):
		do = "install and import them once"
	case len(r.Artifacts) > 1:
		do = "load them once"
	}
	switch reason {
	case NotRead, NotFound:
		return do + " on a system that has that library"
	case OfHost, OfOpener:
		return do + " in that program"
	}
	return do
}

// that returns a restriction if something was not checked.
func (j Judged) that(restriction string) string {
	if j.assumed || j.imports.Undecided > 0 {
		return restriction
	}
	return ""
}
