package packages_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

const together = `
torch 2.11: toolkit[blas]==13.0; sys_platform == 'linux', triton; sys_platform == 'linux'
vision 0.26: torch==2.11, toolkit[fft]
toolkit 13.0: blas==13.1.*; extra == 'blas', fft==12.*; extra == 'fft', dx; extra == 'dx'
toolkit 13.1: blas==13.2; extra == 'blas', fft==12.2; extra == 'fft'
blas 13.1.0.3: jit>=13
blas 13.2:
fft 12.0:
jit 13.0:
dx 1:
triton 3:
meta 1: toolkit
late 1: meta, zlast
zlast 1: toolkit[dx]

eigen 3.0: boost==1.82
eigen 3.1: boost==1.83
eigen 3.2: boost==1.89
coal 3: eigen, boost>=1.83
boost 1.82:
boost 1.83:
boost 1.89:
robot 1: coal, boost<1.89

top 1: left, right
left 1: base==1
left 2: base==2
right 1: base==1
right 2: base==2
right 3: base==3
base 1:
base 2:
base 3:

never 1: base==1, must
must 1: base==2

old 1: source
old 2: source
old 3:
old 4:
later 1:
later 2: inside>=3.99
follows 1: later
follows 2: later==2
never3 1: inside>=3.99
pulled 1: gone==1
gone 1: yanked
gone 2:
`

// Resolve finds sets that can be installed together, at both ends.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		name, with, requires, low, high string
		conflicts                       int
	}{
		{
			name: "extras of a dependency's dependency are merged", requires: "vision",
			high: "vision==0.26 torch==2.11 toolkit==13.0 triton==3 blas==13.1.0.3 fft==12.0 jit==13.0",
		},
		{
			name: "an extra of the user is merged with those of packages", requires: "torch",
			with: "toolkit[fft]==13.0",
			high: "toolkit==13.0 torch==2.11 blas==13.1.0.3 fft==12.0 triton==3 jit==13.0",
		},
		{
			name: "an extra that is requested after the package was chosen", requires: "late",
			high: "late==1 meta==1 zlast==1 toolkit==13.1", low: "late==1 meta==1 zlast==1 toolkit==13.0 dx==1",
		},
		{
			name: "the newest that fits a bound of another package", requires: "robot",
			low:  "robot==1 coal==3 boost==1.83 eigen==3.1",
			high: "robot==1 coal==3 boost==1.83 eigen==3.1",
		},
		{
			name: "both ends", requires: "coal",
			low:  "coal==3 eigen==3.1 boost==1.83",
			high: "coal==3 eigen==3.2 boost==1.89",
		},
		{
			name: "a choice is taken back", requires: "top",
			low:  "top==1 left==1 right==1 base==1",
			high: "top==1 left==2 right==2 base==2",
		},
		{
			name: "other packages follow a pin", requires: "top", with: "base==1",
			high: "base==1 top==1 left==1 right==1",
		},
		{
			name: "a pin that only pinned packages refuse", with: "base==1 left==2 right", // a lock file
			high: "base==1 left==2 right==1", conflicts: 1,
		},
		{
			name: "the oldest versions without a wheel are skipped", requires: "old",
			low: "old==3", high: "old==4",
		},
		{
			name: "the METADATA of a release excludes the interpreter", requires: "later", high: "later==1",
		},
		{
			name: "and so does that of one that it requires", requires: "follows",
			high: "follows==1 later==1",
		},
		{name: "the METADATA of a pin", with: "later==2", high: "later==2"},
		{name: "that of all releases", requires: "never3", high: "never3==1"},
		{name: "a pinned version that was yanked", requires: "pulled", high: "pulled==1 gone==1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for end, want := range map[packages.End]string{
				packages.Lowest: c.low, packages.Highest: c.high,
			} {
				if want == "" {
					want = c.high
				}
				set, err := packages.Resolve(t.Context(), parse(together), packages.Request{
					On: linux, With: requirements(t, c.with), Requires: requirements(t, c.requires), End: end,
				})
				if err != nil || releases(set) != want || len(set.Conflicts) != c.conflicts {
					t.Errorf("%s: %s, want %s; %v, %v", end, releases(set), want, set.Conflicts, err)
				}
				if set.Newest != (end == packages.Highest) {
					t.Errorf("%s: newest %v", end, set.Newest)
				}
			}
		})
	}
}

// A wheel that is given is chosen as if the user pinned its version, where something requires the
// package, also if a requirement excludes it and where the user pins another version.
func TestWheels(t *testing.T) {
	wheels := map[string]string{"base": "2", "toolkit": "13.1", "boost": "1.89"}
	for _, c := range []struct {
		with, requires, want, given string
		conflicts, replaced         int
	}{
		{requires: "top", want: "top==1 left==2 right==2 base==2", given: "base"},
		{requires: "meta", want: "meta==1 toolkit==13.1", given: "toolkit"},
		{requires: "late", want: "late==1 meta==1 zlast==1 toolkit==13.1", given: "toolkit"},
		{requires: "old", want: "old==4"},
		{
			requires: "robot", want: "robot==1 coal==3 boost==1.89 eigen==3.2", given: "boost",
			conflicts: 1,
		},
		{
			requires: "left", with: "base==1", want: "base==2 left==2", given: "base", replaced: 1,
		},
		{requires: "left", with: "base>=1", want: "base==2 left==2", given: "base"},
	} {
		set, err := packages.Resolve(t.Context(), parse(together), packages.Request{
			On: linux, With: requirements(t, c.with), Requires: requirements(t, c.requires),
			End: packages.Highest, Wheel: func(name string) string { return wheels[name] },
		})
		given := slices.Collect(maps.Keys(set.Given))
		if err != nil || releases(set) != c.want || strings.Join(given, " ") != c.given ||
			len(set.Conflicts) != c.conflicts || len(set.Replaced) != c.replaced {
			t.Errorf("%q: %s, want %s; given %v, %v, %v, %v", c.requires, releases(set), c.want, given,
				set.Conflicts, set.Replaced, err)
		}
	}
}

