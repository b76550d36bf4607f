package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	unified "github.com/rogpeppe/go-internal/diff"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/internal/pinned"
)

// ofPins reports whether a path is a file that pins packages, and no artifact.
func ofPins(file string) bool {
	switch strings.ToLower(path.Ext(filepath.ToSlash(file))) {
	case ".txt", ".in", ".toml", ".lock", ".yml", ".yaml":
		return true
	}
	return lockfile.Known(file)
}

// lockNextTo returns the lock file of a project, or else its pyproject.toml.
func lockNextTo(file string) string {
	for _, name := range lockfile.OfProjects() {
		lock := path.Join(path.Dir(file), name)
		if _, err := os.Stat(lock); lockfile.IsProject(file) && err == nil {
			return lock
		}
	}
	return file
}

// openPins returns the check of files that pin packages, as "compat env" checks them.
func openPins(env environment, f checkFlags, python string, files []string) (*pinned.Fixer, error) {
	e := envFlags{checkFlags: f, python: python, extras: f.extras}
	e.budget = pinned.DefaultBudget >> 20
	e.lock, e.requirements, e.checkFlags.extras = nil, nil, nil
	for i, file := range files {
		files[i] = lockNextTo(filepath.ToSlash(file))
		if info, err := os.Stat(files[i]); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a regular file", files[i])
		}
	}
	if err := e.usage(files); err != nil {
		return nil, err
	}
	if err := e.configure(files); err != nil {
		return nil, err
	}
	e.defaultPlatforms()
	settings, err := checkOptions(env, e.checkFlags)
	if err != nil {
		return nil, err
	}
	from, err := openPackages(env, f.index, f.facts, false, f.noCache)
	if err != nil {
		return nil, err
	}
	if len(from.names) == 0 {
		return nil, noIndex(env, wheelsNeedIndex)
	}
	x := &pinned.Fixer{Check: newCheck(from, settings.Options), Read: readInput}
	x.Pins = func(read func(string) ([]byte, error)) ([]*pinned.Pinned, error) {
		return readPinnedWith(e, files, read)
	}
	if x.Check.Pins, err = x.Pins(readInput); err != nil {
		return nil, unusable(err)
	}
	return x, nil
}

// fixPins changes the versions in lock and requirements files.
func fixPins(ctx context.Context, env environment, f fixFlags, files []string) error {
	fixer, err := openPins(env, f.checkFlags, f.python, files)
	if err != nil {
		return err
	}
	defer collect()()
	fixer.Only = f.only
	c := fixer.Check
	shown := startProgress(env, f.quiet)
	c.Options.Progress = shown.set
	r, _, err := c.Report(ctx)
	if err != nil {
		shown.stop()
		return err
	}
	if err := missing(r, f.only); err != nil {
		shown.stop()
		return err
	}
	done, err := fixer.Fix(ctx, r)
	shown.stop()
	if err != nil {
		return err
	}
	p := pinPrinter{env, r, done, f, files, fixer.Files()}
	if err := p.save(); err != nil {
		return err
	}
	return errors.Join(p.print(), p.exit())
}

// pinPrinter writes changed files, and prints what was changed.
type pinPrinter struct {
	environment
	r     *analyzer.Report
	done  *pinned.Fixed
	flags fixFlags
	named []string
	read  []string // all files that were read
}

