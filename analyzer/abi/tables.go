package abi

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// maxTables is how many bytes of virtual tables and typeinfo are read. Those of libQt6Widgets have
// 300 KB.
const maxTables = 64 << 20

// isTable tells the symbols whose data is made by the C++ compiler: virtual table, VTT, typeinfo,
// and construction virtual table.
func isTable(name string) bool {
	return strings.HasPrefix(name, "_ZTV") || strings.HasPrefix(name, "_ZTI") ||
		strings.HasPrefix(name, "_ZTT") ||
		strings.HasPrefix(name, "_ZTC")
}

// readTables reads virtual tables and typeinfo as the loader leaves them. The compiler fills them
// by relocations, so they show the order of virtual functions and the base classes of a library
// without debug information.
func (l *Library) readTables(c *elfobj.Contents, addrs []uint64) error {
	var spans []elfobj.Span
	total := uint64(0)
	seen := map[uint64]bool{}
	for i := range l.Symbols {
		s := &l.Symbols[i]
		if !isTable(s.Name) || addrs[i] == 0 || s.Size == 0 || seen[addrs[i]] ||
			total+s.Size > maxTables {
			continue
		}
		seen[addrs[i]] = true
		total += s.Size
		spans = append(spans, elfobj.Span{Addr: addrs[i], Size: s.Size})
		l.Tables = append(l.Tables, Table{Symbol: s.Name, Size: s.Size})
	}
	if len(spans) == 0 {
		return nil
	}
	words, err := c.Words(spans)
	if err != nil {
		return err
	}
	at := map[uint64]string{}
	for i := range l.Symbols {
		// of several names of one address the strong one is the one that other tables use; a
		// constructor has two anyway
		if _, ok := at[addrs[i]]; !ok || !l.Symbols[i].Weak {
			at[addrs[i]] = l.Symbols[i].Name
		}
	}
	for i, list := range words {
		out := make([]string, len(list))
		for k, w := range list {
			switch {
			case w.Symbol != "":
				out[k] = w.Symbol
			case w.Moved:
				out[k] = at[w.Value]
			default:
				v := int64(w.Value)
				if l.Class == 32 {
					v = int64(int32(w.Value))
				}
				out[k] = "#" + strconv.FormatInt(v, 10)
			}
		}
		l.Tables[i].Words = out
	}
	slices.SortFunc(l.Tables, func(a, b Table) int { return cmp.Compare(a.Symbol, b.Symbol) })
	return nil
}

// table finds a table by its symbol.
func (l *Library) table(symbol string) *Table {
	i, ok := slices.BinarySearchFunc(
		l.Tables,
		symbol,
		func(t Table, s string) int { return cmp.Compare(t.Symbol, s) },
	)
	if !ok {
		return nil
	}
	return &l.Tables[i]
}
