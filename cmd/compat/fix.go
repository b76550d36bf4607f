package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/shellword"
)

// fixFlags are the settings of `compat fix`.
type fixFlags struct {
	checkFlags
	write   string // folder
	inPlace bool
	dryRun  bool
	only    []string // IDs of causes
	partly  bool     // with only, causes of which something is left count as fixed
	python  string   // of files with pins
}

func newFixCommand(env environment) *cobra.Command {
	var f fixFlags
	c := &cobra.Command{
		Use:   "fix [flags] PATH...",
		Short: "Apply the printed fixes to wheels, or to files that pin packages",
		Long: `Check wheels, apply the fixes to a copy, check the copy again, and write it only if the findings are
gone and no new ones appeared. If the copy has an error that another one had hidden, its fix is
applied too, in at most two more rounds. PATH is as for "compat check"; standard input and releases
in the package index can only be given with --dry-run.

What compat changes in a wheel:

  the wheel      its tags (in the file name and in WHEEL), RECORD, and the requirements in METADATA
  Linux files    RUNPATH, DT_NEEDED entries, the flag for an executable stack, and the interpreter
  macOS files    run paths and the paths of libraries, with a new ad hoc signature

All other members keep their bytes, times and permissions, and the same wheel gives the same result.
To bundle libraries, compat runs auditwheel, delocate-wheel or delvewheel, if it is installed, and
uses the result if it has no new findings. These tools copy libraries of the system on which they
run, so run compat fix in the image in which the wheel is built. Causes that need a new build are
listed.

In files that pin packages, compat changes versions and nothing else; comments, spaces and line ends
are kept. It can change a requirements file, with the files that it includes and the .in file or
pyproject.toml next to it that it was compiled from, an environment.yml, a pylock.toml and a
pyproject.toml. A symbolic link is kept, and the file that it points to is changed. The environment
is checked as by "compat env", and again with the changes. The files are changed in place, unless
--write names a folder; --dry-run prints a patch. For a lock file that only its own tool can write
(uv.lock, poetry.lock), compat prints the command of the tool.

Exit code: 0 no error and no warning is left, 1 something is left (what works is written), 2 a wheel
could not be checked. With --only, the exit code is about the named causes; a cause that is only
partly fixed counts as left, unless --partly is given. For files that pin packages, only errors
count.`,
		Example: `  compat fix dist/*.whl
  compat fix --write repaired dist/*.whl
  compat fix --in-place --only built-too-new dist/*.whl
  compat fix --dry-run dist/*.whl
  compat fix requirements.txt`,
		RunE: func(c *cobra.Command, args []string) error {
			if slices.ContainsFunc(args, ofPins) {
				if slices.ContainsFunc(args, func(p string) bool { return !ofPins(p) }) {
					return errors.New("give wheels, or files that pin packages, but not both at once")
				}
				return fixPins(c.Context(), env, f, args)
			}
			f.write = cmp.Or(f.write, fix.Fixed)
			return fixWheels(c.Context(), env, f, args)
		},
	}
	flags := c.Flags()
	settingFlags(flags, &f.checkFlags)
	flags.StringVar(&f.write, "write", "",
		"write the changed files to this folder (default, for wheels: "+fix.Fixed+")")
	flags.BoolVar(&f.inPlace, "in-place", false,
		"replace the given files (default for files that pin packages)")
	flags.StringVar(&f.python, "python", "",
		"version of the interpreter, for files that pin packages (default: as for compat env)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would be changed, and write nothing")
	flags.StringSliceVar(&f.only, "only", nil,
		"apply only the fixes of these causes, named by their ids in the JSON report, separated by "+
			"commas; printed commands have them where they apply to one cause")
	flags.BoolVar(&f.partly, "partly", false,
		"with --only, also exit with 0 if these causes are only partly fixed")
	c.MarkFlagsMutuallyExclusive("write", "in-place", "dry-run")
	return c
}

