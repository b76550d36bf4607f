// Package mdsafe shows text from outside (symbols, file names, package names, comments, log lines)
// so that it stays text.
//
// Everything that an artifact or a webhook carries is chosen by whoever wrote it. Shown raw in
// GitHub's Markdown, a symbol called "@everyone" notifies, "#1" links an issue, "![](http://x)"
// loads an image and an escape sequence drives a terminal. Backslashes and entities don't help:
// GitHub looks for mentions and references after it has undone them. It leaves alone only what
// stands in code, so that is where names go.
//
//	Visible(s)           one line, control and invisible characters as their codes: terminals, plain text fields
//	Code(s, max)         a code span: anything in Markdown prose
//	Fence(lang, s)       a fenced block: commands
//	Prose(s, names...)   a sentence of ours with names in it: the names become code spans
//	Plain(s, max)        for plain text fields (a check's title) that somebody might still render as Markdown
//	Join(blocks, …)      blocks that together stay under a byte limit, never cut inside a construct
//
// The package opens nothing and imports nothing of ours.
package mdsafe

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Visible returns s on one line with nothing hidden: a control character is shown as its picture
// (␊, ␛, ␀), what has no picture (C1, bidi controls, zero-width and private characters) as \u202e,
// a byte that is no UTF-8 as \xff.
func Visible(s string) string { return visible(s, false) }

// Lines is Visible that keeps line feeds and tabs; a carriage return before a line feed is dropped.
func Lines(s string) string { return visible(strings.ReplaceAll(s, "\r\n", "\n"), true) }

func visible(s string, lines bool) string {
	clean := true
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case r < ' ':
			b.WriteRune('\u2400' + r)
		case r == 0x7f:
			b.WriteRune('\u2421')
		case blank(r) || !printable(r):
			if r > 0xffff {
				fmt.Fprintf(&b, `\U%08x`, r)
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}
