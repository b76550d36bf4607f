package table

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Names reads the shared name list. The names share one backing string.
func Names(data []byte) ([]string, error) {
	text, err := expand(data)
	if err != nil {
		return nil, fmt.Errorf("symbol names: %w", err)
	}
	for strings.HasPrefix(text, "#") {
		_, text, _ = strings.Cut(text, "\n")
	}
	names := make([]string, 0, strings.Count(text, "\n"))
	for len(text) > 0 {
		var n string
		n, text, _ = strings.Cut(text, "\n")
		names = append(names, n)
	}
	return names, nil
}

// Decode reads one architecture with the names that Names gave.
func Decode(names []string, data []byte) (*Set, error) {
	text, err := expand(data)
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
	names []string
	set   *Set
	lib   *Library
	codes []Row
}

func (d *decoder) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	f := strings.Fields(rest)
	if word == "rows" {
		return d.rows(rest)
	}
	if d.lib == nil && (word == "in" || word == "code") {
		return fmt.Errorf("%q before a library", word)
	}
	switch {
	case word == "arch" && len(f) == 1:
		d.set.Arch = f[0]
	case word == "column" && len(f) >= 2:
		d.set.Columns = append(d.set.Columns, Column{Name: f[0], Glibc: f[1], From: f[2:]})
	case word == "library" && len(f) == 3:
		d.lib = &Library{SONAME: f[0], Package: f[1], Base: f[2] == "base", In: make([]Facts, len(d.set.Columns))}
		d.codes = d.codes[:0]
		d.set.Libraries = append(d.set.Libraries, d.lib)
	case word == "in" && len(f) >= 3:
		i, err := strconv.Atoi(f[0])
		if err != nil || i < 0 || i >= len(d.lib.In) {
			return fmt.Errorf("no column %q", f[0])
		}
		facts := Facts{Present: true}
		at := &facts.Needed
		for _, w := range f[2:] {
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
		d.codes = append(d.codes, Row{Node: undash(f[0]), Kind: undash(f[1]), Present: uint16(present), Hidden: uint16(hidden)})
	default:
		return fmt.Errorf("unknown line %q", word)
	}
	return nil
}

// rows reads the "delta.code" words. Both are unsigned decimals.
func (d *decoder) rows(text string) error {
	if d.lib == nil {
		return fmt.Errorf("rows before a library")
	}
	d.lib.Rows = make([]Row, 0, strings.Count(text, "."))
	name, n, step := 0, 0, 0
	flush := func() error {
		name += step
		if name >= len(d.names) || n >= len(d.codes) {
			return fmt.Errorf("row points to name %d of %d, code %d of %d", name, len(d.names), n, len(d.codes))
		}
		r := d.codes[n]
		r.Name = d.names[name]
		d.lib.Rows = append(d.lib.Rows, r)
		return nil
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9' && n < 1<<24:
			n = n*10 + int(c-'0')
		case c == '.':
			step, n = n, 0
		case c == ' ':
			if err := flush(); err != nil {
				return err
			}
			n = 0
		default:
			return fmt.Errorf("row holds %q", c)
		}
	}
	if text == "" {
		return nil
	}
	return flush()
}

func undash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

func expand(data []byte) (string, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if _, err := io.Copy(&b, r); err != nil {
		return "", err
	}
	return b.String(), nil
}
