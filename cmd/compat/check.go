package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/options"
	"github.com/compat-app/compat/internal/report"
	"github.com/compat-app/compat/internal/spool"
	"github.com/spf13/cobra"
)

// checkFlags are the settings of one check.
type checkFlags struct {
	platforms, with, first, lock []string
	libraryPath                  []string
	base, config, index, root    string
	conda                        string
	failOn, format               string
	link, verbose, quiet         bool
	noCache, noHistory           bool
}

// checkMemory is where the collector begins to work harder than it does by itself: files of some
// hundred megabytes of hostile symbols stay below 300 MiB, and no real wheel comes near it.
const checkMemory = 224 << 20

func newCheckCommand(env environment) *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check [flags] PATH...",
		Short: "Judge wheels, archives and shared libraries",
		Long: `Judge wheels, archives and shared libraries, which see each other when they are given together. A PATH may be a folder, a pattern, or - for standard input. Archives are zip, tar
(gzip, bzip2, xz, zstd), deb, rpm, conda, npm, jar and aar, PEX, and images of containers as docker save writes them.

Without flags a wheel is judged against its own platform tag, the packages it declares (both ends of every range) and itself; anything else against every built-in platform that has
the symbol versions it asks for.

What was said is kept in COMPAT_DATA or the user's cache folder, unless a package index was configured or other folders were looked into: the same files with the same settings are not judged twice.

Exit code: 0 compatible, 1 incompatible, 2 could not check or wrong usage.`,
		Example: `  compat check dist/*.whl
  compat check --platform manylinux_2_28 --with torch==2.7.0 dist/*.whl
  compat check --platform debian11 libfoo.so
  compat check --root rootfs/ libfoo.so
  compat check --library-path /usr/local/cuda/lib64 --with nvidia-nvjitlink-cu12==12.9.86 dist/*.whl
  compat check --conda-prefix "$CONDA_PREFIX" dist/*.whl
  compat check --base old/ --format sarif dist/
  curl -s "$URL" | compat check -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New(
					"nothing to check: give at least one PATH, for instance dist/*.whl; see 'compat check --help'",
				)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return check(c.Context(), env, f, args) },
	}
	flags := c.Flags()
	flags.StringArrayVar(
		&f.platforms,
		"platform",
		nil,
		"judge against this platform (manylinux_2_28, ubuntu22.04, debian11/aarch64); may be repeated",
	)
	flags.StringVar(
		&f.root,
		"root",
		"",
		"judge against the system unpacked in this folder (an image, a chroot), by its loader's own search path",
	)
	flags.StringArrayVar(
		&f.libraryPath,
		"library-path",
		nil,
		"folders that LD_LIBRARY_PATH names where it is loaded, separated by colons: a CUDA toolkit's lib64; may be repeated",
	)
	flags.StringVar(
		&f.conda,
		"conda-prefix",
		"",
		"judge it in this conda environment, the folder that CONDA_PREFIX names: its python searches lib there before the system's folders, and the packages installed there are those beside it",
	)
	flags.StringArrayVar(
		&f.with,
		"with",
		nil,
		"a requirement that is installed beside it (torch==2.7.0); may be repeated",
	)
	flags.StringArrayVar(
		&f.lock,
		"lock",
		nil,
		"a lock file whose pins are installed beside it (requirements.txt, uv.lock, poetry.lock, pdm.lock, pylock.toml, Pipfile.lock); may be repeated",
	)
	flags.StringArrayVar(
		&f.first,
		"first",
		nil,
		"a package that is imported first, so that its libraries are loaded already; may be repeated",
	)
	flags.StringVar(
		&f.base,
		"base",
		"",
		"a file or folder to compare with: only findings that it does not have count",
	)
	flags.BoolVar(&f.link, "link", false, "judge every library as one that programs link against")
	flags.StringVar(
		&f.config,
		"config",
		"",
		"configuration file (default: "+config.Path+" where there is one)",
	)
	flags.StringVar(
		&f.index,
		"index-url",
		"",
		"package index to look packages up in (default: those of PIP_INDEX_URL, UV_DEFAULT_INDEX and pip.conf; none is built in)",
	)
	flags.BoolVar(
		&f.noHistory,
		"no-history",
		false,
		"ask the package index for everything, and use nothing of what is built in about releases of packages",
	)
	flags.StringVar(
		&f.failOn,
		"fail-on",
		"",
		"least severity that gives exit code 1: error, warning or never (default error)",
	)
	flags.StringVar(&f.format, "format", "text", "text, json, sarif or markdown")
	flags.BoolVar(
		&f.verbose,
		"verbose",
		false,
		"show every symbol and object, and everything that was skipped, and on stderr what looking packages up came to",
	)
	flags.BoolVar(
		&f.noCache,
		"no-cache",
		false,
		"judge anew, though the same files were judged with the same settings before",
	)
	flags.BoolVar(&f.quiet, "quiet", false, "show no progress on a terminal")
	return c
}

func check(ctx context.Context, env environment, f checkFlags, paths []string) error {
	write, ok := writers(env, f)[f.format]
	if !ok {
		return fmt.Errorf("--format %s is not known; use text, json, sarif or markdown", f.format)
	}
	o, failOn, broken, err := checkOptions(env, f)
	if err != nil {
		return err
	}
	// an unusable configuration is a result of its own: what was asked for could not be checked
	if broken != nil {
		return errors.Join(write(env.Out, broken), exit{code: exitUsage})
	}
	defer collect()()
	in, base := inputs{stdin: env.In}, inputs{}
	defer in.close()
	defer base.close()
	for _, p := range paths {
		if err := in.add(p); err != nil {
			return err
		}
	}
	if f.base != "" {
		if err := base.add(f.base); err != nil {
			return fmt.Errorf("--base: %w", err)
		}
		o.Base = base.list
	}
	from, err := openPackages(env, f.index, f.noHistory)
	if err != nil {
		return err
	}
	o.Source, o.NoIndex = from.Source, len(from.names) == 0
	before, err := earlier(ctx, env, f, o, failOn, in.list, base.list)
	if err != nil {
		return err
	}
	if printed, code, ok := before.take(ctx); ok {
		if _, err := env.Out.Write(printed); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
		if f.verbose {
			fmt.Fprintln(
				env.Err,
				"the same files were judged with the same settings before, and this is what was said; --no-cache judges anew",
			)
		}
		return exited(code)
	}
	shown := watch(env, f.quiet)
	o.Progress = shown.say
	r, err := analyzer.New(rules.All()).Check(ctx, in.list, o)
	shown.stop()
	if err != nil {
		return err
	}
	var printed bytes.Buffer
	if err := write(io.MultiWriter(env.Out, &printed), r); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if f.verbose {
		fmt.Fprintln(env.Err, from.cost())
	}
	switch {
	case r.Fails(failOn):
		before.keep(ctx, printed.Bytes(), exitIncompatible)
		return exit{code: exitIncompatible}
	case r.Verdict == analyzer.Unchecked || len(r.Unread) > 0:
		return exit{code: exitUsage}
	case len(r.Artifacts) == 0 && len(r.Skipped) == 0:
		return exit{
			code: exitUsage,
			err: errors.New(
				"nothing to judge was found in what was given; give wheels, archives or shared libraries",
			),
		}
	}
	before.keep(ctx, printed.Bytes(), 0)
	return nil
}

// exited is the result of a check that ended with an exit code.
func exited(code int) error {
	if code == 0 {
		return nil
	}
	return exit{code: code}
}

func writers(env environment, f checkFlags) map[string]func(io.Writer, *analyzer.Report) error {
	return map[string]func(io.Writer, *analyzer.Report) error{
		"text": func(w io.Writer, r *analyzer.Report) error {
			return report.Text(
				w,
				r,
				report.TextOptions{Verbose: f.verbose, Color: coloured(env, env.Out)},
			)
		},
		"json":     report.JSON,
		"sarif":    func(w io.Writer, r *analyzer.Report) error { return report.SARIF(w, r, described()) },
		"markdown": report.Markdown,
	}
}

// described is what SARIF says of each rule.
func described() []report.Rule {
	var out []report.Rule
	for _, r := range rules.All() {
		out = append(out, report.Rule{ID: r.ID, Title: r.Title, Help: r.Doc, Severity: r.Severity})
	}
	return out
}

// checkOptions puts flags, configuration and environment together; flags win. A configuration with
// problems comes back as a report that names them.
func checkOptions(
	env environment,
	f checkFlags,
) (o analyzer.Options, failOn analyzer.Severity, broken *analyzer.Report, err error) {
	o = analyzer.Options{
		First:     f.first,
		Link:      f.link,
		NoHistory: f.noHistory,
		Today:     time.Now().UTC().Format(time.DateOnly),
		Scratch:   spool.In(""),
		Version:   version(),
	}
	c, problems, err := repository(f.config)
	if err != nil {
		return o, "", nil, err
	}
	if len(problems) > 0 {
		return o, "", brokenConfig(problems), nil
	}
	options.Apply(c, &o)
	if f.root != "" {
		if o.Root, err = unpacked(f.root); err != nil {
			return o, "", nil, err
		}
		o.Platforms = nil // those of the configuration; the flags go before
	}
	if err := besides(f, &o); err != nil {
		return o, "", nil, err
	}
	if len(f.platforms) > 0 {
		o.Platforms = f.platforms
	}
	if len(f.with) > 0 {
		o.With, o.Origins = f.with, nil
	}
	var locked []string
	for _, path := range append(f.lock, c.Python.Lock...) {
		data, err := os.ReadFile(path)
		if err != nil {
			return o, "", nil, fmt.Errorf("--lock: %w; give the path of a readable file", err)
		}
		pins, err := lockfile.Pins(path, data)
		if err != nil {
			return o, "", nil, fmt.Errorf("--lock %s: %w", path, err)
		}
		locked = append(locked, options.Locked(path, pins, &o)...)
	}
	o.With = append(locked, o.With...)
	if f.failOn == "" {
		f.failOn = c.FailOn
	}
	switch f.failOn {
	case "", "error", "warning", "never":
		failOn = options.FailOn(f.failOn)
	default:
		return o, "", nil, fmt.Errorf(
			"--fail-on %s is not known; use error, warning or never",
			f.failOn,
		)
	}
	return o, failOn, nil, nil
}

// unpacked is a folder as a platform.
func unpacked(dir string) (func(arch string) (*platform.Platform, error), error) {
	root, err := openRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("--root: %w; give the folder of an unpacked image", err)
	}
	linker, name := dynlink.NewLinker(root), filepath.ToSlash(filepath.Clean(dir))
	known := map[string]*platform.Platform{}
	return func(arch string) (*platform.Platform, error) {
		if known[arch] == nil {
			p, err := linker.Platform(name, arch)
			if err != nil {
				return nil, fmt.Errorf(
					"--root %s: %w; give the folder of an unpacked image",
					dir,
					err,
				)
			}
			known[arch] = p
		}
		return known[arch], nil
	}, nil
}

// repository reads the configuration file; a default one may be absent.
func repository(path string) (*config.Repository, []config.Problem, error) {
	named := path != ""
	if !named {
		path = config.Path
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return &config.Repository{}, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("--config: %w; give the path of a readable file", err)
	}
	c, problems := config.ParseRepository(data, rules.IDs())
	return c, problems, nil
}

func brokenConfig(problems []config.Problem) *analyzer.Report {
	r := analyzer.NewReport(version())
	for _, p := range problems {
		r.Unread = append(
			r.Unread,
			analyzer.Unread{
				Path:   fmt.Sprintf("%s:%d", config.Path, p.Line),
				Reason: strings.TrimPrefix(p.String(), fmt.Sprintf("%s:%d: ", config.Path, p.Line)),
			},
		)
	}
	r.Verdict = analyzer.Unchecked
	return r
}
