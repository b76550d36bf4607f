package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/pinned"
)

const (
	// dependentsAtOnce is the number of dependents that are read and judged at the same time.
	dependentsAtOnce = 4
	// maxReleaseLibrary limits what is read of one library of the release, in compressed bytes.
	maxReleaseLibrary = 1 << 30
	// maxWholeRelease is the size of the libraries, in compressed bytes, up to which all of a release
	// is read, with the types in its debug information.
	maxWholeRelease = 64 << 20
)

// impactFlags are the flags of compat impact; checkFlags contains those shared with compat check.
type impactFlags struct {
	checkFlags
	old        string
	dependents []string
	locks      []string
	python     string
}

func newImpactCommand(env environment) *cobra.Command {
	var f impactFlags
	c := &cobra.Command{
		Use:   "impact [flags] NEW",
		Short: "Name the packages that a release breaks",
		Long: `Check which dependents of a package break with its new release, because they load its
libraries and need a symbol or library that is gone, or a type that has changed. NEW is a wheel,
another package, a library, or pypi:NAME==VERSION. Each dependent is checked with the old release
and with the new one, as pip would install them, and gets a verdict:

  breaks     it works with the old release, and not with the new one
  excluded   its requirements do not allow the new release, so pip does not install the two
  undecided  it could not be read, or does not load with the old release either
  works      all others

Without --dependents and --from-locks, the dependents in the built-in package history are checked.

Types are compared if NEW and --old are files with debug information. Nothing is installed and
nothing is run.

Exit code: 0 none breaks, 1 at least one breaks, 2 could not check or wrong usage.`,
		Example: `  compat impact dist/libfoo-1.4-*.whl --old pypi:libfoo==1.3 --dependents users.txt
  compat impact pypi:torch==2.12.0 --dependents pypi:torch-harmonics==0.9.0,pypi:xformers
  compat impact pypi:torch==2.12.0 --from-locks services`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("give one release, a file or pypi:NAME==VERSION; " +
					"see 'compat impact --help'")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return showImpact(c.Context(), env, f, args[0])
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.old, "old", "", "the release to compare with, a file or pypi:NAME==VERSION "+
		"(default: the final release before NEW in the package index)")
	flags.StringArrayVar(&f.dependents, "dependents", nil,
		"packages to check: pypi:NAME==VERSION (without a version, the newest), several separated by "+
			"commas; or a file with NAME==VERSION or the path of a wheel on each line; repeatable")
	flags.StringArrayVar(&f.locks, "from-locks", nil,
		"folder whose lock and requirements files are read: check the pinned packages with native "+
			"code that require the package of NEW, directly or through others; repeatable")
	flags.StringVar(&f.format, "format", "text", "text, json, sarif, markdown or html")
	installFlags(flags, &f)
	return c
}

// installFlags adds the flags that say where packages are installed, and from where.
func installFlags(flags *pflag.FlagSet, f *impactFlags) {
	flags.StringVar(&f.python, "python", pinned.DefaultPython, "version of the interpreter")
	flags.Var((*nameList)(&f.platforms), "platform",
		"the system that the packages run on (debian12; default "+defaultPlatform+")")
	flags.StringArrayVar(&f.index, "index-url", nil,
		"package index (default: those of PIP_INDEX_URL, UV_DEFAULT_INDEX, pip.conf and uv.toml), "+
			"or \"pip\" for the one that pip uses by default; "+
			"repeatable, the first that has a wheel is used")
	factsFlag(flags, &f.checkFlags)
	flags.BoolVar(&f.noCache, "no-cache", false, "ignore cached pages of a package index")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress on a terminal")
}

// newReleases opens the indexes for an interpreter on a platform.
func newReleases(env environment, f *impactFlags) (*releases, error) {
	if !pythonVersion.MatchString(f.python) {
		return nil, fmt.Errorf("--python %s: give a version such as %s", f.python, pinned.DefaultPython)
	}
	if len(f.platforms) == 0 {
		f.platforms = []string{defaultPlatform}
	}
	if len(f.platforms) > 1 {
		return nil, errors.New("--platform: give one, because the answer may differ for each")
	}
	p, err := platform.Named(f.platforms[0], "x86_64")
	if err != nil {
		return nil, err
	}
	if p.OS != platform.Linux {
		return nil, fmt.Errorf("--platform %s: only packages for Linux are checked", f.platforms[0])
	}
	from, err := openPackages(env, f.index, f.facts, false, f.noCache)
	if err != nil {
		return nil, err
	}
	return &releases{
		from:    from,
		indexes: from.Indexes.WithLock(&index.Locked{ReadAll: true}),
		on:      packages.On(p, f.python),
	}, nil
}

