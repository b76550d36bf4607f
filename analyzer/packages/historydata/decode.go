package historydata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// File is the history of one package. It is safe for concurrent use.
type File struct {
	Name     string
	Releases []Release // by architecture, then version; Exports of their libraries are empty
	Size     int       // of the encoded file, in bytes
	tables   []func() (*table, error)
}

// maxTable limits the decompressed size of a table or catalog; libtorch_cpu.so needs about 20 MB.
const maxTable = 256 << 20

// Open reads the catalog of a file that Encode wrote. data must not be modified afterwards.
func Open(data []byte) (*File, error) {
	rest, ok := strings.CutPrefix(string(data[:min(len(data), len(magic))]), magic)
	if !ok || rest != "" {
		return nil, errors.New("it does not begin as a history does")
	}
	body := data[len(magic):]
	length, n := binary.Uvarint(body)
	if n <= 0 || length > uint64(len(body)-n) {
		return nil, errors.New("the catalog is cut off")
	}
	catalog, err := inflate(body[n : n+int(length)])
	if err != nil {
		return nil, fmt.Errorf("the catalog: %w", err)
	}
	d := decoder{file: &File{Size: len(data)}, tables: body[n+int(length):]}
	number := 0
	for line := range strings.Lines(string(catalog)) {
		number++
		if err := d.line(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return d.file, nil
}

func inflate(packed []byte) ([]byte, error) {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxTable))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.DecodeAll(packed, nil)
}

type decoder struct {
	file    *File
	tables  []byte // of the tables whose lines were not read yet
	columns []int  // by table: the number of columns assigned to libraries
}

func (d *decoder) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	fields := append(strings.Fields(rest), "", "", "", "")
	switch word {
	case "#":
		return nil
	case "package":
		d.file.Name = rest
		return nil
	case "table":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 || n > len(d.tables) {
			return fmt.Errorf("a table of %q bytes, where %d are left", rest, len(d.tables))
		}
		packed := d.tables[:n]
		d.tables, d.columns = d.tables[n:], append(d.columns, 0)
		d.file.tables = append(
			d.file.tables,
			sync.OnceValues(func() (*table, error) { return readTable(packed) }),
		)
		return nil
	case "release", "yanked":
		r := Release{
			Name:    d.file.Name,
			Version: fields[0],
			Arch:    fields[1],
			Wheel:   fields[2],
			SHA256:  undash(fields[3]),
			Yanked:  word == "yanked",
		}
		d.file.Releases = append(d.file.Releases, r)
		return nil
	}
	if len(d.file.Releases) == 0 {
		return fmt.Errorf("%q before a release", word)
	}
	r := &d.file.Releases[len(d.file.Releases)-1]
	switch word {
	case "requires":
		r.Requires = append(r.Requires, rest)
		return nil
	case "python":
		r.RequiresPython = rest
		return nil
	case "tags", "own":
		r.Tags, r.Own = rest, word == "own"
		return nil
	case "name":
		r.Libraries = append(r.Libraries, Library{Path: fields[0], SONAME: undash(fields[1])})
		return nil
	case "library":
		at, err := d.column(fields[2])
		if err != nil {
			return fmt.Errorf("library %s: %w", fields[0], err)
		}
		r.Libraries = append(r.Libraries, Library{
			Path: fields[0], SONAME: undash(fields[1]), Known: true, exports: at,
		})
		return nil
	}
	if len(r.Libraries) == 0 {
		return fmt.Errorf("%q before a library", word)
	}
	l := &r.Libraries[len(r.Libraries)-1]
	switch word {
	case "needed":
		l.Needed = strings.Fields(rest)
	case "runpath":
		l.RunPath = rest
	case "versions":
		l.Versions = strings.Fields(rest)
	case "imports":
		at, err := d.column(rest)
		if err != nil {
			return fmt.Errorf("library %s: %w", l.Path, err)
		}
		l.imports, l.Linked = at, true
	default:
		return fmt.Errorf("unknown line %q", word)
	}
	return nil
}

