package pinned

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/index"
	"golang.org/x/sync/errgroup"
)

// Opener opens the wheel that pip would install. It is implemented by internal/index; index.Open
// documents the errors.
type Opener interface {
	Open(
		ctx context.Context,
		name, version string,
		on packages.Target,
		limit int64,
	) (*index.Wheel, error)
}

// Wheels are the opened wheels of an environment. Wheels with native code are in the order of the
// pins.
type Wheels struct {
	analyzer.Environment
	// Recorded are the wheels that were not opened, because they are known to need no other package:
	// NAME==VERSION, in the order of the pins.
	Recorded []string
	// Together is set if some of them need other packages of exactly the pinned versions.
	Together bool
	opened   []io.Closer
	left     *atomic.Int64 // bytes left of the budget
}

// ReadOthersFrom sets where other versions than the pinned or installed ones are read. Without it
// none are: the Opener of the wheels may be limited to the files of a lock file.
func (w *Wheels) ReadOthersFrom(o Opener) {
	w.Other = func(ctx context.Context, name, version string) (*analyzer.Input, error) {
		if w.left.Load() <= 0 {
			return nil, nil
		}
		other, err := o.Open(ctx, name, version, w.On, maxObjects)
		if err != nil {
			return nil, err
		}
		other.Charge(w.left)
		if other.Pure || other.Recorded {
			return nil, nil
		}
		w.opened = append(w.opened, other)
		in := other.Input()
		return &in, nil
	}
}

// Close closes all wheels.
func (w *Wheels) Close() error {
	var err error
	for _, o := range w.opened {
		err = errors.Join(err, o.Close())
	}
	return err
}

// opening is the result of opening the wheel of a pin.
type opening struct {
	pin   Pin
	id    string // NAME==VERSION
	wheel *index.Wheel
	err   error
}

// Open opens the wheel of every pin. The error is that of ctx; failures of single pins are in
// Unread.
func (e *Pinned) Open(ctx context.Context, from Opener) (*Wheels, error) {
	left := &atomic.Int64{} // bytes of the budget
	left.Store(e.budget())
	all, err := e.openAll(ctx, from, left)
	var matched []string
	if err == nil {
		matched, err = e.openLarge(ctx, from, left, all)
	}
	w := &Wheels{left: left}
	w.Notes, w.Unread = slices.Clone(e.Notes), e.unpinned()
	w.On, w.Platform, w.Origins = e.On, e.Platform, map[string]analyzer.Origin{}
	w.Declared = e.Declared
	if e.collect(w, all, matched); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// openAll opens the wheels in the order of the pins, some at once. Large ones are not opened: their
// error is a *index.TooLargeError.
func (e *Pinned) openAll(
	ctx context.Context,
	from Opener,
	left *atomic.Int64,
) ([]opening, error) {
	all := make([]opening, len(e.Pins))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, p := range e.Pins {
		g.Go(func() error {
			o := &all[i]
			o.pin, o.id = p, p.Requirement
			q, version, err := split(p.Requirement)
			if o.err = err; err != nil {
				return ctx.Err()
			}
			o.id = q.Name + "==" + version
			if left.Load() <= 0 {
				o.err = errBudget
				return ctx.Err()
			}
			o.wheel, o.err = from.Open(ctx, q.Name, version, e.On, maxObjects)
			if o.wheel != nil {
				o.wheel.Charge(left)
			}
			return ctx.Err()
		})
	}
	return all, g.Wait()
}

// openLarge opens the large wheels that have to be read, the smallest first, so that most are read
// within the budget. matched are the others; see unmatched.
func (e *Pinned) openLarge(
	ctx context.Context,
	from Opener,
	left *atomic.Int64,
	all []opening,
) (matched []string, err error) {
	var large []largeWheel
	for i := range all {
		if l := (largeWheel{opening: &all[i]}); errors.As(all[i].err, &l.TooLargeError) {
			large = append(large, l)
		}
	}
	unread, matched := e.unmatched(large)
	for _, l := range unread {
		rest := left.Load()
		if l.Parts && rest > 0 {
			rest = math.MaxInt64 / 2
		}
		if err == nil && l.Packed <= rest {
			q, version, _ := split(l.pin.Requirement)
			if l.wheel, l.err = from.Open(ctx, q.Name, version, e.On, rest); l.wheel != nil {
				l.wheel.Charge(left)
			}
			err = ctx.Err()
		}
		if errors.As(l.err, &l.TooLargeError) {
			l.err = errBudget
		}
	}
	return matched, err
}

// collect adds what was opened to w, with notes about what was not read. matched are large wheels
// that need not be read.
func (e *Pinned) collect(w *Wheels, all []opening, matched []string) {
	missed, portable := 0, 0
	var unverified, sources []string
	for i := range all {
		o := &all[i]
		if o.wheel != nil && o.wheel.File != "" && o.wheel.SHA256 == "" && len(o.pin.SHA256()) > 0 {
			unverified = append(unverified, o.id)
		}
		if errors.Is(o.err, errBudget) {
			missed++
			o.err = fmt.Errorf("the limit of %d MB for all wheels together was reached", e.budget()>>20)
		}
		var none *index.NoWheelError
		// what a build from source contains is not known
		if errors.As(o.err, &none) && none.Tags == nil {
			sources = append(sources, o.id)
		} else {
			w.With = append(w.With, o.pin.Requirement)
		}
		w.Origins[o.pin.Requirement] = analyzer.Origin{
			File: o.pin.File, Line: o.pin.Line, Implied: o.pin.For != "",
		}
		if errors.Is(o.err, packages.ErrUnknown) {
			o.err = fmt.Errorf("%w%s", o.err, e.elsewhere(o.pin))
		}
		w.add(o)
		if o.wheel != nil && o.wheel.Portable {
			portable++
		}
		if o.wheel != nil && o.wheel.Recorded {
			w.Recorded = append(w.Recorded, o.id)
			w.Together = w.Together || o.wheel.Together
		}
	}
	w.NoWheel = append(w.NoWheel, e.Refused()...)
	note := func(format string, names []string) {
		if len(names) > 0 {
			w.Notes = append(w.Notes, format+analyzer.List(names, 8, len(names), "package"))
		}
	}
	note("the index has no SHA-256 of their files, so the hashes were not compared: ", unverified)
	published := "%d of %d packages are published as source only and were not checked: "
	if len(sources) == 1 {
		published = "%d of %d packages is published as source only and was not checked: "
	}
	note(fmt.Sprintf(published, len(sources), len(all)), sources)
	note("known from the built-in package history and independent of other packages, so not read: ",
		w.Recorded)
	note("known from the built-in package history and pinned together with the versions that they "+
		"were published with, so not read: ", matched)
	if portable > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("%d of %d packages have a wheel for any platform, which "+
			"was not read, because such a wheel should have no native code", portable, len(all)))
	}
	if missed > 0 {
		w.Notes = append(w.Notes, fmt.Sprintf("%d of %d packages were not read, because the limit of "+
			"%d MB for all wheels together was reached", missed, len(all), e.budget()>>20))
	}
}

