package causetext

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Ship says whether the artifacts of a report may be shipped as they are; "" if no cause says it.
// It never contradicts the outcome: that they may be shipped is only said if the outcome is Pass
// and there is no error, also none that the base has. Without an outcome, before Report.Decide,
// only the causes count.
func Ship(r *analyzer.Report) string {
	var errors, warnings []*analyzer.Cause // new ones
	old := false
	for i := range r.Causes {
		switch c := &r.Causes[i]; {
		case !c.New:
			old = old || c.Severity == analyzer.Error
		case c.Severity == analyzer.Error:
			errors = append(errors, c)
		default:
			warnings = append(warnings, c)
		}
	}
	not := forbidden(r, errors)
	unknown := slices.IndexFunc(r.Causes, func(c analyzer.Cause) bool { return c.New && c.Undecided })
	switch {
	case len(errors)+len(warnings) == 0:
		return ""
	case not != "":
		return not
	case unknown >= 0:
		return r.Causes[unknown].Ship
	case len(errors) > 0: // none is about shipping
		return ""
	case old:
		return "No error is new, but the base has errors."
	case r.Outcome == analyzer.OutcomeFail:
		return "Do not ship " + these(r, warnings) + " before the warnings are gone: fail_on is warning."
	case r.Outcome == analyzer.OutcomeError || r.Verdict == analyzer.Unchecked:
		return "Whether " + these(r, warnings) + " may be shipped is not known: not everything was " +
			"checked."
	}
	for _, c := range warnings {
		if c.Ship != "" {
			return strings.Join(NonEmpty(allowed(r, c.Ship), r.Unsure()), " ")
		}
	}
	return ""
}

// allowed is the sentence of a warning that an artifact may be shipped, for all artifacts of a
// report if there are several.
func allowed(r *analyzer.Report, ship string) string {
	rest, ok := strings.CutPrefix(ship, "This wheel may be shipped, but")
	if ok && len(r.Artifacts) > 1 {
		return "These " + noun(r) + "s may be shipped, but" + rest
	}
	return ship
}

// forbidden returns the sentence of the errors that forbid to ship the artifacts; "" if none does.
// An error that forbids it for everything counts more than one for some uses.
func forbidden(r *analyzer.Report, errors []*analyzer.Cause) string {
	errors = slices.DeleteFunc(slices.Clone(errors), func(c *analyzer.Cause) bool {
		return c.Ship == "" || c.Undecided
	})
	if len(errors) == 0 {
		return ""
	}
	whole := slices.IndexFunc(errors, func(c *analyzer.Cause) bool { return c.Only == "" })
	if whole >= 0 {
		const one = "Do not ship "
		if rest, ok := strings.CutPrefix(errors[whole].Ship, one); ok {
			for _, this := range []string{"this wheel", "this file"} {
				if rest, ok := strings.CutPrefix(rest, this); ok {
					return one + these(r, errors) + rest
				}
			}
		}
		return errors[whole].Ship
	}
	every := func(is func(*analyzer.Cause) bool) bool {
		return !slices.ContainsFunc(errors, func(c *analyzer.Cause) bool { return !is(c) })
	}
	unclaimed := every(func(c *analyzer.Cause) bool { return c.Unclaimed })
	var uses []string
	for _, c := range errors {
		use := c.Only
		if c.Unclaimed && !unclaimed {
			use += ", which its tags do not claim"
		}
		if !slices.Contains(uses, use) {
			uses = append(uses, use)
		}
	}
	list := strings.Join(uses[:min(len(uses), maxUses)], "; for ")
	if n := len(uses) - maxUses; n > 0 {
		list += "; and for " + analyzer.Count(n, "more use")
	}
	switch {
	case unclaimed: // that pip installs it elsewhere is no error
		return "Not for " + list + ": pip does not install " + these(r, errors) +
			" there, since no tag claims it" + elsewhere(r) + "."
	case every(func(c *analyzer.Cause) bool { return c.Unclaimed || c.Excluded }):
		return "Not for " + list + elsewhere(r) + "." // pip installs it with none of them
	}
	return "Do not ship " + these(r, errors) + " for " + list + elsewhere(r) + "."
}

// maxUses limits the uses that a sentence names.
const maxUses = 3

// elsewhere counts the targets on which no error was found, after those for which the artifacts
// must not be shipped; "" if there are none.
func elsewhere(r *analyzer.Report) string {
	var works []string
	fails := map[string]bool{}
	for _, t := range r.Targets {
		fails[t.Name] = fails[t.Name] || t.Verdict != analyzer.Compatible
	}
	for _, t := range r.Targets {
		if !fails[t.Name] && !slices.Contains(works, t.Name) {
			works = append(works, t.Name)
		}
	}
	switch len(works) {
	case 0:
		return ""
	case 1:
		return "; no error was found on the other platform that was checked"
	}
	return fmt.Sprintf("; no error was found on the other %d platforms that were checked", len(works))
}

