// Package shellword builds the shell commands that compat shows. Names of files, libraries and
// packages come from artifacts, so a command is never assembled from text: each argument is quoted,
// and typed into a shell it arrives byte for byte.
//
//	shellword.Command("patchelf", "--add-needed", soname, shellword.File(name))
//
// The result has no control or bidirectional character: words with such a character are written as
// $'…' with escapes, which bash, zsh, ksh and busybox understand.
package shellword

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain are the bytes that mean nothing to a shell (IEEE Std 1003.1, Shell Command Language, 2.2),
// wherever in a word.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+=,-"

// Plain reports whether a word means itself to a shell, a Makefile and a build system, so that it
// can be part of a value like LDFLAGS that they read again.
func Plain(word string) bool { return word != "" && strings.Trim(word, plain) == "" }

// Quote returns a word for a shell: as it is if it is plain, because not every reader knows quotes,
// else in single quotes.
func Quote(word string) string {
	switch {
	case Plain(word):
		return word
	case !printable(word):
		return escaped(word)
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Command returns a command line of a program and its arguments. The result runs that program once.
func Command(args ...string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = Quote(a)
	}
	return strings.Join(quoted, " ")
}

// File returns the name of a file as an argument that no program takes for an option.
func File(name string) string {
	if strings.HasPrefix(name, "-") {
		return "./" + name
	}
	return name
}

// Words splits a command line into its words, which keep their quotes.
func Words(command string) []string {
	var words []string
	start, quote := -1, byte(0)
	for i := 0; i < len(command); i++ {
		c := command[i]
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
				words = append(words, command[start:i])
			}
			start = -1
			continue
		case c == '\'' && i > 0 && command[i-1] == '$':
			quote = '$'
		case c == '\'', c == '"':
			quote = c
		}
		if start < 0 && c != ' ' {
			start = i
		}
	}
	if start >= 0 {
		words = append(words, command[start:])
	}
	return words
}

// printable reports whether a word can be shown as it is.
func printable(word string) bool {
	return utf8.ValidString(word) && !strings.ContainsFunc(word, func(r rune) bool {
		return !unicode.IsPrint(r)
	})
}

// escaped writes a word as $'…'. Bytes that cannot be shown become three octal digits, after which no other
// digit belongs to them.
func escaped(word string) string {
	var b strings.Builder
	b.WriteString("$'")
	for len(word) > 0 {
		r, n := utf8.DecodeRuneInString(word)
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsPrint(r) && (r != utf8.RuneError || n > 1):
			b.WriteString(word[:n])
		default:
			for _, c := range []byte(word[:n]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
		word = word[n:]
	}
	b.WriteString("'")
	return b.String()
}
