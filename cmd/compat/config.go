package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"

	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/mdsafe"
	"github.com/compat-app/compat/internal/shellword"
	"github.com/spf13/cobra"
)

func newConfigCommand(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Validate a repository's configuration, show the package index",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "check [FILE]...",
		Short: "Validate " + config.Path,
		Long: "Validate configuration files as the App does. Each problem is one line: FILE:LINE: KEY: " +
			"problem.\n\n" +
			"Without FILE, " + config.Path + " of the working directory is validated, or else the table\n" +
			"[tool.compat] of its " + config.ProjectPath + ". FILE can be either.\n" +
			"Exit code: 0 valid, 1 invalid, 2 a file could not be read.",
		Example: "compat config check\ncompat config check .github/compat.yml && git push",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				used, err := repository("")
				if err != nil {
					return fmt.Errorf("%w; give a readable file", err)
				}
				args = []string{used.file}
			}
			return checkConfigs(env, args)
		},
	})
	c.AddCommand(&cobra.Command{
		Use:   "index",
		Short: "Show which package index is used",
		Long: "Show the package indexes that compat uses, in their order, and where each is\n" +
			"configured: in the environment, or in a configuration file of pip or uv. If none is\n" +
			"configured, show the one that the pip of this machine would use. No connection is made.\n\n" +
			"Exit code: 0 an index is configured, 1 none is, 2 a configuration file could not be read.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return showIndex(env) },
	})
	return c
}

// showIndex prints the configured indexes, without passwords, or how to choose one.
func showIndex(env environment) error {
	found, err := index.Find(nil, env.Getenv)
	if err != nil {
		return err
	}
	for i, address := range found.URLs {
		if u, err := url.Parse(address); err == nil {
			address = u.Redacted()
		}
		fmt.Fprintf(env.Out, "%s  (%s)\n", mdsafe.Visible(address), found.From[i])
	}
	if len(found.URLs) > 0 {
		return nil
	}
	fmt.Fprintln(env.Out, "No package index is configured: compat knows its built-in history only.")
	if address, file := index.PipDefault(env.Getenv); address != "" {
		fmt.Fprintf(env.Out, "The pip of this machine would use %s (%s).\n"+
			"To use it for one command: --index-url %s\nTo use it always: export PIP_INDEX_URL=%s\n",
			address, mdsafe.Visible(file), index.OfPip, shellword.Quote(address))
	} else {
		fmt.Fprintln(env.Out, "Name one with --index-url or PIP_INDEX_URL.")
	}
	return exit{code: exitIncompatible}
}

func checkConfigs(env environment, paths []string) error {
	wrong := false
	for _, path := range paths {
		c, found, err := readSettings(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s: no such file; give a configuration file", path)
		case err != nil:
			return fmt.Errorf("%w; give a readable file", err)
		case !found:
			return fmt.Errorf("%s has no table [tool.compat]", path)
		}
		for _, p := range c.problems {
			fmt.Fprintln(env.Out, p.In(path))
		}
		wrong = wrong || len(c.problems) > 0
	}
	if wrong {
		return exit{code: exitIncompatible}
	}
	return nil
}

// configProblems returns the problems of a .github/compat.yml.
func configProblems(text []byte) []config.Problem {
	_, problems := config.ParseRepository(text, rules.IDs())
	return problems
}

// problemLines is configProblems for PUT /validate: a line for each problem.
func problemLines(text []byte) []string {
	var lines []string
	for _, p := range configProblems(text) {
		lines = append(lines, p.String())
	}
	return lines
}
