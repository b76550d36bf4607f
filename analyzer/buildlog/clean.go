package buildlog

import (
	"bytes"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// plainText appends a line to dst without ANSI control sequences and operating system commands
// (ECMA-48: CSI, OSC).
func plainText(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, 0x1b)
		if i < 0 {
			return append(dst, b...)
		}
		if i+1 == len(b) {
			return append(dst, b[:i]...)
		}
		dst = append(dst, b[:i]...)
		kind, rest := b[i+1], b[i+2:]
		switch kind {
		case '[':
			n := 0
			for n < len(rest) && (rest[n] < '@' || rest[n] > '~') {
				n++
			}
			rest = rest[min(n+1, len(rest)):]
		case ']':
			n := bytes.IndexAny(rest, "\x07\x1b")
			if n < 0 {
				n = len(rest)
			} else if rest[n] == 7 {
				n++
			}
			rest = rest[n:]
		}
		b = rest
	}
}

// stamp returns the length of the time stamp at the start of a line of a GitHub log (with job
// and step before it in the output of `gh run view --log`), or of the step and seconds of
// docker build.
func stamp(b []byte) int {
	at := 0
	if tabs := bytes.IndexByte(b, '\t'); tabs > 0 && tabs < 100 {
		if next := bytes.IndexByte(b[tabs+1:], '\t'); next >= 0 && next < 200 &&
			len(b) > tabs+next+2 {
			at = tabs + next + 2
		}
	}
	for _, start := range []int{at, 0} {
		rest := bytes.TrimPrefix(b[start:], []byte("\ufeff"))
		if len(rest) > 20 && isTime(rest[:19]) {
			if end := bytes.IndexByte(rest[:min(len(rest), 40)], ' '); end >= 19 {
				return len(b) - len(rest) + end + 1
			} else if end == 10 {
				return len(b) - len(rest) + 20
			}
		}
	}
	if b = b[:min(len(b), 24)]; len(b) > 0 && b[0] == '#' {
		return len(dockerStep.Find(b))
	}
	return 0
}

func isTime(b []byte) bool {
	for i, form := range []byte("dddd-dd-dd?dd:dd:dd") {
		if c := b[i]; form == 'd' && (c < '0' || c > '9') || form == '?' && c != 'T' && c != ' ' ||
			form != 'd' && form != '?' && c != form {
			return false
		}
	}
	return true
}

var (
	dockerStep = lazyregexp.New(`^#\d+ \d+\.\d+ `)
	// marks are GitHub's workflow commands at the start of a message.
	marks = lazyregexp.New(
		`^(?:##\[(?:error|warning|debug|notice)\]|::(?:error|warning|debug|notice)[^:]*::)`,
	)
)

// clean returns valid UTF-8 without control characters and characters that change the writing
// direction.
func clean(b []byte) string {
	s := string(b)
	if i := strings.IndexFunc(s, func(r rune) bool {
		return r < ' ' && r != '\t' || r >= 0x7f
	}); i >= 0 {
		s = strings.Map(func(r rune) rune {
			switch {
			case r < ' ' && r != '\t',
				r >= 0x7f && r < 0xa0,
				r >= 0x200b && r <= 0x200f,
				r >= 0x202a && r <= 0x202e,
				r >= 0x2060 && r <= 0x206f,
				r == 0xfeff:
				return -1
			}
			return r
		}, strings.ToValidUTF8(s, "\ufffd"))
	}
	if strings.HasPrefix(s, "##[") || strings.HasPrefix(s, "::") {
		s = s[len(marks.FindString(s)):]
	}
	return s
}

// echoed matches lines that only repeat a message: a command or source line that is shown.
var echoed = lazyregexp.New(
	`^\s*(?:\+{1,3} |\[command\]|##\[(?:command|group)\]|\d+ \||\|\s|(?://|/\*)\s)`,
)

// quoted reports whether a line only repeats a message, or belongs to a passed test or to a
// check of autoconf or numpy.distutils that may fail.
func quoted(s string) bool {
	return strings.Contains(s, " PASSED") || strings.HasSuffix(s, " ... ok") ||
		strings.Contains(s, "conftest.") ||
		strings.Contains(s, "_configtest.") ||
		echoed.MatchString(s)
}

// maxField is the maximum length of a field in bytes.
const maxField = 4 << 10

// bound shortens a field to maxField.
func bound(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxField {
		s = strings.ToValidUTF8(s[:maxField], "")
	}
	return s
}
