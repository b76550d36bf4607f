package wheelpolicy

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxField is the field size limit of Python's csv module.
const maxField = 128 << 10

// recordPaths returns the first field of each row of RECORD, in order, as Python's csv module reads
// the lines of str.splitlines. If Python raises an error (invalid UTF-8, an empty row, a field that
// is too long), it returns the paths before that, and an error.
func recordPaths(record []byte) ([]string, error) {
	if !utf8.Valid(record) {
		return nil, errors.New("RECORD is not UTF-8")
	}
	var out []string
	var field strings.Builder
	state, first, open := start, true, false
	for line := range splitLines(string(record)) {
		if !open {
			state, first = start, true
			field.Reset()
		}
		open = true
		size := 0
		for _, c := range line {
			next := state.after(c)
			if first && state.keeps(c) {
				field.WriteRune(c)
			}
			if size++; next == start {
				size = 0
				if first {
					first = false
				}
			}
			if size > maxField || field.Len() > maxField {
				return out, fmt.Errorf("a field of RECORD is longer than %d characters", maxField)
			}
			state = next
		}
		if state == quoted { // the field continues in the next line
			continue
		}
		if line == "" && field.Len() == 0 && first {
			return out, errors.New("RECORD has an empty line")
		}
		out, open = append(out, field.String()), false
	}
	if open && state == quoted {
		out = append(out, field.String())
	}
	return out, nil
}

// csvState is the state of a parser of Python's "excel" dialect.
type csvState int

const (
	start   csvState = iota // before a field
	plain                   // in a field without quotes
	quoted                  // in a field with quotes
	closing                 // after a quote inside of a quoted field
)

func (s csvState) after(c rune) csvState {
	switch {
	case s == quoted && c == '"':
		return closing
	case s == quoted:
		return quoted
	case s == closing && c == '"':
		return quoted
	case c == ',':
		return start
	case s == start && c == '"':
		return quoted
	}
	return plain
}

// keeps reports whether a character is part of the field's value.
func (s csvState) keeps(c rune) bool {
	switch s {
	case start:
		return c != ',' && c != '"'
	case quoted:
		return c != '"'
	case closing:
		return c != ','
	}
	return c != ','
}

// splitLines is Python's str.splitlines.
func splitLines(s string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for s != "" {
			n := strings.IndexFunc(s, breaks)
			if n < 0 {
				yield(s)
				return
			}
			if !yield(s[:n]) {
				return
			}
			if _, size := utf8.DecodeRuneInString(s[n:]); strings.HasPrefix(s[n:], "\r\n") {
				s = s[n+2:]
			} else {
				s = s[n+size:]
			}
		}
	}
}

func breaks(c rune) bool {
	switch c {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}
