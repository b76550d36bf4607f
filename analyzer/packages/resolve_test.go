package packages_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// shelf is a source written as lines "NAME VERSION: REQUIREMENT, REQUIREMENT". "NAME !" is a
// package that is unavailable; "python>=3.9" is a Requires-Python. A version with "source" has no
// wheel, and one with "yanked" is not listed.
type shelf map[string]map[string][]string

func parse(text string) shelf {
	s := shelf{}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		at, requires, _ := strings.Cut(line, ":")
		name, version, _ := strings.Cut(strings.TrimSpace(at), " ")
		if s[name] == nil {
			s[name] = map[string][]string{}
		}
		s[name][version] = nil
		for _, r := range strings.Split(requires, ",") {
			if r = strings.TrimSpace(r); r != "" {
				s[name][version] = append(s[name][version], r)
			}
		}
	}
	return s
}

func (s shelf) Versions(
	_ context.Context,
	name string,
	on packages.Target,
) ([]string, error) {
	var out []string
	for v, requires := range s[name] {
		if v == "!" {
			return nil, packages.ErrUnavailable
		}
		var f packages.File
		for _, q := range requires {
			if python, ok := strings.CutPrefix(q, "python"); ok {
				f.RequiresPython = python
			}
		}
		if on.Installs([]packages.File{f}) && !slices.Contains(requires, "yanked") {
			out = append(out, v)
		}
	}
	if s[name] == nil {
		return nil, packages.ErrUnknown
	}
	slices.Sort(out)
	return out, nil
}

func (s shelf) Release(
	_ context.Context,
	name, version string,
	_ packages.Target,
) (*packages.Release, error) {
	requires, ok := s[name][version]
	if !ok || slices.Contains(requires, "source") {
		return nil, fmt.Errorf("%s %s: %w", name, version, packages.ErrUnknown)
	}
	r := &packages.Release{Name: name, Version: version, Known: true}
	for _, q := range requires {
		if strings.HasPrefix(q, "python") || q == "yanked" {
			continue
		}
		if python, ok := strings.CutPrefix(q, "inside"); ok { // only METADATA has it
			r.RequiresPython = python
			continue
		}
		p, err := pkgmeta.ParseRequirement(q)
		if err != nil {
			return nil, err
		}
		r.Requires = append(r.Requires, p)
	}
	return r, nil
}

