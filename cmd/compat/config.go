package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/config"
	"github.com/spf13/cobra"
)

func newConfigCommand(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Look at a repository's configuration",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "check [FILE]...",
		Short: "Say what is wrong in " + config.Path,
		Long: "Reads configuration files as the App does, and says what is wrong at which line: one \"FILE:LINE: KEY: what\" for each problem.\n\n" +
			"Without FILE it is " + config.Path + " of the working directory. Exit 0: nothing is wrong; 1: something is; 2: a file can't be read.",
		Example: "compat config check\ncompat config check .github/compat.yml && git push",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{config.Path}
			}
			return checkConfigs(env, args)
		},
	})
	return c
}

func checkConfigs(env environment, paths []string) error {
	wrong := false
	for _, path := range paths {
		data, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s: no such file; give the path of a configuration file", path)
		case err != nil:
			return fmt.Errorf("%w; give the path of a readable file", err)
		}
		problems := configProblems(data)
		for _, p := range problems {
			fmt.Fprintln(env.Out, path+strings.TrimPrefix(p.String(), config.Path))
		}
		wrong = wrong || len(problems) > 0
	}
	if wrong {
		return exit{code: exitIncompatible}
	}
	return nil
}

// configProblems is what is wrong in a text of .github/compat.yml, for compat config check and PUT
// /validate.
func configProblems(text []byte) []config.Problem {
	_, problems := config.ParseRepository(text, rules.IDs())
	return problems
}
