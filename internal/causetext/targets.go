package causetext

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Checked is a line of the list of what a report was checked on: platforms with the same result and
// the same packages.
type Checked struct {
	Targets []string // at least one
	// Verdict is that with the packages of the line, and Causes says which causes it has there:
	// " (warning 1)"; "" = none.
	Verdict analyzer.Verdict
	Causes  string
	// With are the packages, merged by Installed; nil = none.
	With []string
	// End says which of the versions that the requirements allow they are, after "with": "the newest
	// versions that the wheel allows"; "" = they have the same result.
	End string
}

// CheckedOn returns the lines, in the order of the targets. If the oldest and the newest versions
// that an artifact allows have different results, each has a line.
func CheckedOn(r *analyzer.Report) (lines []Checked) {
	at := map[string]int{}
	add := func(t *analyzer.Target, line Checked) {
		key := strings.Join(slices.Concat([]string{string(line.Verdict), line.Causes, line.End},
			line.With), "\x00")
		i, ok := at[key]
		if !ok {
			i = len(lines)
			at[key] = i
			lines = append(lines, line)
		}
		lines[i].Targets = append(lines[i].Targets, t.Name)
	}
	for i := range r.Targets {
		t := &r.Targets[i]
		if !differ(r, t) {
			add(t, Checked{Verdict: t.Verdict, With: Installed(t.With), Causes: onTarget(r, t.Name, "")})
			continue
		}
		for _, end := range []packages.End{packages.Highest, packages.Lowest} {
			line := Checked{
				Verdict: analyzer.Compatible, Causes: onTarget(r, t.Name, end), With: atEnd(t.With, end),
				End: "the newest versions that the wheel allows",
			}
			if end == packages.Lowest {
				line.End = "the oldest versions that the wheel allows"
			}
			if slices.ContainsFunc(r.Causes, func(c analyzer.Cause) bool {
				return c.Severity == analyzer.Error && occurs(r, &c, t.Name, end)
			}) {
				line.Verdict = analyzer.Incompatible
			}
			add(t, line)
		}
	}
	return lines
}

// differ reports whether a target was checked with two versions of packages, the oldest and the
// newest, and a cause occurs only with one of them. Of more versions, or of several artifacts, it
// is not known which were installed together, and of an undecided verdict not with which.
func differ(r *analyzer.Report, t *analyzer.Target) bool {
	versions := map[string]int{}
	most := 0
	for _, w := range t.With {
		name, _, _ := strings.Cut(w, "==")
		versions[name]++
		most = max(most, versions[name])
	}
	artifacts := 0
	for _, a := range r.Artifacts {
		if slices.Contains(a.Targets, t.Name) {
			artifacts++
		}
	}
	return most == 2 && artifacts == 1 && t.Verdict != analyzer.Unchecked &&
		slices.ContainsFunc(r.Causes, func(c analyzer.Cause) bool {
			return occurs(r, &c, t.Name, packages.Lowest) != occurs(r, &c, t.Name, packages.Highest)
		})
}

// occurs reports whether a cause occurs on a target with the versions at an end of the ranges; "" =
// with any.
func occurs(r *analyzer.Report, c *analyzer.Cause, target string, end packages.End) bool {
	if !slices.Contains(c.Targets, target) && !slices.Contains(c.On, target) {
		return false
	}
	return end == "" || len(c.Findings) == 0 || slices.ContainsFunc(c.Findings, func(n int) bool {
		// of those that are missing on a page it is not known
		return n >= len(r.Findings) || cmp.Or(r.Findings[n].End(), end) == end
	})
}

// atEnd returns the packages at an end of the ranges. Of two versions, the first one listed is the
// oldest.
func atEnd(with []string, end packages.End) (out []string) {
	at := map[string]int{}
	for _, w := range with {
		name, _, _ := strings.Cut(w, "==")
		i, ok := at[name]
		switch {
		case !ok:
			at[name] = len(out)
			out = append(out, w)
		case end == packages.Highest:
			out[i] = w
		}
	}
	return out
}

// onTarget says which causes a report has on a platform with the versions at an end of the ranges,
// after the verdict: " (warning 1)", " (errors 1 and 2; warning 3)"; "" if there are none. What was
// only warned about is compatible, so the verdict alone would contradict the cause.
func onTarget(r *analyzer.Report, name string, end packages.End) string {
	var errors, warnings []int
	for i, c := range r.Causes {
		switch on := occurs(r, &c, name, end); {
		case on && c.Severity == analyzer.Error:
			errors = append(errors, i+1)
		case on:
			warnings = append(warnings, i+1)
		}
	}
	var parts []string
	if errors != nil {
		parts = append(parts, numbered("error", errors))
	}
	if warnings != nil {
		parts = append(parts, numbered("warning", warnings))
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// Markdown returns the line, with at most so many platforms and packages; the others are counted.
func (x Checked) Markdown(shown int) string {
	s := mdsafe.Codes(x.Targets, shown, maxShown) + ": " + string(x.Verdict) + x.Causes
	if len(x.With) == 0 {
		return s
	}
	s += ", with "
	if x.End != "" {
		s += x.End + ": "
	}
	return s + mdsafe.Codes(x.With, shown, 100)
}
