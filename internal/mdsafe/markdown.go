package mdsafe

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func printable(r rune) bool { return strconv.IsPrint(r) }

// blank are letters by their category that show as nothing: the Hangul fillers and the Braille
// blank.
func blank(r rune) bool {
	return r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0' || r == '\u2800'
}

// Cut returns at most max runes of s, the last of them "…" when something was left out. max 0 or
// less means no limit.
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

// Code returns s as a Markdown code span of at most max runes of content (0: no limit). The fence
// is longer than any run of backticks inside. The empty string is shown as (none), without code: an
// empty code span does not exist.
func Code(s string, max int) string {
	if s == "" {
		return "(none)"
	}
	s = Cut(untagged(Visible(Cut(s, max))), max)
	fence := strings.Repeat("`", longest(s)+1)
	// A span that starts or ends with a backtick needs a space there; one that starts and ends with a
	// space would lose both.
	if s[0] == '`' || s[len(s)-1] == '`' ||
		s[0] == ' ' && s[len(s)-1] == ' ' && strings.Trim(s, " ") != "" {
		s = " " + s + " "
	}
	return fence + s + fence
}

// untagged parts the bracket from the word script. GitHub shows a code span as it is, but reports
// are also shown by what knows less Markdown, and no name of anything holds that tag.
func untagged(s string) string {
	const tag = "<script"
	for i := 0; i+len(tag) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(tag)], tag) {
			s = s[:i+1] + " " + s[i+1:]
		}
	}
	return s
}

// Codes joins code spans with commas. At most n are shown; the rest are counted: "and 12 more".
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

// Fence returns s as a fenced code block with its closing line, the fence longer than any run of
// backticks inside. lang is ours, never outside text; "" for none. The block must start at the
// beginning of a line.
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

// Plain returns s for a field that shows plain text and is now and then rendered as Markdown by
// whoever copies it: one line of at most max runes in which nothing mentions, links or opens a tag.
// What could is shown as "?".
func Plain(s string, max int) string {
	s = Visible(
		Cut(s, max),
	) // cut before and after: names of megabytes exist, and showing a character can take several
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

// Join puts whole blocks together as long as they stay within limit bytes, and says with more(n)
// how many were left out. A block is never cut, so no fence, span or tag stays open. more's text is
// counted too; nil says nothing.
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
