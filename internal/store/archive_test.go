package store_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/report"
	"github.com/compat-app/compat/internal/store"
)

// A stored report is the one that was written, and a search returns its findings in order.
func TestArchive(t *testing.T) {
	r := analyzer.NewReport("1.0")
	r.Verdict = analyzer.Incompatible
	for i := range 1234 {
		r.Findings = append(r.Findings, analyzer.Finding{
			Rule: "undefined-symbol", Severity: analyzer.Error, New: i%2 == 0,
			Object: fmt.Sprintf("lib%d.so", i), Symbol: fmt.Sprintf("a<b>\n%d", i),
		})
	}
	data, err := store.EncodeReport(r, report.NewView(r))
	if err != nil {
		t.Fatal(err)
	}
	a, err := store.OpenReport(data)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.Report(); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%v: %d findings, want %d", err, len(got.Findings), len(r.Findings))
	}
	for _, c := range []struct {
		query                string
		page                 int
		first, last, matches int // numbers of findings; matches on all pages
	}{
		{"", 1, 0, 99, 1234},
		{"", 13, 1200, 1233, 1234},
		{"", 99, 1200, 1233, 1234},
		{"LIB12 error", -1, 12, 1233, 1 + 10 + 34}, // 12, 120 to 129, 1200 to 1233
		{"A<B> lib7.so", 1, 7, 7, 1},
		{"severity", 1, -1, -1, 0}, // a key of the JSON
	} {
		found, err := a.Search(c.query, c.page)
		if err != nil {
			t.Fatal(err)
		}
		if found.Matches != c.matches || found.All != len(r.Findings) {
			t.Errorf("%q: %d of %d", c.query, found.Matches, found.All)
		}
		if c.matches == 0 {
			continue
		}
		n := len(found.Findings)
		if !reflect.DeepEqual(found.Findings[0], r.Findings[c.first]) ||
			!reflect.DeepEqual(found.Findings[n-1], r.Findings[c.last]) {
			t.Errorf("%q, page %d: %s to %s", c.query, c.page, found.Findings[0].Object,
				found.Findings[n-1].Object)
		}
	}
	for _, damaged := range [][]byte{nil, []byte(`{"schema":"compat/report/v1"}`), data[:len(data)/2]} {
		if _, err := store.OpenReport(damaged); err == nil {
			t.Errorf("%d damaged bytes are a report", len(damaged))
		}
	}
}
