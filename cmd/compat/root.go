package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Exit codes of every command.
const (
	exitOK           = 0
	exitIncompatible = 1
	exitInterrupted  = 130 // as a shell reports SIGINT
	exitUsage        = 2   // wrong usage, or an artifact could not be checked
)

// environment is the surroundings of the process: variables and standard streams.
type environment struct {
	Getenv func(name string) (value string, set bool)
	In     io.Reader
	Out    io.Writer
	Err    io.Writer
}

// exit ends the program with a code. A nil error prints nothing.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

// run executes a command line and returns the exit code.
func run(ctx context.Context, args []string, env environment) int {
	root := newRootCommand(env)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := exitUsage
	var e exit
	if errors.As(err, &e) {
		code = e.code
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return exitInterrupted // the user knows
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(env.Err, "compat: "+text)
	}
	return code
}

func newRootCommand(env environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "compat",
		Short: "Review binary artifacts for dependency compatibility",
		Long: `compat reports which symbols of a wheel or shared library will not resolve, on which platform, why,
and what to change.

Locally or in CI:  compat check dist/*.whl
As a GitHub App:   compat setup, then compat serve
To see examples:   compat demo`,
		SilenceUsage: true, SilenceErrors: true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			if similar := c.SuggestionsFor(args[0]); len(similar) > 0 {
				return fmt.Errorf("unknown command %q; did you mean %q?", args[0], similar[0])
			}
			return fmt.Errorf("unknown command %q; see 'compat --help'", args[0])
		},
		SuggestionsMinimumDistance: 2,
		RunE:                       func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see '%s --help'", err, c.CommandPath())
	})
	root.AddCommand(
		newCheckCommand(env),
		newEnvCommand(env),
		newLddCommand(env),
		newFactsCommand(env),
		newRulesCommand(env),
		newConfigCommand(env),
		newVersionCommand(env),
		newSetupCommand(env),
		newServeCommand(env),
		newDemoCommand(env),
		newQueueCommand(env),
	)
	root.AddCommand(newExplainCommand(env), newAnalyzeCommand(env), newDiffCommand(env), newABICommand(env))
	return root
}

// version returns the module's version for a binary built by go install or from a tag, else the
// commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}

func newVersionCommand(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(env.Out, "compat", version())
			return err
		},
	}
}
