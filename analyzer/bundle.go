package analyzer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/fix/apply"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// ErrBundled is the reason why a wheel with bundled libraries is not used.
var ErrBundled = errors.New("with the libraries of this system the wheel has another problem")

// copied matches the end of the name that auditwheel gives to a copy of a library:
// "-1a2b3c4d.so.1".
var copied = lazyregexp.New(`-[0-9a-f]{8}(\.so[.\d]*)$`)

// bundling is an execution to which bundlers add libraries.
type bundling struct {
	*executor
	all     []planned
	from    int // index in all of the first cause whose libraries are bundled
	done    *attempt
	kept    []int
	made    map[string]*apply.Result // by artifact; nil if the bundler failed
	refused map[string]error         // by cause
}

// bundle runs bundlers for the causes whose first fix is to bundle libraries, on the wheels with
// the fixes so far. It returns the attempt with the wheels that have fewer findings and no new
// problem, and adds the causes to all, and those that are removed to kept.
func (x *executor) bundle(
	ctx context.Context, done *attempt, all []planned, kept []int,
) (*attempt, []planned, []int, error) {
	b := &bundling{
		executor: x, all: all, from: len(all), done: done, kept: kept,
		made: map[string]*apply.Result{}, refused: map[string]error{},
	}
	wheels, err := b.run(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	done.cleared = append(done.cleared, make([]int, len(b.all)-len(all))...)
	works := len(wheels) == 0
	if !works {
		if works, err = b.try(ctx, wheels); err != nil { // all of them, or else each that works
			return nil, nil, nil, err
		}
	}
	for _, w := range wheels {
		if works || len(wheels) == 1 {
			break
		}
		if _, err := b.try(ctx, []string{w}); err != nil {
			return nil, nil, nil, err
		}
	}
	for i := range b.all {
		x.refused[i] = x.refused[i] || i >= b.from && !slices.Contains(b.kept, i)
	}
	b.done.Refused = b.refused
	return b.done, b.all, b.kept, nil
}

// run runs the bundlers, each once for a wheel, and returns the wheels that they changed.
func (b *bundling) run(ctx context.Context) (wheels []string, _ error) {
	for i := range b.report.Causes {
		c := &b.report.Causes[i]
		artifacts := b.files(c)
		if len(c.Fixes) == 0 || artifacts == nil || !b.wanted(c) {
			continue
		}
		if how := c.Fixes[0].Bundling; how == nil || how.With == "" {
			continue
		}
		b.all = append(b.all, planned{i, []fix.Fix{c.Fixes[0].Fix}, artifacts})
		for _, a := range artifacts {
			if _, again := b.made[a]; again {
				continue
			}
			w, err := b.bundled(ctx, *c.Fixes[0].Bundling, a)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if b.made[a] = w; err != nil {
				b.refused[c.ID] = err
				continue
			}
			wheels = append(wheels, a)
		}
	}
	return wheels, nil
}

// bundled runs a bundler for a wheel with the fixes so far.
func (b *bundling) bundled(
	ctx context.Context, how fix.Bundling, artifact string,
) (*apply.Result, error) {
	in := b.inputs[slices.IndexFunc(b.inputs, func(i Input) bool { return i.Name == artifact })]
	var changed []string
	if f := b.done.file(artifact); f != nil {
		in, changed = Input{Name: f.File, Content: f.Result, Size: f.Size}, f.Changed
	}
	if err := apply.Check(artifactOf(in)); err != nil {
		return nil, err
	}
	for n := range maxBundlings {
		made, err := b.fixing.Bundle(ctx, how, in)
		if err != nil && n == 0 && how.With == fix.Auditwheel && ctx.Err() == nil {
			// what is copied may need libraries that this system does not have, and need not have
			first := err
			how.Exclude = slices.Concat(how.Exclude, how.Installed, platform.DriverLibraries)
			if made, err = b.fixing.Bundle(ctx, how, in); err != nil {
				return nil, first
			}
		}
		if err != nil {
			return nil, err
		}
		out, err := apply.Bundled(artifactOf(in), artifactOf(made))
		if err != nil {
			return nil, fmt.Errorf("the wheel of %s: %w", how.With, err)
		}
		wrong := b.copiedFromOutside(how, out.Changed)
		if wrong == nil {
			out.Changed = slices.Compact(slices.Sorted(slices.Values(append(out.Changed, changed...))))
			return out, nil
		}
		was := len(how.Exclude)
		for _, name := range wrong {
			stem, _, _ := strings.Cut(name, ".so")
			if pattern := stem + ".so*"; !slices.Contains(how.Exclude, pattern) {
				how.Exclude = append(slices.Clone(how.Exclude), pattern)
			}
		}
		if how.With != fix.Auditwheel || len(how.Exclude) == was {
			return nil, fmt.Errorf("%w: the libraries on this machine need %s, which must not be bundled: "+
				"it is part of a driver, or of a package that is installed with the wheel. Run compat fix "+
				"where they do not need it, for example in a manylinux image", ErrBundled, wrong[0])
		}
	}
	return nil, fmt.Errorf("%w: %s bundles further libraries of drivers with each attempt",
		ErrBundled, how.With)
}

// maxBundlings is how often a bundler is run for a wheel: again without what it must not copy, and
// once more if what is copied instead needs others.
const maxBundlings = 3

// copiedFromOutside returns the libraries among new members of a wheel that must stay outside: of a
// driver, or of packages that are installed with it.
func (b *bundling) copiedFromOutside(how fix.Bundling, members []string) (names []string) {
	for _, name := range members {
		name = path.Base(name)
		if !copied.MatchString(name) {
			continue
		}
		name = copied.ReplaceAllString(name, "$1")
		if platform.OfDriver(name) || slices.ContainsFunc(how.Installed, func(other string) bool {
			rest, ok := strings.CutPrefix(name, other) // the file has more of the version than the SONAME
			return ok && (rest == "" || rest[0] == '.')
		}) {
			names = append(names, name)
		}
	}
	return names
}

// ofCopy reports whether a library that was copied into a wheel needs a driver, which must not be
// copied. It is installed on each system that has the hardware.
func ofCopy(f *Finding) bool {
	return f.Severity == result.Warning && copied.MatchString(path.Base(f.Object)) &&
		f.Symbol == "" && platform.OfDriver(f.Library)
}

// try checks the execution with what bundlers made of some wheels, and keeps it if it has fewer
// findings and no new problem.
func (b *bundling) try(ctx context.Context, wheels []string) (works bool, _ error) {
	next := &attempt{cleared: make([]int, len(b.all))}
	next.Files = slices.Clone(b.done.Files)
	use := slices.Clone(b.kept)
	for i := b.from; i < len(b.all); i++ {
		if slices.ContainsFunc(b.all[i].artifacts, func(a string) bool {
			return slices.Contains(wheels, a)
		}) && !slices.Contains(use, i) {
			use = append(use, i)
		}
	}
	for _, a := range wheels {
		if f := next.file(a); f != nil {
			f.Result = b.made[a]
		} else {
			next.Files = append(next.Files, Fixed{Artifact: a, Result: b.made[a]})
		}
	}
	if err := b.judgeAttempt(ctx, next, b.all, use); err != nil {
		return false, err
	}
	kept := slices.DeleteFunc(slices.Clone(use), func(i int) bool { return next.cleared[i] == 0 })
	for _, i := range use {
		if id := b.report.Causes[b.all[i].cause].ID; i >= b.from && next.breaks {
			b.refused[id] = fmt.Errorf("%w: %s", ErrBundled, next.broken)
		}
	}
	if next.breaks || len(kept) <= len(b.kept) {
		return false, nil
	}
	for _, i := range kept {
		id := b.report.Causes[b.all[i].cause].ID
		delete(b.refused, id)
		for _, a := range b.all[i].artifacts {
			if f := next.file(a); f != nil && !slices.Contains(f.Causes, id) {
				f.Causes = append(slices.Clone(f.Causes), id)
			}
		}
	}
	order := func(f Fixed) int {
		return slices.IndexFunc(b.inputs, func(i Input) bool { return i.Name == f.Artifact })
	}
	slices.SortFunc(next.Files, func(f, g Fixed) int { return cmp.Compare(order(f), order(g)) })
	b.done, b.kept = next, kept
	return true, nil
}

// file returns the file of an artifact with fixes, or nil.
func (e *Execution) file(artifact string) *Fixed {
	i := slices.IndexFunc(e.Files, func(f Fixed) bool { return f.Artifact == artifact })
	if i < 0 {
		return nil
	}
	return &e.Files[i]
}
