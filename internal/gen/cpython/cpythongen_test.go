package main

import (
	"fmt"
	"strings"
	"testing"
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
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 4 || !strings.HasSuffix(lines[0], "from libpython2.7=2.7.18-8") ||
		lines[1] != "2.7 PyInt_FromLong" ||
		!strings.HasPrefix(lines[2], "2.7,3.6,3.7,") ||
		lines[3] != "3.13,3.14 PyList_Extend" {
		t.Errorf("the table is\n%.300s", text)
	}
	exports["3.8"] = exports["3.8"][:10]
	if _, err := table(exports, nil); err == nil {
		t.Error("ten symbols are taken for all of a release")
	}
}