func fixWheels(ctx context.Context, env environment, f fixFlags, paths []string) error {
	if len(paths) == 0 {
		return errors.New("give at least one PATH, for example dist/*.whl; see 'compat fix --help'")
	}
	for _, p := range paths {
		if !f.dryRun && (p == "-" || strings.HasPrefix(p, fromIndex)) {
			return fmt.Errorf("%s is not a file that can be changed; save it as a file and give its path, "+
				"or add --dry-run", p)
		}
	}
	defer collect()()
	in, o, err := openArtifacts(ctx, env, f.checkFlags, paths)
	if err != nil {
		return err
	}
	defer in.close()
	shown := startProgress(env, f.quiet)
	shown.of(in.list)
	o.Progress = shown.set
	tools := &bundlers{}
	defer tools.Close()
	r, done, err := analyzer.New(rules.All()).Fix(ctx, in.list, o,
		analyzer.FixOptions{Only: f.only, Bundle: tools.run})
	shown.stop()
	if err != nil {
		return err
	}
	if err := missing(r, f.only); err != nil {
		return err
	}
	p := fixPrinter{env.Out, r, done, f}
	written, err := p.write(ctx)
	if err != nil {
		return err
	}
	if err := p.print(written); err != nil {
		return err
	}
	return p.exit()
}

// openArtifacts opens what is checked, which the caller closes, and returns the options for it.
func openArtifacts(
	ctx context.Context, env environment, f checkFlags, paths []string,
) (*inputs, analyzer.Options, error) {
	f.format = "text"
	settings, err := checkOptions(env, f)
	if err != nil {
		return nil, settings.Options, err
	}
	if settings.broken != nil {
		outputs, err := newOutputs(env, f)
		if err != nil {
			return nil, settings.Options, err
		}
		return nil, settings.Options, errors.Join(
			outputs.write(env.Out, settings.broken), exit{code: exitUsage})
	}
	from, err := openPackages(env, f.index, f.facts, f.noHistory, f.noCache)
	if err != nil {
		return nil, settings.Options, err
	}
	in := &inputs{stdin: env.In, download: from.download(ctx, f)}
	for _, p := range paths {
		if err := in.add(p); err != nil {
			in.close()
			return nil, settings.Options, &pathError{p, err}
		}
	}
	o := settings.Options
	from.compareHashes(&o, settings.pins)
	o.Source, o.NoIndex = from.Source, len(from.names) == 0
	return in, o, nil
}

// missing returns an error if a report does not have one of some causes.
func missing(r *analyzer.Report, causes []string) error {
	for _, id := range causes {
		if !slices.ContainsFunc(r.Causes, func(c analyzer.Cause) bool { return c.ID == id }) {
			return fmt.Errorf("no cause %q was found; the JSON of the report lists them", id)
		}
	}
	return nil
}

// fixPrinter writes changed wheels, and prints what was changed.
type fixPrinter struct {
	out   io.Writer
	r     *analyzer.Report
	done  *analyzer.Execution
	flags fixFlags
}

// write writes the wheels and returns their paths, in the order of done. Nothing is written unless
// all of them can be. A wheel appears at its path only when it is complete.
func (p *fixPrinter) write(ctx context.Context) ([]string, error) {
	var written []string
	for i := range p.done.Files {
		w := &p.done.Files[i]
		dir := filepath.FromSlash(p.flags.write)
		original := filepath.Clean(filepath.FromSlash(w.Artifact))
		if p.flags.inPlace {
			dir = filepath.Dir(original)
		}
		to := filepath.Join(dir, filepath.Base(w.File))
		if n := slices.Index(written, to); n >= 0 {
			return nil, fmt.Errorf("%s would be written for %s and for %s; fix them one by one, "+
				"each with another folder for --write, or use --in-place",
				to, p.done.Files[n].Artifact, w.Artifact)
		}
		written = append(written, to)
		if p.flags.dryRun {
			continue
		}
		if err := p.writable(original, to); err != nil {
			return nil, err
		}
	}
	if p.flags.dryRun {
		return written, nil
	}
	for i, to := range written {
		w := &p.done.Files[i]
		original := filepath.Clean(filepath.FromSlash(w.Artifact))
		if err := save(ctx, w, original, to); err != nil {
			return nil, fmt.Errorf("writing %s: %w; give a folder with --write that can be written", to, err)
		}
		if p.flags.inPlace && to != original {
			if err := os.Remove(original); err != nil {
				return nil, fmt.Errorf("%s was written, but the wheel it replaces remains: %w", to, err)
			}
		}
	}
	return written, nil
}

