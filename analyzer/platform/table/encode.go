package table

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Encode returns the shared name list as text, and one gzip file per architecture. The output
// depends only on the input. The lines of header become comments at the top of the name list.
//
// Names are ordered by the first library that exports them: libraries of a small image first, then
// by package. A check that needs few libraries then reads few pages of the list.
func Encode(header []string, sets []*Set) (names []byte, byArch map[string][]byte, err error) {
	first := map[string]string{} // name -> library
	for _, s := range sets {
		for _, l := range s.Libraries {
			library := l.Package + " " + l.SONAME
			if slices.ContainsFunc(l.In, func(f Facts) bool { return f.Base }) {
				library = " " + library // sorts first
			}
			for _, r := range l.Rows {
				if other, ok := first[r.Name]; !ok || library < other {
					first[r.Name] = library
				}
			}
		}
	}
	list := slices.SortedFunc(maps.Keys(first), func(a, b string) int {
		return cmp.Or(cmp.Compare(first[a], first[b]), cmp.Compare(a, b))
	})
	at := make(map[string]place, len(list))
	var b strings.Builder
	for _, h := range header {
		fmt.Fprintf(&b, "# %s\n", h)
	}
	for i, n := range list {
		at[n] = place{index: i, offset: b.Len()}
		b.WriteString(n + "\n")
	}
	byArch = map[string][]byte{}
	for _, s := range sets {
		if byArch[s.Arch], err = compress(encodeSet(s, at)); err != nil {
			return nil, nil, err
		}
	}
	return []byte(b.String()), byArch, nil
}

// place is where a name is in the name list.
type place struct{ index, offset int }

// near is up to how many names ahead a row counts names. Counts compress well, but the reader reads
// the names between, and so their pages.
const near = 64

// encodeSet writes lines of words separated by spaces. The rows of a library are one line of
// "name.code" words. name is the number of names after that of the previous row, or "@" and an
// offset in bytes; code is the index of one of the library's "code" lines (node, kind, masks of
// present and hidden columns).
func encodeSet(s *Set, at map[string]place) string {
	var b strings.Builder
	fmt.Fprintf(&b, "arch %s\n", s.Arch)
	for _, c := range s.Columns {
		fmt.Fprintf(&b, "column %s %s %s\n", c.Name, c.Glibc, strings.Join(c.From, " "))
	}
	for _, l := range s.Libraries {
		fmt.Fprintf(&b, "library %s %s\n", l.SONAME, l.Package)
		for i, f := range l.In {
			if !f.Present {
				continue
			}
			base := "extra"
			if f.Base {
				base = "base"
			}
			fmt.Fprintf(&b, "in %d %s needed %s nodes %s\n", i, base, strings.Join(f.Needed, " "),
				strings.Join(f.Nodes, " "))
		}
		codes := map[string]int{}
		var rows strings.Builder
		last := -1
		for _, r := range l.Rows {
			c := fmt.Sprintf("code %s %s %x %x\n", dash(r.Node), dash(r.Kind), r.Present, r.Hidden)
			n, ok := codes[c]
			if !ok {
				n = len(codes)
				codes[c] = n
				b.WriteString(c)
			}
			p := at[r.Name]
			if d := p.index - last; last >= 0 && d >= 0 && d <= near {
				fmt.Fprintf(&rows, " %d.%d", d, n)
			} else {
				fmt.Fprintf(&rows, " @%d.%d", p.offset, n)
			}
			last = p.index
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