// these names the artifacts of causes: "this wheel", "these files", or one of several by its name.
func these(r *analyzer.Report, causes []*analyzer.Cause) string {
	of := map[string]bool{}
	for _, c := range causes {
		of[c.Artifact] = true
		for _, i := range c.Findings {
			if i < len(r.Findings) { // a page has only the first
				of[r.Findings[i].Artifact] = true
			}
		}
	}
	noun := "wheel"
	for a := range of {
		if a != "" && !strings.HasSuffix(a, ".whl") {
			noun = "file"
		}
	}
	switch {
	case len(of) > 1 && len(of) < len(r.Artifacts):
		return fmt.Sprintf("%d of these %s", len(of), analyzer.Count(len(r.Artifacts), noun))
	case len(of) > 1:
		return "these " + noun + "s"
	case len(of) == 1 && len(r.Artifacts) > 1 && !r.Environment:
		for a := range of {
			return path.Base(a)
		}
	}
	return "this " + noun
}

// Counts counts the causes, first by severity and then by the place where they are removed: "2
// errors and 1 warning: fix causes 1 and 2 in the wheel, cause 3 on the user's machine.". Of a
// single warning it says why it is one. In an environment, who reads it chooses the versions.
func Counts(r *analyzer.Report) string {
	s := CountCauses(r, nil)
	if len(r.Causes) == 1 && r.Causes[0].Severity == analyzer.Warning && r.Causes[0].Why != "" {
		s += " (" + mdsafe.Visible(r.Causes[0].Why) + ")"
	}
	if places := Places(r, nil); places != "" {
		s += ": " + places
	}
	return s + "."
}

// CountCauses counts causes by their severity: "2 errors and 1 warning". causes are indexes; nil =
// all.
func CountCauses(r *analyzer.Report, causes []int) string {
	n := map[analyzer.Severity]int{}
	for _, i := range orAll(r, causes) {
		n[r.Causes[i].Severity]++
	}
	var kinds []string
	for _, s := range []analyzer.Severity{analyzer.Error, analyzer.Warning} {
		if n[s] > 0 {
			kinds = append(kinds, analyzer.Count(n[s], string(s)))
		}
	}
	return and(kinds)
}

// orAll returns the indexes of all causes of a report if none are given.
func orAll(r *analyzer.Report, causes []int) []int {
	if causes == nil {
		for i := range r.Causes {
			causes = append(causes, i)
		}
	}
	return causes
}

// Places says where causes are removed: "fix causes 1 and 2 in the wheel, cause 3 on the user's
// machine". causes are indexes; nil = all. Those without a fix are left to PlanSentence. It is ""
// for an environment, where the versions are chosen, if none has a fix, and if all are removed in
// the pull request, as each of them says.
func Places(r *analyzer.Report, causes []int) string {
	causes = orAll(r, causes)
	if r.Environment || len(causes) == 0 {
		return ""
	}
	var order []string
	numbers := map[string][]int{}
	own := inArtifact(r)
	unfixed := 0
	for _, i := range causes {
		if len(r.Causes[i].Fixes) == 0 {
			unfixed++
			continue
		}
		at := place(r, &r.Causes[i])
		if numbers[at] == nil {
			order = append(order, at)
		}
		numbers[at] = append(numbers[at], i+1)
	}
	if len(order) == 0 || len(order) == 1 && order[0] == thisPullRequest && unfixed == 0 {
		return ""
	}
	var parts []string
	for _, at := range order {
		which := ranges(numbers[at])
		switch {
		case len(order) > 1 || unfixed > 0:
		case len(causes) == 1:
			which = "it"
		case len(causes) == 2:
			which = "both"
		default:
			which = "all"
		}
		parts = append(parts, which+" "+at)
	}
	if numbers[own] == nil && numbers[thisPullRequest] == nil && unfixed == 0 {
		parts = append(parts, "nothing "+own)
	}
	return "fix " + strings.Join(parts, ", ")
}

const thisPullRequest = "in this pull request"

const usersMachine = "on the user's machine"

// place says where a cause is removed, after "fix it".
func place(r *analyzer.Report, c *analyzer.Cause) string {
	switch c.Actor {
	case result.Builder:
		switch {
		case c.AnotherWheel():
			return "with one more wheel"
		case r.Corrects(c):
			return thisPullRequest
		}
	case result.Installer:
		if len(c.Fixes) > 0 && c.Fixes[0].Kind == fix.KindEnvironment {
			return usersMachine
		}
		return "where it is installed"
	case result.System:
		return "in the platform"
	case result.Upstream:
		return "in another package"
	}
	return inArtifact(r)
}

// inArtifact is the place of what the builder of the artifacts does.
func inArtifact(r *analyzer.Report) string {
	s := "in the " + noun(r)
	if len(r.Artifacts) > 1 {
		s += "s"
	}
	return s
}

// ranges names causes, of which successive ones are shortened: "causes 1, 3 to 7 and 9".
func ranges(causes []int) string { return numbered("cause", causes) }

// numbered is ranges with another noun.
func numbered(noun string, numbers []int) string {
	var words []string
	for i := 0; i < len(numbers); i++ {
		end := i
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		if end-i < 2 {
			words = append(words, strconv.Itoa(numbers[i]))
			continue
		}
		words = append(words, fmt.Sprintf("%d to %d", numbers[i], numbers[end]))
		i = end
	}
	return analyzer.Plural(len(numbers), noun, noun+"s") + " " + and(words)
}