const index = `
jit 12.8.61
jit 12.8.93
jit 12.9.41
jit 12.10.0rc1
torch 2.6.0: jit==12.8.61
torch 2.7.0: jit==12.8.93; platform_system == 'Linux'
torch 2.8.0: jit>=12.9, triton; platform_system == 'Windows'
torch 2.9.0: cuda[jit]==1.0
torch 2.4.0+rocm6.1:
cuda 1.0: jit==12.9.*; extra == 'jit'
old 1.0: python<3
old 1.1: python<3.12
num 1.0: python<3.12
num 1.9: python>=3.9
num 2.0: python>=3.10
num 3.0: python>=3.13
loop 1.0: pool
pool 1.0: loop
down !
`

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		name, with, requires, low, high, conflicts, unresolved,
		replaced string
	}{
		{name: "both ends of a range", requires: "jit>=12.8", low: "jit==12.8.61", high: "jit==12.9.41"},
		{name: "no pre-release unless it is required", requires: "jit>=12.10.0rc1",
			low: "jit==12.10.0rc1", high: "jit==12.10.0rc1"},
		{name: "a package's pin narrows the artifact's range", with: "torch==2.7.0",
			requires: "jit>=12.8", low: "torch==2.7.0 jit==12.8.93", high: "torch==2.7.0 jit==12.8.93"},
		{name: "the artifact's requirement beats a package's pin, and the conflict is reported",
			with: "torch==2.7.0", requires: "jit>=12.9", low: "torch==2.7.0 jit==12.9.41",
			high:      "torch==2.7.0 jit==12.9.41",
			conflicts: "torch==2.7.0 wants jit==12.8.93"},
		{name: "the user's requirement beats all others", with: "torch==2.7.0 jit==12.8.61",
			requires: "jit>=12.9", low: "torch==2.7.0 jit==12.8.61", high: "torch==2.7.0 jit==12.8.61",
			conflicts: "the artifact wants jit>=12.9; torch==2.7.0 wants jit==12.8.93"},
		{name: "a later requirement of the user replaces an earlier one", with: "jit==12.8.61 jit>=12.9",
			low: "jit==12.9.41", high: "jit==12.9.41",
			replaced: "jit==12.8.61 by jit>=12.9"},
		{name: "a satisfied requirement that was replaced is not listed", with: "jit>=12.9 jit==12.9.41",
			low: "jit==12.9.41", high: "jit==12.9.41"},
		{name: "a local version need not be listed", with: "torch==2.4.0+rocm6.1",
			low: "torch==2.4.0+rocm6.1", high: "torch==2.4.0+rocm6.1"},
		{name: "markers and extras", requires: "torch==2.9.0",
			low: "torch==2.9.0 cuda==1.0 jit==12.9.41", high: "torch==2.9.0 cuda==1.0 jit==12.9.41"},
		{name: "the other end has other requirements", requires: "torch>=2.6,<2.9",
			low: "torch==2.6.0 jit==12.8.61", high: "torch==2.8.0 jit==12.9.41"},
		{name: "a circle ends", requires: "loop", low: "loop==1.0 pool==1.0",
			high: "loop==1.0 pool==1.0"},
		{name: "versions for other interpreters are not chosen", requires: "num>=1", low: "num==1.9",
			high: "num==2.0"},
		{name: "one for another interpreter is chosen if no other meets the requirements",
			requires: "num<1.9", low: "num==1.0", high: "num==1.0"},
		{name: "so it is if there is no other", requires: "old", low: "old==1.0", high: "old==1.1"},
		{name: "unknown and unavailable packages are reported", requires: "numpy down",
			unresolved: "numpy: not known; down: could not be reached"},
		{name: "an empty range is reported", requires: "jit>=13", unresolved: "jit: not known"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, end := range []packages.End{packages.Lowest, packages.Highest} {
				set, err := packages.Resolve(t.Context(), parse(index), packages.Request{
					On:       packages.Target{Python: "3.12", Arch: "x86_64"},
					With:     requirements(t, c.with),
					Requires: requirements(t, c.requires),
					End:      end,
				})
				if err != nil {
					t.Fatal(err)
				}
				want := c.low
				if end == packages.Highest {
					want = c.high
				}
				if got := releases(set); got != want {
					t.Errorf("%s: %s, want %s", end, got, want)
				}
				var conflicts, unresolved, replaced []string
				for _, x := range set.Replaced {
					replaced = append(replaced, x.Was+" by "+x.Now)
				}
				if got := strings.Join(replaced, "; "); got != c.replaced {
					t.Errorf("%s: replaced %q, want %q", end, got, c.replaced)
				}
				for _, x := range set.Conflicts {
					conflicts = append(conflicts, x.By+" wants "+x.Requirement)
				}
				for _, u := range set.Unresolved {
					unresolved = append(unresolved, u.Package+": "+root(u.Err))
				}
				if got := strings.Join(conflicts, "; "); got != c.conflicts {
					t.Errorf("%s: conflicts %q, want %q", end, got, c.conflicts)
				}
				if got := strings.Join(unresolved, "; "); got != c.unresolved {
					t.Errorf("%s: unresolved %q, want %q", end, got, c.unresolved)
				}
				every := func(*packages.Unresolved) bool { return true }
				if u := set.Unavailable(every); (u != nil) != strings.Contains(c.unresolved, "reached") {
					t.Errorf("%s: unavailable is %v", end, u)
				}
			}
		})
	}
}

func requirements(t *testing.T, text string) (out []pkgmeta.Requirement) {
	for _, w := range strings.Fields(text) {
		q, err := pkgmeta.ParseRequirement(w)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, q)
	}
	return out
}

func releases(s *packages.Set) string {
	var out []string
	for r := range s.All() {
		out = append(out, r.Name+"=="+r.Version)
	}
	return strings.Join(out, " ")
}

func root(err error) string {
	for _, e := range []error{packages.ErrUnknown, packages.ErrUnavailable} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	return err.Error()
}

func TestFirst(t *testing.T) {
	requests := 0
	from := func(least string) func(string) (bool, error) {
		floor, _ := pkgmeta.ParseVersion(least)
		return func(v string) (bool, error) {
			requests++
			at, err := pkgmeta.ParseVersion(v)
			return err == nil && at.Compare(floor) >= 0, err
		}
	}
	first, bad, ok, err := packages.First(t.Context(), parse(index), linux, "jit", "12.8.61", from("12.9.0"))
	if first != "12.9.41" || bad != "12.8.93" || !ok || err != nil {
		t.Errorf("first %s after %s, %v, %v", first, bad, ok, err)
	}
	if _, _, ok, err := packages.First(t.Context(), parse(index), linux, "jit", "12.8.61", from("13")); ok ||
		err != nil {
		t.Errorf("a version that does not exist was found: %v", err)
	}
	if _, _, _, err := packages.First(t.Context(), parse(index), linux, "down", "1", from("2")); !errors.Is(
		err,
		packages.ErrUnavailable,
	) {
		t.Errorf("an index that is down: %v", err)
	}
	if requests > 6 {
		t.Errorf("%d requests for 3 versions: that is not a bisection", requests)
	}
}

