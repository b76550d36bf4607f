package impact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// maxRounds limits how often requirements are resolved again with the constraints that were found.
const maxRounds = 8

// Constraint excludes versions of a package with which another one does not work.
type Constraint struct {
	Requirement string // NAME<VERSION
	Because     string // a sentence without a period
}

// Shelf has the releases of packages.
type Shelf interface {
	// Release reads the libraries of a release. Errors wrap packages.ErrUnknown or
	// packages.ErrUnavailable.
	Release(ctx context.Context, id packages.ID) (*Release, error)
	// Dependent opens a release as one that uses others. The error is that of ctx.
	Dependent(ctx context.Context, id packages.ID) (Dependent, error)
}

// Constrain returns the constraints with which an installer chooses versions that load together
// for the wanted requirements. It is nil if those that it chooses without constraints do. Packages
// that do not work with any version of another one get none. New and Old of the question are
// ignored. Errors are those of ctx and of the shelf.
func (q Question) Constrain(
	ctx context.Context, wanted []pkgmeta.Requirement, from Shelf,
) (out []Constraint, _ error) {
	limits := map[string][]string{} // specifiers by package
	for _, r := range wanted {
		limits[r.Name] = append(limits[r.Name], r.Spec)
	}
	for range maxRounds {
		set, err := q.resolve(ctx, limits)
		if err != nil {
			return nil, err
		}
		found, err := q.breaking(ctx, set, wanted, limits, from)
		if err != nil || found == nil {
			return out, err
		}
		out = append(out, found.Constraint)
		limits[found.name] = append(limits[found.name], found.spec)
	}
	return out, nil
}

// resolve returns what an installer chooses for the specifiers of some packages.
func (q *Question) resolve(ctx context.Context, limits map[string][]string) (*packages.Set, error) {
	var with []pkgmeta.Requirement
	for name, specs := range limits {
		spec := joined(specs)
		with = append(with, pkgmeta.Requirement{Name: name, Spec: spec, Raw: name + spec})
	}
	slices.SortFunc(with, func(a, b pkgmeta.Requirement) int {
		return strings.Compare(a.Name, b.Name)
	})
	return packages.Resolve(ctx, q.Source, packages.Request{
		On: q.On, With: with, End: packages.Highest,
	})
}

// joined returns one specifier that allows what all of a list do.
func joined(specs []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(specs), func(s string) bool {
		return s == ""
	}), ",")
}

// bound is a constraint and what it is made of.
type bound struct {
	Constraint
	name, spec string
}

// breaking returns a constraint for the first of the wanted packages that does not load in a set,
// and that does with another version of another one; nil if there is none. Pairs that are known not
// to work are not read.
func (q *Question) breaking(
	ctx context.Context,
	set *packages.Set,
	wanted []pkgmeta.Requirement,
	limits map[string][]string,
	from Shelf,
) (*bound, error) {
	for _, w := range wanted {
		r := set.Release(w.Name)
		if r == nil {
			continue
		}
		if found, err := q.known(ctx, r, set, limits); err != nil || found != nil {
			return found, err
		}
		d, err := from.Dependent(ctx, r.ID())
		if err != nil {
			return nil, err
		}
		if d.Content == nil || d.Unread != "" {
			continue
		}
		read, err := analyzer.Read(ctx, []analyzer.Input{*d.Content}, q.Options)
		if err != nil {
			return nil, err
		}
		for p := range set.All() {
			if !combined(r, p, limits) {
				continue
			}
			about := q.with(limits, r.Name, p.Name)
			found, err := about.bound(ctx, d, read, p, limits[p.Name], from)
			if err != nil || found != nil {
				return found, err
			}
		}
	}
	return nil, nil
}

// combined reports whether a package may not work because of the other one: it requires that, or
// both are wanted.
func combined(r, with *packages.Release, limits map[string][]string) bool {
	return r.Name != with.Name && (limits[with.Name] != nil || requires(r, with.Name))
}

// known returns the constraint that excludes the releases with which a package is known not to
// work; nil if it is not known to fail in a set, or if no other release can be installed with it.
func (q *Question) known(
	ctx context.Context, r *packages.Release, set *packages.Set, limits map[string][]string,
) (*bound, error) {
	for p := range set.All() {
		k := packages.History().KnownBadPair(r.ID(), p.ID())
		if k == nil || !combined(r, p, limits) {
			continue
		}
		listed, err := q.Source.Versions(ctx, p.Name, q.On)
		if err != nil {
			return nil, err
		}
		allowed, err := pkgmeta.ParseSpec(joined(append([]string{k.Avoids()}, limits[p.Name]...)))
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(packages.Sorted(listed), func(v pkgmeta.Version) bool {
			return !v.IsPreRelease() && allowed.Admits(v) && q.admits(r.Requires, p.Name, v)
		}) {
			continue
		}
		return &bound{
			Constraint: Constraint{
				Requirement: p.Name + k.Avoids(),
				Because: fmt.Sprintf("%s does not work with %s: %s", r.Name+" "+r.Version,
					p.Name+" "+p.Version, k.Error),
			},
			name: p.Name, spec: k.Avoids(),
		}, nil
	}
	return nil, nil
}

