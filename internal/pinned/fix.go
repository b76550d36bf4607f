package pinned

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/shellword"
)

// Fixer changes the files of an environment so that its findings disappear.
type Fixer struct {
	Check *Check // of the files; Report was called
	Read  func(path string) ([]byte, error)
	// Pins reads what the files pin, as Check.Pins, with another Read.
	Pins func(read func(path string) ([]byte, error)) ([]*Pinned, error)
	Only []string // IDs of causes; nil = all
}

// Fixed is what changes of files led to.
type Fixed struct {
	Files  []FixedFile      // that change, sorted by path
	Causes []string         // IDs of the causes that are gone
	After  *analyzer.Report // with the changes; nil without Files
	// Refused is why the files were not changed for a cause that has a fix, by its ID.
	Refused map[string]error
	// Command changes a file that only its tool can write, for all causes whose fix was tried; ""
	// without one. Tool are these causes.
	Command shellword.Line
	Tool    []string
}

// FixedFile is a file with its changes.
type FixedFile struct {
	Path     string
	Old, New []byte
}

// ErrBroken means that a fix did not leave what it promised.
var ErrBroken = errors.New("the changed files have other problems")

// fixOf is the fix of a cause that changes versions.
type fixOf struct {
	cause        *analyzer.Cause
	requirements []string
}

// Fix applies the fixes of a report to the files, checks the result as they are checked, and
// returns it if it keeps what the fixes promise. The error is that of ctx, or of a file that cannot
// be read.
func (x *Fixer) Fix(ctx context.Context, r *analyzer.Report) (*Fixed, error) {
	out := &Fixed{Refused: map[string]error{}}
	var all, tool []fixOf
	for i := range r.Causes {
		c := &r.Causes[i]
		if x.Only != nil && !slices.Contains(x.Only, c.ID) {
			continue
		}
		f := fixOf{c, requirements(r, c)}
		if f.requirements == nil {
			continue
		}
		switch _, err := x.apply(ctx, []fixOf{f}); {
		case errors.Is(err, lockfile.ErrTool):
			tool = append(tool, f)
		case err != nil:
			out.Refused[c.ID] = err
		default:
			all = append(all, f)
		}
	}
	for _, some := range tries(all) { // all of them, or else as many as work together
		if len(some) <= len(out.Causes) {
			continue
		}
		for len(some) > 0 {
			one, err := x.try(ctx, r, some)
			if err == nil {
				one.Refused, out = out.Refused, one
				break
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			out.Refused[some[len(some)-1].cause.ID] = err
			some = some[:len(some)-1]
		}
	}
	for _, id := range out.Causes {
		delete(out.Refused, id)
	}
	if out.Command, out.Tool = x.command(tool); out.Command == "" {
		for _, id := range out.Tool { // no command changes the lines of the project
			out.Refused[id] = lockfile.ErrByHand
		}
		out.Tool = nil
	}
	return out, nil
}

// command returns the command of the tool that writes a file, and the causes that it is for.
func (x *Fixer) command(fixes []fixOf) (command shellword.Line, causes []string) {
	var changes []lockfile.Change
	file := ""
	for _, f := range fixes {
		for _, requirement := range f.requirements {
			q, err := pkgmeta.ParseRequirement(requirement)
			if err != nil || slices.ContainsFunc(changes, func(c lockfile.Change) bool {
				return c.Requirement == requirement
			}) {
				continue
			}
			version, at := x.pinned(q.Name)
			file = cmp.Or(file, at, x.Files()[0])
			changes = append(changes, lockfile.Change{
				Requirement: requirement, New: version == "",
				Declared: lockfile.Of(x.Check.Pins[0].Declared, q.Name),
			})
		}
		causes = append(causes, f.cause.ID)
	}
	return lockfile.Update(file, changes...), causes
}

// pinned returns the version of a package that the files lead to, and the file; "" if they have
// none.
func (x *Fixer) pinned(name string) (version, file string) {
	for _, p := range x.Check.Pins {
		for _, pin := range p.Pins {
			if q, v, err := split(pin.Requirement); err == nil && q.Name == name && pin.For == "" {
				return v, pin.File
			}
		}
	}
	return "", ""
}

// tries returns the sets of fixes to try: all, and each one by itself.
func tries(all []fixOf) (sets [][]fixOf) {
	if len(all) == 0 {
		return nil
	}
	sets = append(sets, slices.Clone(all))
	for _, f := range all {
		sets = append(sets, []fixOf{f})
	}
	return sets
}

// requirements returns the versions that the fix of a cause chooses: that of the plan, or else the
// first that was tried. It is nil if there is none.
func requirements(r *analyzer.Report, c *analyzer.Cause) []string {
	var chosen *fix.Fix
	for i := range c.Fixes {
		if f := &c.Fixes[i].Fix; f.Verified {
			chosen = f
			break
		}
	}
	for i := range r.Plan.Fixes {
		if p := &r.Plan.Fixes[i]; p.Cause == c.ID && p.Verified {
			chosen = &p.Fix
		}
	}
	if chosen == nil || chosen.Extra != "" {
		return nil
	}
	return chosen.Requirements()
}

// apply returns the files that fixes change, by path.
func (x *Fixer) apply(ctx context.Context, fixes []fixOf) (map[string][]byte, error) {
	changed := map[string][]byte{}
	done := map[string]bool{}
	for _, f := range fixes {
		for _, requirement := range f.requirements {
			if done[requirement] {
				continue
			}
			done[requirement] = true
			if err := x.change(ctx, changed, f.cause, requirement); err != nil {
				return nil, err
			}
		}
	}
	return changed, nil
}

// change changes one package in all files that have it.
func (x *Fixer) change(
	ctx context.Context, changed map[string][]byte, c *analyzer.Cause, requirement string,
) error {
	q, err := pkgmeta.ParseRequirement(requirement)
	if err != nil {
		return err
	}
	e := lockfile.Edit{Requirement: requirement}
	files := x.Files()
	var at string
	if e.Old, at = x.pinned(q.Name); e.Old == "" { // the file of the cause, or the first
		n := slices.Index(files, path.Clean(c.File))
		files = files[max(n, 0):][:1]
	}
	if v, ok := q.Pin(); ok {
		e.Files, _ = x.Check.Indexes.Files(ctx, q.Name, v.String()) // needed for files with hashes
	}
	edited := false
	for _, e.Limit = range []bool{false, true} {
		for _, file := range files {
			if e.Limit && file != at {
				continue
			}
			one, err := x.edit(changed, file, e)
			if err != nil && (e.Old == "" || file == at) {
				return fmt.Errorf("%s: %w", file, err)
			}
			edited = edited || one
		}
		if edited || e.Old == "" {
			return nil
		}
	}
	return fmt.Errorf("%s: no file has a line for it", requirement)
}

// edit changes a package in a file, and reports whether the file changed.
func (x *Fixer) edit(changed map[string][]byte, file string, e lockfile.Edit) (bool, error) {
	return EditFile(x.Check.Pins, x.Read, changed, file, e)
}

// EditFile changes a package in a file of some environments, and in the files of which it is made.
// changed are the files that were changed before, to which these are added. It reports whether the
// file changed.
func EditFile(
	pins []*Pinned,
	read func(path string) ([]byte, error),
	changed map[string][]byte,
	file string,
	e lockfile.Edit,
) (bool, error) {
	old, known := changed[file]
	if !known {
		var err error
		if old, err = read(file); err != nil {
			return false, err
		}
	}
	data := old
	for _, p := range pins {
		e.On = pkgmeta.DefaultMarkerEnv(p.On.Python, p.On.Arch)
		var err error
		if data, err = lockfile.Apply(file, data, e); err != nil {
			return false, err
		}
	}
	if bytes.Equal(data, old) {
		return false, nil
	}
	changed[file] = data
	for _, source := range lockfile.Sources(file, data) { // of which the file is made
		e := e
		e.Limit = false
		_, err := EditFile(pins, read, changed, source, e)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("%s: %w", source, err)
		}
	}
	return true, nil
}