// writable returns why a wheel must not be written to a path.
func (p *fixPrinter) writable(original, to string) error {
	old, err := os.Stat(original)
	if err != nil {
		return err
	}
	there, err := os.Stat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w; give a folder with --write that can be written", err)
	case os.SameFile(old, there) && !p.flags.inPlace:
		return fmt.Errorf("%s is the original; give another folder with --write, or --in-place", to)
	case !os.SameFile(old, there) && p.flags.inPlace:
		return fmt.Errorf("%s exists already; remove it, or give a folder with --write", to)
	}
	return nil
}

// save writes a wheel to a file with the permissions of the original.
func save(ctx context.Context, w *analyzer.Fixed, original, to string) error {
	old, err := os.Stat(original)
	if err != nil {
		return err
	}
	return replaceFile(to, old.Mode().Perm(), func(f *os.File) error {
		if _, err := io.Copy(f, w.Reader()); err != nil {
			return err
		}
		return ctx.Err()
	})
}

// replaceFile writes a file and its folder. It appears at its path when it is complete.
func replaceFile(to string, mode fs.FileMode, write func(f *os.File) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(to), ".compat-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), to)
}

// print prints the changed wheels with the causes that are gone, and what is left.
func (p *fixPrinter) print(written []string) error {
	gone := p.gone()
	verb := "fixed"
	if p.flags.dryRun {
		verb = "would write"
	}
	var b []byte
	line := func(format string, args ...any) { b = fmt.Appendf(b, format+"\n", args...) }
	for i := range p.done.Files {
		w := &p.done.Files[i]
		line("%s: %s -> %s", verb, w.Artifact, filepath.ToSlash(written[i]))
		for _, c := range p.r.Causes {
			if !slices.Contains(w.Causes, c.ID) {
				continue
			}
			for _, x := range c.Fixes[:min(max(p.done.Applied[c.ID], 1), len(c.Fixes))] {
				what := x.Title.String()
				if b := x.Bundling; b != nil {
					what = string(b.With) + " copied the libraries into the wheel"
				}
				line("  %s [%s]", what, c.ID)
				if len(x.Cost) > 0 {
					line("    costs: %s", strings.Join(x.Cost, "; "))
				}
			}
		}
		if w.Changed != nil {
			line("  changed: %s", analyzer.List(w.Changed, 5, len(w.Changed), "member"))
		}
	}
	if len(p.done.Files) > 0 {
		line("%s", checkedOn(p.done.After))
	}
	for _, u := range p.r.Unread {
		line("not read: %s: %s", u.Path, u.Reason)
	}
	for _, c := range p.left(gone) {
		if slices.Contains(p.done.Partly, c.ID) {
			line("partly fixed: %s [%s]", c.Title, c.ID)
			for _, title := range p.remains(&c) {
				line("  left: %s", title)
			}
			continue
		}
		now := p.now(&c)
		line("not fixed: %s [%s]", now.Title, c.ID)
		if err := p.done.Refused[c.ID]; err != nil {
			line("  %v", err)
		}
		if len(now.Fixes) == 0 {
			line("  %s", now.Action)
			continue
		}
		line("  %s", now.Fixes[0].Title)
		same := len(c.Fixes) > 0 && c.Fixes[0].Title.Equal(now.Fixes[0].Title)
		if command := p.command(&c); command != "" && same && !c.Fixes[0].ShowsCommand() {
			line("    %s", command)
		}
	}
	for _, title := range p.appeared() {
		line("new: %s", title)
	}
	for _, next := range p.next(written, gone) {
		line("%s", next)
	}
	if len(p.done.Files) == 0 {
		line("%s", nothing(p.r))
	}
	_, err := p.out.Write(b)
	return err
}

