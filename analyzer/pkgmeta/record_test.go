package pkgmeta

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rowsOf reads all rows.
func rowsOf(data []byte) (rows []RecordRow, err error) {
	err = ParseRecord(data, func(r RecordRow) bool {
		rows = append(rows, r)
		return true
	})
	return rows, err
}

func TestParseRecord(t *testing.T) {
	rows, err := rowsOf(
		[]byte("a/b.so,sha256=abc,12\r\n\"a,\"\"b\"\".py\",,\n\nx.dist-info/RECORD,,\nonly\n"),
	)
	want := []RecordRow{
		{"a/b.so", "sha256=abc", 12},
		{`a,"b".py`, "", -1},
		{"x.dist-info/RECORD", "", -1},
		{"only", "", -1},
	}
	if err != nil || !slices.Equal(rows, want) {
		t.Errorf("%v, %v", rows, err)
	}
	for text, says := range map[string]string{
		"a,,\n,sha256=x,1\n": "line 2 has no file name",
		"a,,12x\n":           `line 1 has the invalid size "12x"`,
		"a,,-1\n":            "has the invalid size",
	} {
		if _, err := rowsOf([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want an error that says %q", text, err, says)
		}
	}
}

// FuzzParseRecord checks that rows written as CSV are parsed to the same rows.
func FuzzParseRecord(f *testing.F) {
	f.Add([]byte("a/b.so,sha256=abc,12\r\n\"a,\"\"b\"\".py\",,\n"))
	f.Add([]byte("\"a\nb\",x\n\n\ufeffc,,007"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := rowsOf(data)
		if len(rows) > len(data) {
			t.Fatalf("%d rows in %d bytes", len(rows), len(data))
		}
		if err != nil {
			return
		}
		var b strings.Builder
		w := csv.NewWriter(&b)
		for _, r := range rows {
			size := ""
			if r.Size >= 0 {
				size = strconv.FormatInt(r.Size, 10)
			}
			if err := w.Write([]string{r.Path, r.Hash, size}); err != nil {
				t.Fatal(err)
			}
		}
		w.Flush()
		again, err := rowsOf([]byte(b.String()))
		if err != nil || !slices.Equal(rows, again) {
			t.Errorf("%v becomes %v, %v", rows, again, err)
		}
	})
}
