package subject

import (
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/internal/store"
)

// TestSees has repositories of all visibilities, of which both, one or none names the other one.
func TestSees(t *testing.T) {
	for _, c := range []struct {
		reader, other   string
		with, otherWith []string
		want            bool
	}{
		{"public", "public", nil, nil, true},
		{"internal", "public", nil, nil, true},
		{"private", "public", nil, nil, true},
		{"public", "internal", []string{"*"}, []string{"*"}, false},
		{"public", "private", []string{"*"}, []string{"*"}, false},
		{"internal", "internal", nil, nil, true},
		{"internal", "private", nil, nil, false},
		{"private", "internal", nil, nil, false}, // outside collaborators
		{"private", "private", nil, nil, false},
		{"private", "private", []string{"other"}, nil, false},
		{"private", "private", nil, []string{"reader"}, false},
		{"private", "private", []string{"other"}, []string{"reader"}, true},
		{"private", "private", []string{"acme/oth*"}, []string{"acme/reader"}, true},
		{"private", "private", []string{"zeta/other"}, []string{"reader"}, false},
		{"internal", "private", []string{"*"}, []string{"*"}, true},
		{"", "private", []string{"*"}, []string{"*"}, false}, // GitHub did not list the reader
		{"private", "", nil, nil, false},
	} {
		reader := store.Listed{Owner: "acme", Name: "reader", Visibility: c.reader}
		other := store.Listed{Owner: "acme", Name: "other", Visibility: c.other}
		if got := sees(reader, other, c.with, c.otherWith); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestRows has two wheels of which one has an answer, and a pin.
func TestRows(t *testing.T) {
	report := &analyzer.Report{Artifacts: []analyzer.Artifact{
		{Wheel: &analyzer.Wheel{Name: "Gear"}}, {Wheel: &analyzer.Wheel{Name: "cog"}},
	}}
	u := &dependent{
		Uses: store.Uses{Pins: map[string][]string{"uv.lock": {"gear==1.0", "cog==3.0"}}},
		wheels: []impact.Uses{
			{Name: "mill", Version: "1", Wheel: "mill-1.whl", Requires: []string{"gear"}},
			{Name: "saw", Version: "2", Wheel: "saw-2.whl", Requires: []string{"gear"}},
			{Name: "barn", Version: "1", Wheel: "barn-1.whl", Bundled: []string{"libz"}},
		},
	}
	answer := impact.Answer{New: impact.ID{Name: "Gear", Version: "2.0"}, Entry: impact.Entry{
		Name: "mill", Version: "1", Wheel: "mill-1.whl", Verdict: impact.Works,
	}}
	for _, c := range []struct {
		answers   []impact.Answer
		unchecked string
		want      []string
	}{
		{[]impact.Answer{answer}, "it takes too long", []string{
			"mill 1 works ", "saw 2 undecided it takes too long", "  "}},
		{nil, "", []string{"mill 1 undecided what is stored of it is gone",
			"saw 2 undecided what is stored of it is gone", "  "}},
	} {
		var got []string
		for _, r := range rows(u, c.answers, report, c.unchecked) {
			got = append(got, r.Wheel+" "+string(r.Verdict)+" "+r.Reason)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