// next says what to do with the wheels that were written, and what the next build needs.
func (p *fixPrinter) next(written []string, gone map[string]bool) (lines []string) {
	if len(written) == 0 {
		return nil
	}
	names := make([]string, len(written))
	for i, name := range written {
		names[i] = filepath.ToSlash(name)
	}
	files := analyzer.List(names, 3, len(names), "file")
	left := len(p.left(gone)) + len(p.appeared())
	fails := slices.ContainsFunc(p.done.After.Causes, func(c analyzer.Cause) bool {
		return c.Severity == analyzer.Error
	})
	const listed = " listed above"
	switch causes := analyzer.Count(left, "cause"); {
	case p.flags.dryRun:
		return []string{"next: run it without --dry-run to write " + files}
	case fails:
		lines = []string{"next: do not upload " + files + " yet; still to do: " + causes + listed}
	case left > 0:
		lines = []string{"next: upload " + files + "; still to do: " + causes + listed}
	default:
		lines = []string{"next: upload " + files}
	}
	if !fails && slices.ContainsFunc(p.r.Artifacts, func(a analyzer.Artifact) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return path.Base(name) == path.Base(filepath.ToSlash(a.Path))
		})
	}) {
		lines[0] = "next: if it is published, raise its version or build number first, because a " +
			"package index does not replace a file; then " + strings.TrimPrefix(lines[0], "next: ")
	}
	for i := range p.r.Causes {
		c := &p.r.Causes[i]
		for _, x := range c.Fixes[:min(p.done.Applied[c.ID], len(c.Fixes))] {
			if s := strings.TrimSuffix(x.NextBuild, "."); s != "" && !slices.Contains(lines, s) {
				lines = append(lines, s)
			}
		}
	}
	return lines
}

// checkedOn says on which platforms and with which packages the result was checked.
func checkedOn(r *analyzer.Report) string {
	var names, with []string
	for _, t := range r.Targets {
		names = append(names, t.Name)
		for _, w := range t.With {
			if !slices.Contains(with, w) {
				with = append(with, w)
			}
		}
	}
	text := "the result was checked on " + analyzer.List(names, 3, len(names), "platform")
	if with = causetext.Installed(with); len(with) > 0 {
		text += " with " + analyzer.List(with, 3, len(with), "package")
	}
	return text
}

// remains returns the titles of the causes that are left of one.
func (p *fixPrinter) remains(c *analyzer.Cause) (titles []string) {
	for _, left := range p.sharing(c, p.done.After) {
		titles = append(titles, left.Title)
	}
	return titles
}

// now returns a cause that is left as the fixes of later rounds leave it, with what to do about it.
func (p *fixPrinter) now(c *analyzer.Cause) *analyzer.Cause {
	if p.done.Last != nil {
		if causes := p.sharing(c, p.done.Last); len(causes) > 0 {
			return &causes[0]
		}
	}
	return c
}

// sharing returns the causes of another report that have a finding of one.
func (p *fixPrinter) sharing(c *analyzer.Cause, r *analyzer.Report) []analyzer.Cause {
	was := map[string]bool{}
	for _, n := range c.Findings {
		was[p.r.Findings[n].Identity()] = true
	}
	return slices.DeleteFunc(slices.Clone(r.Causes), func(other analyzer.Cause) bool {
		return !slices.ContainsFunc(other.Findings, func(n int) bool {
			return was[r.Findings[n].Identity()]
		})
	})
}

