package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/startpages"
)

// releaseBytes is the size of all inputs from which memory is saved with startpages.Release. It
// costs a millisecond or two, which is a tenth of the check of a small wheel.
const releaseBytes = 4 << 20

func newCheckCommand(env environment) *cobra.Command {
	var f checkFlags
	var again bool
	c := &cobra.Command{
		Use:   "check [flags] PATH...",
		Short: "Check wheels, archives and shared libraries",
		Long: `Check wheels, archives and shared libraries. Files given together can satisfy each other's
dependencies: a wheel is checked with the given wheels of the packages that it requires. PATH is a
file, a folder, a pattern, or - for standard input. Archives are zip, tar (gzip, bzip2, xz, zstd),
deb, rpm, conda, npm, jar, aar, PEX, and container images as written by "docker save". Other forms
of PATH:

  pypi:NAME==VERSION  the wheel that pip would install, from the package index; without a version,
                      the newest. With --platform, the wheel for the first of these platforms; with
                      --venv, --conda-prefix, --lock or --requirement, that for their Python.
  oci:DIR[:TAG]       an image in an OCI image layout

With --requirement, --lock or --venv and without PATH, the packages of that environment are checked
with each other, like "compat env".

What a file is checked against without flags:

  a wheel          its platform tag, and its declared dependencies, at both ends of each version
                   range
  a conda package  the oldest glibc that it declares (__glibc)
  any other file   every built-in platform that has the symbol versions it needs; name an older one
                   with --platform

Results are cached in COMPAT_DATA or the user's cache folder. Checks that use a package index or
read other folders are not cached.

Exit code: 0 compatible, 1 incompatible, 2 could not check or wrong usage.`,
		Example: `  compat check dist/*.whl
  compat check --watch dist/                    # again whenever a file changes
  compat check pypi:torchaudio==2.7.0           # a release in the package index
  compat check --base old/ dist/                # fail only for what the earlier build does not have
  compat check --platform debian11 libfoo.so    # on a system that you support
  compat check --root rootfs/ libfoo.so         # on the system in an unpacked image
  compat check --venv .venv dist/*.whl          # with the packages of an environment
  compat check --venv .venv                     # only the packages of an environment
  compat check --conda-prefix "$CONDA_PREFIX" dist/*.whl
  compat check --platform manylinux_2_28 --with torch==2.7.0 dist/*.whl
  compat check --library-path /usr/local/cuda/lib64 --with nvidia-nvjitlink-cu12==12.9.86 dist/*.whl
  compat check --format sarif dist/ > compat.sarif
  curl -s "$URL" | compat check -`,
		RunE: func(c *cobra.Command, args []string) error {
			if again && len(args) == 0 {
				return errors.New("--watch needs a PATH, for example dist/")
			}
			if again {
				return watch(c.Context(), env, f, args)
			}
			if len(args) > 0 || !f.environment() {
				return check(c.Context(), env, f, args)
			}
			e, err := f.asEnvironment()
			if err != nil {
				return err
			}
			return checkEnvironment(c.Context(), env, e)
		},
	}
	flags := c.Flags()
	settingFlags(flags, &f)
	flags.StringVar(
		&f.base,
		"base",
		"",
		"a file, folder or release (pypi:NAME==VERSION; pypi:NAME: the one before) to compare with; "+
			"its findings do not fail the check",
	)
	flags.BoolVar(&again, "watch", false, "check again whenever a file of PATH changes, until "+
		"interrupted (Ctrl-C)")
	flags.BoolVar(
		&f.link,
		"link",
		false,
		"also check what a linker reports when a program links each library",
	)
	flags.BoolVar(&f.wholeRanges, "whole-ranges", false, "report what fails only with the oldest "+
		"versions that the requirements allow as an error, not as a warning, as in a pull request")
	flags.StringVar(
		&f.config,
		"config",
		"",
		"configuration file (default: "+config.Path+" or [tool.compat] in "+config.ProjectPath+")",
	)
	outputFlags(flags, &f)
	flags.BoolVarP(
		&f.verbose,
		"verbose",
		"v",
		false,
		"list every symbol, object and skipped file; report index requests on stderr",
	)
	flags.BoolVar(&f.allowPure, "allow-pure", false,
		"succeed if all files are wheels without a binary, such as those of pure Python")
	flags.BoolVar(&f.strict, "strict", false,
		"exit with 2 if nothing of one of the given files was checked, even if others are compatible")
	completeValues(c)
	return c
}

