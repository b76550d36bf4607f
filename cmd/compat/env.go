package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/config"
	pinned "github.com/compat-app/compat/internal/environment"
	"github.com/spf13/cobra"
)

// envFlags are the flags of `compat env`; checkFlags contains those shared with `compat check`.
type envFlags struct {
	checkFlags
	before []string // files of the base
	python string
	prefix string // conda environment
	extras []string
	groups []string
	budget int // MB of wheels
}

func newEnvCommand(env environment) *cobra.Command {
	var f envFlags
	c := &cobra.Command{
		Use:   "env [flags]",
		Short: "Check whether pinned packages work together, from a lock file alone",
		Long: `Check whether the native code of pinned packages loads together. compat looks up
the wheels that pip would install in the package index, and downloads only the parts that a loader
reads. Nothing is installed and nothing is run.

Exit code: 0 everything loads, 1 something does not, 2 could not check or wrong usage.`,
		Example: `  compat env --lock uv.lock
  compat env --requirement requirements.txt --python 3.12 --platform debian12
  compat env --base old.txt --requirement requirements.txt
  compat env --venv .venv`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return checkEnvironment(c.Context(), env, f)
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.lock, "lock", nil,
		"a lock file (uv.lock, poetry.lock, pdm.lock, pylock.toml, Pipfile.lock, pixi.lock, "+
			"conda-lock.yml, environment.yml); repeatable")
	flags.StringArrayVarP(&f.requirements, "requirement", "r", nil,
		"a requirements file, with the files that it includes; repeatable")
	flags.StringArrayVar(&f.before, "base", nil,
		"a lock or requirements file to compare with: only new findings count; repeatable")
	flags.StringVar(&f.venv, "venv", "",
		"check the packages installed in this virtual environment")
	flags.StringVar(&f.prefix, "conda-prefix", "",
		"check the Python packages that are installed in a conda environment")
	flags.StringArrayVar(&f.extras, "extra", nil,
		"also include this extra of the project in the lock file; repeatable")
	flags.StringArrayVar(&f.groups, "group", nil,
		"also include this dependency group (of pixi.lock: this environment); repeatable")
	flags.IntVar(&f.budget, "budget", pinned.DefaultBudget>>20,
		"limit in megabytes for what is read of all wheels together; the wheels that remain are "+
			"listed as not read")
	flags.StringVar(&f.python, "python", "",
		"version of the interpreter (default: that of --venv, else the oldest that the lock file "+
			"allows, else 3.12)")
	flags.StringArrayVar(&f.platforms, "platform", nil,
		"the system that the packages run on (debian12, alpine3.20; default manylinux_2_28); may be "+
			"repeated")
	flags.StringArrayVar(&f.first, "first", nil,
		"assume that this package was imported before, so that its libraries are loaded; repeatable")
	flags.StringVar(&f.config, "config", "",
		"configuration file (default: "+config.Path+" or [tool.compat] in "+config.ProjectPath+")")
	flags.StringVar(&f.index, "index-url", "",
		"package index (default: those of PIP_INDEX_URL, UV_DEFAULT_INDEX and pip.conf)")
	flags.StringVar(&f.failOn, "fail-on", "",
		"lowest severity that fails the check: error, warning or never (default error)")
	outputFlags(flags, &f.checkFlags)
	flags.BoolVar(&f.verbose, "verbose", false, "show every symbol and object")
	flags.BoolVar(&f.quiet, "quiet", false, "show no progress on a terminal")
	return c
}

var errTwoEnvironments = errors.New("--venv and --conda-prefix are two environments; give one")

func checkEnvironment(ctx context.Context, env environment, f envFlags) error {
	outputs, err := newOutputs(env, f.checkFlags)
	if err != nil {
		return err
	}
	files := append(slices.Clone(f.lock), f.requirements...)
	switch {
	case len(files) == 0 && f.venv+f.prefix == "":
		return errors.New("nothing to check; give --lock, --requirement or --venv")
	case f.venv != "" && f.prefix != "":
		return errTwoEnvironments
	case len(files) > 0 && f.venv+f.prefix != "":
		return errors.New("--venv cannot be combined with --lock or --requirement")
	case f.budget <= 0:
		return errors.New("--budget must be a number of megabytes greater than 0")
	}
	if len(f.platforms) == 0 {
		f.platforms = []string{"manylinux_2_28"}
	}
	only := f.checkFlags // the environment is what is checked, not where artifacts are installed
	only.lock, only.requirements, only.venv = nil, nil, ""
	o, failOn, broken, err := checkOptions(env, only)
	if err != nil {
		return err
	}
	outputs.failOn = failOn
	if broken != nil {
		return errors.Join(outputs.write(env.Out, broken), exit{code: exitUsage})
	}
	from, err := openPackages(env, f.index, false)
	if err != nil {
		return err
	}
	if len(from.names) == 0 && (len(files) > 0 || len(f.before) > 0) {
		return errors.New(
			"wheels are looked up in a package index, and none is configured; " +
				"name one with --index-url or PIP_INDEX_URL")
	}
	o.Source = from.Source
	defer collect()()
	shown := startProgress(env, f.quiet)
	o.Progress = shown.set
	head, err := reviewEnvironment(ctx, from, o, f, files)
	shown.stop()
	if err != nil {
		return err
	}
	head.Decide(failOn)
	if err := outputs.write(env.Out, head); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if f.verbose {
		fmt.Fprintln(env.Err, from.cost())
	}
	switch head.Outcome {
	case analyzer.OutcomeFail:
		return exit{code: exitIncompatible}
	case analyzer.OutcomeError:
		return exit{code: exitUsage}
	}
	return nil
}