// Files returns the files that are read, each once.
func (x *Fixer) Files() (out []string) {
	for _, p := range x.Check.Pins {
		for _, f := range p.Files {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

// try checks the files with some fixes. The error is ErrBroken if they do not leave what they
// promise.
func (x *Fixer) try(ctx context.Context, before *analyzer.Report, fixes []fixOf) (*Fixed, error) {
	changed, err := x.apply(ctx, fixes)
	if err != nil {
		return nil, err
	}
	read := func(file string) ([]byte, error) {
		if data, ok := changed[path.Clean(file)]; ok {
			return data, nil
		}
		return x.Read(file)
	}
	pins, err := x.Pins(read)
	if err != nil {
		return nil, err
	}
	again := &Check{Lookup: x.Check.Lookup, Run: x.Check.Run, Options: x.Check.Options, Pins: pins}
	after, _, err := again.Report(ctx)
	if err != nil {
		return nil, err
	}
	out := &Fixed{After: after}
	for _, f := range fixes {
		out.Causes = append(out.Causes, f.cause.ID)
	}
	for _, file := range slices.Sorted(maps.Keys(changed)) {
		old, err := x.Read(file)
		if err != nil {
			return nil, err
		}
		out.Files = append(out.Files, FixedFile{file, old, changed[file]})
	}
	return out, promised(before, after, fixes)
}

// promised returns an error if findings of the causes of fixes are left, or if there are new
// errors, new requirements that are not satisfied, or packages that cannot be read.
func promised(before, after *analyzer.Report, fixes []fixOf) error {
	known, mustGo := map[string]bool{}, map[string]bool{}
	for i := range before.Findings {
		known[problem(before, &before.Findings[i])] = true
	}
	for _, f := range fixes {
		for _, n := range f.cause.Findings {
			mustGo[problem(before, &before.Findings[n])] = true
		}
	}
	for i := range after.Findings {
		f := &after.Findings[i]
		key := problem(after, f)
		worse := f.Severity == analyzer.Error || f.Rule == analyzer.RuleUnmet
		if mustGo[key] && f.Severity != analyzer.Note || worse && !known[key] {
			return fmt.Errorf("%w: %s", ErrBroken, cmp.Or(f.Headline, f.Message))
		}
	}
	unread := map[string]bool{}
	for _, u := range before.Unread {
		unread[u.Path] = true
	}
	for _, u := range after.Unread {
		if !unread[u.Path] {
			return fmt.Errorf("%w: %s: %s", ErrBroken, u.Path, u.Reason)
		}
	}
	return nil
}

// problem is equal for findings of the same problem before and after a change of versions.
func problem(r *analyzer.Report, f *analyzer.Finding) string {
	name, _, _ := strings.Cut(r.PackageOf(f.Artifact), " ")
	return strings.Join([]string{name, f.Identity(), f.RequiredBy, f.Package, f.Requirement}, "\x00")
}
