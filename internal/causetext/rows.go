package causetext

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/mdsafe"
)

// Row is a line of the table of a report on several artifacts.
type Row struct {
	Result    Result   `json:"result"`
	Artifacts []string `json:"artifacts"`        // their names
	Reason    string   `json:"reason,omitempty"` // at most 60 characters; "" if they work
	Causes    []int    `json:"causes,omitempty"` // numbers of their causes, from 1
}

// Result is what became of an artifact.
type Result string

// Results, the worst first.
const (
	Fails   Result = "fails"
	Unclear Result = "unchecked"
	Warns   Result = "warns"
	Skipped Result = "skipped"
	Works   Result = "works"
)

// joinedAbove is the number of artifacts above which those with the same result and the same reason
// share a row.
const joinedAbove = 20

// maxRowReason limits the reason of a row, without the number of other causes.
const maxRowReason = 36

// Rows returns a row for each artifact, the worst result first, or for many artifacts a row for
// each result and reason. It is nil unless there are several artifacts, and for an environment.
func Rows(r *analyzer.Report) []Row {
	if len(r.Artifacts) < 2 || r.Environment {
		return nil
	}
	of := results(r)
	type key struct {
		result Result
		reason string
	}
	var rows []Row
	at := map[key]int{}
	for i, name := range fileNames(r) {
		outcome := of[r.Artifacts[i].Path]
		result, reason := outcome.row(r, &r.Artifacts[i])
		k := key{result, reason}
		n, ok := at[k]
		if !ok || len(r.Artifacts) <= joinedAbove {
			n = len(rows)
			at[k] = n
			rows = append(rows, Row{Result: result, Reason: reason})
		}
		rows[n].Artifacts = append(rows[n].Artifacts, name)
		for _, c := range outcome.causes {
			if !slices.Contains(rows[n].Causes, c+1) {
				rows[n].Causes = append(rows[n].Causes, c+1)
			}
		}
	}
	for i := range rows {
		slices.Sort(rows[i].Causes)
	}
	order := []Result{Fails, Unclear, Warns, Skipped, Works}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return slices.Index(order, a.Result) - slices.Index(order, b.Result)
	})
	return rows
}

// outcome is what a report says about an artifact.
type outcome struct {
	causes          []int // indexes, in their order
	errors          bool
	fresh           bool   // the base does not have one of the causes
	unread, skipped string // reasons; "" = it was read, and checked
}

// results returns what a report says about each artifact, by path.
func results(r *analyzer.Report) map[string]*outcome {
	of := map[string]*outcome{}
	for _, a := range r.Artifacts {
		of[a.Path] = &outcome{}
	}
	for i, c := range r.Causes {
		for _, n := range c.Findings {
			o := of[r.Findings[n].Artifact]
			if o == nil {
				continue
			}
			if last := len(o.causes) - 1; last < 0 || o.causes[last] != i {
				o.causes = append(o.causes, i)
			}
			o.fresh = o.fresh || r.Findings[n].New
			o.errors = o.errors || r.Findings[n].Severity == analyzer.Error
		}
	}
	holder := func(file string) *outcome { // the artifact, or the one that contains the file
		for file != "." && file != "/" {
			if o := of[file]; o != nil {
				return o
			}
			file = path.Dir(file)
		}
		return &outcome{}
	}
	for _, u := range r.Unread {
		o := holder(u.Path)
		o.unread = cmp.Or(o.unread, u.Reason)
	}
	for _, u := range r.Skipped {
		o := holder(u.Path)
		o.skipped = cmp.Or(o.skipped, u.Reason)
	}
	return of
}

// row returns the result of an artifact and the reason.
func (o *outcome) row(r *analyzer.Report, a *analyzer.Artifact) (Result, string) {
	reason := ""
	if len(o.causes) > 0 {
		reason = mdsafe.Visible(r.Causes[o.causes[0]].Reason)
		if n := len(o.causes) - 1; n > 0 {
			reason += fmt.Sprintf(", %d more", n)
		}
		if !o.fresh {
			reason += ", not new"
		}
	}
	cut := func(s string) string { return mdsafe.Cut(mdsafe.Visible(s), maxRowReason) }
	switch {
	case o.errors:
		return Fails, reason
	case o.unread != "":
		return Unclear, cut(o.unread)
	case reason != "":
		return Warns, reason
	case o.skipped != "" && len(a.Targets) == 0:
		return Skipped, cut(o.skipped)
	}
	return Works, ""
}

