package elfobj_test

import (
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
)

func TestBinds(t *testing.T) {
	const oldest = "V1"
	for _, c := range []struct {
		name    string
		exports []elfobj.Export
		version string
		want    bool
	}{
		{"nothing", nil, "", false},
		{"the requested version, hidden or not", []elfobj.Export{{Version: "V2", Hidden: true}}, "V2",
			true},
		{"another version", []elfobj.Export{{Version: "V1"}}, "V2", false},
		{"no version, where one is requested", []elfobj.Export{{}}, "V2", true},
		{"no version, hidden, where one is requested", []elfobj.Export{{Hidden: true}}, "V2", false},
		{"a default, requested without version", []elfobj.Export{{Version: "V2"}, {Version: "V3", Hidden: true}},
			"", true},
		{"hidden ones, requested without version", []elfobj.Export{{Version: "V2", Hidden: true},
			{Version: "V3", Hidden: true}}, "", false},
		{"the oldest, hidden, requested without version", []elfobj.Export{{Version: "V1", Hidden: true}}, "",
			true},
		{"two defaults, requested without version", []elfobj.Export{{Version: "V2"}, {Version: "V3"}}, "", false},
	} {
		offers := func(yield func(elfobj.Offer) bool) {
			exports := elfobj.NewExports(c.exports...)
			for i := range c.exports {
				if !yield(exports.Offer(i, c.version, oldest)) {
					return
				}
			}
		}
		if got := elfobj.Binds(offers); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		slices.Reverse(c.exports)
		if got := elfobj.Binds(offers); got != c.want {
			t.Errorf("%s, the other way round: %v, want %v", c.name, got, c.want)
		}
	}
}
