// Package mdsafe formats untrusted text (symbols, file names, package names, comments, log lines)
// so that it cannot be interpreted.
//
// The author of an artifact or webhook payload chooses its names. In GitHub's Markdown, a symbol
// called "@everyone" would notify people, "#1" would link an issue and "![](http://x)" would load
// an image; an escape sequence would control a terminal. Backslashes and entities do not help,
// because GitHub searches for mentions and references after decoding them. GitHub does not
// interpret code spans and blocks, so names are shown in them.
//
//	Visible(s)           one line, control and invisible characters as codes: terminals, plain text fields
//	Code(s, max)         a code span, for names in Markdown
//	Fence(lang, s)       a fenced code block, for commands
//	Prose(s, names...)   a sentence of compat with untrusted names, which become code spans
//	Plain(s, max)        plain text fields (a check's title) that might be rendered as Markdown
//	Join(blocks, …)      whole blocks up to a limit in bytes
package mdsafe

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Visible returns s on one line with all characters visible: control characters as pictures (␊,
// ␛, ␀), other invisible characters (C1, bidi controls, zero-width, private use) as \u202e, and
// invalid UTF-8 bytes as \xff.
func Visible(s string) string { return visible(s, false) }

// Lines is like Visible, but keeps line feeds and tabs, and turns CRLF into LF.
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