// question returns a question about what the releases contain, without a release.
func (r *releases) question(f *impactFlags, progress func(string)) *impact.Question {
	return &impact.Question{
		On: r.on, Platform: f.platforms[0], Source: r.from.Source,
		Analyzer: analyzer.New(rules.All()),
		Options: analyzer.Options{
			Version: version(), NoIndex: len(r.from.names) == 0, Progress: progress,
		},
	}
}

// releases finds releases and dependents, and reads them.
type releases struct {
	inputs
	from    *packageSource
	indexes index.Several // with all wheels, also those that the history lists
	on      packages.Target
}

// impactFormats write a report, by --format.
var impactFormats = map[string]func(io.Writer, *impact.Report) error{
	"text": writeImpactText, "markdown": writeImpactMarkdown, "html": writeImpactHTML,
	"sarif": writeImpactSARIF,
	"json":  func(w io.Writer, r *impact.Report) error { return printJSON(w, r) },
}

func showImpact(ctx context.Context, env environment, f impactFlags, newPath string) error {
	write := impactFormats[f.format]
	if write == nil {
		return fmt.Errorf("unknown --format %q; use text, json, sarif, markdown or html", f.format)
	}
	r, err := newReleases(env, &f)
	if err != nil {
		return err
	}
	defer r.close()
	shown := startProgress(env, f.quiet)
	defer shown.stop()
	q := r.question(&f, shown.set)
	if q.New, err = r.read(ctx, newPath, q.Options); err != nil {
		return err
	}
	if q.Old, err = r.before(ctx, q.New, f.old, q.Options); err != nil {
		return err
	}
	wanted, err := dependents(f.dependents)
	if err != nil {
		return err
	}
	locks, err := r.lockUsers(ctx, f.locks, q.New.Contents.Name)
	if err != nil {
		return err
	}
	for _, user := range locks.users {
		if !slices.Contains(wanted, user) {
			wanted = append(wanted, user)
		}
	}
	known := ""
	if len(f.dependents)+len(f.locks) == 0 {
		if wanted, known, err = r.knownDependents(ctx, q); err != nil {
			return err
		}
	}
	report, err := r.judge(ctx, q, wanted)
	shown.stop()
	if err != nil {
		return err
	}
	report.Locks, report.Notes = locks.files, append(report.Notes, locks.notes...)
	if known != "" {
		report.Notes = append(report.Notes, known)
	}
	if err = write(env.Out, report); err == nil && report.Summary.Breaks > 0 {
		err = exit{code: exitIncompatible}
	}
	return err
}

// read reads a release from a file or from the index.
func (r *releases) read(
	ctx context.Context, from string, o analyzer.Options,
) (*impact.Release, error) {
	requirement, published := strings.CutPrefix(from, fromIndex)
	if !published {
		before := len(r.list)
		if err := r.add(from); err != nil {
			return nil, &pathError{from, err}
		}
		if len(r.list) != before+1 {
			return nil, fmt.Errorf("%s: give one package or library", from)
		}
		return impact.Read(ctx, r.list[before], o)
	}
	id, err := r.find(ctx, requirement)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return r.published(ctx, id, o)
}

// find returns the release of a requirement, the newest that it allows.
func (r *releases) find(ctx context.Context, requirement string) (packages.ID, error) {
	q, err := r.from.release(requirement)
	if err != nil {
		return packages.ID{}, err
	}
	version, err := r.from.newest(ctx, q, r.on)
	return packages.ID{Name: q.Name, Version: version}, err
}

