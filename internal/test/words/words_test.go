// Package words checks that the comments, texts and documents of this repository use the terms of
// the field. Its list has phrases that readers of earlier versions did not understand.
package words

import (
	"bytes"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// phrases maps phrases to what to write. Case does not matter, and spaces match line breaks. Words
// that also have an ordinary meaning do not belong here: the test would fail for good sentences.
var phrases = map[string]string{
	"lies beside":           "is next to, is installed with",
	"lie beside":            "are next to, are installed with",
	"stands beside":         "is next to",
	"stand beside":          "are next to",
	"stands behind":         "follows, depends on",
	"stand behind":          "follow, depend on",
	"stands over":           "is above, precedes",
	"behind the name":       "after the name",
	"is told":               "receives, is shown",
	"are told":              "receive, are shown",
	"mend":                  "fix",
	"mends":                 "fixes",
	"mended":                "fixed",
	"said once":             "reported once, cached",
	"asked twice":           "requested twice",
	"kept apart":            "stored separately",
	"by hand of":            "by",
	"may and could not be":  "may …, but could not be",
	"more than is true":     "is wrong",
	"nothing at hand":       "no known package",
	"what there is of":      "the available",
	"where it is not":       "otherwise",
	"by now":                "now, meanwhile",
	"judged again":          "checked again",
	"judge again":           "check again",
	"take it on yourselves": "accept",
	"told of":               "notified of, reports",
	"told by":               "reported by, in",
	"tells of":              "reports, describes",
	"tells that":            "reports that, shows that",
	"tells which":           "determines which, shows which",
	"tells whether":         "reports whether",
	"lies in":               "is in",
	"lie in":                "are in",
	"lies at":               "is at",
	"lies on":               "is on",
	"hangs on":              "is attached to, depends on",
	"hang on":               "are attached to, depend on",
	"is asked":              "is requested, receives a request",
	"are asked":             "are requested, receive requests",
	"asked for":             "requested",
	"brings":                "provides, contains",
	"beside":                "next to, in addition to",
	"anew":                  "again",
	"goes on":               "continues",
	"in hand":               "in progress, claimed",
}

// byFirst has the words of each phrase, by its first word. A regular expression of all phrases
// takes a minute for the repository under the race detector.
var byFirst = func() map[string][][]string {
	out := map[string][][]string{}
	for p := range phrases {
		words := strings.Fields(p)
		out[words[0]] = append(out[words[0]], words)
	}
	for _, list := range out { // the longest first
		slices.SortFunc(list, func(a, b []string) int { return len(b) - len(a) })
	}
	return out
}()

// found returns the phrases of a text, by the offset of each.
func found(text []byte) map[int]string {
	out := map[int]string{}
	for at := 0; at < len(text); {
		first, end := word(text, at)
		if first == "" {
			at++
			continue
		}
		next := end
		for _, words := range byFirst[first] {
			if e := match(text, end, words[1:]); e > 0 {
				out[at], next = strings.Join(words, " "), e
				break
			}
		}
		at = next
	}
	return out
}

// match returns the end of the words that follow an offset, with spaces or the start of a comment
// line between them; 0 = others follow.
func match(text []byte, at int, words []string) int {
	for _, w := range words {
		from := at
		for at < len(text) && bytes.IndexByte([]byte(" \t\n/"), text[at]) >= 0 {
			at++
		}
		got, end := word(text, at)
		if gap := strings.TrimSpace(string(text[from:at])); at == from || gap != "" && gap != "//" ||
			got != w {
			return 0
		}
		at = end
	}
	return at
}

// word returns the word at an offset in lower case and its end; "" = there is none.
func word(text []byte, at int) (string, int) {
	end := at
	for end < len(text) && (text[end] == '_' || text[end] >= '0' && text[end] <= '9' ||
		text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z') {
		end++
	}
	return strings.ToLower(string(text[at:end])), end
}

// prose returns the comments and string literals of Go source; everything else is blank, so that
// lines keep their numbers. Line comments that follow each other stay one text.
func prose(source []byte) []byte {
	out := bytes.Repeat([]byte(" "), len(source))
	for i, b := range source {
		if b == '\n' {
			out[i] = b
		}
	}
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return out
		}
		if tok == token.COMMENT || tok == token.STRING {
			copy(out[file.Offset(pos):], text)
		}
	}
}

func TestWords(t *testing.T) {
	root := output(t, ".", "git", "rev-parse", "--show-toplevel")
	files := strings.Fields(output(t, root, "git", "ls-files", "*.go", "*.md", "*.lua"))
	if len(files) < 500 {
		t.Fatalf("git lists only %d files", len(files))
	}
	for _, name := range files {
		if strings.Contains(name, "testdata/") || strings.HasPrefix(name, "internal/test/words/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) { // deleted, and not committed yet
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".go") {
			text = prose(text)
		}
		for at, phrase := range found(text) {
			t.Errorf("%s:%d: %q; write %q or a similar term",
				name, 1+bytes.Count(text[:at], []byte("\n")), phrase, phrases[phrase])
		}
	}
}

func TestWordsAreFound(t *testing.T) {
	source := "package p\n\n// The library lies\n// beside it.\nvar mend = \"Said once\"\n"
	var got []string
	text := prose([]byte(source))
	for at, phrase := range found(text) {
		got = append(got, phrase)
		if line := 1 + bytes.Count(text[:at], []byte("\n")); phrase == "lies beside" && line != 3 ||
			phrase == "said once" && line != 5 {
			t.Errorf("%q is found in line %d", phrase, line)
		}
	}
	if len(got) != 2 { // the name of a variable is no prose
		t.Errorf("found %q, want the comment and the string", got)
	}
}

func output(t *testing.T, dir string, command ...string) string {
	t.Helper()
	c := exec.Command(command[0], command[1:]...)
	c.Dir = dir
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return strings.TrimSpace(string(out))
}