func TestAtLeast(t *testing.T) {
	for _, c := range []struct{ first, bad, want string }{
		{"12.9.41", "12.8.93", ">=12.9"}, {"12.3.52", "12.2.140", ">=12.3"}, {"12.8.61", "12.6.85",
			">=12.8"}, {"12.9.41", "12.9.10", ">=12.9.41"}, {"2.11.0", "2.10.0", ">=2.11"},
		{"3", "2", ">=3"},
	} {
		if got := packages.AtLeast(c.first, c.bad); got != c.want {
			t.Errorf("AtLeast(%s, %s) = %s, want %s", c.first, c.bad, got, c.want)
		}
	}
}

func TestBetween(t *testing.T) {
	for _, c := range []struct{ below, first, last, beyond, want string }{
		{"1.12.20", "1.12.21", "1.12.37", "1.13.0", ">=1.12.21,<1.13"}, {"", "6.6.1", "6.6.3", "6.7.0",
			">=6.6.1,<6.7"}, {"9.0", "10.0.0", "10.0.0", "11.0.0", ">=10.0,<11"},
		{"1.9.8", "1.10.0", "1.10.0", "", ">=1.10"}, {"16.0.0", "16.1.0", "16.1.0", "17.0.0",
			">=16.1,<17"}, {"2.5.0", "2.5.1", "2.5.1", "2.5.2", ">=2.5.1,<2.5.2"},
	} {
		if got := packages.Between(c.below, c.first, c.last, c.beyond); got != c.want {
			t.Errorf(
				"Between(%s, %s, %s, %s) = %s, want %s",
				c.below,
				c.first,
				c.last,
				c.beyond,
				got,
				c.want,
			)
		}
	}
}

// An installed version is chosen at both ends if it satisfies the requirements.
func TestResolveInstalled(t *testing.T) {
	installed := func(name string) string { return map[string]string{"jit": "12.8.93"}[name] }
	for _, c := range []struct{ with, requires, want string }{
		{"", "jit>=12.8", "jit==12.8.93"},
		{"", "jit>=12.9", "jit==12.9.41"},
		{"jit==12.8.61", "jit", "jit==12.8.61"},
		{"torch==2.8.0", "jit>=12.8", "torch==2.8.0 jit==12.9.41"},
		{"torch==2.7.0", "jit", "torch==2.7.0 jit==12.8.93"},
	} {
		for _, end := range []packages.End{packages.Lowest, packages.Highest} {
			set, err := packages.Resolve(t.Context(), parse(index), packages.Request{
				On:        packages.Target{Python: "3.12", Arch: "x86_64"},
				With:      requirements(t, c.with),
				Requires:  requirements(t, c.requires),
				End:       end,
				Installed: installed,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := releases(set); got != c.want {
				t.Errorf("%s with %q installed, %s: %s, want %s", c.requires, c.with, end, got, c.want)
			}
		}
	}
}

// unreachable is a source that lists no versions and has one release of each package.
type unreachable struct{}

func (unreachable) Versions(context.Context, string, packages.Target) ([]string, error) {
	return nil, packages.ErrUnreachable
}

func (unreachable) Release(
	_ context.Context, name, version string, _ packages.Target,
) (*packages.Release, error) {
	r := &packages.Release{Name: name, Version: version, Known: true}
	if name == "torch" {
		q, err := pkgmeta.ParseRequirement("nvidia-cuda-runtime-cu12==12.6.77")
		r.Requires = []pkgmeta.Requirement{q}
		return r, err
	}
	return r, nil
}

// TestPinWithoutIndex: the version that a package pins is looked up though the index lists none.
func TestPinWithoutIndex(t *testing.T) {
	torch, err := pkgmeta.ParseRequirement("torch==2.7.0")
	if err != nil {
		t.Fatal(err)
	}
	set, err := packages.Resolve(t.Context(), unreachable{}, packages.Request{
		On:   packages.Target{Python: "3.12", Arch: "x86_64"},
		With: []pkgmeta.Requirement{torch},
		End:  packages.Highest,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := set.Release("nvidia-cuda-runtime-cu12"); r == nil || r.Version != "12.6.77" {
		t.Errorf("release %+v", r)
	}
}
