package table

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
)

// Encode returns the shared name list as text, and one gzip file per architecture. The output
// depends only on the input. The lines of header become comments at the top of the name list.
func Encode(header []string, sets []*Set) (names []byte, byArch map[string][]byte, err error) {
	seen := map[string]bool{}
	for _, s := range sets {
		for _, l := range s.Libraries {
			for _, r := range l.Rows {
				seen[r.Name] = true
			}
		}
	}
	list := make([]string, 0, len(seen))
	for n := range seen {
		list = append(list, n)
	}
	slices.Sort(list)
	id := make(map[string]int, len(list))
	var b strings.Builder
	for _, h := range header {
		fmt.Fprintf(&b, "# %s\n", h)
	}
	for i, n := range list {
		id[n] = i
		b.WriteString(n + "\n")
	}
	byArch = map[string][]byte{}
	for _, s := range sets {
		if byArch[s.Arch], err = compress(encodeSet(s, id)); err != nil {
			return nil, nil, err
		}
	}
	return []byte(b.String()), byArch, nil
}

// encodeSet writes lines of words separated by spaces. The rows of a library are one line of
// "delta.code" words: the difference to the previous index into the name list, and the index of one
// of the library's "code" lines (node, kind, masks of present and hidden columns).
func encodeSet(s *Set, id map[string]int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "arch %s\n", s.Arch)
	for _, c := range s.Columns {
		fmt.Fprintf(&b, "column %s %s %s\n", c.Name, c.Glibc, strings.Join(c.From, " "))
	}
	for _, l := range s.Libraries {
		base := "extra"
		if l.Base {
			base = "base"
		}
		fmt.Fprintf(&b, "library %s %s %s\n", l.SONAME, l.Package, base)
		for i, f := range l.In {
			if f.Present {
				fmt.Fprintf(
					&b,
					"in %d needed %s nodes %s\n",
					i,
					strings.Join(f.Needed, " "),
					strings.Join(f.Nodes, " "),
				)
			}
		}
		codes := map[string]int{}
		var rows strings.Builder
		last := 0
		for _, r := range l.Rows {
			c := fmt.Sprintf("code %s %s %x %x\n", dash(r.Node), dash(r.Kind), r.Present, r.Hidden)
			n, ok := codes[c]
			if !ok {
				n = len(codes)
				codes[c] = n
				b.WriteString(c)
			}
			fmt.Fprintf(&rows, " %d.%d", id[r.Name]-last, n)
			last = id[r.Name]
		}
		fmt.Fprintf(&b, "rows%s\n", rows.String())
	}
	return b.String()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func compress(s string) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write([]byte(s)); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
