package pinned

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Resolve pins the packages in Unpinned to the versions that pip would install now: the newest
// that the requirements, constraints and other pins allow, also if it is published as source only.
// Packages without such a version stay in Unpinned and are reported as Unread. If a file may not
// pin all that its packages need, the others are added to Pins. The error is that of ctx.
func (e *Pinned) Resolve(ctx context.Context, source packages.Source) error {
	var with, open []pkgmeta.Requirement
	names := map[string]Pin{}
	for _, p := range e.Pins {
		if q, err := pkgmeta.ParseRequirement(p.Requirement); err == nil {
			with = append(with, q)
			names[q.Name] = p
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
	if len(open) == 0 && (!e.Partial || len(with) == 0) {
		return nil
	}
	e.request(ctx, source)
	set, err := e.resolve(ctx, source, slices.Concat(with, open), limits)
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
	if e.Partial {
		_, history := source.(packages.Embedded)
		e.imply(set, names, history)
	}
	return nil
}

// request asks for the releases of the pins, several at once, because the resolution asks for one
// after another. A source keeps its answers. If it is not available, the resolution says so.
func (e *Pinned) request(ctx context.Context, source packages.Source) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, p := range e.Pins {
		q, version, err := split(p.Requirement)
		if err != nil {
			continue
		}
		g.Go(func() error {
			if _, err := source.Release(ctx, q.Name, version, e.On); errors.Is(err,
				packages.ErrUnavailable) {
				return err
			}
			return ctx.Err()
		})
	}
	_ = g.Wait()
}

// resolve returns what pip would install now for some requirements. limits are those of
// constraints, which hold for the packages that others need too.
func (e *Pinned) resolve(
	ctx context.Context, source packages.Source, with []pkgmeta.Requirement,
	limits map[string][]string,
) (*packages.Set, error) {
	limited := map[string]bool{}
	for _, q := range with {
		limited[q.Name] = true
	}
	for {
		set, err := packages.Resolve(ctx, source, packages.Request{
			On: e.On, With: with, End: packages.Highest,
		})
		if err != nil {
			return nil, err
		}
		more := false
		for r := range set.All() {
			if limits[r.Name] != nil && !limited[r.Name] {
				spec := strings.Join(limits[r.Name], ",")
				with = append(with, pkgmeta.Requirement{Name: r.Name, Spec: spec, Raw: r.Name + spec})
				limited[r.Name], more = true, true
			}
		}
		if !more {
			return set, nil
		}
	}
}

// imply adds the packages of a set that no file names to Pins. One that an index does not have, or
// that could not be requested, is Unread if it may have a library or a module: the packages that
// need it were checked without it. history is set if there is no index.
func (e *Pinned) imply(set *packages.Set, names map[string]Pin, history bool) {
	from := neededBy(set, names)
	var added, unknown []string
	add := func(id packages.ID) {
		p := from[id.Name]
		p.Requirement = id.String()
		e.Pins, added = append(e.Pins, p), append(added, p.Requirement)
	}
	for r := range set.All() {
		if _, listed := names[r.Name]; !listed {
			add(r.ID())
		}
	}
	for _, u := range set.Unresolved {
		_, listed := names[u.Package]
		switch id, chosen := chosenIn(set, u.Package); {
		case listed, errors.Is(u.Err, packages.ErrTooMany):
		case chosen:
			add(id)
		case history || packages.History().Lacks(u.Package, u.Extras, func(string) bool { return true }):
			unknown = append(unknown, u.Requirement)
		default:
			by := from[u.Package]
			e.beyond = append(e.beyond, analyzer.Unread{Path: u.Requirement, Reason: fmt.Sprintf(
				"%s, which %s names, requires it, and it could not be looked up: %v", by.For, by.File,
				u.Err)})
		}
	}
	note := func(text string, list []string) {
		if len(list) > 0 {
			e.Notes = append(e.Notes, text+analyzer.List(list, 8, len(list), "package"))
		}
	}
	note("not in the file, but needed by its packages, so checked at the versions that pip would "+
		"install today: ", added)
	note("not in the file, but needed by its packages, and could not be looked up, so not checked: ",
		unknown)
}

// neededBy returns a pin without a version for each package that the packages of files need and no
// file names: File is the one that leads to it, and For the package that needs it.
func neededBy(set *packages.Set, names map[string]Pin) map[string]Pin {
	releases := map[string]*packages.Release{}
	var work []string
	for r := range set.All() {
		releases[r.Name] = r
		if _, listed := names[r.Name]; listed {
			work = append(work, r.Name)
		}
	}
	from := maps.Clone(names)
	for ; len(work) > 0; work = work[1:] {
		r := releases[work[0]]
		if r == nil {
			continue
		}
		for _, q := range r.Requires {
			if _, known := from[q.Name]; !known {
				from[q.Name] = Pin{File: from[r.Name].File, For: r.ID().String()}
				work = append(work, q.Name)
			}
		}
	}
	return from
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

// unpinned lists the packages for which Resolve found no version, and those that it could not look
// up.
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
