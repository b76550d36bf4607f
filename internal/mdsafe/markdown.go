package mdsafe

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func printable(r rune) bool { return strconv.IsPrint(r) }

// blank reports whether r is classified as a letter but invisible: the Hangul fillers and the
// Braille blank.
func blank(r rune) bool {
	return r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0' || r == '\u2800'
}

// Cut truncates s to at most max runes, with "…" as the last. max <= 0 means no limit.
func Cut(s string, max int) string {
	if max <= 0 || utf8.RuneCountInString(s) <= max {
		return s
	}
	n := 0
	for i := range s {
		if n++; n == max {
			return s[:i] + "…"
		}
	}
	return s
}

// Code returns s as a Markdown code span with at most max runes of content (0 = no limit). The
// fence is longer than any run of backticks inside. The empty string is shown as (none), because
// an empty code span does not exist.
func Code(s string, max int) string {
	if s == "" {
		return "(none)"
	}
	s = Cut(untagged(Visible(Cut(s, max))), max)
	fence := strings.Repeat("`", longest(s)+1)
	// A span that starts or ends with a backtick needs a space there. One that starts and ends
	// with a space would lose both.
	if s[0] == '`' || s[len(s)-1] == '`' ||
		s[0] == ' ' && s[len(s)-1] == ' ' && strings.Trim(s, " ") != "" {
		s = " " + s + " "
	}
	return fence + s + fence
}

// untagged separates the bracket from the word script. GitHub shows code spans unchanged, but
// reports are also shown by weaker Markdown renderers, and no real name contains that tag.
func untagged(s string) string {
	const tag = "<script"
	for i := 0; i+len(tag) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(tag)], tag) {
			s = s[:i+1] + " " + s[i+1:]
		}
	}
	return s
}

// Codes joins code spans with commas. It shows at most n and counts the rest: "and 12 more".
func Codes(ss []string, n, max int) string {
	var out []string
	for i, s := range ss {
		if n > 0 && i == n {
			return strings.Join(out, ", ") + " and " + strconv.Itoa(len(ss)-n) + " more"
		}
		out = append(out, Code(s, max))
	}
	return strings.Join(out, ", ")
}

// Fence returns s as a fenced code block that ends with a newline. The fence is longer than any
// run of backticks inside. lang must be trusted; "" = none. The block must start at the beginning
// of a line.
func Fence(lang, s string) string {
	s = strings.TrimSuffix(Lines(s), "\n")
	fence := strings.Repeat("`", max(3, longest(s)+1))
	return fence + lang + "\n" + s + "\n" + fence + "\n"
}

func longest(s string) int {
	n, best := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			n = 0
			continue
		}
		n++
		best = max(best, n)
	}
	return best
}

// Plain returns s for a plain text field that might be rendered as Markdown elsewhere: one line
// of at most max runes, where characters that could start a mention, link or tag are replaced by
// "?".
func Plain(s string, max int) string {
	// Before and after, because names can have megabytes, and Visible makes them longer.
	s = Visible(Cut(s, max))
	var b strings.Builder
	prev := rune(' ')
	for i, r := range s {
		switch {
		case strings.ContainsRune("`<>[]!#*|&", r),
			r == '@' && !wordRune(prev),
			r == ':' && strings.HasPrefix(s[i:], "://"),
			r == '.' && i >= 3 && strings.EqualFold(s[i-3:i], "www"),
			r == '-' && i >= 2 && strings.EqualFold(s[i-2:i], "gh"):
			r = '?'
		}
		b.WriteRune(r)
		prev = r
	}
	return Cut(b.String(), max)
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// Join concatenates whole blocks as long as they fit into limit bytes, followed by more(n), where
// n is the number of blocks left out. Blocks are never truncated, so no fence, span or tag stays
// open. The limit includes the text of more; more may be nil.
func Join(blocks []string, limit int, more func(left int) string) string {
	size := 0
	for _, b := range blocks {
		size += len(b)
	}
	if size <= limit {
		return strings.Join(blocks, "")
	}
	if more == nil {
		more = func(int) string { return "" }
	}
	var b strings.Builder
	n := 0
	for n < len(blocks) && b.Len()+len(blocks[n])+len(more(len(blocks)-n-1)) <= limit {
		b.WriteString(blocks[n])
		n++
	}
	b.WriteString(more(len(blocks) - n))
	return b.String()
}
