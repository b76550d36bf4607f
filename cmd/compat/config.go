package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/config"
	"github.com/spf13/cobra"
)

func newConfigCommand(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Validate a repository's configuration",
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
	return c
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
