// Package shellword writes a word for a POSIX shell, in commands that a user copies and in files
// that a shell reads.
package shellword

import "strings"

// plain are the bytes that mean nothing to a shell (IEEE Std 1003.1, Shell Command Language, 2.2),
// wherever in a word.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+=,-"

// Quote is the word in single quotes where it must be, and as it is where all of it is plain: not
// every reader of such files knows quotes.
func Quote(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
