package buildlog

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite what the stories want")

// TestStories checks testdata/stories: a log and its expected diagnoses.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*.txtar")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d stories, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var log, want []byte
			for _, f := range a.Files {
				switch f.Name {
				case "log":
					log = f.Data
				case "want":
					want = f.Data
				default:
					t.Fatalf("%s: file %q; a story has log and want", file, f.Name)
				}
			}
			got := format(read(t, strings.ReplaceAll(string(log), "<ESC>", "\x1b")))
			if got == string(want) {
				return
			}
			if !*update {
				t.Errorf("got\n%swant\n%s", got, want)
				return
			}
			a.Files = []txtar.File{{Name: "log", Data: log}, {Name: "want", Data: []byte(got)}}
			if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// format formats the fields of diagnoses that are set, and the fixes.
func format(diagnoses []Diagnosis) string {
	var b strings.Builder
	for _, d := range diagnoses {
		fmt.Fprintf(&b, "%d %s, %s, by %s\n", d.Line, d.Class, d.Cause, d.Rule)
		for _, f := range [][2]string{{"symbol", d.Symbol}, {"version", d.Version},
			{"library", d.Library}, {"object", d.Object}} {
			if f[1] != "" {
				fmt.Fprintf(&b, "  %s %s\n", f[0], f[1])
			}
		}
		for _, f := range d.Fixes {
			fmt.Fprintf(&b, "  %s: %s\n", f.Kind, strings.TrimRight(f.Title.String()+" | "+string(f.Command), " |"))
		}
	}
	return b.String()
}

// TestLogsOfSuccessfulBuilds checks that logs of successful builds (real ones with replaced addresses and
// folders) have no diagnosis.
func TestLogsOfSuccessfulBuilds(t *testing.T) { silent(t, "testdata/green/*.log", 20) }

// TestLogsOfOtherFailures checks the same for builds that failed for another reason: tests, compilers, the
// network, missing packages.
func TestLogsOfOtherFailures(t *testing.T) { silent(t, "testdata/red/*.log", 19) }

func silent(t *testing.T, pattern string, least int) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) < least {
		t.Fatalf("%d logs, %v", len(files), err)
	}
	for _, file := range files {
		log, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, string(log)); len(got) != 0 {
			t.Errorf("%s:\n%s", file, format(got))
		}
	}
}
