package subject

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/analyzer/packages"
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
	// A row of what another repository builds is shown only where that one is.
	u.pinned = map[pinnedRelease][]string{
		{ID: packages.ID{Name: "plow", Version: "1"}, Builder: 7}:   {"uv.lock"},
		{ID: packages.ID{Name: "plow", Version: "2.0"}, Builder: 8}: {"uv.lock"},
		{ID: packages.ID{Name: "rake", Version: "1"}}:               {"uv.lock"},
	}
	as := &answers{
		wheels: [][]impact.Answer{{answer}},
		unread: map[pinnedRelease]string{{ID: packages.ID{Name: "rake", Version: "1"}}: "no index"},
		pinned: map[pinnedRelease][]impact.Answer{},
	}
	for p := range u.pinned {
		if p.Builder != 0 {
			as.pinned[p.key()] = []impact.Answer{{New: answer.New, Entry: impact.Entry{
				Name: p.Name, Version: p.Version, Verdict: impact.Breaks, Reason: "it does",
				Fixes: []impact.Fix{{Who: "dependent", What: "no"}, {Who: "user", What: "pin it"}},
			}}}
		}
	}
	var got []string
	for _, r := range as.rows(0, u, report, map[int64]string{8: "acme/plow"}) {
		got = append(got, strings.Join([]string{
			r.Wheel, string(r.Verdict), r.Reason, r.Builder, r.Advice, strings.Join(r.Files, " "),
		}, "|"))
	}
	if want := []string{
		"mill 1|works||||", "saw 2|undecided|what is stored of it is gone|||",
		"plow 2.0|breaks|it does|acme/plow|pin it|uv.lock", "rake 1|undecided|no index|||uv.lock",
		"|||||",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	u.pinned = nil
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
		for _, r := range (&answers{wheels: [][]impact.Answer{c.answers}, unchecked: c.unchecked}).rows(
			0, u, report, nil) {
			got = append(got, r.Wheel+" "+string(r.Verdict)+" "+r.Reason)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestPinners has the pins of a repository: of a package of the built-in list, of what another
// repository builds, and of what it builds itself.
func TestPinners(t *testing.T) {
	p := newPinners([]string{"pyarrow"})
	p.build(7, &impact.Uses{Name: "plow", Version: "1.0", Requires: []string{"pyarrow"}})
	p.build(8, &impact.Uses{Name: "rake", Version: "1.0", Requires: []string{"numpy"}})
	p.build(9, &impact.Uses{Name: "palletjack", Version: "2.2.0", Requires: []string{"pyarrow"}})
	u := store.Uses{Repository: 1, Pins: map[string][]string{
		"a.lock": {"pyarrow==16.0.0", "palletjack==2.2.0", "plow==1.0.0", "rake==1.0", "plow==2.0"},
		"b.lock": {"palletjack==2.2", "palletjack===2.2.0.0", "plow==not a version"},
	}}
	want := map[pinnedRelease][]string{
		{ID: packages.ID{Name: "palletjack", Version: "2.2.0"}}:     {"a.lock", "b.lock"},
		{ID: packages.ID{Name: "plow", Version: "1.0"}, Builder: 7}: {"a.lock"},
	}
	if got := p.of(&u); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for pin, want := range map[string]bool{"plow==1": true, "plow==1.1": false, "rake==1.0": true} {
		if got := uses(&u, &store.Notice{Pin: pin}); got != want {
			t.Errorf("%s: %v, want %v", pin, got, want)
		}
	}
	u.Repository = 7
	if got := p.of(&u); len(got) != 1 {
		t.Errorf("a repository depends on its own build: %v", got)
	}
	// Those first that most repositories pin.
	other := dependent{pinned: map[pinnedRelease][]string{
		{ID: packages.ID{Name: "palletjack", Version: "2.3.0"}}: {"x"},
	}}
	users := []dependent{{pinned: want}, other, other}
	if got := fromIndex(users); len(got) != 2 || got[0].Version != "2.3.0" {
		t.Errorf("%v", got)
	}
}