// column returns the next column of a table that is given by its number.
func (d *decoder) column(number string) (place, error) {
	t, err := strconv.Atoi(number)
	if err != nil || t < 0 || t >= len(d.columns) {
		return place{}, fmt.Errorf("there is no table %q", number)
	}
	d.columns[t]++
	return place{t, d.columns[t] - 1}, nil
}

// Exports returns the exports of a library of the file, sorted by name and version; nil if the
// library is not Known.
func (f *File) Exports(l *Library) ([]Export, error) {
	if !l.Known {
		return nil, nil
	}
	return f.at(l, l.exports)
}

// Imports returns the imports of a library of the file, sorted by name and version; nil if it is
// not Linked.
func (f *File) Imports(l *Library) (out []Import, _ error) {
	if !l.Linked {
		return nil, nil
	}
	rows, err := f.at(l, l.imports)
	for _, r := range rows {
		out = append(out, Import{Name: r.Name, Version: r.Version, Library: r.Kind})
	}
	return out, err
}

// at returns what a table contains of a library.
func (f *File) at(l *Library, p place) ([]Export, error) {
	if p.table >= len(f.tables) {
		return nil, fmt.Errorf("%s is not of this file", l.Path)
	}
	t, err := f.tables[p.table]()
	if err != nil {
		return nil, fmt.Errorf("the symbols of %s: %w", l.Path, err)
	}
	return t.of(p.column), nil
}

// table contains the symbols of a family of libraries; each library is a column.
type table struct {
	symbols []Export
	set     []uint32 // by symbol: index into sets
	sets    [][]byte // bitmaps of columns
}

// of returns the symbols of a column.
func (t *table) of(c int) []Export {
	in := make([]bool, len(t.sets))
	for i, s := range t.sets {
		in[i] = c/8 < len(s) && s[c/8]&(1<<(c%8)) != 0
	}
	n := 0
	for _, s := range t.set {
		if in[s] {
			n++
		}
	}
	out := make([]Export, 0, n)
	for i, s := range t.set {
		if in[s] {
			out = append(out, t.symbols[i])
		}
	}
	return out
}

var errTable = errors.New("the table is damaged")

func readTable(packed []byte) (*table, error) {
	data, err := inflate(packed)
	if err != nil {
		return nil, err
	}
	r := reader{data}
	columns, sets, symbols := r.number(), r.number(), r.number()
	if columns < 0 || sets < 0 || symbols < 0 || symbols > len(data) || sets > len(data) {
		return nil, errTable
	}
	t := &table{symbols: make([]Export, 0, symbols), set: make([]uint32, symbols)}
	for range sets {
		t.sets = append(t.sets, r.take((columns+7)/8))
	}
	for i := range t.set {
		n := r.number()
		if n < 0 || n >= sets {
			return nil, errTable
		}
		t.set[i] = uint32(n)
	}
	var before []byte
	words := map[string]string{} // shares the few distinct versions and kinds
	for range symbols {
		common, rest := r.number(), r.take(r.number())
		if common < 0 || common > len(before) || rest == nil {
			return nil, errTable
		}
		before = slices.Concat(before[:common], rest)
		t.symbols = append(t.symbols, parseExport(before, words))
	}
	return t, nil
}

func parseExport(line []byte, words map[string]string) Export {
	name, rest, _ := strings.Cut(string(line), " ")
	f := append(strings.Fields(rest), "", "", "")
	word := func(s string) string {
		s = undash(s)
		if w, ok := words[s]; ok {
			return w
		}
		s = strings.Clone(s)
		words[s] = s
		return s
	}
	return Export{
		Name:    name,
		Version: word(f[0]),
		Kind:    word(f[1]),
		Hidden:  strings.Contains(f[2], "h"),
		Weak:    strings.Contains(f[2], "w"),
		Unique:  strings.Contains(f[2], "u"),
	}
}

// reader consumes bytes from the front; at the end of data it returns -1 and nil.
type reader struct{ data []byte }

func (r *reader) number() int {
	v, n := binary.Uvarint(r.data)
	if n <= 0 || v > maxTable {
		return -1
	}
	r.data = r.data[n:]
	return int(v)
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.data) {
		return nil
	}
	out := r.data[:n:n]
	r.data = r.data[n:]
	return out
}

func undash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}
