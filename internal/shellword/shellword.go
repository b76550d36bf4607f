// Package shellword builds the shell commands that compat shows. Names of files, libraries and
// packages come from artifacts, so they become part of a command only through this package: a Line
// is made of constants and quoted words, and the compiler rejects any other string in it.
//
//	"patchelf --add-needed " + shellword.Quote(soname) + " " + shellword.Quote(shellword.File(name))
//
// A quoted word has no control or bidirectional character: words with such a character are written
// as $'…' with escapes, which bash, zsh, ksh and busybox understand.
package shellword

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is a command, or a part of one, that people can copy: constants of this program and words of
// others that Quote, Plain, Bare or Requirement made harmless. Only this package converts a string
// to it; a test checks that.
type Line string

// plain are the bytes that mean nothing to a shell (IEEE Std 1003.1, Shell Command Language, 2.2),
// wherever in a word.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+=,-"

func isPlain(word string) bool { return word != "" && strings.Trim(word, plain) == "" }

// Quote returns a word for a shell: as it is if it is plain, because not every reader knows quotes,
// else in single quotes. A shell reads it as that word, byte for byte.
func Quote(word string) Line {
	switch {
	case isPlain(word):
		return Line(word)
	case !printable(word):
		return escaped(word)
	}
	return Line("'" + strings.ReplaceAll(word, "'", `'\''`) + "'")
}

// Quoted returns words for a shell, separated by spaces.
func Quoted(words []string) Line {
	var out []Line
	for _, w := range words {
		out = append(out, Quote(w))
	}
	return Join(out, " ")
}

// Plain returns words as they are, separated by spaces, for a value that other programs than a
// shell read too, like LDFLAGS, which make passes to another shell. It is "" if one of them has a
// character that means something to a shell, a Makefile or a build system.
func Plain(words []string) Line {
	for _, w := range words {
		if !isPlain(w) {
			return ""
		}
	}
	return Line(strings.Join(words, " "))
}

// maxBare are the bytes of a word in Bare.
const maxBare = 200

// Bare replaces each %s of format by a word as it is, for names from a log, which may be anything,
// and for lines of C or Python. It is "" if a word is not plain, is longer than 200 bytes, or could
// be taken for an option.
func Bare(format Line, words ...string) Line {
	args := make([]any, len(words))
	for i, w := range words {
		if !isPlain(w) || len(w) > maxBare || w[0] == '-' {
			return ""
		}
		args[i] = w
	}
	return Line(fmt.Sprintf(string(format), args...))
}

// Requirement returns a requirement (PEP 508) as a line of a file: "" if it has a character that
// none of its names, versions, extras and operators has.
func Requirement(r string) Line {
	if strings.Trim(r, plain+"<>!~*[]()") != "" {
		return ""
	}
	return Line(r)
}

// WithRequirement returns the line with one of its requirements replaced.
func (l Line) WithRequirement(old, with string) Line {
	if l == Requirement(old) {
		return Requirement(with)
	}
	return Line(strings.ReplaceAll(string(l), string(Quote(old)), string(Quote(with))))
}

// Replace returns the line with a part replaced wherever it occurs.
func (l Line) Replace(old, with Line) Line {
	return Line(strings.ReplaceAll(string(l), string(old), string(with)))
}

// Join returns lines with a separator between them.
func Join(lines []Line, separator Line) Line {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteString(string(separator))
		}
		b.WriteString(string(l))
	}
	return Line(b.String())
}

// File returns the name of a file as an argument that no program takes for an option.
func File(name string) string {
	if strings.HasPrefix(name, "-") {
		return "./" + name
	}
	return name
}

// Words splits a line into its words, which keep their quotes.
func Words(line Line) []Line {
	var words []Line
	start, quote := -1, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'' && c == '\'', quote == '$' && c == '\'', quote == '"' && c == '"':
			quote = 0
		case quote == '\'':
		case c == '\\':
			if start < 0 {
				start = i
			}
			i++
		case quote != 0:
		case c == ' ':
			if start >= 0 {
				words = append(words, line[start:i])
			}
			start = -1
			continue
		case c == '\'' && i > 0 && line[i-1] == '$':
			quote = '$'
		case c == '\'', c == '"':
			quote = c
		}
		if start < 0 && c != ' ' {
			start = i
		}
	}
	if start >= 0 {
		words = append(words, line[start:])
	}
	return words
}

// Lines splits a command at its line breaks, which a quoted word does not have.
func Lines(command Line) (lines []Line) {
	for line := range strings.SplitSeq(string(command), "\n") {
		lines = append(lines, Line(line))
	}
	return lines
}

// Steps splits a line at its "&&".
func Steps(line Line) []Line {
	var steps []Line
	var step []Line
	for _, word := range Words(line) {
		if word == "&&" {
			steps, step = append(steps, Join(step, " ")), nil
			continue
		}
		step = append(step, word)
	}
	return append(steps, Join(step, " "))
}

// printable reports whether a word can be shown as it is.
func printable(word string) bool {
	return utf8.ValidString(word) && !strings.ContainsFunc(word, func(r rune) bool {
		return !unicode.IsPrint(r)
	})
}

// escaped writes a word as $'…'. What cannot be shown becomes three octal digits, after which no
// other digit belongs to them. So do quotes and backslashes: a shell that does not know $'…', like
// dash, reads another word, but nothing after it.
func escaped(word string) Line {
	var b strings.Builder
	b.WriteString("$'")
	for len(word) > 0 {
		r, n := utf8.DecodeRuneInString(word)
		switch {
		case r != '\'' && r != '\\' && unicode.IsPrint(r) && (r != utf8.RuneError || n > 1):
			b.WriteString(word[:n])
		default:
			for _, c := range []byte(word[:n]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
		word = word[n:]
	}
	b.WriteString("'")
	return Line(b.String())
}
