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

	"github.com/spf13/cobra"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/rules"
)

// bisectFlags are the flags of compat bisect; checkFlags contains those shared with compat check.
type bisectFlags struct {
	checkFlags
	good, bad string
}

func newBisectCommand(env environment) *cobra.Command {
	var f bisectFlags
	c := &cobra.Command{
		Use:   "bisect [flags] --good FILE --bad FILE [PATH...]",
		Short: "Find the first of many builds that has a problem",
		Long: `Find the first of a series of builds that has a problem which --bad has and --good does not. A
problem is an error or a warning of "compat check", or an exported symbol, a library or a type that
is gone or changed.

PATHs are the builds in between: files, or folders of files. Wheels of one project are ordered by
version, other files as they are given, and files of a folder by name. If --good and --bad are both
pypi:NAME==VERSION and there is no PATH, the final releases between them are used. Each check halves
the number of builds that remain.

Exit code: 0 found, 2 could not check or wrong usage.`,
		Example: `  compat bisect --good old/libfoo-1.2-*.whl --bad dist/libfoo-1.9-*.whl builds/
  compat bisect --good pypi:librmm-cu13==26.2.0 --bad pypi:librmm-cu13==26.10.0`,
		RunE: func(c *cobra.Command, args []string) error {
			return bisect(c.Context(), env, f, args)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.good, "good", "", "a build without the problem, a file or pypi:NAME==VERSION")
	flags.StringVar(&f.bad, "bad", "", "a later build with the problem")
	settingFlags(flags, &f.checkFlags)
	flags.StringVar(&f.format, "format", "text", "text or json")
	return c
}

// bisection is the JSON of a search.
type bisection struct {
	Schema   string   `json:"schema"`
	FirstBad string   `json:"first_bad"`
	LastGood string   `json:"last_good"`
	Builds   int      `json:"builds"`  // number of all, with --good and --bad
	Checked  []string `json:"checked"` // in the order in which they were checked
	// Problems are the titles of the causes that FirstBad has and --good does not.
	Problems []string `json:"problems"`
}

func bisect(ctx context.Context, env environment, f bisectFlags, paths []string) error {
	switch {
	case f.good == "" || f.bad == "":
		return errors.New("give both --good and --bad; see 'compat bisect --help'")
	case f.format != "text" && f.format != "json":
		return fmt.Errorf("unknown --format %q; use text or json", f.format)
	}
	settings, err := checkOptions(env, f.checkFlags)
	if err != nil {
		return err
	}
	if b := settings.broken; b != nil {
		return fmt.Errorf("%s: %s", b.Unread[0].Path, b.Unread[0].Reason)
	}
	from, err := openPackages(env, f.index, f.facts, f.noHistory, f.noCache)
	if err != nil {
		return err
	}
	b := &bisector{from: from, flags: f.checkFlags, options: settings.Options}
	b.options.Source, b.options.NoIndex = from.Source, len(from.names) == 0
	b.options.NoFixes, b.options.ABI.Policy = true, judge.PolicyWarn
	shown := startProgress(env, f.quiet)
	b.options.Progress = shown.set
	result, err := b.search(ctx, f.good, f.bad, paths)
	shown.stop()
	if err != nil {
		return err
	}
	if f.format == "json" {
		return printJSON(env.Out, result)
	}
	_, err = fmt.Fprintf(env.Out, "first bad: %s\nlast good: %s\n%d of %d builds were checked\n\n%s\n",
		result.FirstBad, result.LastGood, len(result.Checked), result.Builds,
		strings.Join(result.Problems, "\n"))
	return err
}

// bisector checks builds.
type bisector struct {
	from    *packageSource
	flags   checkFlags
	options analyzer.Options
	good    string
	checked []string
}

// search returns the first build with a problem of bad that good does not have.
func (b *bisector) search(
	ctx context.Context, good, bad string, between []string,
) (*bisection, error) {
	b.good = good
	last, err := b.check(ctx, bad)
	if err != nil {
		return nil, err
	}
	wanted := problems(last)
	if len(wanted) == 0 {
		return nil, fmt.Errorf("%s has no error, warning or ABI change that %s does not have", bad, good)
	}
	if between, err = b.builds(ctx, good, bad, between); err != nil {
		return nil, err
	}
	builds := slices.Concat([]string{good}, between, []string{bad})
	low, high := 0, len(builds)-1
	for high-low > 1 {
		middle := (low + high) / 2
		r, err := b.check(ctx, builds[middle])
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(problems(r), func(id string) bool { return slices.Contains(wanted, id) }) {
			high, last = middle, r
		} else {
			low = middle
		}
	}
	out := &bisection{
		Schema: "compat/bisect/v1", FirstBad: builds[high], LastGood: builds[low],
		Builds: len(builds), Checked: b.checked, Problems: []string{},
	}
	for _, c := range last.Causes {
		if c.New && c.Severity != analyzer.Note {
			out.Problems = append(out.Problems, fmt.Sprintf("%s: %s", c.Severity, c.Title))
		}
	}
	return out, nil
}

// check checks a build, with good as its base. A build of which nothing can be checked is an error.
func (b *bisector) check(ctx context.Context, build string) (*analyzer.Report, error) {
	in := inputs{download: b.from.download(ctx, b.flags)}
	base := inputs{download: in.download}
	defer in.close()
	defer base.close()
	if err := in.add(build); err != nil {
		return nil, &pathError{build, err}
	}
	if err := base.add(b.good); err != nil {
		return nil, fmt.Errorf("--good: %w", &pathError{b.good, err})
	}
	o := b.options
	o.Base, o.BaseName = append([]analyzer.Input{}, base.list...), b.good
	b.checked = append(b.checked, build)
	r, err := analyzer.New(rules.All()).Check(ctx, in.list, o)
	switch {
	case err != nil:
		return nil, err
	case len(r.Unread) > 0:
		return nil, fmt.Errorf("%s: %s; leave it out", r.Unread[0].Path, r.Unread[0].Reason)
	case !slices.ContainsFunc(r.Artifacts, func(a analyzer.Artifact) bool { return a.Objects > 0 }):
		return nil, fmt.Errorf("%s: nothing of it can be checked; leave it out", build)
	}
	return r, nil
}

// problems returns the identities of the errors and warnings that the base does not have.
func problems(r *analyzer.Report) (out []string) {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.New && f.Severity != analyzer.Note {
			out = append(out, f.Identity())
		}
	}
	return out
}

