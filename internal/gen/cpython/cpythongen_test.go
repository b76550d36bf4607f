package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/symboltable"
)

func TestTable(t *testing.T) {
	exports := map[string][]string{}
	for _, s := range sources {
		for i := range fewest {
			exports[s.version] = append(exports[s.version], fmt.Sprintf("Py_%04d", i))
		}
	}
	exports["2.7"] = append(exports["2.7"], "PyInt_FromLong")
	exports["3.13"] = append(exports["3.13"], "PyList_Extend")
	exports["3.14"] = append(exports["3.14"], "PyList_Extend")
	text, err := table(exports, []string{"libpython2.7=2.7.18-8"})
	if err != nil {
		t.Fatal(err)
	}
	releases := symboltable.Open(text)
	for symbol, want := range map[string]string{
		"PyInt_FromLong": "2.7", "PyList_Extend": "3.13 3.14",
		"Py_0000": "2.7 3.6 3.7 3.8 3.9 3.10 3.11 3.12 3.13 3.14",
	} {
		if got := strings.Join(releases.Find(symbol), " "); got != want {
			t.Errorf("%s: %q, want %q", symbol, got, want)
		}
	}
	if !strings.Contains(text, "from libpython2.7=2.7.18-8\n") {
		t.Errorf("the table is\n%.300s", text)
	}
	exports["3.8"] = exports["3.8"][:10]
	if _, err := table(exports, nil); err == nil {
		t.Error("ten symbols are taken for all of a release")
	}
}
