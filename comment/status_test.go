package comment

import (
	"strings"
	"testing"
)

func TestStatus(t *testing.T) {
	if got := Status(Standing{Doing: "it waits for CI."}); !strings.Contains(got,
		"has not been checked yet") ||
		!strings.Contains(got, "In progress: it waits for CI.\n") {
		t.Error(got)
	}
	got := Status(
		Standing{
			SHA:        strings.Repeat("a", 40),
			Conclusion: "failure",
			Title:      "pow@GLIBC_2.29 is missing",
			DetailsURL: url,
			Accepted: []Taken{
				{
					What:    "pow",
					Because: "@all know it",
					By:      "ann",
					On:      "2026-01-02",
					Until:   "2026-02-03",
				},
			},
		},
	)
	for _, want := range []string{"`aaaaaaaaaaaa`", "**failure**", "GLIBC_2.29", url,
		"`pow` because ", "(`ann`, `2026-01-02`, until `2026-02-03`)"} {
		if !strings.Contains(got, want) {
			t.Errorf("doesn't say %q:\n%s", want, got)
		}
	}
	if strings.Contains(strings.ReplaceAll(got, "`@all`", ""), "@all") {
		t.Errorf("a reason mentions:\n%s", got)
	}
}