// save writes the files: in their place, or with --write all that were read to a folder, because
// they include each other. Nothing is written unless all of them can be.
func (p *pinPrinter) save() error {
	if p.flags.dryRun || len(p.done.Files) == 0 {
		return nil
	}
	contents := map[string][]byte{}
	for _, f := range p.done.Files {
		contents[f.Path] = f.New
	}
	if p.flags.write != "" {
		for _, file := range p.read {
			if contents[file] != nil {
				continue
			}
			data, err := readInput(file)
			if err != nil {
				return err
			}
			contents[file] = data
		}
	}
	for file := range contents {
		to := p.target(file)
		switch _, err := os.Lstat(to); {
		case p.flags.write == "" && !p.near(file):
			return fmt.Errorf("%s is included from outside the folder of the given file, so it is not "+
				"changed; name it on the command line too", file)
		case p.flags.write == "":
		case !filepath.IsLocal(filepath.FromSlash(file)):
			return fmt.Errorf("%s is outside of the working directory, so it has no place in %s; "+
				"leave out --write to change the files themselves", file, p.flags.write)
		case err == nil:
			return fmt.Errorf("%s exists already; remove it, or give another folder with --write", to)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	for file, data := range contents {
		if err := saveText(file, p.target(file), data); err != nil {
			return fmt.Errorf("writing %s: %w; nothing is lost: git diff shows what was changed", file, err)
		}
	}
	return nil
}

// near reports whether a file is one that the user named, or in the folder of one or below. Others,
// which a checkout that is not trusted may include, are not changed.
func (p *pinPrinter) near(file string) bool {
	return slices.ContainsFunc(p.named, func(named string) bool {
		at, err := filepath.Rel(filepath.Dir(named), filepath.FromSlash(file))
		return file == named || err == nil && filepath.IsLocal(at)
	})
}

// target returns where a file is written.
func (p *pinPrinter) target(file string) string {
	return filepath.Join(filepath.FromSlash(p.flags.write), filepath.FromSlash(file))
}

// saveText writes a file with the permissions of the original. It appears when it is complete.
func saveText(original, to string, data []byte) error {
	old, err := os.Stat(original)
	if err != nil {
		return err
	}
	if to, err = resolved(to); err != nil {
		return err
	}
	return replaceFile(to, old.Mode().Perm(), func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

// resolved returns the file that a link leads to, so that the link stays one.
func resolved(file string) (string, error) {
	to, err := filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	return to, err
}

// print prints the changed files with the causes that are gone, what is left, and with --dry-run
// the changes as a patch.
func (p *pinPrinter) print() error {
	var b []byte
	line := func(format string, args ...any) { b = fmt.Appendf(b, format+"\n", args...) }
	verb := "fixed"
	if p.flags.dryRun {
		verb = "would change"
	}
	for _, f := range p.done.Files {
		line("%s: %s", verb, filepath.ToSlash(p.target(f.Path)))
	}
	for i := range p.r.Causes {
		if c := &p.r.Causes[i]; slices.Contains(p.done.Causes, c.ID) {
			line("  %s [%s]", p.title(c), c.ID)
		}
	}
	if p.done.Command != "" {
		line("not written: only the tool of the lock file can change it; run")
		line("  %s", p.done.Command)
		for i := range p.r.Causes {
			if c := &p.r.Causes[i]; slices.Contains(p.done.Tool, c.ID) {
				line("  %s [%s]", p.title(c), c.ID)
			}
		}
	}
	p.left(line)
	if len(p.done.Files) == 0 && p.done.Command == "" {
		line("%s", nothing(p.r))
	}
	if after := p.done.After; after != nil && len(p.done.Files) > 0 && len(after.Causes) == 0 &&
		after.Verdict == analyzer.Compatible {
		line("checked again with these versions: nothing is left")
	}
	if p.flags.dryRun {
		for _, f := range p.done.Files {
			b = append(b, unified.Diff("a/"+f.Path, f.Old, "b/"+f.Path, f.New)...)
		}
	}
	_, err := p.Out.Write(b)
	return err
}

// left prints the causes that are not gone, and what could not be read.
func (p *pinPrinter) left(line func(format string, args ...any)) {
	r := p.r
	if p.done.After != nil {
		r = p.done.After
	}
	for _, u := range r.Unread {
		line("not read: %s: %s", u.Path, u.Reason)
	}
	for i := range r.Causes {
		c := &r.Causes[i]
		if slices.Contains(p.done.Tool, c.ID) || p.flags.only != nil &&
			!slices.Contains(p.flags.only, c.ID) {
			continue
		}
		line("not fixed: %s [%s]", c.Title, c.ID)
		if err := p.done.Refused[c.ID]; err != nil {
			line("  %v", err)
		}
		if len(c.Fixes) == 0 {
			line("  %s", c.Action)
			continue
		}
		line("  %s", c.Fixes[0].Title)
		if command := c.Fixes[0].Command; command != "" && !c.Fixes[0].ShowsCommand() {
			line("    %s", command)
		}
	}
}

// title returns the title of the fix of a cause: that of the plan, or the first.
func (p *pinPrinter) title(c *analyzer.Cause) string {
	for _, x := range p.r.Plan.Fixes {
		if x.Cause == c.ID {
			return x.Title.String()
		}
	}
	return c.Fixes[0].Title.String()
}

// exit returns the error with the exit code: warnings do not count, as in compat env.
func (p *pinPrinter) exit() error {
	r := p.r
	if p.done.After != nil {
		r = p.done.After
	}
	r.Decide(analyzer.Error)
	return exitAfter(r, r.Outcome == analyzer.OutcomeFail, p.flags.only, func(id string) bool {
		return slices.Contains(p.done.Causes, id)
	})
}
