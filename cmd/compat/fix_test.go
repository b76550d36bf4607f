package main

import (
	"errors"
	"testing"

	"github.com/compat-app/compat/analyzer"
)

// A cause of which something is left counts as left, unless --partly is given.
func TestExitOfCausesThatArePartlyFixed(t *testing.T) {
	left := &analyzer.Report{
		Findings: []analyzer.Finding{{Rule: "a", Severity: analyzer.Error}},
		Causes:   []analyzer.Cause{{ID: "a", Severity: analyzer.Error, Findings: []int{0}}},
	}
	for _, c := range []struct {
		flags fixFlags
		want  int
	}{
		{fixFlags{}, exitIncompatible},
		{fixFlags{only: []string{"a"}}, exitIncompatible},
		{fixFlags{only: []string{"a"}, partly: true}, 0},
		{fixFlags{only: []string{"a", "b"}, partly: true}, exitIncompatible},
	} {
		p := fixPrinter{r: left, flags: c.flags, done: &analyzer.Execution{
			Files: []analyzer.Fixed{{Artifact: "x.whl", Causes: []string{"a"}}},
			After: left, Partly: []string{"a"},
		}}
		got := 0
		if e := (exit{}); errors.As(p.exit(), &e) {
			got = e.code
		}
		if got != c.want {
			t.Errorf("%+v: exit code %d, want %d", c.flags, got, c.want)
		}
	}
}

// Of causes that were named, only these count; else what was not read is no success.
func TestExitIfSomethingWasNotRead(t *testing.T) {
	r := &analyzer.Report{
		Outcome: analyzer.OutcomeError, Artifacts: []analyzer.Artifact{{Path: "a.whl", Objects: 1}},
	}
	packages := []analyzer.Unread{{Path: "a.whl", Reason: "its requirements cannot be combined"}}
	for _, c := range []struct {
		only   []string
		gone   bool
		unread []analyzer.Unread
		want   int
	}{
		{nil, true, packages, exitUsage},
		{[]string{"a"}, true, packages, 0},
		{[]string{"a"}, false, packages, exitUsage},
		{[]string{"a"}, true, []analyzer.Unread{{Path: "b.whl"}}, exitUsage},
		{[]string{"a"}, true, []analyzer.Unread{{Path: "a.whl/a.so"}}, exitUsage},
	} {
		got := 0
		r.Unread = c.unread
		err := exitAfter(r, false, c.only, func(string) bool { return c.gone })
		if e := (exit{}); errors.As(err, &e) {
			got = e.code
		}
		if got != c.want {
			t.Errorf("%v, gone %t: got %d, want %d", c.only, c.gone, got, c.want)
		}
	}
}
