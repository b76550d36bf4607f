package main

import (
	"fmt"
	"strings"
	"testing"
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
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 4 || !strings.Contains(lines[0], "abi3info 2026.1") ||
		lines[1] != "3.2 PyExc_ValueError" ||
		!strings.HasPrefix(lines[2], "3.3 Py_0 Py_1 Py_10 ") ||
		lines[3] != "3.11 PyType_GetName" {
		t.Errorf("the table is\n%.300s", text)
	}
}
