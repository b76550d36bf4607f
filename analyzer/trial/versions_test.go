package trial

import (
	"fmt"
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// The nearest good versions are found on both sides, at any distance, with few lookups.
func TestVersionSearch(t *testing.T) {
	var hundred []string
	for n := range 100 {
		hundred = append(hundred, fmt.Sprintf("1.%d", n))
	}
	for _, c := range []struct {
		name, from string
		good       func(minor int64) bool
		want       []string
		most       int
	}{
		{"the next one", "1.50", func(n int64) bool { return n > 50 }, []string{">=1.51"}, 12},
		{"far above", "1.50", func(n int64) bool { return n > 77 }, []string{">=1.78"}, 16},
		{"far below, where the newest are bad too", "1.50", func(n int64) bool {
			return n < 41
		}, []string{"<1.41"}, 18},
		{"the oldest alone", "1.7", func(n int64) bool { return n == 0 }, []string{"<1.1"}, 20},
		{"both sides", "1.50", func(n int64) bool { return n != 50 }, []string{">=1.51", "<1.50"}, 8},
		{"none", "1.50", func(int64) bool { return false }, nil, 16},
	} {
		asked := 0
		l, ok := newVersionSearch(hundred, c.from, func(version string) bool {
			asked++
			v, err := pkgmeta.ParseVersion(version)
			return err == nil && c.good(v.Release()[1])
		})
		if !ok {
			t.Fatal(c.name)
		}
		var got []string
		for _, s := range l.spans() {
			spec, err := pkgmeta.ParseSpec(l.between(s))
			if err != nil {
				t.Fatal(err)
			}
			at, err := pkgmeta.ParseVersion(c.from)
			if err != nil || spec.Contains(at) {
				t.Errorf("%s: %s admits the version at fault", c.name, l.between(s))
			}
			got = append(got, l.parts(s)[0].spec)
		}
		if len(got) != len(c.want) || asked > c.most {
			t.Errorf("%s: %q, want %q; %d asked", c.name, got, c.want, asked)
			continue
		}
		for i := range got {
			want, err := pkgmeta.ParseSpec(c.want[i])
			if err != nil {
				t.Fatal(err)
			}
			nearest := func(s pkgmeta.Spec) string {
				all := slices.DeleteFunc(
					packages.Sorted(hundred),
					func(v pkgmeta.Version) bool { return !s.Contains(v) },
				)
				if c.want[i][0] == '<' {
					slices.Reverse(all)
				}
				return all[0].String()
			}
			have, err := pkgmeta.ParseSpec(got[i])
			if err != nil || nearest(have) != nearest(want) {
				t.Errorf("%s: %s, want the nearest of %s", c.name, got[i], c.want[i])
			}
		}
	}
}
