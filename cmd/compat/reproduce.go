package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
)

// reproduceFlags are the settings of `compat reproduce`.
type reproduceFlags struct {
	checkFlags
	cause  string // its number in the report, or its ID
	python string // of files with pins
}

func newReproduceCommand(env environment) *cobra.Command {
	var f reproduceFlags
	c := &cobra.Command{
		Use:   "reproduce [flags] PATH...",
		Short: "Print the commands that show how a cause fails",
		Long: `Check files as "compat check" or, for files that pin packages, as "compat env" does, and print
for one cause how to see it fail: a container or a virtual environment, what pip installs, the
import, and the message of the loader. Nothing is run.

Exit code: 0 printed, 1 no message shows the cause, 2 a file could not be checked.`,
		Example: `  compat reproduce dist/tool-1.0-cp312-cp312-manylinux_2_28_x86_64.whl
  compat reproduce --cause 2 dist/*.whl
  compat reproduce requirements.txt`,
		RunE: func(c *cobra.Command, args []string) error {
			return reproduce(c.Context(), env, f, args)
		},
	}
	settingFlags(c.Flags(), &f.checkFlags)
	c.Flags().StringVar(&f.cause, "cause", "",
		"number of the cause in the report, or its id in the JSON (default: the first that can be shown)")
	c.Flags().StringVar(&f.python, "python", "",
		"version of the interpreter, for files that pin packages (default: as for compat env)")
	return c
}

func reproduce(ctx context.Context, env environment, f reproduceFlags, paths []string) error {
	if len(paths) == 0 {
		return errors.New("give at least one PATH, for example dist/*.whl; see 'compat reproduce --help'")
	}
	defer collect()()
	r, err := reproduced(ctx, env, f, paths)
	if err != nil {
		return err
	}
	n, err := f.chosen(r)
	if err != nil {
		return err
	}
	if n < 0 {
		return exit{exitIncompatible, errors.New(
			"no message of a loader or of pip shows a cause of this report; 'compat check' explains them")}
	}
	c := &r.Causes[n]
	if c.Reproduce == nil {
		return exit{exitIncompatible, fmt.Errorf("no message of a loader or of pip shows cause %d: %s",
			n+1, mdsafe.Visible(c.Title))}
	}
	return printReproduction(env, r, n)
}

// reproduced returns the report of the files.
func reproduced(
	ctx context.Context, env environment, f reproduceFlags, paths []string,
) (*analyzer.Report, error) {
	shown := startProgress(env, f.quiet)
	defer shown.stop()
	if slices.ContainsFunc(paths, ofPins) {
		x, err := openPins(env, f.checkFlags, f.python, paths)
		if err != nil {
			return nil, err
		}
		x.Check.Options.Progress = shown.set
		r, _, err := x.Check.Report(ctx)
		return r, err
	}
	in, o, err := openArtifacts(ctx, env, f.checkFlags, paths)
	if err != nil {
		return nil, err
	}
	defer in.close()
	o.Progress = shown.set
	return analyzer.New(rules.All()).Check(ctx, in.list, o)
}

// chosen returns the index of the cause; -1 if none was named and none can be shown.
func (f *reproduceFlags) chosen(r *analyzer.Report) (int, error) {
	if f.cause == "" {
		return slices.IndexFunc(r.Causes, func(c analyzer.Cause) bool { return c.Reproduce != nil }), nil
	}
	if n, err := strconv.Atoi(f.cause); err == nil {
		if n < 1 || n > len(r.Causes) {
			return 0, fmt.Errorf("--cause %d: the report has %s", n, analyzer.Count(len(r.Causes), "cause"))
		}
		return n - 1, nil
	}
	n := slices.IndexFunc(r.Causes, func(c analyzer.Cause) bool { return c.ID == f.cause })
	if n < 0 {
		return 0, missing(r, []string{f.cause})
	}
	return n, nil
}

// printReproduction prints the commands for a cause, with comments, so that all of it can be
// pasted.
func printReproduction(env environment, r *analyzer.Report, n int) error {
	c := &r.Causes[n]
	var b []byte
	line := func(format string, args ...any) { b = fmt.Appendf(b, format+"\n", args...) }
	line("# cause %d of %d: %s", n+1, len(r.Causes), mdsafe.Visible(c.Title))
	for _, x := range causetext.Recipes(c.Reproduce) {
		line("# %s:", mdsafe.Visible(x.Where))
		line("%s", x.Command)
	}
	line("# it prints: %s", mdsafe.Visible(c.Reproduce.Message))
	_, err := env.Out.Write(b)
	return err
}