// reviewEnvironment checks the environment that some files describe, compared with that of the
// base files.
func reviewEnvironment(
	ctx context.Context,
	from *packageSource,
	o analyzer.Options,
	f envFlags,
	files []string,
) (*analyzer.Report, error) {
	var head []*pinned.Wheels
	var err error
	if dir := cmp.Or(f.venv, f.prefix); dir != "" {
		var installed *pinned.Wheels
		if installed, o.Conda, err = openVenv(dir); err == nil {
			installed.On.Python = cmp.Or(f.python, installed.On.Python)
			head, f.python = []*pinned.Wheels{installed}, installed.On.Python
		}
	} else {
		head, err = openPinned(ctx, from, f, files)
	}
	if err != nil {
		return nil, err
	}
	defer closeAll(head) //nolint:errcheck // files that were only read
	var before []*analyzer.Environment
	if len(f.before) > 0 {
		base, err := openPinned(ctx, from, f, f.before)
		if err != nil {
			return nil, err
		}
		defer closeAll(base) //nolint:errcheck // likewise
		before = environmentsOf(base)
	}
	return analyzer.New(rules.All()).CheckEnvironments(ctx, environmentsOf(head), before, o)
}

// openPinned opens the wheels that some files pin, for each platform.
func openPinned(
	ctx context.Context,
	from *packageSource,
	f envFlags,
	files []string,
) ([]*pinned.Wheels, error) {
	list := pinned.Files{Read: os.ReadFile, Extras: f.extras, Groups: f.groups}
	for _, file := range files {
		list.Paths = append(list.Paths, filepath.ToSlash(file))
	}
	var out []*pinned.Wheels
	for _, name := range f.platforms {
		p, err := platform.Lookup(name, "x86_64")
		if err != nil {
			return nil, errors.Join(err, closeAll(out))
		}
		e, err := list.Pinned(packages.Target{
			Python: f.python, Arch: p.Arch, Libc: p.Libc, LibcVersion: p.LibcVersion,
		})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%w; give the path of a lock file", err), closeAll(out))
		}
		e.Platform, e.Budget = name, int64(f.budget)<<20
		if err := e.Resolve(ctx, from.Source); err != nil {
			return nil, errors.Join(err, closeAll(out))
		}
		w, err := e.Open(ctx, from.indexes)
		if err != nil {
			return nil, errors.Join(err, closeAll(out))
		}
		out = append(out, w)
	}
	return out, nil
}

func closeAll(list []*pinned.Wheels) error {
	var err error
	for _, w := range list {
		err = errors.Join(err, w.Close())
	}
	return err
}

func environmentsOf(list []*pinned.Wheels) []*analyzer.Environment {
	var out []*analyzer.Environment
	for _, w := range list {
		out = append(out, &w.Environment)
	}
	return out
}

// openVenv opens the distributions of a virtual environment. It also returns a description of
// their files, like that of a conda environment.
func openVenv(dir string) (*pinned.Wheels, *analyzer.Conda, error) {
	in, err := pinned.OpenInstalled(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("--venv: %w", err)
	}
	root, err := openRoot("/")
	if err != nil {
		return nil, nil, errors.Join(err, in.Wheels.Close())
	}
	b := folders{root, true}
	at, err := b.folder(dir)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("--venv: %w", err), in.Wheels.Close())
	}
	return &in.Wheels, &analyzer.Conda{
		Path:     at,
		Site:     in.Site,
		Open:     func(p string) *elfobj.Object { return dynlink.ReadObject(root, path.Join(at, p)) },
		DistInfo: in.DistInfo,
		Text:     func(p string) []byte { return b.text(path.Join(at, p)) },
		Owner:    func(string) string { return "" },
	}, nil
}