// builds returns the builds between two, in order.
func (b *bisector) builds(
	ctx context.Context, good, bad string, paths []string,
) ([]string, error) {
	if len(paths) == 0 {
		return b.releases(ctx, good, bad)
	}
	var files []string
	for _, p := range paths {
		err := filepath.WalkDir(p, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && !same(p, good) && !same(p, bad) {
				files = append(files, filepath.ToSlash(p))
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%w; give files or folders", err)
		}
	}
	byVersion := map[string]pkgmeta.Version{}
	for _, file := range append(slices.Clone(files), good, bad) {
		w, err := pkgmeta.ParseWheelName(path.Base(filepath.ToSlash(file)))
		if err != nil {
			return files, nil //nolint:nilerr // they are in the order given
		}
		v, err := pkgmeta.ParseVersion(w.Version)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		byVersion[file] = v
	}
	slices.SortStableFunc(files, func(x, y string) int {
		return byVersion[x].Compare(byVersion[y])
	})
	return slices.DeleteFunc(files, func(file string) bool {
		v := byVersion[file]
		return v.Compare(byVersion[good]) <= 0 || v.Compare(byVersion[bad]) > 0
	}), nil
}

// same reports whether two paths are one file.
func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// releases returns the final releases between two of the index.
func (b *bisector) releases(ctx context.Context, good, bad string) ([]string, error) {
	first, isFirst := strings.CutPrefix(good, fromIndex)
	last, isLast := strings.CutPrefix(bad, fromIndex)
	if !isFirst || !isLast {
		return nil, errors.New("give the builds between --good and --bad, files or folders")
	}
	var ends [2]pkgmeta.Version
	var name string
	for i, requirement := range []string{first, last} {
		q, err := b.from.release(requirement)
		if err != nil {
			return nil, err
		}
		spec, err := pkgmeta.ParseSpec(q.Spec)
		if err != nil {
			return nil, err
		}
		v, pinned := spec.Pin()
		if !pinned || name != "" && q.Name != name {
			return nil, fmt.Errorf("%s: give two versions of one package, as NAME==VERSION", requirement)
		}
		name, ends[i] = q.Name, v
	}
	listed, err := b.from.Indexes.Versions(ctx, name, packages.Target{})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, v := range packages.Sorted(listed) {
		if !v.IsPreRelease() && v.Compare(ends[0]) > 0 && v.Compare(ends[1]) < 0 {
			out = append(out, fromIndex+name+"=="+v.String())
		}
	}
	return out, nil
}
