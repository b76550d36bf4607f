package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/symboltable"
)

func TestTable(t *testing.T) {
	var source strings.Builder
	write := func(kind, name string, minor int) {
		fmt.Fprintf(
			&source,
			"    Symbol(name=%q, visibility=None): %s(\n        symbol=Symbol(name=%[1]q, "+
				"visibility=None),\n        added=PyVersion(major=3, minor=%[3]d),\n        ifdef=None,\n    ),\n",
			name,
			kind,
			minor,
		)
	}
	write("Function", "PyType_GetName", 11)
	write("Data", "PyExc_ValueError", 2)
	write("Macro", "Py_NOT", 2)
	if _, err := table(source.String(), "1"); err == nil {
		t.Error("a table of two symbols is taken for whole")
	}
	for i := range 900 {
		write("Function", fmt.Sprintf("Py_%d", i), 3)
	}
	text, err := table(source.String(), "2026.1")
	if err != nil {
		t.Fatal(err)
	}
	added := symboltable.Open(text)
	for symbol, want := range map[string]string{
		"PyExc_ValueError": "3.2", "Py_0": "3.3", "Py_899": "3.3", "PyType_GetName": "3.11", "Py_NOT": "",
	} {
		if got := strings.Join(added.Find(symbol), " "); got != want {
			t.Errorf("%s: %q, want %q", symbol, got, want)
		}
	}
	if !strings.Contains(text, "abi3info 2026.1 ") {
		t.Errorf("the table is\n%.300s", text)
	}
}