// settingFlags adds the flags that describe how artifacts are installed and what is known about
// other packages.
func settingFlags(flags *pflag.FlagSet, f *checkFlags) {
	flags.Var(
		(*nameList)(&f.platforms),
		"platform",
		"check against this platform (manylinux_2_28, ubuntu22.04, debian11/aarch64); repeatable, "+
			"or several separated by commas",
	)
	flags.StringVar(
		&f.root,
		"root",
		"",
		"check against the system in this folder (an unpacked image or a chroot)",
	)
	flags.StringArrayVar(
		&f.libraryPath,
		"library-path",
		nil,
		"value of LD_LIBRARY_PATH at run time: folders separated by colons; repeatable",
	)
	flags.StringVar(
		&f.conda,
		"conda-prefix",
		"",
		"check against this conda environment (its libraries and installed packages)",
	)
	flags.StringArrayVar(
		&f.with,
		"with",
		nil,
		"check as if this requirement were installed too (torch==2.7.0); repeatable",
	)
	flags.StringArrayVar(
		&f.extras,
		"extra",
		nil,
		"check as if the wheels were installed with this extra (pip install NAME[EXTRA]); repeatable",
	)
	flags.StringArrayVar(
		&f.lock,
		"lock",
		nil,
		"check as if what this lock file pins, without extras and development groups, were installed "+
			"too ("+lockfile.Usual()+"); repeatable",
	)
	flags.StringArrayVarP(
		&f.requirements,
		"requirement",
		"r",
		nil,
		"check as if the packages of this requirements file, and of the files that it includes, were "+
			"installed too; repeatable",
	)
	flags.StringVar(
		&f.venv,
		"venv",
		"",
		"check against the packages installed in this virtual environment",
	)
	flags.StringArrayVar(
		&f.first,
		"first",
		nil,
		"assume that this package was imported before, so that its libraries are loaded; repeatable",
	)
	flags.StringArrayVar(
		&f.index,
		"index-url",
		nil,
		"package index to use (default: PIP_INDEX_URL, UV_DEFAULT_INDEX, pip.conf or uv.toml), "+
			"or \"pip\" for the one that pip uses by default; "+
			"repeatable, the first that has a wheel is used",
	)
	factsFlag(flags, f)
	flags.BoolVar(
		&f.noHistory,
		"no-history",
		false,
		"do not use the built-in database of published releases (package history)",
	)
	flags.StringVar(
		&f.failOn,
		"fail-on",
		"",
		"lowest severity that fails the check: error, warning or never (default error)",
	)
	flags.BoolVar(&f.noCache, "no-cache", false,
		"ignore cached results, and cached pages of a package index")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress on a terminal")
}

func check(ctx context.Context, env environment, f checkFlags, paths []string) error {
	outputs, err := newOutputs(env, f)
	if err != nil {
		return err
	}
	return outputs.orReport(checkPaths(ctx, env, f, paths, outputs))
}

