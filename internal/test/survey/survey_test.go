package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer"
)

// What happened and what compat says make a verdict.
func TestCompare(t *testing.T) {
	pass, fail := analyzer.OutcomePass, analyzer.OutcomeFail
	broken := map[string]string{"pkg/_mod.so": "OSError: libx.so.1: cannot open shared object file"}
	about := []analyzer.Finding{
		{Severity: analyzer.Warning, Object: "pkg/_mod.so", Library: "libx.so.1"},
	}
	old := truth{tags: "auditwheel: manylinux_2_34", refuted: true}
	for _, c := range []struct {
		name     string
		truth    truth
		outcome  analyzer.Outcome
		findings []analyzer.Finding
		want     Verdict
	}{
		{"all is well", truth{}, pass, nil, Agree},
		{"an error about a good wheel", truth{}, fail, nil, FalseAlarm},
		{"a broken object", truth{fails: broken}, fail, about, Agree},
		{"a warning about it", truth{fails: broken}, pass, about, Agree},
		{"silence about it", truth{fails: broken}, pass, nil, FalsePass},
		{"a tag that is too old", old, pass, nil, FalsePass},
		{"a warning about the tag", old, pass,
			[]analyzer.Finding{{Severity: analyzer.Warning, Version: "GLIBC_2.34"}}, Agree},
		{"outside of the stable ABI", truth{stable: "abi3audit"}, fail, nil, Agree},
		{"another reason", truth{other: "pkg: TypeError"}, fail, nil, Unknown},
		{"not read", truth{}, analyzer.OutcomeError, nil, Unchecked},
		{"slow", truth{notRun: []string{"scipy"}}, pass, nil, NotRun},
		{"slow, and an error", truth{notRun: []string{"scipy"}}, fail, nil, NotRun},
		{"slow, and silence", truth{fails: broken, notRun: []string{"scipy"}}, pass, nil, FalsePass},
		{"slow, and an error about it", truth{fails: broken, notRun: []string{"scipy"}}, fail, about,
			Agree},
	} {
		r := &analyzer.Report{Outcome: c.outcome, Findings: c.findings}
		if got := c.truth.compare("x==1", "check", checked{report: r}).Verdict; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Only compat has an error about a wheel for musl, and uv finds no set of wheels for this system.
func TestForeignIsNotKnown(t *testing.T) {
	tools := t.TempDir()
	t.Setenv("PATH", tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	for name, script := range map[string]string{
		"python3": `while [ $# -gt 0 ]; do [ "$1" != -d ] || dir=$2; shift; done
mkdir -p "$dir" && : >"$dir/x-1-py3-none-musllinux_1_2_x86_64.whl"`,
		"auditwheel": `echo 'following platform tag: "musllinux_1_2_x86_64"'`,
		"uv":         "echo no solution >&2; exit 1",
		"compat":     `echo '{"outcome": "fail"}'; exit 1`,
	} {
		file := filepath.Join(tools, name)
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := &survey{dir: t.TempDir(), compat: filepath.Join(tools, "compat"), budget: 1}
	rows, err := s.foreign(t.Context(), t.TempDir(),
		drawn{Name: "x", Version: "1", Python: "3.12", System: "musl"})
	if err != nil || len(rows) != 1 || rows[0].Verdict != Unknown ||
		!strings.Contains(rows[0].Truth, "no solution") {
		t.Errorf("%+v, %v", rows, err)
	}
}

// What fails or takes too long has a row, so that nobody takes it for an agreement.
func TestNotRun(t *testing.T) {
	s := &survey{dir: t.TempDir(), seed: 1}
	rows := s.all([]job{
		{"slow==1", "linux", "check", func(string) ([]Row, error) { return nil, errSlow }},
		{"large==1", "linux", "check", func(string) ([]Row, error) { return nil, errLeft }},
	})
	if len(rows) != 1 || rows[0].What != "slow==1" || rows[0].Verdict != NotRun {
		t.Errorf("%+v", rows)
	}
}

// The probe stops in time although a program that the import started keeps its pipe open.
func TestProbeStops(t *testing.T) {
	dir := t.TempDir()
	python := filepath.Join(dir, "venv", "bin", "python")
	if err := os.MkdirAll(filepath.Dir(python), 0o700); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nsleep 60 &\necho '{\"object\": \"a.so\"}' >&3\nwait\n"
	if err := os.WriteFile(python, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	begin := time.Now()
	got := (&survey{}).probe(ctx, dir, []string{"one", "two"})
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	if got.opened != 1 || !slices.Equal(got.notRun, []string{"one", "two"}) {
		t.Errorf("%d objects were opened, not run: %v", got.opened, got.notRun)
	}
}

func TestLater(t *testing.T) {
	for _, c := range []struct {
		tag, than string
		want      bool
	}{
		{"manylinux_2_28_x86_64", "manylinux2014_x86_64", true},
		{"manylinux_2_17_x86_64", "manylinux2014_x86_64", false},
		{"linux_x86_64", "manylinux_2_28_x86_64", true},
		{"manylinux_2_28_x86_64", "linux_x86_64", false},
	} {
		if got := later(c.tag, c.than); got != c.want {
			t.Errorf("%s later than %s: %v", c.tag, c.than, got)
		}
	}
}

// The page counts the verdicts and shows both texts of each disagreement.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	data, err := json.Marshal(Results{Seed: 7, System: "debian12", Budget: 512, Rows: []Row{
		{What: "good==1", System: "linux", Mode: "check", Verdict: Agree, Objects: 2},
		{What: "bad==1", System: "linux", Mode: "check", Verdict: FalsePass, Objects: 1,
			Truth: "bad.so: OSError: bad/libx.so.1", Compat: "pass\n"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	results, page := filepath.Join(dir, "7.json"), filepath.Join(dir, "page.md")
	if err := os.WriteFile(results, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writePage(page, []string{results}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"`make survey SEED=7 BUDGET=512`", "3 objects",
		"| linux | `check` | 1 | 1 | 0 | 0 | 0 | 0 |", "### false pass: bad==1",
		"    bad.so: OSError: bad/libx.so.1", "    pass\n", "Seed 7. Not explained yet.",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
}

// The page is made of the stored results, and every disagreement is explained.
func TestAccuracyPage(t *testing.T) {
	results, err := filepath.Glob("results/*.json")
	if err != nil || len(results) == 0 {
		t.Fatal(err, "no results")
	}
	page := filepath.Join(t.TempDir(), "page.md")
	if err := writePage(page, results); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../../docs/accuracy.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("docs/accuracy.md is not made of the results; run the last line of make survey")
	}
	if strings.Contains(string(got), unexplained) {
		t.Error("a disagreement has no line in notes.txt")
	}
}

// A stored result is read again, without the texts of agreements and the folders of this machine.
func TestStored(t *testing.T) {
	file := filepath.Join(t.TempDir(), "7.json")
	r := &Results{Seed: 7, System: "debian12", Rows: []Row{
		{
			What: "b==1", System: "linux", Mode: "check", Verdict: FalsePass,
			Truth:  "\"b\": /tmp/3/lib/python3.12/site-packages/b/libx.so.1",
			Compat: "error\n/tmp/3/wheel/b-1-py3-none-any.whl/b.so: damaged",
		},
		{What: "a==1", System: "linux", Mode: "check", Verdict: Agree, Truth: "a", Objects: 2},
	}}
	if err := write(file, r.brief()); err != nil {
		t.Fatal(err)
	}
	got, err := readResults([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	kept := r.Rows[0]
	kept.Truth, kept.Compat = "\"b\": b/libx.so.1", "error\nb-1-py3-none-any.whl/b.so: damaged"
	want := &Results{Seed: 7, System: "debian12", Rows: []Row{
		{What: "a==1", System: "linux", Mode: "check", Verdict: Agree, Objects: 2}, kept,
	}}
	if !reflect.DeepEqual(got, []*Results{want}) {
		t.Errorf("%+v", got[0])
	}
}

func TestNote(t *testing.T) {
	if got := note("pybullet==3.2.7 on Python 3.10"); !strings.Contains(got, "NumPy") {
		t.Errorf("%q", got)
	}
}

// The list has no name twice, and a seed draws the same names again.
func TestNames(t *testing.T) {
	one, err := newDrawing(3, []string{"3.12"}, "http://127.0.0.1/simple/")
	if err != nil {
		t.Fatal(err)
	}
	two, err := newDrawing(3, []string{"3.12"}, "http://127.0.0.1/simple/")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for n, name := range one.names {
		if seen[name] || two.names[n] != name {
			t.Errorf("%s is drawn twice, or %s the second time", name, two.names[n])
		}
		seen[name] = true
	}
	if len(seen) < 300 {
		t.Errorf("%d names", len(seen))
	}
}
