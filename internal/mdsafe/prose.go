package mdsafe

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Prose returns a sentence as Markdown in which everything except plain words is in code spans.
// names are untrusted strings in the sentence; each becomes one span, even if it consists of
// several words. Only words of letters, small numbers and plain punctuation stay outside spans,
// so no Markdown processor interprets them.
func Prose(s string, names ...string) string {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	// The longest name at a position wins.
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
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
	for _, p := range whole(pieces) { // merges adjacent spans, which Markdown would join
		if p.code {
			b.WriteString(Code(p.text, maxName))
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// piece is a part of a sentence.
type piece struct {
	text string
	code bool
}

const (
	opening = "(\"'"      // punctuation before a word
	closing = ".,;:?)\"'" // punctuation after a word
)

// whole extends each code piece to the word around it, without punctuation. Markdown processors
// disagree about addresses in a word that is partly a span.
func whole(pieces []piece) []piece {
	var out []piece
	for _, p := range pieces {
		n := len(out) - 1
		if n < 0 {
			out = append(out, p)
			continue
		}
		if p.code {
			text := out[n].text
			at := strings.LastIndexByte(text, ' ') + 1
			open := at + len(text[at:]) - len(strings.TrimLeft(text[at:], opening))
			if n > 0 && at == 0 { // this word has a span already
				open = len(text) - len(strings.TrimLeft(text, ".,;:?()\"'"))
			}
			p.text, out[n].text = text[open:]+p.text, text[:open]
		} else {
			end := strings.IndexByte(p.text, ' ')
			if end < 0 {
				end = len(p.text)
			}
			end = len(strings.TrimRight(p.text[:end], closing))
			out[n].text, p.text = out[n].text+p.text[:end], p.text[end:]
		}
		if n := len(out) - 1; p.code && out[n].text == "" { // no text between two spans
			out = out[:n]
			if n > 0 {
				out[n-1].text += p.text
				continue
			}
		}
		out = append(out, p)
	}
	return out
}

// maxName limits a name in a sentence, in runes: real mangled C++ names have some kilobytes.
const maxName = 400

// maxSentence limits a sentence, in runes; longer ones are truncated.
const maxSentence = 4000

// named returns the first of names that s starts with, as a whole word: "pow" is not found in
// "power". before is the text before s.
func named(s string, names []string, before string) string {
	if before != "" && wordByte(before[len(before)-1]) && wordByte(s[0]) {
		return ""
	}
	for _, n := range names {
		if strings.HasPrefix(s, n) &&
			(len(s) == len(n) || !wordByte(s[len(n)]) || !wordByte(n[len(n)-1])) {
			return n
		}
	}
	return ""
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
		c >= utf8.RuneSelf
}

// split separates the punctuation around a word.
func split(w string) (open, word, tail string) {
	word = strings.TrimLeft(w, "(\"'")
	open = w[:len(w)-len(word)]
	end := strings.TrimRight(word, ".,;:?)\"'")
	tail = word[len(end):]
	return open, end, tail
}

// plainWord reports whether a word can stay outside a code span: letters with hyphens and
// apostrophes inside, or a number of digits and dots, and nothing like a commit (seven or more
// hexadecimal digits), an address or a reference (GH-1).
func plainWord(w string) bool {
	if w == "" || w == "—" || w == "–" || w == "-" || w == "…" {
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
