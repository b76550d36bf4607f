// Package review reviews changes of pinned packages: it reads the lock and requirements files of
// a commit and of its base, opens the native wheels that they pin, and reports what no longer
// loads. It needs no build artifacts.
//
//	r := review.Reviewer{Check: sandbox.CheckEnvironments, Dir: dir}
//	d, err := r.Review(ctx, review.Change{Index: indexes, Base: base, Head: head, Paths: paths, Config: config})
//
// The files are from the head of a pull request and therefore untrusted. Their number, size and
// nesting are limited (analyzer/packages/lockfile), files outside the repository are not read,
// and URLs in them are ignored: packages are looked up only in the operator's index. Wheels are
// untrusted too, and are read in the sandbox.
package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/pinned"
)

// Limits of one review.
const (
	maxEnvironments = 20
	maxPackages     = 500
	maxBytes        = 200 << 20 // bytes of wheels, as downloaded
	maxTime         = 120 * time.Second
	pinTime         = 40 * time.Second // time for finding versions to pin
)

// Commit is a commit of the repository.
type Commit interface {
	// Files lists the paths of its files.
	Files(ctx context.Context) ([]string, error)
	// Read reads a file. It returns false if there is none, or if it is too large.
	Read(ctx context.Context, path string) (string, bool, error)
}

// Change is the change to review.
type Change struct {
	Index      Index
	Base, Head Commit
	Paths      []string // paths in the diff
	Config     *config.Repository
	Options    analyzer.Options // only Source, Rules, Accept and Version are used
}

// Index looks up packages. *index.Index implements it.
type Index interface {
	packages.Source
	// Comparing returns what finds wheels with one of the digests of their release.
	Comparing(digests map[packages.ID][]string) index.Installer
	String() string // its URL
}

// Reviewer reviews changes. All fields are required.
type Reviewer struct {
	// Check is analyzer.CheckEnvironments. The Content of every wheel is an *os.File.
	Check func(
		ctx context.Context,
		heads, bases []*analyzer.Environment,
		o analyzer.Options,
	) (*analyzer.Report, error)
	Dir string // directory for wheels
}

