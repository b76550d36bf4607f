package githubtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// A patch can be applied: the old file becomes the new one.
func TestDiffApplies(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		var old, new []string
		for i := range random.IntN(40) {
			line := fmt.Sprint("line ", i%7)
			switch random.IntN(8) {
			case 0:
				old = append(old, line)
			case 1:
				new = append(new, line)
			case 2:
				old, new = append(old, line), append(new, line+" changed")
			default:
				old, new = append(old, line), append(new, line)
			}
		}
		a, b := text(old), text(new)
		if a == b {
			continue
		}
		c := diff(old, new)
		patch := "--- a/f\n+++ b/f\n" + c.patch + "\n"
		switch {
		case a == "":
			patch = "--- /dev/null\n+++ b/f\n" + c.patch + "\n"
		case b == "":
			patch = "--- a/f\n+++ /dev/null\n" + c.patch + "\n"
		}
		files, _, err := gitdiff.Parse(strings.NewReader(patch))
		if err != nil || len(files) != 1 {
			t.Fatalf("round %d: %v in\n%s", round, err, patch)
		}
		var got strings.Builder
		if err := gitdiff.Apply(&got, strings.NewReader(a), files[0]); err != nil ||
			got.String() != b {
			t.Fatalf("round %d: %v; applied gives %q, want %q\n%s", round, err, got.String(), b, patch)
		}
		shown := 0
		for _, l := range strings.Split(c.patch, "\n") {
			if l[0] == ' ' || l[0] == '+' {
				shown++
			}
		}
		if shown != len(c.right) {
			t.Fatalf(
				"round %d: %d lines of the new file are in hunks, the patch shows %d",
				round,
				len(c.right),
				shown,
			)
		}
	}
}

func text(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestSuggestionFences(t *testing.T) {
	for body, ok := range map[string]bool{
		"```suggestion\nx\n```":                      true,
		"````suggestion\n```\n````":                  true,
		"```suggestion\nx\n":                         false,
		"see ```suggestion\nx\n```":                  false,
		"- ```suggestion\n  x\n  ```":                false,
		"```suggestion\r\nx\r\n```\r\nand so on":     true,
		"```suggestion\nx\n````\nclosed by a longer": true,
	} {
		if why := checkSuggestions(body); (why == "") != ok {
			t.Errorf("%q: %q", body, why)
		}
	}
}
