package buildlog

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	// escapes are ANSI control sequences and operating system commands (ECMA-48: CSI, OSC).
	escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])")
	// stamps begin the lines of GitHub's logs (downloaded, and as `gh run view --log` prints them: job, step, time), and of docker build.
	stamps = regexp.MustCompile(`^(?:\x{feff}|[^\t]{1,100}\t[^\t]{1,200}\t\x{feff}?)?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?Z? +|^#\d+ \d+\.\d+ `)
	// marks are GitHub's workflow commands before a message.
	marks = regexp.MustCompile(`^(?:##\[(?:error|warning|debug|notice)\]|::(?:error|warning|debug|notice)[^:]*::)`)
)

// clean returns a line without control sequences, time stamps and control characters.
func clean(b []byte) string {
	s := string(b)
	if strings.IndexByte(s, 0x1b) >= 0 {
		s = escapes.ReplaceAllString(s, "")
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n' // a progress bar draws over itself: each drawing is a line
		case r < ' ' && r != '\t', r == 0x7f, r >= 0x80 && r < 0xa0, r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
			return -1
		}
		return r
	}, s)
	s = strings.Trim(s, "\n")
	if s != "" && (s[0] >= '0' && s[0] <= '9' || s[0] == '#' || strings.IndexByte(s, '\t') > 0 || strings.HasPrefix(s, "\ufeff")) {
		s = s[len(stamps.FindString(s)):]
	}
	return s[len(marks.FindString(s)):]
}

// quoted lines repeat a message without being one: a command or a source line shown before it runs or fails, a test that passed.
var quoted = regexp.MustCompile(`^\s*(?:\+{1,3} |\[command\]|##\[(?:command|group)\]|\d+ \||\|\s|(?://|/\*)\s)| PASSED\b| \.\.\. ok$|\bconftest\.(?:c|cc|cpp|o|tmp)\b`)

// bound cuts a field to what is shown.
func bound(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxField {
		s = strings.ToValidUTF8(s[:maxField], "")
	}
	return s
}
