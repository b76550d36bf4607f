package rules_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/test/analyzertest"
)

// The JSON report contains where in a declared range a finding begins or ends.
func TestRangeOfFinding(t *testing.T) {
	for file, want := range map[string]analyzer.Range{
		"library-not-found/range_begins": {Package: "helpers",
			Requirement: "helpers>=1.1", Lowest: "1.1", Highest: "2.0",
			Fails: packages.Highest, Before: "1.2", First: "1.3"},
		"symbol-missing-in-package/range_ends": {Package: "helpers", Requirement: "helpers>=1.0,!=1.2,<2",
			Lowest: "1.0", Highest: "1.4", Fails: packages.Lowest,
			Before: "1.1", First: "1.3"},
	} {
		r := analyzertest.Analyze(t, filepath.Join("testdata", file+".txtar"), rules.All())
		if got := r.Findings[0].Range; got == nil || *got != want {
			t.Errorf("%s: %+v, want %+v", file, got, want)
		}
	}
}

// many is a package with a thousand versions, which contain another library from some version on.
type many struct {
	good, bad *packages.Release
	from      int
	asked     map[string]bool
}

func (m *many) Versions(_ context.Context, name string, _ packages.Target) ([]string, error) {
	if name != "helpers" {
		return nil, packages.ErrUnknown
	}
	var out []string
	for n := range 1000 {
		out = append(out, fmt.Sprintf("1.%d", n))
	}
	return out, nil
}

func (m *many) Release(
	_ context.Context,
	name, version string,
	_ packages.Target,
) (*packages.Release, error) {
	var minor int
	if _, err := fmt.Sscanf(version, "1.%d", &minor); err != nil || name != "helpers" {
		return nil, packages.ErrUnknown
	}
	m.asked[version] = true
	r := *m.good
	if minor >= m.from {
		r = *m.bad
	}
	r.Version = version
	return &r, nil
}

// The versions between the ends are bisected.
func TestRangeIsBisected(t *testing.T) {
	a, err := txtar.ParseFile(filepath.Join("testdata", "library-not-found", "range_begins.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	in, o, err := analyzertest.Inputs(a)
	if err != nil {
		t.Fatal(err)
	}
	good, err := o.Source.Release(t.Context(), "helpers", "1.1", packages.Target{})
	if err != nil {
		t.Fatal(err)
	}
	bad, err := o.Source.Release(t.Context(), "helpers", "2.0", packages.Target{})
	if err != nil {
		t.Fatal(err)
	}
	source := &many{good: good, bad: bad, from: 777, asked: map[string]bool{}}
	o.Source = source
	r, err := analyzer.New(rules.All()).Check(t.Context(), in, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Findings[0].Range; got == nil || got.Before != "1.776" || got.First != "1.777" ||
		got.Lowest != "1.1" ||
		got.Highest != "1.999" {
		t.Errorf("range %+v", got)
	}
	if len(source.asked) > 40 {
		t.Errorf("%d of 1000 versions were requested", len(source.asked))
	}
}
