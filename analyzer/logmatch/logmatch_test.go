package logmatch_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/logmatch"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/test/analyzertest"
)

var update = flag.Lookup("update").Value.(flag.Getter) // analyzertest's

// judge runs a test case: the inputs of an analyzertest case, and a log.
func judge(t *testing.T, a *txtar.Archive) (*analyzer.Report, []buildlog.Diagnosis) {
	t.Helper()
	given := &txtar.Archive{Comment: a.Comment}
	var log string
	for _, f := range a.Files {
		switch f.Name {
		case "log":
			log = string(f.Data)
		case "want":
		default:
			given.Files = append(given.Files, f)
		}
	}
	in, o, err := analyzertest.Inputs(given)
	if err != nil {
		t.Fatal(err)
	}
	result, err := buildlog.Read(strings.NewReader(log))
	if err != nil || result.Limit != "" {
		t.Fatalf("%v, limit %q", err, result.Limit)
	}
	r, compared, err := logmatch.Check(context.Background(), rules.All(), in, o, result.Diagnoses)
	if err != nil {
		t.Fatal(err)
	}
	return r, compared
}

// TestStories checks testdata: inputs, a log, and the expected comparison.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d stories, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, diagnoses := judge(t, a)
			got := format(diagnoses)
			want := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
			if want < 0 {
				t.Fatalf("%s has no file want", file)
			}
			if got == string(a.Files[want].Data) {
				return
			}
			if update.Get() != true {
				t.Errorf("got\n%swant\n%s", got, a.Files[want].Data)
				return
			}
			a.Files[want].Data = []byte(got)
			if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// many matches a list of built-in platforms, which grows with new tables.
var many = regexp.MustCompile(` on [^ ]+(?:, [^ ]+)* and [0-9]+ more`)

// format formats the result.
func format(diagnoses []buildlog.Diagnosis) string {
	var b strings.Builder
	for _, d := range diagnoses {
		fmt.Fprintf(
			&b,
			"%d %s, %s: %s\n  %s\n",
			d.Line,
			d.Class,
			d.Cause,
			d.Analysis.Verdict,
			many.ReplaceAllString(d.Analysis.Why, " on many platforms"),
		)
		for _, x := range [][2]string{{"object", d.Analysis.Object}, {"library", d.Analysis.Library},
			{"rules", strings.Join(d.Analysis.Rules, " ")}} {
			if x[1] != "" {
				fmt.Fprintf(&b, "  %s %s\n", x[0], x[1])
			}
		}
		for _, f := range d.Fixes {
			mark := "untried"
			if f.Verified {
				mark = "verified"
			}
			fmt.Fprintf(
				&b,
				"  %s %s: %s\n",
				mark,
				f.Kind,
				strings.TrimRight(f.Title.String()+" | "+string(f.Command), " |"),
			)
		}
	}
	return b.String()
}

// TestCaseDFromThreeDirections checks that the object alone, the log alone and both lead to the
// same diagnosis: the class, the symbols, the library that defines them, and a flag that fixes
// the link.
func TestCaseDFromThreeDirections(t *testing.T) {
	a, err := txtar.ParseFile("testdata/case-d.txtar")
	if err != nil {
		t.Fatal(err)
	}
	const class, library, flags = "link-undefined-symbol", "libdl.so.2",
		`LDFLAGS="-Wl,--no-as-needed -ldl"`
	symbols := []string{"dlopen", "dlsym", "dlclose", "dlerror", "dlvsym"}

	report, both := judge(t, a)
	var alone []string
	for _, f := range report.Findings {
		if f.Rule != "link-undefined-reference" {
			continue
		}
		alone = append(alone, f.Symbol)
		if f.Library != library || len(f.Fixes) == 0 || f.Fixes[0].Command != flags ||
			!f.Fixes[0].Verified ||
			f.Object != "libcufile.so" {
			t.Errorf("the object alone: %+v", f)
		}
	}
	var log txtar.File
	for _, f := range a.Files {
		if f.Name == "log" {
			log = f
		}
	}
	read, err := buildlog.Read(strings.NewReader(string(log.Data)))
	if err != nil {
		t.Fatal(err)
	}
	said := func(diagnoses []buildlog.Diagnosis) (names []string) {
		for _, d := range diagnoses {
			names = append(names, d.Symbol)
			if d.Class != class || d.Library != library ||
				filepath.Base(d.Object) != "libcufile.so" ||
				d.Cause != buildlog.CauseBuild ||
				len(d.Fixes) == 0 ||
				d.Fixes[0].Command != flags {
				t.Errorf("%+v", d)
			}
		}
		return names
	}
	for what, got := range map[string][]string{"the object alone": alone,
		"the log alone": said(read.Diagnoses), "both": said(both)} {
		slices.Sort(got)
		if want := slices.Sorted(slices.Values(symbols)); !slices.Equal(got, want) {
			t.Errorf("%s names %v, want %v", what, got, want)
		}
	}
	for _, d := range both {
		if d.Analysis.Verdict != buildlog.Confirmed || d.Analysis.Library != library ||
			!slices.Contains(d.Analysis.Rules, "link-undefined-reference") ||
			!d.Fixes[0].Verified {
			t.Errorf("both: %+v %+v", d.Analysis, d.Fixes[0])
		}
	}
}
