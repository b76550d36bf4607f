package mdsafe

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func printable(r rune) bool { return strconv.IsPrint(r) }

// blank are letters by their category that show as nothing: the Hangul fillers and the Braille blank.
func blank(r rune) bool {
	return r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0' || r == '\u2800'
}

// Cut returns at most max runes of s, the last of them "…" when something was left out. max 0 or less means no limit.
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

// Code returns s as a Markdown code span of at most max runes of content (0: no limit). The fence is longer than any run of
// backticks inside. The empty string is shown as (none), without code: an empty code span does not exist.
func Code(s string, max int) string {
	if s == "" {
		return "(none)"
	}
	s = Cut(Visible(s), max)
	fence := strings.Repeat("`", longest(s)+1)
	// A span that starts or ends with a backtick needs a space there; one that starts and ends with a space would lose both.
	if s[0] == '`' || s[len(s)-1] == '`' || s[0] == ' ' && s[len(s)-1] == ' ' && strings.Trim(s, " ") != "" {
		s = " " + s + " "
	}
	return fence + s + fence
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

// Fence returns s as a fenced code block with its closing line, the fence longer than any run of backticks inside. lang is
// ours, never outside text; "" for none. The block must start at the beginning of a line.
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

// Prose returns a sentence as Markdown in which every word that could be more than a word stands in a code span. names are
// strings from outside that the sentence holds; each becomes one span, however many words it has. What is left as prose are
// words of letters, small numbers and plain punctuation, which no Markdown processor turns into anything.
func Prose(s string, names ...string) string {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // the longest name at a place wins
	type piece struct {
		text string
		code bool
	}
	var pieces []piece
	s = Cut(s, maxSentence)
	add := func(t string, code bool) {
		if n := len(pieces); n > 0 && pieces[n-1].code == code {
			pieces[n-1].text += t
		} else if t != "" {
			pieces = append(pieces, piece{t, code})
		}
	}
	for rest := s; rest != ""; {
		if n := named(rest, names, s[:len(s)-len(rest)]); n != "" {
			add(n, true)
			rest = rest[len(n):]
			continue
		}
		end := strings.IndexByte(rest, ' ')
		if end == 0 {
			add(" ", false)
			rest = rest[1:]
			continue
		}
		if end < 0 {
			end = len(rest)
		}
		for i := 1; i < end; i++ { // a name may start inside a word: (name), pow@GLIBC_2.29
			if named(rest[i:], names, s[:len(s)-len(rest)+i]) != "" {
				end = i
				break
			}
		}
		open, word, tail := split(rest[:end])
		add(open, false)
		add(word, !plainWord(word))
		add(tail, false)
		rest = rest[end:]
	}
	var b strings.Builder
	for _, p := range pieces { // never two spans beside each other: they would be one
		if p.code {
			b.WriteString(Code(p.text, maxName))
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// maxName bounds a name in a sentence: mangled C++ names of some kilobytes exist, and hostile ones of megabytes.
const maxName = 400

// maxSentence bounds a sentence; a longer one is cut with "…".
const maxSentence = 4000

// named returns the first of names that stands at the start of s as a whole: a name "pow" is not found in "power".
func named(s string, names []string, before string) string {
	if before != "" && wordByte(before[len(before)-1]) && wordByte(s[0]) {
		return ""
	}
	for _, n := range names {
		if strings.HasPrefix(s, n) && (len(s) == len(n) || !wordByte(s[len(n)]) || !wordByte(n[len(n)-1])) {
			return n
		}
	}
	return ""
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf
}

// split takes the punctuation of a sentence off a word.
func split(w string) (open, word, tail string) {
	word = strings.TrimLeft(w, "(\"'")
	open = w[:len(w)-len(word)]
	end := strings.TrimRight(word, ".,;:?)\"'")
	tail = word[len(end):]
	return open, end, tail
}

// plainWord says whether a word can stand in prose: letters, with hyphens and apostrophes inside, or a number of digits and
// dots; nothing that looks like a commit (seven or more hexadecimal digits), an address or a reference (GH-1).
func plainWord(w string) bool {
	if w == "" || w == "—" || w == "–" || w == "-" {
		return true
	}
	digits, letters, hex := 0, 0, 0
	for i, r := range w {
		switch {
		case '0' <= r && r <= '9' || r == '.' && i > 0 && i < len(w)-1:
			digits++
		case unicode.IsLetter(r) && r < utf8.RuneSelf:
			letters++
		case (r == '-' || r == '\'') && i > 0 && i < len(w)-1:
			if digits > 0 {
				return false
			}
			continue
		default:
			return false
		}
		if r <= '9' && r >= '0' || 'a' <= r && r <= 'f' || 'A' <= r && r <= 'F' {
			hex++
		}
	}
	switch {
	case letters > 0 && digits > 0, hex >= 7 && hex == letters+digits:
		return false
	}
	return digits <= 12
}

// Plain returns s for a field that shows plain text and is now and then rendered as Markdown by whoever copies it: one line of
// at most max runes in which nothing mentions, links or opens a tag. What could is shown as "?".
func Plain(s string, max int) string {
	s = Visible(s)
	var b strings.Builder
	prev := rune(' ')
	for i, r := range s {
		switch {
		case strings.ContainsRune("`<>[]!#*|&", r),
			r == '@' && !wordRune(prev),
			r == ':' && strings.HasPrefix(s[i:], "://"),
			r == '.' && strings.HasSuffix(strings.ToLower(s[:i]), "www"):
			r = '?'
		}
		b.WriteRune(r)
		prev = r
	}
	return Cut(b.String(), max)
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// Join puts whole blocks together as long as they stay within limit bytes, and says with more(n) how many were left out. A
// block is never cut, so no fence, span or tag stays open. more's text is counted too; nil says nothing.
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