// If no set satisfies all requirements, the result names one that is not satisfied.
func TestImpossible(t *testing.T) {
	for _, c := range []struct {
		with, requires, want string
		conflicts            int
	}{
		{requires: "never", want: "must==1 wants base==2", conflicts: 1},
		{requires: "left==2 right==1", want: "right==1 wants base==1", conflicts: 1},
		// what the user requires is installed anyway
		{with: "left==2 right==1", conflicts: 1},
	} {
		set, err := packages.Resolve(t.Context(), parse(together), packages.Request{
			On: linux, With: requirements(t, c.with), Requires: requirements(t, c.requires),
			End: packages.Highest,
		})
		got := ""
		if x := set.Impossible(); x != nil {
			got = x.By + " wants " + x.Requirement
		}
		if err != nil || got != c.want || len(set.Conflicts) != c.conflicts {
			t.Errorf("%q %q: %s, want %s; %v, %v", c.with, c.requires, got, c.want, set.Conflicts, err)
		}
	}
}

// hostile is an index of packages that have 100,000 versions each, and of which every version
// requires another one of the next package, in a circle.
type hostile struct {
	versions []string
	requests int
}

func (h *hostile) Versions(context.Context, string, packages.Target) ([]string, error) {
	return h.versions, nil
}

func (h *hostile) Release(
	_ context.Context, name, version string, _ packages.Target,
) (*packages.Release, error) {
	h.requests++
	var number, of int
	if _, err := fmt.Sscanf(name+" "+version, "p%d 1.%d", &of, &number); err != nil {
		return nil, err
	}
	r := &packages.Release{Name: name, Version: version, Known: true}
	for _, text := range []string{
		fmt.Sprintf("p%d>=1.%d", (of+1)%8, number+1), fmt.Sprintf("p%d!=1.%d", (of+3)%8, number),
	} {
		q, err := pkgmeta.ParseRequirement(text)
		if err != nil {
			return nil, err
		}
		r.Requires = append(r.Requires, q)
	}
	return r, nil
}

// A search in a hostile index ends, after a limited number of requests.
func TestHostileIndex(t *testing.T) {
	h := &hostile{}
	for n := range 100_000 {
		h.versions = append(h.versions, fmt.Sprintf("1.%d", n))
	}
	for _, end := range []packages.End{packages.Lowest, packages.Highest} {
		h.requests = 0
		set, err := packages.Resolve(t.Context(), h, packages.Request{
			On: linux, Requires: requirementsOf(t, "p0"), End: end,
		})
		if err != nil || len(set.Conflicts)+len(set.Unresolved) == 0 || h.requests > 200 {
			t.Errorf("%s: %d releases, %d requests, %v", end, len(slices.Collect(set.All())), h.requests, err)
		}
	}
}

// counted counts the requests for versions of packages.
type counted struct {
	packages.Source
	versions map[string]int // by package
}

func (c counted) Versions(
	ctx context.Context, name string, on packages.Target,
) ([]string, error) {
	c.versions[name]++
	return c.Source.Versions(ctx, name, on)
}

// A package beyond the limit is not looked up when the search begins again.
func TestTooManyAgain(t *testing.T) {
	var text, requires strings.Builder
	text.WriteString(together)
	for n := range 600 {
		fmt.Fprintf(&text, "n%d 1:\n", n)
		fmt.Fprintf(&requires, "n%d==1 ", n)
	}
	c := counted{parse(text.String()), map[string]int{}}
	set, err := packages.Resolve(t.Context(), c, packages.Request{
		On: linux, With: requirements(t, "never must base"), Requires: requirements(t, requires.String()),
		End: packages.Highest,
	})
	if err != nil || len(set.Conflicts) == 0 || len(c.versions) != 503 || len(set.Unresolved) != 100 {
		t.Errorf("%d packages were looked up, %d were not, %v, %v", len(c.versions),
			len(set.Unresolved), set.Conflicts, err)
	}
}

// A package that the index does not have is requested once, however often the search goes back.
func TestMissingPackageIsRequestedOnce(t *testing.T) {
	c := counted{parse(`
top 1: gone, zlast
top 2: gone, zlast
top 3: gone, zlast
zlast 1: top<2
`), map[string]int{}}
	set, err := packages.Resolve(t.Context(), c, packages.Request{
		On: linux, Requires: requirements(t, "top"), End: packages.Highest,
	})
	if err != nil || releases(set) != "top==1 zlast==1" || c.versions["gone"] != 1 {
		t.Errorf("%s, %d requests, %v", releases(set), c.versions["gone"], err)
	}
}

// Of a wheel for several interpreters, the oldest set is for the oldest of them, and the newest set
// may be for a later one.
func TestSeveralInterpreters(t *testing.T) {
	on := packages.Target{Python: "3.10", Pythons: ">=3.10", Arch: "x86_64"}
	for end, want := range map[packages.End]string{
		packages.Lowest: "num==1.9", packages.Highest: "num==3.0",
	} {
		set, err := packages.Resolve(t.Context(), parse("num 1.0: python<3.10\n"+index), packages.Request{
			On: on, Requires: requirements(t, "num>1"), End: end,
		})
		if err != nil || releases(set) != want {
			t.Errorf("%s: %s, want %s, %v", end, releases(set), want, err)
		}
	}
}
