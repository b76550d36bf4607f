package analyzer_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/fix"
)

// TestPlan checks that the plan has a fix for each cause, verified together, and lists causes
// without one, and that a fix that breaks something is not offered.
func TestPlan(t *testing.T) {
	// rule reports an error until a scenario is fixed
	rule := func(id string, change fix.Change, fixed func(*analyzer.Pass) bool) *analyzer.Rule {
		return &analyzer.Rule{ID: id, Severity: analyzer.Error, Check: func(p *analyzer.Pass) {
			if fixed(p) {
				return
			}
			var fixes []fix.Candidate
			if change != nil {
				fixes = append(fixes, fix.Candidate{Fix: fix.Fix{Title: fix.Titled("Fix %s",
					id)}, Change: change})
			}
			p.Report(analyzer.Finding{Object: "libx.so.1", Message: id}, fixes...)
		}}
	}
	newer := rule("newer", fix.Retag{Platform: "debian12/x86_64"},
		func(p *analyzer.Pass) bool { return p.Scenario.Platform == "debian12/x86_64" })
	needs := rule("needs", fix.AddNeeded{Object: "libx.so.1", Libraries: []string{"libdl.so.2"}},
		needed)
	covered := rule("covered", fix.SetRunPath{Object: "libx.so.1", RunPath: "$ORIGIN"},
		func(p *analyzer.Pass) bool { return needed(p) || reached(p) })
	broken := rule("broken", nil, func(*analyzer.Pass) bool { return false })
	fragile := rule("fragile", nil, func(p *analyzer.Pass) bool { return !needed(p) })
	for _, c := range []struct {
		rules    []*analyzer.Rule
		want     []string // titles of the plan
		leaves   int
		verified bool
	}{
		{[]*analyzer.Rule{newer}, []string{"Fix newer"}, 0, true},
		{[]*analyzer.Rule{newer, needs}, []string{"Fix needs", "Fix newer"}, 0, true},
		{[]*analyzer.Rule{newer, broken}, []string{"Fix newer"}, 1, true},
		{[]*analyzer.Rule{broken}, nil, 1, false},
		{[]*analyzer.Rule{needs, fragile}, nil, 1, false},
		{[]*analyzer.Rule{needs, covered}, []string{"Fix covered", "Fix needs"}, 0, true},
	} {
		r := checkLibrary(t, c.rules...)
		var got []string
		for _, x := range r.Plan.Fixes {
			got = append(got, x.Title.String())
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) || len(r.Plan.Leaves) != c.leaves ||
			r.Plan.Verified != c.verified {
			t.Errorf("%s: plan %+v, want %q, %d left, verified %t",
				fmt.Sprint(c.rules[0].ID, len(c.rules)), r.Plan, c.want, c.leaves, c.verified)
		}
	}
}

// needed reports whether the library has another DT_NEEDED entry, in the scenario or in its bytes.
func needed(p *analyzer.Pass) bool {
	return len(p.Scenario.Needed) > 0 || len(p.Views[0].Needed) > 1
}

// reached is like needed, for a search path.
func reached(p *analyzer.Pass) bool {
	return len(p.Scenario.RunPath) > 0 || p.Views[0].RunPath != ""
}

// TestPartialFixes checks that of two fixes that remove the same part of a cause only the first is
// offered, because the second adds nothing to it.
func TestPartialFixes(t *testing.T) {
	rule := &analyzer.Rule{ID: "x", Severity: analyzer.Error, Check: func(p *analyzer.Pass) {
		p.Report(analyzer.Finding{Object: "libx.so.1", Symbol: "f", Message: "stays"})
		if !needed(p) && !reached(p) {
			p.Report(analyzer.Finding{Object: "libx.so.1", Symbol: "g", Message: "goes"},
				fix.Candidate{Fix: fix.Fix{Title: fix.Titled("First"), Kind: fix.KindLinkFlag},
					Change: fix.AddNeeded{Object: "libx.so.1", Libraries: []string{"libdl.so.2"}}},
				fix.Candidate{Fix: fix.Fix{Title: fix.Titled("Second"), Kind: fix.KindPatchelf},
					Change: fix.SetRunPath{Object: "libx.so.1", RunPath: "$ORIGIN"}})
		}
	}}
	causes := checkLibrary(t, rule).Causes
	if len(causes) != 1 || len(causes[0].Fixes) != 1 || causes[0].Fixes[0].Title.String() != "First" ||
		causes[0].Fixes[0].Clears != 1 || causes[0].Together {
		t.Errorf("%+v", causes)
	}
}

// checkLibrary checks a shared library on Debian 11.
func checkLibrary(t *testing.T, rules ...*analyzer.Rule) *analyzer.Report {
	t.Helper()
	data := elftest.File(t, "elf x86_64\nsoname libx.so.1\nneeded libc.so.6\n")
	r, err := analyzer.New(rules).Check(
		t.Context(),
		[]analyzer.Input{
			{Name: "libx.so.1", Content: bytes.NewReader(data), Size: int64(len(data))},
		},
		analyzer.Options{Platforms: []string{"debian11"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
