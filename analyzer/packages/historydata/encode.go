package historydata

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Encode returns the history file of one package. Releases are sorted by architecture and by
// compareVersions, so the same releases always give the same bytes. The lines of header become
// comments.
func Encode(
	name string,
	header []string,
	releases []Release,
	compareVersions func(a, b string) int,
) ([]byte, error) {
	releases = slices.Clone(releases)
	slices.SortFunc(releases, func(a, b Release) int {
		return cmp.Or(
			cmp.Compare(a.Arch, b.Arch),
			compareVersions(a.Version, b.Version),
			cmp.Compare(a.Version, b.Version),
			cmp.Compare(a.Tags, b.Tags),
		)
	})
	var text strings.Builder
	tables := map[string]*tableWriter{} // by family
	var order []*tableWriter
	add := func(table string, symbols []Export) int {
		w := tables[table]
		if w == nil {
			w = &tableWriter{number: len(order), columns: map[string][]int{}}
			tables[table] = w
			order = append(order, w)
		}
		w.add(symbols)
		return w.number
	}
	for _, r := range releases {
		if r.Name != name {
			return nil, fmt.Errorf("a release of %s among those of %s", r.Name, name)
		}
		encodeRelease(&text, r)
		for _, l := range r.Libraries {
			exports, imports := -1, -1
			if l.Known {
				exports = add(family(l.Path), l.Exports)
			}
			if l.Linked {
				imports = add("imports of "+family(l.Path), rows(l.Imports))
			}
			encodeLibrary(&text, l, exports, imports)
		}
	}
	z, err := zstd.NewWriter(
		nil,
		zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithWindowSize(8<<20),
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(true),
	)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	var first strings.Builder
	for _, h := range header {
		fmt.Fprintf(&first, "# %s\n", h)
	}
	fmt.Fprintf(&first, "package %s\n", name)
	var bodies []byte
	for _, t := range order {
		packed := z.EncodeAll(t.bytes(), nil)
		fmt.Fprintf(&first, "table %d\n", len(packed))
		bodies = append(bodies, packed...)
	}
	catalog := z.EncodeAll([]byte(first.String()+text.String()), nil)
	out := binary.AppendUvarint([]byte(magic), uint64(len(catalog)))
	return append(append(out, catalog...), bodies...), nil
}

// rows returns imports as rows of a table, with the library in place of the kind.
func rows(imports []Import) (out []Export) {
	for _, i := range imports {
		out = append(out, Export{Name: i.Name, Version: i.Version, Kind: i.Library})
	}
	return out
}

// family returns the path of a library up to ".so", without digits. It is the same in all releases
// of most libraries, whose name has a version: libarrow.so.1600, libvtksys-9.3.so.
func family(path string) string {
	before, _, _ := strings.Cut(path, ".so")
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return -1
		}
		return c
	}, before)
}

func encodeRelease(b *strings.Builder, r Release) {
	word := "release"
	if r.Yanked {
		word = "yanked"
	}
	fmt.Fprintf(b, "%s %s %s %s %s\n", word, r.Version, r.Arch, r.Wheel, dash(r.SHA256))
	if r.RequiresPython != "" {
		fmt.Fprintf(b, "python %s\n", r.RequiresPython)
	}
	switch {
	case r.Tags != "" && r.Own:
		fmt.Fprintf(b, "own %s\n", r.Tags)
	case r.Tags != "":
		fmt.Fprintf(b, "tags %s\n", r.Tags)
	}
	for _, q := range r.Requires {
		fmt.Fprintf(b, "requires %s\n", q)
	}
}

// encodeLibrary writes the lines of a library. exports and imports are the numbers of its tables.
func encodeLibrary(b *strings.Builder, l Library, exports, imports int) {
	if l.Known {
		fmt.Fprintf(b, "library %s %s %d\n", l.Path, dash(l.SONAME), exports)
	} else {
		fmt.Fprintf(b, "name %s %s\n", l.Path, dash(l.SONAME))
	}
	if len(l.Needed) > 0 {
		fmt.Fprintf(b, "needed %s\n", strings.Join(l.Needed, " "))
	}
	if l.RunPath != "" {
		fmt.Fprintf(b, "runpath %s\n", l.RunPath)
	}
	if len(l.Versions) > 0 {
		fmt.Fprintf(b, "versions %s\n", strings.Join(l.Versions, " "))
	}
	if l.Linked {
		fmt.Fprintf(b, "imports %d\n", imports)
	}
}

// tableWriter collects the symbols of the libraries of a family; each library is a column.
type tableWriter struct {
	number, width int
	columns       map[string][]int // by symbol in text form; ascending
}

func (t *tableWriter) add(exports []Export) {
	for _, e := range exports {
		s := e.text()
		if c := t.columns[s]; len(c) == 0 || c[len(c)-1] != t.width {
			t.columns[s] = append(c, t.width)
		}
	}
	t.width++
}

// bytes returns the encoded table: the numbers of columns, sets and symbols; each set as a bitmap;
// the set of each symbol; then, for each symbol, the length of the prefix shared with the symbol
// before it, the length of the rest, and the rest.
func (t *tableWriter) bytes() []byte {
	symbols := make([]string, 0, len(t.columns))
	for s := range t.columns {
		symbols = append(symbols, s)
	}
	slices.Sort(symbols)
	numbers := map[string]int{}
	var sets, ids []byte
	for _, s := range symbols {
		bitmap := make([]byte, (t.width+7)/8)
		for _, c := range t.columns[s] {
			bitmap[c/8] |= 1 << (c % 8)
		}
		n, known := numbers[string(bitmap)]
		if !known {
			n = len(numbers)
			numbers[string(bitmap)] = n
			sets = append(sets, bitmap...)
		}
		ids = binary.AppendUvarint(ids, uint64(n))
	}
	var names []byte
	before := ""
	for _, s := range symbols {
		common := 0
		for common < min(len(s), len(before)) && s[common] == before[common] {
			common++
		}
		names = binary.AppendUvarint(names, uint64(common))
		names = binary.AppendUvarint(names, uint64(len(s)-common))
		names = append(names, s[common:]...)
		before = s
	}
	var out []byte
	for _, n := range []int{t.width, len(numbers), len(symbols)} {
		out = binary.AppendUvarint(out, uint64(n))
	}
	return slices.Concat(out, sets, ids, names)
}

// text returns "name version kind flags".
func (e Export) text() string {
	flags := ""
	for _, f := range []struct {
		set  bool
		char string
	}{{e.Hidden, "h"}, {e.Weak, "w"}, {e.Unique, "u"}} {
		if f.set {
			flags += f.char
		}
	}
	return strings.TrimRight(e.Name+" "+dash(e.Version)+" "+dash(e.Kind)+" "+flags, " ")
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
