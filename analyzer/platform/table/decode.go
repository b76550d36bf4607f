package table

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/compat-app/compat/internal/inflate"
)

// Decode decodes the table of one architecture. names is the shared list of names.
func Decode(names string, data []byte) (*Set, error) {
	text, err := inflate.Gzip(data)
	if err != nil {
		return nil, fmt.Errorf("symbol table: %w", err)
	}
	d := decoder{names: names, set: &Set{}, text: text}
	n := 1
	for line := range strings.Lines(text) {
		if err := d.line(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, fmt.Errorf("symbol table line %d: %w", n, err)
		}
		d.at += len(line)
		n++
	}
	return d.set, nil
}

type decoder struct {
	names, text string
	at          int // of the line in text
	set         *Set
	lib         *Library
	codes       int    // where the lines with the codes of lib begin; -1 if there are none so far
	described   string // the description in the last line with one: the next is often the same
	facts       Facts  // what it says
}

func (d *decoder) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	if word == "rows" {
		if d.lib == nil {
			return fmt.Errorf("rows before a library")
		}
		names, text := d.names, ""
		if d.codes >= 0 {
			text = d.text[d.codes:d.at]
		}
		d.lib.read = func() ([]Row, error) {
			codes, err := codes(text)
			if err != nil {
				return nil, err
			}
			return rows(names, codes, rest)
		}
		return nil
	}
	if d.lib == nil && (word == "in" || word == "code") {
		return fmt.Errorf("%q before a library", word)
	}
	if word == "code" { // decoded with the rows, which a check needs of few libraries
		if d.codes < 0 {
			d.codes = d.at
		}
		return nil
	}
	if word == "in" {
		return d.in(rest)
	}
	f := strings.Fields(rest)
	switch {
	case word == "arch" && len(f) == 1:
		d.set.Arch = f[0]
	case word == "column" && len(f) >= 2:
		d.set.Columns = append(d.set.Columns, Column{Name: f[0], Glibc: f[1], From: f[2:]})
	case word == "library" && len(f) == 2:
		d.lib = &Library{
			SONAME:  f[0],
			Package: f[1],
			In:      make([]Facts, len(d.set.Columns)),
		}
		d.codes = -1
		d.set.Libraries = append(d.set.Libraries, d.lib)
	default:
		return fmt.Errorf("unknown line %q", word)
	}
	return nil
}

// in decodes a line about the library in one column.
func (d *decoder) in(line string) error {
	column, description, _ := strings.Cut(line, " ")
	i, err := strconv.Atoi(column)
	if err != nil || i < 0 || i >= len(d.lib.In) {
		return fmt.Errorf("no column %q", column)
	}
	if description != d.described {
		base, rest, _ := strings.Cut(description, " needed ")
		needed, nodes, ok := strings.Cut(rest, " nodes ")
		if !ok {
			return fmt.Errorf("unknown line %q", line)
		}
		d.described, d.facts = description, Facts{Present: true, Base: base == "base",
			Needed: fields(needed), Nodes: fields(nodes)}
	}
	d.lib.In[i] = d.facts
	return nil
}

// fields is strings.Fields, but nil if there are none.
func fields(s string) []string {
	if f := strings.Fields(s); len(f) > 0 {
		return f
	}
	return nil
}

// codes decodes lines with the codes of a library.
func codes(text string) (out []Row, err error) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 5 || f[0] != "code" {
			return nil, fmt.Errorf("unknown line %q", line)
		}
		present, err1 := strconv.ParseUint(f[3], 16, 16)
		hidden, err2 := strconv.ParseUint(f[4], 16, 16)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("columns %q %q are no hexadecimal masks", f[3], f[4])
		}
		out = append(out, Row{
			Node:    undash(f[1]),
			Kind:    undash(f[2]),
			Present: uint16(present),
			Hidden:  uint16(hidden),
		})
	}
	return out, nil
}

// rows decodes the "name.code" words of a library that encodeSet describes.
func rows(names string, codes []Row, text string) ([]Row, error) {
	out := make([]Row, 0, strings.Count(text, "."))
	rest := "" // the list of names from that of the row
	for word := range strings.FieldsSeq(text) {
		at, code, _ := strings.Cut(word, ".")
		absolute, isOffset := strings.CutPrefix(at, "@")
		step, err1 := strconv.ParseUint(absolute, 10, 31)
		n, err2 := strconv.ParseUint(code, 10, 31)
		switch {
		case err1 != nil || err2 != nil:
			return nil, fmt.Errorf("row holds %q", word)
		case n >= uint64(len(codes)):
			return nil, fmt.Errorf("row points to code %d of %d", n, len(codes))
		case isOffset:
			rest = names[min(step, uint64(len(names))):]
		default:
			for range min(step, near) {
				_, rest, _ = strings.Cut(rest, "\n")
			}
		}
		r := codes[n]
		var ok bool
		if r.Name, _, ok = strings.Cut(rest, "\n"); !ok {
			return nil, fmt.Errorf("row %q points after the last name", word)
		}
		out = append(out, r)
	}
	return out, nil
}

func undash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}
