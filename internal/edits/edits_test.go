package edits_test

import (
	"testing"

	"github.com/compat-app/compat/internal/edits"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b      string
		one, half int // with swap 1 and change 1, and with swap 1 and change 2
	}{
		{"", "", 0, 0},
		{"", "abc", 3, 6},
		{"abc", "", 3, 6},
		{"abc", "abc", 0, 0},
		{"abc", "abd", 1, 2},
		{"abc", "acb", 1, 1},
		{"abc", "ab", 1, 2},
		{"manylinux_2_82", "manylinux_2_28", 1, 1},
		{"manylinux_2_82", "manylinux_2_12", 1, 2},
	} {
		if one := edits.Distance(c.a, c.b, 1, 1); one != c.one {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, one, c.one)
		}
		if half := edits.Distance(c.a, c.b, 2, 1); half != c.half {
			t.Errorf("%q and %q, a change costs 2: %d, want %d", c.a, c.b, half, c.half)
		}
	}
}
