package shellword_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/shellword"
)

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"":                               "''",
		"widget-1.0-cp312-cp312-any.whl": "widget-1.0-cp312-cp312-any.whl",
		"/opt/a:/opt/b":                  "/opt/a:/opt/b",
		"https://host:8080/a?b=c":        "'https://host:8080/a?b=c'",
		"$ORIGIN/../lib":                 "'$ORIGIN/../lib'",
		"a b":                            "'a b'",
		"it's":                           `'it'\''s'`,
		"~root":                          "'~root'",
		"a;b":                            "'a;b'",
		"ä":                              "'ä'",
	} {
		if got := shellword.Quote(word); got != want {
			t.Errorf("%q is %s, want %s", word, got, want)
		}
	}
}

// A shell that reads the word has the word.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "plain", "a b", "it's", "$(touch x)", "`x`", "a\nb", "\\", "*", "#", "!", "-n", "a=b", "\x7f", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if strings.Contains(word, "\x00") || len(word) > 1<<10 {
			return // no argument of a program has it
		}
		out, err := exec.Command("bash", "-c", "printf '%s.' "+shellword.Quote(word)).Output()
		if err != nil || string(out) != word+"." {
			t.Errorf("%q was read as %q, %v", word, out, err)
		}
	})
}