// fileNames returns the names of the artifacts without their folders, or the paths if two names are
// equal.
func fileNames(r *analyzer.Report) []string {
	var names, paths []string
	seen := map[string]bool{}
	for _, a := range r.Artifacts {
		name := path.Base(a.Path)
		names, paths = append(names, name), append(paths, a.Path)
		seen[name] = true
	}
	if len(seen) < len(names) {
		return paths
	}
	return names
}

// Tally counts the results of rows: "24 fail, 1 warns, 35 work".
func Tally(rows []Row) string {
	n := map[Result]int{}
	for _, row := range rows {
		n[row.Result] += len(row.Artifacts)
	}
	plural := map[Result]string{Fails: "fail", Warns: "warn", Works: "work"}
	var parts []string
	for _, result := range []Result{Fails, Unclear, Warns, Skipped, Works} {
		switch n[result] {
		case 0:
		case 1:
			parts = append(parts, "1 "+string(result))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n[result],
				cmp.Or(plural[result], string(result))))
		}
	}
	return strings.Join(parts, ", ")
}

// RowsTable returns the rows as a Markdown table; "" without rows.
func RowsTable(rows []Row) string {
	if len(rows) == 0 {
		return ""
	}
	const shown, named = 40, 4
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s.\n\n| result | reason | wheels |\n|---|---|---|\n", Tally(rows))
	for _, row := range rows[:min(len(rows), shown)] {
		names := mdsafe.Codes(row.Artifacts, named, maxShown)
		if n := len(row.Artifacts); n > 1 {
			names = fmt.Sprintf("%d: %s", n, names)
		}
		cells := "| " + string(row.Result) + " | " + mdsafe.Prose(row.Reason) + " | " + names
		b.WriteString(strings.ReplaceAll(cells, "\n", " ") + " |\n")
	}
	if n := len(rows) - shown; n > 0 {
		fmt.Fprintf(&b, "\nand %s.\n", analyzer.Count(n, "more row"))
	}
	return b.String()
}

// shownArtifacts is the number of artifacts of a cause that are named.
const shownArtifacts = 3

// In says in which artifacts of a report a cause is, with names quoted by quote: "in a.whl", "in
// all 24 wheels", "in 5 of 24 wheels: a.whl, b.whl, c.whl and 2 more".
func In(r *analyzer.Report, c *analyzer.Cause, quote func(string) string) string {
	of := r.ArtifactsOf(c)
	var names []string
	for _, p := range of {
		names = append(names, quote(p))
	}
	n := len(r.Artifacts)
	noun := noun(r)
	switch {
	case n < 2 || r.Environment:
		return "in " + analyzer.List(names, shownArtifacts, len(names), noun)
	case len(of) == 2 && n == 2:
		return "in both " + noun + "s"
	case len(of) == n:
		return "in all " + analyzer.Count(n, noun)
	}
	return fmt.Sprintf("in %d of %s: %s", len(of), analyzer.Count(n, noun),
		analyzer.List(names, shownArtifacts, len(names), noun))
}

// noun returns the word for one artifact of a report.
func noun(r *analyzer.Report) string {
	for _, a := range r.Artifacts {
		if a.Kind != analyzer.KindWheel {
			return "artifact"
		}
	}
	return "wheel"
}

// About names what a report is about: "warp-lang 1.5.0", "ng 1.2 (5 wheels)", "60 wheels", of which
// some fail "3 of 60 wheels", "libfoo.so", "12 packages". It is "" without artifacts.
func About(r *analyzer.Report) string {
	n := len(r.Artifacts)
	if n == 0 {
		return ""
	}
	if r.Environment {
		return analyzer.Count(n, "package")
	}
	name := path.Base(r.PackageOf(r.Artifacts[0].Path))
	for _, a := range r.Artifacts[1:] {
		if path.Base(r.PackageOf(a.Path)) != name {
			return failing(r) + analyzer.Count(n, noun(r))
		}
	}
	if n > 1 {
		name += " (" + analyzer.Count(n, noun(r)) + ")"
	}
	return mdsafe.Visible(name)
}

// failing says how many of several artifacts fail, before what they are called: "3 of "; "" if all
// or none do.
func failing(r *analyzer.Report) string {
	fails := 0
	for _, row := range Rows(r) {
		if row.Result == Fails {
			fails += len(row.Artifacts)
		}
	}
	if fails == 0 || fails == len(r.Artifacts) {
		return ""
	}
	return fmt.Sprintf("%d of ", fails)
}
