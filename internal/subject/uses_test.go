package subject

import (
	"testing"

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
