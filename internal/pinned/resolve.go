package pinned

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

// Resolve pins the packages in Unpinned to the versions that pip would install now: the newest
// that the requirements, constraints and other pins allow, also if it is published as source only.
// Packages without such a version stay in Unpinned and are reported as Unread. The error is that of
// ctx.
func (e *Pinned) Resolve(ctx context.Context, source packages.Source) error {
	var with, open []pkgmeta.Requirement
	names := map[string]Pin{}
	for _, p := range e.Pins {
		if q, err := pkgmeta.ParseRequirement(p.Requirement); err == nil {
			with = append(with, q)
			names[q.Name] = Pin{}
		}
	}
	limits := map[string][]string{}
	for _, p := range slices.Concat(e.Constraints, e.Unpinned) {
		if q, err := pkgmeta.ParseRequirement(p.Requirement); err == nil && q.Spec != "" {
			limits[q.Name] = append(limits[q.Name], q.Spec)
		}
	}
	for _, p := range e.Unpinned {
		q, err := pkgmeta.ParseRequirement(p.Requirement)
		if err != nil {
			continue
		}
		if _, pinned := names[q.Name]; pinned {
			continue // it does not apply here, or the name is pinned by another line
		}
		names[q.Name] = p
		q.Spec = strings.Join(limits[q.Name], ",")
		q.Raw = q.Name + q.Spec
		open = append(open, q)
	}
	e.Unpinned = nil
	if len(open) == 0 {
		return nil
	}
	// The pins only matter for their requirements on the open packages.
	set, err := packages.Resolve(ctx, source, packages.Request{
		On: e.On, With: slices.Concat(with, open), End: packages.Highest,
	})
	if err != nil {
		return err
	}
	var chosen []string
	for _, q := range open {
		p := names[q.Name]
		id, ok := chosenIn(set, q.Name)
		if !ok {
			e.Unpinned = append(e.Unpinned, p)
			continue
		}
		p.Requirement = id.String()
		e.Pins = append(e.Pins, p)
		chosen = append(chosen, p.Requirement)
	}
	if i := slices.IndexFunc(set.Unresolved, func(u packages.Unresolved) bool {
		return errors.Is(u.Err, packages.ErrTooMany)
	}); i >= 0 {
		u := set.Unresolved[i]
		e.beyond = append(e.beyond, analyzer.Unread{Path: u.Requirement, Reason: u.Err.Error()})
	}
	if len(chosen) > 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("not pinned, so checked at the versions that pip would "+
			"install today: %s", strings.Join(chosen, ", ")))
	}
	return nil
}

// chosenIn returns the version of a package in a set, also of one that is published as source only.
func chosenIn(set *packages.Set, name string) (packages.ID, bool) {
	if r := set.Release(name); r != nil {
		return r.ID(), true
	}
	i := slices.IndexFunc(set.Unresolved, func(u packages.Unresolved) bool {
		return u.Package == name && errors.Is(u.Err, packages.ErrSource)
	})
	if i < 0 {
		return packages.ID{}, false
	}
	return packages.ID{Name: name, Version: set.Unresolved[i].Version}, true
}

// unpinned lists the packages for which Resolve found no version, and one that it did not look up.
func (e *Pinned) unpinned() []analyzer.Unread {
	out := e.beyond
	for _, p := range e.Unpinned {
		out = append(out, analyzer.Unread{
			Path: p.Requirement, Reason: at(p) + ": it pins no version, and the index has none that fits" +
				e.elsewhere(p),
		})
	}
	return out
}
