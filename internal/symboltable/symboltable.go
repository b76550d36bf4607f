// Package symboltable reads tables of symbols that are embedded in the program, without copying
// them: a lookup is a binary search in the text.
//
//	t := symboltable.Open(text)
//	t.Find("PyType_GetDict") // ["3.12,3.13"]
//
// A table has a line for each group of fields that some symbols have in common, an empty line, and
// a line for each symbol with the number of its group from 0, in ascending order of their bytes.
// Lines before it that start with "#" are comments.
//
//	# Symbols that CPython exports, by its releases
//	3.11,3.12,3.13
//	3.12,3.13
//
//	PyList_New 0
//	PyType_GetDict 1
package symboltable

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Table is a table of symbols. It is safe for concurrent use.
type Table struct {
	groups [][]string
	lines  string // of the symbols
}

// Open reads the groups of a table. It panics if there are none, because the program that contains
// the table is wrong then.
func Open(text string) Table {
	head, lines, _ := strings.Cut(text, "\n\n")
	t := Table{lines: lines}
	for line := range strings.Lines(head) {
		if !strings.HasPrefix(line, "#") {
			t.groups = append(t.groups, strings.Fields(line))
		}
	}
	if len(t.groups) == 0 || lines == "" {
		panic(fmt.Errorf("embedded table of symbols: %q", head))
	}
	return t
}

// Find returns the fields of a symbol, nil if the table does not have it. The caller must not
// change them.
func (t Table) Find(symbol string) []string {
	group, ok := Line(t.lines, symbol)
	if !ok {
		return nil
	}
	return t.fields(group)
}

// Line returns what follows a name and a space, in lines that begin with names in ascending order
// of their bytes. ok is false if none begins with it.
func Line(lines, name string) (rest string, ok bool) {
	low, high := 0, len(lines) // starts of lines, or the end
	for low < high {
		middle := low + (high-low)/2
		start := low + strings.LastIndexByte(lines[low:middle], '\n') + 1
		end := middle + strings.IndexByte(lines[middle:], '\n')
		first, rest, _ := strings.Cut(lines[start:end], " ")
		switch {
		case first == name:
			return rest, true
		case first < name:
			low = end + 1
		default:
			high = start
		}
	}
	return "", false
}

func (t Table) fields(group string) []string {
	i, err := strconv.Atoi(group)
	if err != nil {
		panic(fmt.Errorf("embedded table of symbols: %w", err))
	}
	return t.groups[i]
}

// All iterates over the symbols, in ascending order, and their fields.
func (t Table) All() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		for line := range strings.Lines(t.lines) {
			name, group, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if !yield(name, t.fields(group)) {
				return
			}
		}
	}
}

// Format writes a table. comment is without "#" and line breaks; fields are those of each symbol,
// with a space between.
func Format(comment string, fields map[string]string) string {
	var symbols, groups []string
	for name, group := range fields {
		symbols, groups = append(symbols, name), append(groups, group)
	}
	slices.Sort(symbols)
	slices.Sort(groups)
	groups = slices.Compact(groups)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n%s\n\n", comment, strings.Join(groups, "\n"))
	for _, name := range symbols {
		number, _ := slices.BinarySearch(groups, fields[name])
		fmt.Fprintf(&b, "%s %d\n", name, number)
	}
	return b.String()
}
