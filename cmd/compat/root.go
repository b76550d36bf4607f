package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/compat-app/compat/config"
)

// run executes a command line and returns the exit code.
func run(ctx context.Context, args []string, env environment) int {
	env.Getenv = config.Unquoted(env.Getenv)
	if terminal(env.In) {
		env.In = &typed{ctx: ctx, in: env.In, err: env.Err}
	}
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

  at a desk, in any CI   compat check dist/*.whl
  as a GitHub App        compat setup, then compat serve
  to see examples        compat demo`,
		SilenceUsage: true, SilenceErrors: true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(c, args[0])
		},
		SuggestionsMinimumDistance: 2,
		RunE:                       func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	// Command.Version would print other text, and its template would keep every method of every type
	// in the binary.
	version := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(c *cobra.Command, _ []string) error {
		if *version {
			_, err := fmt.Fprintln(env.Out, versionLine())
			return err
		}
		return c.Help()
	}
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if similar := similarFlag(c, err); similar != "" {
			return fmt.Errorf("%w; did you mean --%s?", err, similar)
		}
		return fmt.Errorf("%w; see '%s --help'", err, c.CommandPath())
	})
	for _, part := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Check and fix:", []*cobra.Command{
			newCheckCommand(env), newFixCommand(env), newReproduceCommand(env), newEnvCommand(env),
			newConstraintsCommand(env), newExplainCommand(env), newLddCommand(env), newRulesCommand(env),
		}},
		{"Compare builds and releases:", []*cobra.Command{
			newDiffCommand(env), newABICommand(env), newBisectCommand(env), newImpactCommand(env),
		}},
		{"Run the GitHub App:", []*cobra.Command{
			newDemoCommand(env), newSetupCommand(env), newServeCommand(env), newDoctorCommand(env),
			newQueueCommand(env),
		}},
	} {
		root.AddGroup(&cobra.Group{ID: part.title, Title: part.title})
		for _, c := range part.commands {
			c.GroupID = part.title
		}
		root.AddCommand(part.commands...)
	}
	root.AddCommand(newConfigCommand(env), newFactsCommand(env), newVersionCommand(env),
		newAnalyzeCommand(env))
	root.SetHelpCommand(newHelpCommand())
	root.SetUsageFunc(writeUsage)
	refuseOtherShells(root)
	return root
}

// unknownCommand is the error for a word that is none of the commands of c.
func unknownCommand(c *cobra.Command, word string) error {
	if similar := c.SuggestionsFor(word); len(similar) > 0 {
		return fmt.Errorf("unknown command %q; did you mean %q?", word, similar[0])
	}
	return fmt.Errorf("unknown command %q; see '%s --help'", word, c.CommandPath())
}

// newHelpCommand is cobra's, which ends with code 0 for a command that does not exist.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		RunE: func(c *cobra.Command, words []string) error {
			of := c.Root()
			for _, word := range words {
				n := slices.IndexFunc(of.Commands(), func(x *cobra.Command) bool {
					return x.Name() == word || x.HasAlias(word)
				})
				if n < 0 {
					return unknownCommand(of, word)
				}
				of = of.Commands()[n]
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// similarFlag returns the name of the flag of a command that is most like an unknown one; "" if
// there is none, or the error is another one.
func similarFlag(c *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	flags := &cobra.Command{SuggestionsMinimumDistance: 2} // it compares names of commands
	c.Flags().VisitAll(func(f *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	if similar := flags.SuggestionsFor(unknown.GetSpecifiedName()); len(similar) > 0 {
		return similar[0]
	}
	return ""
}

// refuseOtherShells adds cobra's completion command. By itself it prints its help for a shell that
// it does not know, and exits with 0, so that "source <(compat completion tcsh)" runs the help.
func refuseOtherShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		panic(err) // cobra has another name for it
	}
	var shells []string
	for _, c := range completion.Commands() {
		shells = append(shells, c.Name())
	}
	completion.Args = nil
	completion.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return fmt.Errorf("no completion for the shell %q; give one of %s",
			args[0], strings.Join(shells, ", "))
	}
}

func newVersionCommand(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and its date",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(env.Out, versionLine())
			return err
		},
	}
}
