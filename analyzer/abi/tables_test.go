package abi

import (
	"maps"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// A linker may give functions with the same code one address, which has the names of all of them.
func TestVtableOfFoldedFunctions(t *testing.T) {
	const insert, remove, move = "_ZN5Model6insertEi", "_ZN5Model6removeEi", "_ZN5Model4moveEi"
	table := func(words ...string) *Table {
		all := append([]string{"#0", "_ZTI5Model"}, words...)
		return &Table{Symbol: "_ZTV5Model", Size: uint64(8 * len(all)), Words: all}
	}
	for name, c := range map[string]struct {
		old, new *Table
		changed  string
	}{
		"folded now": {table(insert, remove), table(insert+" "+remove, insert+" "+remove), ""},
		"no longer":  {table(insert+" "+remove, move), table(remove, move), ""},
		"override":   {table(insert), table("_ZN7Derived6insertEi " + move), ""},
		"exchanged":  {table(insert, remove), table(remove, insert), "Model::insert(int) and is"},
		"another folded": {
			table(insert), table(move + " " + remove), "was Model::insert(int) and is now Model::move(int)",
		},
		"unknown": {table(insert), table(""), ""},
	} {
		got := vtableDifference(c.old, c.new)
		if (got == "") != (c.changed == "") || !strings.Contains(got, c.changed) {
			t.Errorf("%s: %q, want %q", name, got, c.changed)
		}
	}
}

// Names of one address: the strong ones first, a destructor once, and none if there are very many.
func TestNamesOfAnAddress(t *testing.T) {
	l := &Library{}
	var addrs []uint64
	add := func(addr uint64, weak bool, names ...string) {
		for _, name := range names {
			l.Symbols = append(l.Symbols, Symbol{Name: name, Weak: weak})
			addrs = append(addrs, addr)
		}
	}
	add(16, true, "weak")
	add(16, false, "zeta", "alpha")
	add(32, false, "_ZN1AD2Ev", "_ZN1AD1Ev")
	add(48, false, strings.Fields(strings.Repeat("same ", 17))...)
	add(64, false, "elsewhere")
	words := [][]elfobj.Word{{
		{Moved: true, Value: 16}, {Moved: true, Value: 32}, {Moved: true, Value: 48},
		{Moved: true, Value: 80}, {Symbol: "other", Value: 64}, {Value: 64},
	}}
	got := l.namesAt(words, addrs)
	want := map[uint64]string{16: "alpha zeta weak", 32: "_ZN1AD1Ev", 80: ""}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
