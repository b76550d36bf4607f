package causetext

import (
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
)

// PlanSentence says which causes remain after following the plan; "" if that is not known.
func PlanSentence(r *analyzer.Report) string {
	numbers := map[string]int{}
	for i, c := range r.Causes {
		numbers[c.ID] = i + 1
	}
	var fixed, left []int
	var distinct []int // of fixes that remove several causes, the first of these
	for i, x := range r.Plan.Fixes {
		fixed = append(fixed, numbers[x.Cause])
		if !slices.ContainsFunc(r.Plan.Fixes[:i], func(y result.PlannedFix) bool {
			return x.Verified && y.Same(x.Fix)
		}) {
			distinct = append(distinct, numbers[x.Cause])
		}
	}
	removed := slices.Sorted(slices.Values(fixed))
	if r.Plan.Verified || len(distinct) > 1 {
		fixed = distinct
	}
	later, build := map[int]bool{}, map[int]bool{} // removed by a new build, and those that need it
	for i := range r.Causes {
		if n := Rebuilt(r, i); n > 0 {
			later[i+1], build[n] = true, true
		}
	}
	gone := func(n int) bool { return later[n] }
	fixed = slices.DeleteFunc(fixed, gone)
	for _, id := range r.Plan.Leaves {
		left = append(left, numbers[id])
	}
	without := "no error is left"
	if len(left) > 0 {
		without = "no other error is left"
	}
	for i, c := range r.Causes { // warnings
		if len(c.Fixes) == 0 && !slices.Contains(left, i+1) {
			left = append(left, i+1)
		}
	}
	slices.Sort(left)
	on := " on a copy"
	if r.Environment { // its packages are not changed, but replaced
		on = ""
	}
	var out []string
	var done []int
	for _, id := range r.Plan.Tried {
		done = append(done, numbers[id])
	}
	done = slices.DeleteFunc(done, gone)
	switch {
	case len(done) > 1 && (!r.Plan.Verified || len(done) > len(fixed)):
		out = append(out, "compat tried one command"+on+": "+ranges(done)+" are gone.")
		rest := slices.DeleteFunc(fixed, func(n int) bool { return slices.Contains(done, n) })
		if len(rest) > 0 {
			out = append(out, "Apply "+toApply(r, rest)+" too, which was not tried.")
		}
	case len(fixed) > 1 && r.Plan.Verified:
		out = append(out, "compat tried the fixes of "+ranges(fixed)+" together: "+without+".")
	case len(fixed) > 1:
		out = append(out, "Apply "+toApply(r, fixed)+"; compat "+notTogether(r)+".")
	case len(fixed) == 1 && r.Plan.Verified && len(r.Causes) == 1:
		out = append(out, "compat tried the fix"+on+": "+without+".")
	case len(fixed) == 1 && r.Plan.Verified:
		removes := ""
		if len(removed) > 1 {
			removes = ", which removes " + ranges(removed)
		}
		out = append(out, "compat tried the fix of "+ranges(fixed)+on+removes+": "+without+".")
	}
	if len(later) > 0 {
		out = append(out, "Build the wheel again for "+ranges(sorted(build))+", and remove "+
			ranges(sorted(later))+" in that build.")
	}
	if len(left) > 0 {
		out = append(out, "No ready-made fix for "+ranges(left)+".")
	}
	return strings.Join(out, " ")
}

// sorted returns the numbers in a set.
func sorted(set map[int]bool) []int { return slices.Sorted(maps.Keys(set)) }

// notTogether says why the fixes of a plan are not known to work together.
func notTogether(r *analyzer.Report) string {
	for _, x := range r.Plan.Fixes {
		for _, cost := range x.Cost {
			if why, ok := strings.CutPrefix(cost, fix.ConflictsWith); ok && r.Environment {
				return "tried them together, and pip cannot resolve them: " + why
			}
			if strings.HasPrefix(cost, fix.Remain) {
				return "tried them together, and errors remain"
			}
		}
	}
	return "did not try them together"
}

// toApply names the fixes to apply to causes that are given by number.
func toApply(r *analyzer.Report, numbers []int) string {
	var one, all []int
	for _, n := range numbers {
		if n > 0 && r.Causes[n-1].Together {
			all = append(all, n)
		} else {
			one = append(one, n)
		}
	}
	var out []string
	switch len(one) {
	case 0:
	case 1:
		out = append(out, "the fix of "+ranges(one))
	default:
		out = append(out, "the fix of each of "+ranges(one))
	}
	if len(all) > 0 {
		out = append(out, "all fixes of "+ranges(all))
	}
	return strings.Join(out, " and ")
}