// Review reviews a change. It returns nil if the change affects no environment. The error is that
// of ctx, of a Commit, or of Check.
func (r *Reviewer) Review(ctx context.Context, c Change) (*comment.Dependencies, error) {
	if c.Config.Environments.Off {
		return nil, nil
	}
	places, more, err := c.environments(ctx)
	if err != nil || len(places) == 0 {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	open := &opener{dir: r.Dir, left: maxBytes}
	defer open.Close()
	out := &comment.Dependencies{}
	old, changed := map[string][]byte{}, map[string][]byte{}
	for _, p := range places {
		one := &environmentReview{
			Reviewer: r, change: c, at: p, open: open, out: out, old: old, changed: changed,
		}
		if err := one.run(limited); err != nil {
			if ctx.Err() != nil || limited.Err() == nil {
				return nil, err
			}
			out.Unread = append(out.Unread, comment.Unreviewed{
				File: p.file, Line: 1,
				Reason: fmt.Sprintf("reviewing it takes longer than %s", maxTime),
			})
			break
		}
	}
	if more > 0 {
		out.Unread = append(out.Unread, comment.Unreviewed{
			File: places[0].file, Line: 1,
			Reason: fmt.Sprintf("%d of %d environments were not reviewed", more, more+len(places)),
		})
	}
	if missed, of := open.missed(); missed > 0 {
		out.Unread = append(out.Unread, comment.Unreviewed{
			File: places[0].file, Line: 1,
			Reason: fmt.Sprintf("%d of %d packages were not reviewed: the limit of one review is "+
				"%d packages and %d MiB", missed, of, maxPackages, maxBytes>>20),
		})
	}
	if out.Report == nil {
		out.Report = analyzer.NewReport(c.Options.Version)
	}
	out.Patch = comment.Patch(changed, func(name string) []byte { return old[name] })
	for i := range out.Places {
		p := &out.Places[i]
		if p.Suggest {
			if text, there, err := c.Head.Read(ctx, p.File); err != nil {
				return nil, err
			} else if lines := strings.Split(text, "\n"); there && p.Line <= len(lines) {
				p.Text = lines[p.Line-1]
			}
		}
	}
	return out, nil
}

// environmentReview is the review of one environment.
type environmentReview struct {
	*Reviewer
	change Change
	at     place
	open   *opener
	out    *comment.Dependencies
	// The files with the pins that were found to work, in all environments, and as they were.
	changed, old map[string][]byte
}

// run adds the review of the environment to out.
func (e *environmentReview) run(ctx context.Context) error {
	head, bad, err := e.read(ctx, e.change.Head)
	if err != nil {
		return err
	}
	if bad != nil {
		e.out.Unread = append(e.out.Unread, *bad)
		return nil
	}
	base, bad, err := e.read(ctx, e.change.Base)
	if err != nil {
		return err
	}
	if bad != nil { // treat an unreadable base as missing
		base = nil
	}
	e.out.Environments = append(e.out.Environments, e.at.file+": "+head.String())
	changed := changedPins(head, base)
	everywhere := base != nil && !slices.Equal(head.targets, base.targets)
	if !everywhere && len(changed) == 0 {
		return nil
	}
	if n := len(head.pins) - maxPackages; n > 0 {
		e.open.skip(n)
		head.limit(maxPackages)
	}
	native := everywhere || slices.ContainsFunc(head.installed, func(p *pinned.Pinned) bool {
		return len(p.Unhashed) > 0
	})
	for _, p := range changed {
		native = e.native(ctx, p.head, head) || e.native(ctx, p.base, base) || native
	}
	if !native {
		return nil
	}
	return e.check(ctx, head, base, changed)
}

// native reports whether a pin may have native code, also if it could not be looked up.
func (e *environmentReview) native(ctx context.Context, p *pinned.Pin, s *side) bool {
	if p == nil || s == nil {
		return false
	}
	name, version := split(p.Requirement)
	for _, t := range s.targets {
		if pure, err := s.open.Pure(ctx, name, version, t.On); err != nil || !pure {
			return true
		}
	}
	return false
}

// opened are the wheels of a side, one set for each target.
type opened []*pinned.Wheels

func (o opened) environments() (out []*analyzer.Environment) {
	for _, w := range o {
		e := w.Environment
		e.Wheels = slices.Clone(e.Wheels)
		for i := range e.Wheels {
			e.Wheels[i].Content = file(e.Wheels[i].Content)
		}
		e.Other = func(ctx context.Context, name, version string) (*analyzer.Input, error) {
			in, err := w.Other(ctx, name, version)
			if in != nil {
				in.Content = file(in.Content)
			}
			return in, err
		}
		out = append(out, &e)
	}
	return out
}

// wheels opens the wheels of a side. The opener closes them.
func (e *environmentReview) wheels(ctx context.Context, s *side) (opened, error) {
	if s == nil {
		return nil, nil
	}
	out, err := pinned.Open(ctx, s.installed, s.open)
	for _, w := range out {
		w.ReadOthersFrom(&comparing{e.open, e.change.Index.Comparing(nil), nil})
	}
	return out, err
}

// check compares the wheels of head and base.
func (e *environmentReview) check(ctx context.Context, head, base *side, changed []change) error {
	after, err := e.wheels(ctx, head)
	if err != nil {
		return err
	}
	before, err := e.wheels(ctx, base)
	if err != nil {
		return err
	}
	e.unread(head, after)
	o := e.change.Options
	o.Platforms = nil
	heads, bases := after.environments(), before.environments()
	var had *analyzer.Report
	if bases != nil {
		withoutFixes := o
		withoutFixes.NoFixes, withoutFixes.Accept = true, nil
		if had, err = e.Check(ctx, bases, nil, withoutFixes); err != nil {
			return err
		}
	}
	report, err := e.Check(ctx, heads, bases, o)
	if err != nil {
		return err
	}
	report.Unread = nil // they are in out already, with their lines
	report.Skipped = nil
	e.reviewed(head, after, changed)
	e.repaired(had, report, base, changed)
	tries := &search{
		environmentReview: e, head: head, bases: bases, options: o, report: report,
		until: time.Now().Add(pinTime), found: map[string]string{},
	}
	places := make([]comment.Place, len(report.Causes))
	for i := range report.Causes {
		if report.Causes[i].New {
			places[i] = tries.place(ctx, &report.Causes[i], changed)
		}
	}
	e.out.Add(report, places)
	return nil
}

// unread reports the pins that could not be looked up.
func (e *environmentReview) unread(s *side, o opened) {
	seen := map[string]bool{}
	for _, w := range o {
		for _, u := range w.Unread {
			if seen[u.Path] || e.open.counted(u.Path) {
				continue
			}
			seen[u.Path] = true
			x := comment.Unreviewed{File: e.at.file, Line: 1, What: u.Path, Reason: u.Reason}
			for _, p := range s.pins {
				name, version := split(p.Requirement)
				if name+"=="+version == u.Path || p.Requirement == u.Path {
					x.File, x.Line = p.File, max(p.Line, 1)
					where := analyzer.Origin{File: p.File, Line: p.Line}.String()
					x.Reason = strings.TrimPrefix(x.Reason, where+": ")
				}
			}
			e.out.Unread = append(e.out.Unread, x)
		}
	}
}

// reviewed lists the changed native packages, or all native packages if the platform changed.
func (e *environmentReview) reviewed(s *side, o opened, changed []change) {
	for _, w := range o {
		ids := slices.Clone(w.Recorded)
		for _, in := range w.Wheels {
			if n, err := pkgmeta.ParseWheelName(in.Name); err == nil {
				ids = append(ids, n.Name+"=="+n.Version)
			}
		}
		for _, id := range ids {
			name, version, _ := strings.Cut(id, "==")
			name = pkgmeta.Normalize(name)
			id = name + "==" + version
			of := slices.ContainsFunc(changed, func(c change) bool { return c.name == name })
			if (of || len(changed) == 0) && !slices.Contains(e.out.Reviewed, id) {
				e.out.Reviewed = append(e.out.Reviewed, id)
			}
		}
	}
	e.out.Native = true
}

// repaired lists the errors of the base that the head does not have.
func (e *environmentReview) repaired(had, report *analyzer.Report, base *side, changed []change) {
	if had == nil {
		return
	}
	now := report.Identities()
	for i := range report.Accepted {
		now = append(now, report.Accepted[i].Finding.Identity())
	}
	for i := range had.Causes {
		c := &had.Causes[i]
		if c.Severity != analyzer.Error || slices.ContainsFunc(c.Findings, func(n int) bool {
			return slices.Contains(now, had.Findings[n].Identity())
		}) {
			continue
		}
		f := &had.Findings[c.Findings[0]]
		x := comment.Repaired{Title: c.Title, Symbol: cmp.Or(f.Symbol, f.Library)}
		for _, name := range packagesOf(had, c, func(name string) bool {
			return slices.ContainsFunc(changed, func(c change) bool {
				return c.name == name && c.base != nil
			})
		}) {
			if p := base.pin(name); p != nil {
				n, v := split(p.Requirement)
				x.Packages = append(x.Packages, n+"=="+v)
			}
		}
		e.out.Repaired = append(e.out.Repaired, x)
	}
}

// packagesOf returns the normalized names of the packages of a cause: first those that cause it,
// then the one that fails. changed reports whether a package's pin changed.
func packagesOf(r *analyzer.Report, c *analyzer.Cause, changed func(name string) bool) []string {
	var names []string
	add := func(name string) {
		if name = pkgmeta.Normalize(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	needs := ""
	for _, a := range r.Artifacts {
		if a.Path == c.Artifact && a.Wheel != nil {
			needs = pkgmeta.Normalize(a.Wheel.Name)
		}
	}
	if rest, ok := strings.CutPrefix(c.ID, "package-"); ok {
		add(rest)
	}
	for _, x := range c.Fixes {
		if q, err := pkgmeta.ParseRequirement(x.Requirement); x.Requirement != "" && err == nil &&
			q.Name != needs {
			add(q.Name)
		}
	}
	for _, n := range c.Findings {
		f := &r.Findings[n]
		if f.Package != needs {
			add(f.Package)
		}
		if f.Range != nil {
			add(f.Range.Package)
		}
	}
	add(needs)
	if !slices.ContainsFunc(names, changed) {
		names = append(suspects(r, c, changed), names...)
	}
	return names
}

// suspects returns the changed packages that may have caused a cause which names no package:
// those that the failing wheel requires, or else the first native one.
func suspects(r *analyzer.Report, c *analyzer.Cause, changed func(name string) bool) []string {
	var out []string
	for _, a := range r.Artifacts {
		if a.Path != c.Artifact || a.Wheel == nil {
			continue
		}
		for _, text := range a.Wheel.Requires {
			q, err := pkgmeta.ParseRequirement(text)
			if err == nil && changed(q.Name) {
				out = append(out, q.Name)
			}
		}
	}
	for _, a := range r.Artifacts {
		if len(out) == 0 && a.Objects > 0 && a.Wheel != nil &&
			changed(pkgmeta.Normalize(a.Wheel.Name)) {
			out = append(out, pkgmeta.Normalize(a.Wheel.Name))
		}
	}
	return out
}

// change is a package whose pin changed; head or base is nil if the package is not pinned there.
type change struct {
	name       string
	head, base *pinned.Pin
}

func changedPins(head, base *side) []change {
	var out []change
	for i := range head.pins {
		p := &head.pins[i]
		name, _ := split(p.Requirement)
		var was *pinned.Pin
		if base != nil {
			was = base.pin(name)
		}
		if was == nil || was.Requirement != p.Requirement || fewerHashes(p, was) {
			out = append(out, change{name, p, was})
		}
	}
	if base == nil {
		return out
	}
	for i := range base.pins {
		p := &base.pins[i]
		if name, _ := split(p.Requirement); head.pin(name) == nil {
			out = append(out, change{name, nil, p})
		}
	}
	return out
}

// fewerHashes reports whether an installer may refuse a file of a pin that it accepted before: the
// pin lacks a hash that it had, or had none.
func fewerHashes(p, was *pinned.Pin) bool {
	now, before := p.SHA256(), was.SHA256()
	return (now == nil) != (before == nil) ||
		slices.ContainsFunc(before, func(sum string) bool { return !slices.Contains(now, sum) })
}

// limit leaves out all pins but the first ones.
func (s *side) limit(most int) {
	s.pins = s.pins[:most]
	for _, p := range s.installed {
		p.Pins = p.Pins[:min(most, len(p.Pins))]
	}
}

// String returns the interpreter and the platforms, for the report.
func (s *side) String() string {
	var targets []string
	for _, t := range s.targets {
		text := t.Platform
		if t.On.Libc != "" {
			text += " (" + t.On.Libc + ")"
		}
		targets = append(targets, text)
	}
	return fmt.Sprintf("Python %s, %s", s.python, cmp.Or(strings.Join(targets, ", "), "any"))
}

// pin returns the pin of a package; nil if there is none.
func (s *side) pin(name string) *pinned.Pin {
	for i := range s.pins {
		if n, _ := split(s.pins[i].Requirement); n == name {
			return &s.pins[i]
		}
	}
	return nil
}

// split returns the normalized name and the version of NAME==VERSION.
func split(requirement string) (name, version string) {
	q, err := pkgmeta.ParseRequirement(requirement)
	if err != nil {
		return "", ""
	}
	return q.Name, strings.TrimSpace(strings.TrimLeft(q.Spec, "="))
}

// errBudget is the error for a wheel above the limits of a review.
var errBudget = errors.New("above the limit of one review")