// budget returns the limit for the bytes of all wheels.
func (e *Pinned) budget() int64 { return cmp.Or(e.Budget, DefaultBudget) }

// add stores the result of opening a pin's wheel.
func (w *Wheels) add(o *opening) {
	p, id, opened, err := o.pin, o.id, o.wheel, o.err
	var large *index.TooLargeError
	var none *index.NoWheelError
	var hash *packages.HashError
	switch {
	case errors.As(err, &hash):
		place := analyzer.Origin{File: p.File, Line: p.Line, HashLine: p.HashLine}
		w.NoWheel = append(w.NoWheel, analyzer.Refused(place, hash))
	case errors.As(err, &none) && none.Tags == nil:
		w.Skipped = append(w.Skipped, analyzer.Unread{Path: id, Reason: "published as source only; " +
			"the build that pip makes is not checked"})
	case errors.As(err, &none):
		w.NoWheel = append(w.NoWheel, analyzer.NoWheel{
			Package: none.Name, Version: none.Version, Reason: none.Reason(), Detail: none.Detail(),
			At:     analyzer.Origin{File: p.File, Line: p.Line},
			Source: none.Source && none.RequiresPython == "", Others: none.Others,
			Python: none.Misfit.Python, For: none.Misfit.Lacks,
		})
	case errors.As(err, &large):
		w.Listed = append(w.Listed, listed(large.File, ""))
	case err != nil:
		w.Unread = append(w.Unread, analyzer.Unread{Path: id, Reason: at(p) + ": " + err.Error()})
	case opened.Pure && opened.File == "":
		a := analyzer.Artifact{Path: id, Kind: analyzer.KindWheel, Wheel: &analyzer.Wheel{}}
		a.Wheel.Name, a.Wheel.Version, _ = strings.Cut(id, "==")
		w.Listed = append(w.Listed, a)
	case opened.Pure, opened.Recorded:
		w.Listed = append(w.Listed, listed(opened.File, opened.SHA256))
	default:
		w.opened = append(w.opened, opened)
		w.Wheels = append(w.Wheels, opened.Input())
	}
}

func listed(file, sha256 string) analyzer.Artifact {
	a := analyzer.Artifact{Path: file, SHA256: sha256, Kind: analyzer.KindWheel}
	if n, err := pkgmeta.ParseWheelName(file); err == nil {
		a.Wheel = &analyzer.Wheel{Name: n.Name, Version: n.Version}
	}
	return a
}
