package symboltable

import (
	"maps"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	fields := map[string]string{
		"PyA": "3.11 -", "PyB_Long": "3.9 -", "Py_C": "3.11 -", "a": "3.12 amd64", "Py": "3.13 -",
		"_Py_Z": "3.13 -",
	}
	text := Format("of a test", fields)
	if want := "# of a test\n3.11 -\n3.12 amd64\n3.13 -\n3.9 -\n\nPy 2\n"; !strings.HasPrefix(
		text,
		want,
	) {
		t.Errorf("%q, want %q", text, want)
	}
	table := Open(text)
	for symbol, want := range fields {
		if got := strings.Join(table.Find(symbol), " "); got != want {
			t.Errorf("%s: %q, want %q", symbol, got, want)
		}
	}
	for _, symbol := range []string{"", "0", "P", "PyB", "PyB_Longer", "z", "-", "Py 2", "PyA\nPy"} {
		if got := table.Find(symbol); got != nil {
			t.Errorf("%q: %q", symbol, got)
		}
	}
	all := map[string]string{}
	for symbol, fields := range table.All() {
		all[symbol] = strings.Join(fields, " ")
	}
	if !maps.Equal(all, fields) {
		t.Errorf("all: %v", all)
	}
}

func TestTableWithoutSymbolsPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the table is accepted")
		}
	}()
	Open("# comment\n")
}
