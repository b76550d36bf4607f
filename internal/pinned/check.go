package pinned

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/index"
)

// Check checks installed packages, or those that files pin, compared with the pins of a base.
type Check struct {
	Lookup
	// Run is analyzer.CheckEnvironments.
	Run func(
		ctx context.Context,
		heads, bases []*analyzer.Environment,
		o analyzer.Options,
	) (*analyzer.Report, error)
	Options   analyzer.Options // without Source
	Installed []*Wheels        // nil = Pins are checked
	Pins      []*Pinned
	Base      []*Pinned // nil = there is none

	locked *index.Locked
	opened []*Wheels // to be closed
}

// Report returns the report. lasting means that it does not depend on what the index has today. The
// wheels are read as little as possible: lock files pin all that is needed, so what the packages
// require is only read if there are problems, for the fixes.
func (c *Check) Report(ctx context.Context) (r *analyzer.Report, lasting bool, err error) {
	defer func() { _ = Close(c.opened) }() // files that were only read
	if c.locked, err = c.lock(ctx); err != nil {
		return nil, false, err
	}
	from := c.WithLock(c.locked)
	head := c.Installed
	if head == nil {
		if head, err = c.open(ctx, from, c.Pins); err != nil {
			return nil, false, err
		}
	}
	before, err := c.base(ctx)
	if err != nil {
		return nil, false, err
	}
	run := func(others bool) {
		if c.Options.Source = from.Source; others {
			from.readOthers(head, c.locked)
		}
		r, err = c.Run(ctx, environments(head), before, c.Options)
	}
	run(!c.locked.Complete)
	again := err == nil && c.locked.Complete && slices.ContainsFunc(r.Findings, c.matters)
	if again { // with what the packages require, and other versions for fixes
		from = c.WithLock(&index.Locked{
			Files: c.locked.Files, Digests: c.locked.Digests, AnyPython: c.locked.AnyPython,
			ReadAll: c.locked.ReadAll,
		})
		run(true)
	}
	if again && err == nil && slices.ContainsFunc(r.Findings, changesPin) &&
		slices.ContainsFunc(head, func(w *Wheels) bool { return w.Together }) {
		// A fix may change the versions with which a wheel is known to load, so it has to be read.
		if head, err = c.open(ctx, from, c.Pins); err != nil {
			return nil, false, err
		}
		run(true)
	}
	if err != nil {
		return nil, false, err
	}
	c.note(r, head)
	return r, c.locked.Complete && !again && len(r.Unread) == 0, nil
}

// lock returns what the files list, with the releases that the change cannot affect.
func (c *Check) lock(ctx context.Context) (*index.Locked, error) {
	l := Locked(c.Addresses(), slices.Concat(c.Pins, c.Base)...)
	// Of a release that both have, the hashes may differ.
	l.Digests = Locked(c.Addresses(), c.Pins...).Digests
	l.Complete = l.Complete && len(c.Pins) > 0 // of installed packages nothing is known
	o := c.Options
	l.ReadAll = len(o.First) > 0 || len(o.GPU.Archs) > 0 || o.GPU.Stack != ""
	if len(c.Base) == 0 || len(o.First) > 0 {
		return l, nil
	}
	var err error
	l.Without, err = Unreached(ctx, c.Pins, c.Base, c.WithLock(l).Indexes)
	return l, err
}

// open opens wheels, which Report closes.
func (c *Check) open(ctx context.Context, from Lookup, list []*Pinned) ([]*Wheels, error) {
	for _, e := range list {
		if err := e.Resolve(ctx, from.Source); err != nil {
			return nil, err
		}
		e.Asked = from.Addresses()
	}
	wheels, err := Open(ctx, list, from.Indexes)
	c.opened = append(c.opened, wheels...)
	return wheels, err
}

// base returns the environments of the base, compared with its own hashes; nil if there is none.
func (c *Check) base(ctx context.Context) ([]*analyzer.Environment, error) {
	own := *c.locked
	own.Digests = Locked(c.Addresses(), c.Base...).Digests
	wheels, err := c.open(ctx, c.WithLock(&own), c.Base)
	return environments(wheels), err
}

// matters reports whether the fixes of a finding are worth reading more.
func (c *Check) matters(f analyzer.Finding) bool {
	return f.Severity == analyzer.Error ||
		f.Severity == analyzer.Warning && len(c.locked.Without) > 0 || changesPin(f)
}

// changesPin reports whether a fix of a finding changes the version of a package.
func changesPin(f analyzer.Finding) bool {
	return slices.ContainsFunc(f.Fixes, func(x fix.Fix) bool { return x.Requirement != "" })
}

// note adds notes about what was checked.
func (c *Check) note(r *analyzer.Report, head []*Wheels) {
	r.Notes = slices.Insert(r.Notes, 0, c.checkedFor(r, head))
	if len(c.Pins) > 0 && c.Pins[0].Guessed {
		r.Assumed = "Python " + c.Pins[0].On.Python
	}
	for _, e := range c.Pins {
		r.Notes = slices.Insert(r.Notes, 0, e.knownBad(r)...)
	}
	beyond := Beyond(c.Pins, c.Base)
	switch same := len(c.Base) > 0 && SamePins(c.Pins, c.Base); {
	case same && len(beyond) > 0:
		r.Notes = slices.Insert(r.Notes, 0, "nothing that was checked differs from the base")
	case same:
		r.Notes = slices.Insert(r.Notes, 0, "no pin differs from the base, so nothing is new")
	}
	if len(beyond) > 0 {
		r.Notes = slices.Insert(r.Notes, 0, beyondNote(beyond))
	}
	if n := len(c.locked.Without); n > 0 {
		r.AddNote(fmt.Sprintf("only what the change can affect was checked; %d packages do not depend "+
			"on a changed package, and none of the changed ones has libraries that they could load", n))
	}
}

// checkedFor returns a sentence about the interpreters and platforms of environments, and where the
// interpreter of pinned ones is known from.
func (c *Check) checkedFor(r *analyzer.Report, head []*Wheels) string {
	var pythons, platforms []string
	for i, w := range head {
		python := w.On.Python
		if i < len(c.Pins) && c.Pins[i].PythonFrom != "" {
			python += " (" + c.Pins[i].PythonFrom + ")"
		}
		if python != "" && !slices.Contains(pythons, python) {
			pythons = append(pythons, python)
		}
		if w.Platform != "" && !slices.Contains(platforms, w.Platform) {
			platforms = append(platforms, w.Platform)
		}
	}
	if len(platforms) == 0 {
		platforms = c.Options.Platforms
	}
	for _, t := range r.Targets {
		if c.Options.Root != nil && !slices.Contains(platforms, t.Name) {
			platforms = append(platforms, t.Name)
		}
	}
	text := "checked"
	if len(pythons) > 0 {
		text += " for Python " + strings.Join(pythons, ", ")
	}
	if len(platforms) > 0 {
		text += " on " + strings.Join(platforms, ", ")
	}
	return text
}

// environments returns the environments of opened wheels.
func environments(list []*Wheels) []*analyzer.Environment {
	var out []*analyzer.Environment
	for _, w := range list {
		out = append(out, &w.Environment)
	}
	return out
}