// published reads the libraries of a release of the index: of the wheel that pip installs if it is
// small, and otherwise as far as the built-in history does not know them.
func (r *releases) published(
	ctx context.Context, id packages.ID, o analyzer.Options,
) (*impact.Release, error) {
	// The types of its functions are not in a store of facts.
	bytes := r.from.Indexes.WithLock(&index.Locked{ReadAll: true, Bytes: true})
	w, err := bytes.Open(ctx, id.Name, id.Version, r.on, maxWholeRelease)
	if err == nil && w.ReaderAt != nil {
		r.opened = append(r.opened, w)
		out, err := impact.Read(ctx, w.Input(), o)
		if out != nil {
			out.Indexed = true
		}
		return out, err
	}
	c, err := r.from.Source.Release(ctx, id.Name, id.Version, r.on)
	if err == nil {
		c, err = r.from.Indexes.Read(ctx, c, r.on, func(string) int64 { return maxReleaseLibrary })
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", id, err)
	case !c.Known:
		return nil, fmt.Errorf("%s has no wheel for Python %s on %s %s %s; name another --python or "+
			"--platform", id, r.on.Python, r.on.Libc, r.on.LibcVersion, r.on.Arch)
	}
	return &impact.Release{
		Name: id.Name, Version: id.Version, Contents: c, Indexed: true,
	}, nil
}

// before returns the release that new is compared with: the one that is named, else the final
// release before new in the index; nil if there is none.
func (r *releases) before(
	ctx context.Context, new *impact.Release, named string, o analyzer.Options,
) (*impact.Release, error) {
	if named != "" {
		old, err := r.read(ctx, named, o)
		if err != nil {
			return nil, fmt.Errorf("--old: %w", err)
		}
		return old, nil
	}
	v, err := pkgmeta.ParseVersion(new.Version)
	if err != nil || len(r.from.names) == 0 {
		return nil, nil //nolint:nilerr // a library has no version, so there is none before
	}
	listed, err := r.from.Indexes.Versions(ctx, new.Contents.Name, r.on)
	if errors.Is(err, packages.ErrUnknown) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	last := ""
	for _, w := range packages.Sorted(listed) {
		if !w.IsPreRelease() && w.Compare(v) < 0 {
			last = w.String()
		}
	}
	if last == "" {
		return nil, nil
	}
	return r.published(ctx, packages.ID{Name: new.Contents.Name, Version: last}, o)
}

// maxAdmitting is the number of releases of a dependent, from the newest on, among which one is
// searched that admits the new release.
const maxAdmitting = 12

