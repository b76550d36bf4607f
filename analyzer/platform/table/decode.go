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
	d := decoder{names: names, set: &Set{}}
	for n := 1; len(text) > 0; n++ {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if err := d.line(line); err != nil {
			return nil, fmt.Errorf("symbol table line %d: %w", n, err)
		}
	}
	return d.set, nil
}

type decoder struct {
	names string
	set   *Set
	lib   *Library
	codes *[]Row // of lib
}

func (d *decoder) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	if word == "rows" {
		if d.lib == nil {
			return fmt.Errorf("rows before a library")
		}
		names, codes := d.names, d.codes
		d.lib.read = func() ([]Row, error) { return rows(names, *codes, rest) }
		return nil
	}
	f := strings.Fields(rest)
	if d.lib == nil && (word == "in" || word == "code") {
		return fmt.Errorf("%q before a library", word)
	}
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
		d.codes = new([]Row)
		d.set.Libraries = append(d.set.Libraries, d.lib)
	case word == "in" && len(f) >= 4:
		i, err := strconv.Atoi(f[0])
		if err != nil || i < 0 || i >= len(d.lib.In) {
			return fmt.Errorf("no column %q", f[0])
		}
		facts := Facts{Present: true, Base: f[1] == "base"}
		at := &facts.Needed
		for _, w := range f[3:] {
			if w == "nodes" {
				at = &facts.Nodes
				continue
			}
			*at = append(*at, w)
		}
		d.lib.In[i] = facts
	case word == "code" && len(f) == 4:
		present, err1 := strconv.ParseUint(f[2], 16, 16)
		hidden, err2 := strconv.ParseUint(f[3], 16, 16)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("columns %q %q are no hexadecimal masks", f[2], f[3])
		}
		*d.codes = append(
			*d.codes,
			Row{
				Node:    undash(f[0]),
				Kind:    undash(f[1]),
				Present: uint16(present),
				Hidden:  uint16(hidden),
			},
		)
	default:
		return fmt.Errorf("unknown line %q", word)
	}
	return nil
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
