package causetext

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
)

// several returns a report on wheels 0 to n-1, of which the first fails for two causes and the
// second for the second one, which is a warning there.
func several(n int) *analyzer.Report {
	r := analyzer.NewReport("test")
	for i := range n {
		r.Artifacts = append(r.Artifacts, analyzer.Artifact{
			Path: fmt.Sprintf("dist/%d.whl", i), Kind: analyzer.KindWheel, Targets: []string{"debian12"},
		})
	}
	r.Findings = []analyzer.Finding{
		{Artifact: "dist/0.whl", Severity: analyzer.Error, New: true},
		{Artifact: "dist/0.whl", Severity: analyzer.Error, New: true},
		{Artifact: "dist/1.whl", Severity: analyzer.Warning},
	}
	r.Causes = []analyzer.Cause{
		{Reason: "needs glibc", Artifact: "dist/0.whl", Findings: []int{0}},
		{Reason: "lacks libx", Artifact: "dist/0.whl", Findings: []int{1, 2}},
	}
	return r
}

func lines(rows []Row) (out []string) {
	for _, row := range rows {
		out = append(out, strings.Join([]string{string(row.Result), row.Reason,
			strings.Join(row.Artifacts, " ")}, "|"))
	}
	return out
}

func TestRows(t *testing.T) {
	r := several(5)
	r.Unread = []analyzer.Unread{{Path: "dist/3.whl/a.so", Reason: "it ends early"}}
	r.Skipped = []analyzer.Unread{{Path: "dist/4.whl", Reason: "it has no binary"}}
	r.Artifacts[4].Targets = nil
	want := []string{
		"fails|needs glibc, 1 more|0.whl", "unchecked|it ends early|3.whl",
		"warns|lacks libx, not new|1.whl", "skipped|it has no binary|4.whl", "works||2.whl",
	}
	if got := lines(Rows(r)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Tally(Rows(r)), "1 fails, 1 unchecked, 1 warns, 1 skipped, 1 works"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Artifacts[1].Path = "other/0.whl" // the same name
	if got := lines(Rows(r))[0]; got != "fails|needs glibc, 1 more|dist/0.whl" {
		t.Errorf("got %q", got)
	}
	if Rows(several(1)) != nil {
		t.Error("one wheel has a table")
	}
	if r.Environment = true; Rows(r) != nil {
		t.Error("an environment has a table")
	}
}

// Many wheels with the same result share a row.
func TestRowsOfManyWheels(t *testing.T) {
	rows := Rows(several(60))
	if len(rows) != 3 || len(rows[2].Artifacts) != 58 || Tally(rows) != "1 fails, 1 warns, 58 work" {
		t.Errorf("%q", lines(rows))
	}
	table := RowsTable(rows)
	for _, want := range []string{
		"\n1 fails, 1 warns, 58 work.\n\n| result | reason | wheels |\n|---|---|---|\n",
		"| fails | needs glibc, 1 more | `0.whl` |\n",
		"| works |  | 58: `2.whl`, `3.whl`, `4.whl`, `5.whl` and 54 more |\n",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is not in %s", want, table)
		}
	}
}

func TestIn(t *testing.T) {
	quote := func(s string) string { return "<" + s + ">" }
	r := several(3)
	for _, c := range []struct {
		cause analyzer.Cause
		want  string
	}{
		{r.Causes[0], "in 1 of 3 wheels: <dist/0.whl>"},
		{r.Causes[1], "in 2 of 3 wheels: <dist/0.whl>, <dist/1.whl>"},
	} {
		if got := In(r, &c.cause, quote); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	r.Findings[0].Artifact, r.Causes[1].Findings = "dist/2.whl", []int{0, 1, 2}
	if got := In(r, &r.Causes[1], quote); got != "in all 3 wheels" {
		t.Errorf("got %q", got)
	}
	r.Findings[0].Artifact, r.Artifacts = "dist/0.whl", r.Artifacts[:2]
	if got := In(r, &r.Causes[1], quote); got != "in both wheels" {
		t.Errorf("got %q", got)
	}
	r.Artifacts = r.Artifacts[:1]
	if got := In(r, &r.Causes[0], quote); got != "in <dist/0.whl>" {
		t.Errorf("got %q", got)
	}
}