// knownDependents returns the packages of the built-in history that use the package of the new
// release, at the newest releases that admit it, and where they are known from.
func (r *releases) knownDependents(
	ctx context.Context, q *impact.Question,
) (list []string, note string, _ error) {
	name := q.New.Contents.Name
	known := packages.History().Dependents(name)
	list = make([]string, len(known))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(dependentsAtOnce)
	for i, d := range known {
		g.Go(func() error {
			list[i] = fromIndex + d.Name + r.admitting(ctx, q, d.Name)
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return nil, "", err
	}
	if len(list) == 0 {
		return nil, "", fmt.Errorf("the built-in history has no package that uses the libraries of %s; "+
			"name the packages to check with --dependents, a file or pypi:NAME==VERSION, or a folder "+
			"with lock files with --from-locks", name)
	}
	return list, fmt.Sprintf("the dependents are those of the built-in history, at their newest "+
		"releases that allow it; there may be others, which --dependents and --from-locks name (%s)",
		analyzer.Count(len(list), "package")), nil
}

// admitting returns "==" and the newest release of a package whose requirements admit the new
// release; "" if none of the newest does.
func (r *releases) admitting(ctx context.Context, q *impact.Question, name string) string {
	listed, err := r.from.Source.Versions(ctx, name, r.on)
	if err != nil {
		return "" // the error is that of the newest
	}
	tried := 0
	for _, v := range slices.Backward(packages.Sorted(listed)) {
		if v.IsPreRelease() {
			continue
		}
		if tried++; tried > maxAdmitting {
			break
		}
		c, err := r.from.Source.Release(ctx, name, v.String(), r.on)
		if err == nil && q.Excluded(c.Requires) == "" {
			return "==" + v.String()
		}
	}
	return ""
}

// dependents returns the entries of --dependents: requirements after pypi:, and paths of wheels.
func dependents(flags []string) (out []string, err error) {
	for _, value := range flags {
		switch {
		case strings.HasPrefix(value, fromIndex):
			for part := range strings.SplitSeq(value, ",") {
				out = append(out, fromIndex+strings.TrimPrefix(strings.TrimSpace(part), fromIndex))
			}
			continue
		case strings.HasSuffix(value, ".whl"):
			out = append(out, value)
			continue
		}
		text, err := readInput(value)
		if err != nil {
			return nil, fmt.Errorf("--dependents: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, "#")
			line = strings.TrimSpace(line)
			switch {
			case line == "":
			case !strings.HasSuffix(line, ".whl"):
				out = append(out, fromIndex+strings.TrimPrefix(line, fromIndex))
			case filepath.IsAbs(line):
				out = append(out, line)
			default:
				out = append(out, filepath.Join(filepath.Dir(value), filepath.FromSlash(line)))
			}
		}
	}
	if len(out) == 0 && len(flags) > 0 {
		return nil, fmt.Errorf("--dependents %s: it names no package", strings.Join(flags, " "))
	}
	return out, nil
}

// judge judges the dependents, some at the same time.
func (r *releases) judge(
	ctx context.Context, q *impact.Question, wanted []string,
) (*impact.Report, error) {
	report := impact.NewReport(q.Old, q.New)
	entries := make([]impact.Entry, len(wanted))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(dependentsAtOnce)
	for i, name := range wanted {
		g.Go(func() error {
			one := &releases{from: r.from, indexes: r.indexes, on: r.on}
			defer one.close()
			d, err := one.dependent(ctx, q, name)
			if err == nil {
				entries[i], err = q.Judge(ctx, d)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, e := range entries {
		report.Add(e)
	}
	return report, nil
}

// dependent opens a dependent. The error is that of ctx, or that the name is none; why it cannot be
// read is in the result.
func (r *releases) dependent(
	ctx context.Context, q *impact.Question, name string,
) (d impact.Dependent, _ error) {
	requirement, published := strings.CutPrefix(name, fromIndex)
	if !published {
		d.Wheel = path.Base(filepath.ToSlash(name))
		w, err := pkgmeta.ParseWheelName(d.Wheel)
		if err != nil {
			return d, fmt.Errorf("--dependents: %s: %w", name, err)
		}
		d.Name, d.Version = w.Name, w.Version
		if err := r.add(name); err != nil {
			return d, &pathError{name, err}
		}
		d.Content = &r.list[0]
		return d, nil
	}
	asked, err := r.from.release(requirement)
	if err != nil {
		return d, fmt.Errorf("--dependents: %s: %w", requirement, err)
	}
	d.Name = asked.Name
	id, err := r.find(ctx, requirement)
	if err != nil {
		d.Unread = err.Error()
		return d, ctx.Err()
	}
	return r.open(ctx, id, q)
}

// open opens the wheel of a release that pip installs. With a question, it opens none if the answer
// is known without it. The error is that of ctx; why it cannot be read is in the result.
func (r *releases) open(
	ctx context.Context, id packages.ID, q *impact.Question,
) (impact.Dependent, error) {
	d := impact.Dependent{Name: id.Name, Version: id.Version}
	c, err := r.from.Source.Release(ctx, id.Name, id.Version, r.on)
	if err == nil {
		d.Requires = c.Requires
		err = r.wheel(ctx, &d, q != nil && q.Excluded(d.Requires) != "")
	}
	if err != nil {
		d.Unread = err.Error()
	}
	return d, ctx.Err()
}

// wheel opens the wheel of a dependent.
func (r *releases) wheel(ctx context.Context, d *impact.Dependent, excluded bool) error {
	limit := int64(maxInput)
	if excluded {
		limit = 0 // only its name is needed
	}
	w, err := r.indexes.Open(ctx, d.Name, d.Version, r.on, limit)
	var large *index.TooLargeError
	switch {
	case errors.As(err, &large) && excluded:
		d.Wheel = large.File
		return nil
	case err != nil:
		return err
	}
	r.opened = append(r.opened, w)
	if d.Wheel = w.File; w.ReaderAt != nil { // else it is known to need no other package
		in := w.Input()
		d.Content = &in
	}
	return nil
}
