package comment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/compat-app/compat/analyzer"
)

func TestParseDiff(t *testing.T) {
	d := ParseDiff([]DiffFile{
		{
			"a.txt",
			"@@ -1,3 +1,4 @@ head\n one\n-two\n+2\n+2b\n three\n@@ -10 +11,0 @@\n-gone\n@@ -20,0 +21 " +
				"@@\n+new\n\\ No newline at end of file",
		},
		{"binary.so", ""},
		{"bad", "@@ nonsense\n+x"},
		{"minus.sql", "@@ -0,0 +1,2 @@\n+-- comment\n+@@ -9 +9 @@"},
	})
	for at, want := range map[string]bool{"a.txt:1": true, "a.txt:2": true, "a.txt:3": true,
		"a.txt:4": true, "a.txt:5": false, "a.txt:10": false, "a.txt:11": false, "a.txt:21": true,
		"a.txt:22": false, "binary.so:1": false, "bad:1": false, "minus.sql:2": true,
		"minus.sql:9": false} {
		path, line, _ := strings.Cut(at, ":")
		n := 0
		fmt.Sscan(line, &n)
		if got := d.Has(path, n); got != want {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
	d = ParseDiff([]DiffFile{{"a.txt", "@@ -1,6 +1,5 @@\n one\n-two\n+2\n+2b\n three\n-four\n" +
		"-five\n six\n@@ -10,2 +9 @@\n ten\n-last"}})
	for line, want := range map[int]string{
		1: "which … does not change", 2: "which … changes two", 3: "which … adds",
		4: "after which … removes a line four", 5: "which … does not change",
		9: "after which … removes a line last",
	} {
		clause, old := d.Change("a.txt", line)
		got := strings.TrimSpace(strings.Replace(clause, "this pull request", "…", 1) + " " + old)
		if got != want {
			t.Errorf("line %d: %q, want %q", line, got, want)
		}
	}
}

// A declaration is shown on the nearest line of the diff, of two the first.
func TestDeclared(t *testing.T) {
	d := Diff{"include/point.h": {{First: 3, Last: 5}, {First: 9, Last: 12}},
		"src/point.c": {{First: 1, Last: 1}}}
	for source, want := range map[string]int{"1": 3, "4": 4, "7": 5, "8": 9, "10": 10, "20": 12} {
		f := &analyzer.Finding{Source: "/build/include/point.h:" + source}
		file, line, ok := declared(f, d)
		if !ok || file != "include/point.h" || line != want {
			t.Errorf("line %s: %s:%d, %v, want line %d", source, file, line, ok, want)
		}
	}
	f := &analyzer.Finding{Source: "/build/other.h:4"}
	if file, line, ok := declared(f, d); ok {
		t.Errorf("a file that is not in the diff: %s:%d", file, line)
	}
}

// Patches that go-gitdiff accepts are parsed with the same result.
func FuzzParseDiff(f *testing.F) {
	f.Add("@@ -1,3 +1,4 @@ head\n one\n-two\n+2\n+2b\n three\n")
	f.Add("@@ -10 +10,0 @@\n-gone\n@@ -20,0 +20 @@\n+new\n\\ No newline at end of file")
	f.Add("@@ -0,0 +1 @@\n+@@ -9 +9 @@\n")
	f.Add("@@ -1 +99999999999999999999 @@\n+x")
	f.Fuzz(func(t *testing.T, patch string) {
		hunks := rightHunks(patch, maxDiffLines)
		got := map[int]bool{}
		for _, h := range hunks {
			if h.First < 0 || h.Last < h.First || h.Last-h.First >= len(patch) {
				t.Fatalf("hunk %v of %q", h, patch)
			}
			for line := h.First; line <= h.Last; line++ {
				got[line] = true
			}
		}
		files, _, err := gitdiff.Parse(strings.NewReader("--- a/f\n+++ b/f\n" + patch))
		if err != nil || len(files) != 1 || strings.Contains(patch, "\ndiff --git") ||
			strings.Contains(patch, "\n--- ") {
			return
		}
		want := map[int]bool{}
		for _, frag := range files[0].TextFragments {
			at := int(frag.NewPosition)
			for _, l := range frag.Lines {
				if l.Op != gitdiff.OpDelete {
					want[at] = true
					at++
				}
			}
		}
		for line := range want {
			if !got[line] {
				t.Fatalf("line %d is missing in %v of %q", line, hunks, patch)
			}
		}
		if len(want) > 0 && len(got) != len(want) {
			t.Fatalf("%v, gitdiff has %v, of %q", hunks, want, patch)
		}
	})
}
