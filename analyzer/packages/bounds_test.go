package packages_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// counting records the releases that were requested.
type counting struct {
	shelf
	requested []string
}

func (c *counting) Release(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (*packages.Release, error) {
	c.requested = append(c.requested, name+"=="+version)
	return c.shelf.Release(ctx, name, version, on)
}

func requirementsOf(t *testing.T, texts ...string) (out []pkgmeta.Requirement) {
	t.Helper()
	for _, s := range texts {
		q, err := pkgmeta.ParseRequirement(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, q)
	}
	return out
}

func names(s *packages.Set) (out []string) {
	for r := range s.All() {
		out = append(out, r.Name+"=="+r.Version)
	}
	return out
}

var linux = packages.Target{Python: "3.12", Arch: "x86_64"}

// Resolve terminates for packages that require each other and for contradictory circles.
func TestResolveCircles(t *testing.T) {
	for _, c := range []struct {
		shelf, want string
		conflicts   int
	}{
		{"a 1: b\nb 1: a", "[a==1 b==1]", 0},
		{"a 1: a[x]", "[a==1]", 0},
		// no combination satisfies all requirements, so there is one conflict
		{"a 1: b==2\na 2: b==1\nb 1: a==1\nb 2: a==2", "", 1},
	} {
		source := &counting{shelf: parse(c.shelf)}
		s, err := packages.Resolve(t.Context(), source, packages.Request{
			On: linux, Requires: requirementsOf(t, "a"), End: packages.Highest,
		})
		if err != nil || c.want != "" && fmt.Sprint(names(s)) != c.want ||
			len(s.Conflicts) < c.conflicts ||
			len(source.requested) > 64 {
			t.Errorf(
				"%q: %v, %d conflicts, %d requested, %v",
				c.shelf,
				names(s),
				len(s.Conflicts),
				len(source.requested),
				err,
			)
		}
	}
}

// With ten thousand versions, each end requests one release, and the search for the first good
// version bisects: it requests at most 15.
func TestTenThousandVersions(t *testing.T) {
	s := shelf{"a": {}}
	for n := range 10_000 {
		s["a"][fmt.Sprintf("1.%d", n)] = nil
	}
	for end, want := range map[packages.End]string{packages.Lowest: "a==1.100",
		packages.Highest: "a==1.9999"} {
		source := &counting{shelf: s}
		set, err := packages.Resolve(t.Context(), source, packages.Request{
			On: linux, Requires: requirementsOf(t, "a>=1.100"), End: end,
		})
		if err != nil || !slices.Equal(names(set), []string{want}) ||
			!slices.Equal(source.requested, []string{want}) {
			t.Errorf("%s: %v, requested %v, %v", end, names(set), source.requested, err)
		}
	}
	requested := 0
	first, bad, ok, err := packages.First(
		context.Background(),
		s,
		linux,
		"a",
		"1.100",
		func(v string) (bool, error) {
			requested++
			at, err := pkgmeta.ParseVersion(v)
			return err == nil && at.Release()[1] >= 7777, err
		},
	)
	if first != "1.7777" || bad != "1.7776" || !ok || err != nil || requested > 15 {
		t.Errorf("first %s after %s, %v, %v; %d versions requested", first, bad, ok, err, requested)
	}
}

// A lock file pins a version per system; pins for other systems are ignored.
func TestResolvePinsOfSystems(t *testing.T) {
	source := parse("a 1:\na 2:")
	s, err := packages.Resolve(t.Context(), source, packages.Request{
		On:   linux,
		With: requirementsOf(t, "a==1; sys_platform == 'linux'", "a==2; sys_platform == 'darwin'"),
		End:  packages.Highest,
	})
	if err != nil || !slices.Equal(names(s), []string{"a==1"}) {
		t.Errorf("%v, %v", names(s), err)
	}
}

// A lazy resolution requests the packages known to provide a wanted library first, then those whose
// contents are not known, and stops when everything is provided.
func TestResolveLazily(t *testing.T) {
	const shelves = "top 1: known, no, far, other\nknown 1: deep\ndeep 1:\nno 1:\nfar 1:\nother 1:"
	for enough, want := range map[string][]string{
		"deep":   {"top==1", "known==1", "deep==1"},
		"far":    {"top==1", "known==1", "deep==1", "far==1"},
		"nobody": {"top==1", "known==1", "deep==1", "far==1", "other==1"},
	} {
		source := &counting{shelf: parse(shelves)}
		s, err := packages.Resolve(t.Context(), source, packages.Request{
			On:   linux,
			With: requirementsOf(t, "top==1"),
			End:  packages.Highest,
			Lazy: func(s *packages.Set) (bool, func(string) (bool, bool)) {
				return s.Release(enough) != nil, func(name string) (bool, bool) {
					return name == "known" || name == "deep", name != "far" && name != "other"
				}
			},
		})
		slices.Sort(source.requested)
		sorted := slices.Sorted(slices.Values(want))
		if err != nil || len(slices.Collect(s.All())) != len(want) || !slices.Equal(source.requested, sorted) {
			t.Errorf("until %s: requested %v, want %v; %v", enough, source.requested, want, err)
		}
	}
}