// admits reports whether requirements admit a version of a package.
func (q *Question) admits(
	requires []pkgmeta.Requirement, name string, v pkgmeta.Version,
) bool {
	about := *q
	about.New = &Release{Version: v.String(), Contents: &packages.Release{Name: name}}
	return about.Excluded(requires) == ""
}

// with returns the question with the specifiers of other packages than two.
func (q *Question) with(limits map[string][]string, except ...string) *Question {
	out := *q
	out.With = nil
	for name, specs := range limits {
		if !slices.Contains(except, name) {
			out.With = append(out.With, name+joined(specs))
		}
	}
	slices.Sort(out.With)
	return &out
}

func requires(r *packages.Release, name string) bool {
	return slices.ContainsFunc(r.Requires, func(q pkgmeta.Requirement) bool { return q.Name == name })
}

// bound returns the constraint on p that keeps a dependent working; nil if it works with p, or not
// with an older version either.
func (q *Question) bound(
	ctx context.Context,
	d Dependent,
	read *analyzer.Reading,
	p *packages.Release,
	specs []string,
	from Shelf,
) (*bound, error) {
	newest, err := from.Release(ctx, p.ID())
	if errors.Is(err, packages.ErrUnknown) || errors.Is(err, packages.ErrUnavailable) {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	about := *q
	about.New, about.Old = newest, nil
	c := &comparison{Question: &about, dependent: d, read: read}
	after, _, err := c.check(ctx, newest)
	if err != nil {
		return nil, err
	}
	if broken, _ := c.broken(lacking{}, after); !c.loadsNot(after) && len(broken) == 0 {
		return nil, nil
	}
	older, err := q.older(ctx, d, p, specs)
	if err != nil {
		return nil, err
	}
	var entry Entry
	works := func(n int) (bool, error) { // counted from the newest
		old, err := from.Release(ctx, packages.ID{Name: p.Name, Version: older[n].String()})
		if errors.Is(err, packages.ErrUnknown) {
			return false, ctx.Err()
		}
		if err != nil {
			return false, err
		}
		before, _, err := c.check(ctx, old)
		if err != nil {
			return false, err
		}
		about.Old = old
		broken, _ := c.broken(before, after)
		if len(broken) > 0 {
			entry = Entry{}
			c.breaks(&entry, broken)
		}
		// Another part of the dependent may not work with it.
		about.New, about.Old = old, nil
		failing, _ := c.broken(lacking{}, before)
		works := len(broken) > 0 && len(failing) == 0
		about.New = newest
		return works, nil
	}
	last, err := first(len(older), works)
	if err != nil || last < 0 {
		return nil, err
	}
	bad := p.Version
	if last > 0 {
		bad = older[last-1].String()
	}
	return &bound{
		Constraint: Constraint{
			Requirement: p.Name + "<" + bad,
			Because: fmt.Sprintf("%s %s does not work with %s %s: %s", d.Name, d.Version, p.Name, p.Version,
				entry.Reason),
		},
		name: p.Name, spec: "<" + bad,
	}, nil
}

// older returns the final versions before a release that a dependent and the specifiers admit, the
// newest first.
func (q *Question) older(
	ctx context.Context, d Dependent, p *packages.Release, specs []string,
) (out []pkgmeta.Version, _ error) {
	listed, err := q.Source.Versions(ctx, p.Name, q.On)
	if err != nil {
		return nil, err
	}
	chosen, err := pkgmeta.ParseVersion(p.Version)
	if err != nil {
		return nil, err
	}
	spec, err := pkgmeta.ParseSpec(joined(specs))
	if err != nil {
		return nil, err
	}
	for _, v := range slices.Backward(packages.Sorted(listed)) {
		if v.Compare(chosen) < 0 && !v.IsPreRelease() && spec.Admits(v) &&
			q.admits(d.Requires, p.Name, v) {
			out = append(out, v)
		}
	}
	return out, nil
}

// maxScan limits how many versions are tried one after the other.
const maxScan = 24

// first returns the lowest index below n for which is returns true, -1 if it finds none. Indexes
// are tried at growing distances and then bisected, which is right if all are true from the first
// one on. If none of these is, only a few versions in between may be, which are tried in order.
func first(n int, is func(int) (bool, error)) (int, error) {
	low, high := -1, -1
	tried := map[int]bool{}
	for step := 0; high < 0; step = 2*step + 1 {
		at := min(step, n-1)
		if at <= low {
			return scan(n, tried, is)
		}
		tried[at] = true
		ok, err := is(at)
		if err != nil {
			return -1, err
		}
		if ok {
			high = at
		} else {
			low = at
		}
	}
	for high-low > 1 {
		middle := (low + high) / 2
		ok, err := is(middle)
		if err != nil {
			return -1, err
		}
		if ok {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}

// scan is first for the indexes that were not tried yet, of which it tries maxScan.
func scan(n int, tried map[int]bool, is func(int) (bool, error)) (int, error) {
	for at := range min(n, maxScan+len(tried)) {
		if tried[at] {
			continue
		}
		if ok, err := is(at); ok || err != nil {
			return at, err
		}
	}
	return -1, nil
}