func checkPaths(
	ctx context.Context,
	env environment,
	f checkFlags,
	paths []string,
	outputs *outputs,
) error {
	if len(paths) == 0 {
		return errors.New("give at least one PATH, for example dist/*.whl; see 'compat check --help'")
	}
	settings, err := checkOptions(env, f)
	if err != nil {
		return err
	}
	o, failOn := settings.Options, settings.failOn
	outputs.failOn = failOn
	// An invalid configuration is reported like an artifact that could not be checked.
	if settings.broken != nil {
		return errors.Join(outputs.write(env.Out, settings.broken), exit{code: exitUsage})
	}
	defer collect()()
	from, err := openPackages(env, f.index, f.facts, f.noHistory, f.noCache)
	if err != nil {
		return err
	}
	download := from.download(ctx, f)
	in, base := inputs{stdin: env.In, download: download}, inputs{download: download}
	defer in.close()
	defer base.close()
	for _, p := range paths {
		if err := in.add(p); err != nil {
			return &pathError{p, err}
		}
	}
	if f.base != "" {
		if requirement, ok := strings.CutPrefix(f.base, fromIndex); ok {
			with, err := base.compareWith(ctx, from, requirement, in.list)
			if err != nil {
				return fmt.Errorf("--base: %s: %w", f.base, err)
			}
			o.BaseName, o.BaseWheels = with.name, with.wheels
			in.notes = append(in.notes, with.note(len(base.list)))
		} else if err := base.add(f.base); err != nil {
			return fmt.Errorf("--base: %w", &pathError{f.base, err})
		}
		o.Base = append([]analyzer.Input{}, base.list...) // not nil
	}
	o.Unused = f.verbose
	from.compareHashes(&o, settings.pins)
	o.Source, o.NoIndex, o.Published = from.Source, len(from.names) == 0, in.files()
	cached, err := cachedResult(ctx, env, f, o, failOn, in.list, base.list)
	if err != nil {
		return err
	}
	if ok, err := cached.print(ctx, env, f.verbose); ok {
		return err
	}
	if in.size() >= releaseBytes {
		startpages.Release()
	}
	shown := startProgress(env, f.quiet)
	shown.of(in.list)
	o.Progress = shown.set
	r, err := analyzer.New(rules.All()).Check(ctx, in.list, o)
	shown.stop()
	if err != nil {
		return err
	}
	if note := from.facts.Note(); note != "" {
		in.notes = append(in.notes, note)
	}
	r.Notes = slices.Concat(in.notes, r.Notes) // the text shows the first ones
	r.Plan.Save = in.saved(r)
	if inPullRequest(env) {
		r.OfPullRequest()
	}
	r.Decide(failOn)
	if f.strict && r.Outcome == analyzer.OutcomePass && slices.ContainsFunc(r.Artifacts,
		func(a analyzer.Artifact) bool { return a.Objects == 0 }) {
		r.Outcome = analyzer.OutcomeError
	}
	var printed bytes.Buffer
	if err := outputs.write(io.MultiWriter(env.Out, &printed), r); err != nil {
		return err
	}
	if f.verbose {
		fmt.Fprintln(env.Err, from.cost())
	}
	if how := install(env, r); how != "" && f.format == "text" {
		fmt.Fprintln(env.Err, how)
	}
	switch {
	case r.Outcome == analyzer.OutcomeFail:
		cached.store(ctx, printed.Bytes(), exitIncompatible)
		return exit{code: exitIncompatible}
	case f.allowPure && pure(r):
	case r.Outcome == analyzer.OutcomeError && len(r.Artifacts)+len(r.Skipped) > 0:
		return exit{code: exitUsage}
	case len(r.Artifacts)+len(r.Skipped) == 0:
		return exit{
			code: exitUsage,
			err: errors.New(
				"the given files contain no shared library; give wheels, archives or shared libraries",
			),
		}
	}
	cached.store(ctx, printed.Bytes(), 0)
	return nil
}

// inPullRequest reports whether a command runs in CI for a pull request, by the variables of GitHub
// (also Gitea and Forgejo), GitLab, Azure Pipelines and Jenkins.
func inPullRequest(env environment) bool {
	get := func(name string) string {
		value, _ := env.Getenv(name)
		return value
	}
	return strings.HasPrefix(get("GITHUB_EVENT_NAME"), "pull_request") ||
		get("CI_MERGE_REQUEST_IID") != "" || get("BUILD_REASON") == "PullRequest" ||
		get("CHANGE_ID") != ""
}

// pure reports whether nothing was checked because there are only wheels without a binary.
func pure(r *analyzer.Report) bool {
	other := func(a analyzer.Artifact) bool { return a.Kind != analyzer.KindWheel }
	return r.Verdict == analyzer.NotJudged && len(r.Artifacts) > 0 &&
		len(r.Unread)+len(r.Skipped) == 0 && !slices.ContainsFunc(r.Artifacts, other)
}

// exited returns the error for an exit code; nil for 0.
func exited(code int) error {
	if code == 0 {
		return nil
	}
	return exit{code: code}
}
