package analyzer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/fix"
)

func TestAnalysisEndsWithItsContext(t *testing.T) {
	data := elftest.File(t, "elf x86_64\nsoname libx.so.1\nneeded libc.so.6\n")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var ran []string
	rule := func(id string, check func()) *analyzer.Rule {
		return &analyzer.Rule{
			ID:       id,
			Severity: analyzer.Error,
			Check:    func(*analyzer.Pass) { ran = append(ran, id); check() },
		}
	}
	a := analyzer.New([]*analyzer.Rule{rule("first", cancel), rule("second", func() {})})
	_, err := a.Check(
		ctx,
		[]analyzer.Input{
			{Name: "libx.so.1", Content: bytes.NewReader(data), Size: int64(len(data))},
		},
		analyzer.Options{},
	)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want the context's", err)
	}
	if len(ran) != 1 || ran[0] != "first" {
		t.Errorf("rules that ran: %v, want only the one that was at work", ran)
	}
}

// TestOtherArtifacts checks that a library of another artifact is found by its SONAME or its file
// name, also if only another artifact needs it.
func TestOtherArtifacts(t *testing.T) {
	var inputs []analyzer.Input
	for _, x := range [][2]string{
		{"liba.so", "soname liba.so\nneeded libb.so.1\nneeded libc.so.6\n"},
		{"unused.so", "soname unused.so\nneeded libc.so.6\n"},
		{"liblast.so", "needed libc.so.6\n"},
		{"libb.so", "soname libb.so.1\nneeded ${ORIGIN}/lib$PLATFORM.so\nneeded libd.so\n"},
		{"libd.so", "needed liblast.so\n"},
	} {
		data := elftest.File(t, "elf x86_64\n"+x[1])
		inputs = append(inputs,
			analyzer.Input{Name: x[0], Content: bytes.NewReader(data), Size: int64(len(data))})
	}
	loads := map[string]string{}
	rule := &analyzer.Rule{ID: "loads", Severity: analyzer.Error, Check: func(p *analyzer.Pass) {
		var found []string
		for _, f := range p.Views[0].Loading.Found {
			found = append(found, f.Library.Path)
		}
		loads[p.Facts.Path] = strings.Join(found, " ")
	}}
	a := analyzer.New([]*analyzer.Rule{rule})
	if _, err := a.Check(t.Context(), inputs, analyzer.Options{}); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		"liba.so":   "liba.so libb.so libc.so.6 libd.so ld-linux-x86-64.so.2 liblast.so",
		"libd.so":   "libd.so liblast.so libc.so.6 ld-linux-x86-64.so.2",
		"unused.so": "unused.so libc.so.6 ld-linux-x86-64.so.2",
	} {
		if loads[from] != want {
			t.Errorf("%s loads %s, want %s", from, loads[from], want)
		}
	}
}

// TestFailedTrialEndsEarly checks that the check of a fix stops when it breaks something.
func TestFailedTrialEndsEarly(t *testing.T) {
	data := elftest.File(t, "elf x86_64\nsoname libx.so.1\nneeded libc.so.6\n")
	for _, severity := range []analyzer.Severity{analyzer.Warning, analyzer.Note} {
		var ran []string
		report := func(p *analyzer.Pass, s analyzer.Severity, fixes ...fix.Candidate) {
			p.Report(analyzer.Finding{Object: "libx.so.1", Severity: s}, fixes...)
		}
		rules := []*analyzer.Rule{
			{ID: "repaired", Severity: analyzer.Error, Check: func(p *analyzer.Pass) {
				if p.Trial {
					ran = append(ran, "repaired")
					return
				}
				report(
					p,
					analyzer.Error,
					fix.Candidate{
						Fix:    fix.Fix{Kind: fix.KindRebuild, Title: fix.Titled("another system")},
						Change: fix.Retag{Platform: "debian12"},
					},
				)
			}},
			{ID: "broken", Quick: true, Check: func(p *analyzer.Pass) {
				if p.Trial {
					ran = append(ran, "broken")
					report(p, severity)
				}
			}},
		}
		r, err := analyzer.New(rules).
			Check(t.Context(), []analyzer.Input{{Name: "libx.so.1", Content: bytes.NewReader(data),
				Size: int64(len(data))}}, analyzer.Options{Platforms: []string{"debian11"}})
		if err != nil {
			t.Fatal(err)
		}
		want, offered := []string{"broken"}, 0
		if severity == analyzer.Note {
			want, offered = []string{"broken", "repaired"}, 1
		}
		if !slices.Equal(ran, want) {
			t.Errorf("the fix makes a %s: rules that looked at it: %v, want %v", severity, ran, want)
		}
		if len(r.Findings) != 1 || len(r.Findings[0].Fixes) != offered {
			t.Errorf(
				"the fix makes a %s: findings %+v, want one with %d fixes",
				severity,
				r.Findings,
				offered,
			)
		}
	}
}

// TestFindingsAreBounded checks that an object with many problems costs no more than its first
// MaxFindings on some of its platforms, and that the report says so.
func TestFindingsAreBounded(t *testing.T) {
	data := elftest.File(t, "elf x86_64\nsoname libx.so.1\nneeded libc.so.6\n")
	rule := &analyzer.Rule{ID: "many", Severity: analyzer.Error, Check: func(p *analyzer.Pass) {
		for i := range 2 * analyzer.MaxFindings {
			p.Report(analyzer.Finding{Object: "libx.so.1", Symbol: fmt.Sprint("f", i)})
		}
	}}
	r, err := analyzer.New([]*analyzer.Rule{rule}).Check(
		t.Context(),
		[]analyzer.Input{
			{Name: "libx.so.1", Content: bytes.NewReader(data), Size: int64(len(data))},
		},
		analyzer.Options{},
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) != analyzer.MaxFindings {
		t.Errorf("%d findings, want %d", len(r.Findings), analyzer.MaxFindings)
	}
	if len(r.Targets) == 0 || len(r.Targets) > 10 {
		t.Errorf("checked on %d targets", len(r.Targets))
	}
	notes := strings.Join(r.Notes, "\n")
	for _, want := range []string{"many has more findings than are listed", "were not checked"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q, want %q", notes, want)
		}
	}
}