// appeared returns the titles of the causes that the result has and the original did not: a library
// that was copied into a wheel needs a driver.
func (p *fixPrinter) appeared() (titles []string) {
	if p.done.After == nil {
		return nil
	}
	was := map[string]bool{}
	for i := range p.r.Findings {
		was[p.r.Findings[i].Identity()] = true
	}
	for _, c := range p.done.After.Causes {
		if !slices.ContainsFunc(c.Findings, func(n int) bool {
			return was[p.done.After.Findings[n].Identity()]
		}) {
			titles = append(titles, c.Title)
		}
	}
	return titles
}

// command returns the command of a cause that is left, for the file that was written. It is "" for
// a bundler that was run and failed.
func (p *fixPrinter) command(c *analyzer.Cause) shellword.Line {
	command := c.Fixes[0].Command
	if p.done.Refused[c.ID] != nil {
		return ""
	}
	const before, written shellword.Line = " ", " " + fix.Fixed + "/"
	switch {
	case p.flags.dryRun:
		return command
	case p.flags.inPlace:
		return command.Replace(written, before)
	}
	dir := shellword.Quote(shellword.File(filepath.ToSlash(p.flags.write)))
	return command.Replace(written, before+dir+"/")
}

// nothing says why nothing was changed.
func nothing(r *analyzer.Report) string {
	switch {
	case r.Verdict == analyzer.NotJudged:
		return "nothing was changed: the files have no binary that compat checks"
	case len(r.Causes) == 0 && len(r.Unread) == 0:
		return "nothing to fix: no cause was found, and nothing was changed"
	case len(r.Causes) == 0:
		return "nothing was changed: the files above could not be read"
	}
	return "nothing was changed: no fix that compat can apply removes a cause"
}

// left returns the causes that are not gone.
func (p *fixPrinter) left(gone map[string]bool) []analyzer.Cause {
	return slices.DeleteFunc(slices.Clone(p.r.Causes), func(c analyzer.Cause) bool {
		return gone[c.ID]
	})
}

// exit returns the error with the exit code. With --only, other causes do not count, and with
// --partly neither does what is left of one that is fixed in part.
func (p *fixPrinter) exit() error {
	r := p.r
	if p.done.After != nil {
		r = p.done.After
	}
	r.Decide(analyzer.Off)
	gone := p.gone()
	return exitAfter(r, r.Problems(), p.flags.only, func(id string) bool {
		return gone[id] || p.flags.partly && slices.Contains(p.done.Partly, id)
	})
}

// exitAfter returns the error with the exit code for what is left after fixes: problems, or with
// --only one of these causes that is not gone. If these are gone, what is not known about the
// packages of an artifact that was read is no failure: it was not known before either, and is
// printed.
func exitAfter(r *analyzer.Report, problems bool, only []string, gone func(id string) bool) error {
	if len(only) > 0 {
		problems = slices.ContainsFunc(only, func(id string) bool { return !gone(id) })
	}
	switch {
	case len(only) > 0 && !problems && !slices.ContainsFunc(r.Unread, ofFile(r)):
		return nil
	case r.Outcome == analyzer.OutcomeError:
		return exit{code: exitUsage}
	case problems:
		return exit{code: exitIncompatible}
	}
	return nil
}

// ofFile returns whether something that is not known is a file, or a part of one: not an artifact
// that was read, whose packages are not known.
func ofFile(r *analyzer.Report) func(analyzer.Unread) bool {
	return func(u analyzer.Unread) bool {
		return !slices.ContainsFunc(r.Artifacts, func(a analyzer.Artifact) bool {
			return a.Path == u.Path && a.Objects > 0
		})
	}
}

// gone returns the causes that the fixes removed completely.
func (p *fixPrinter) gone() map[string]bool {
	gone := map[string]bool{}
	for i := range p.done.Files {
		for _, id := range p.done.Files[i].Causes {
			gone[id] = !slices.Contains(p.done.Partly, id)
		}
	}
	return gone
}
