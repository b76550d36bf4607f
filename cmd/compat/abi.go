package main

import (
	"fmt"

	"github.com/compat-app/compat/analyzer/abi"
	"github.com/spf13/cobra"
)

func newABICommand(env environment) *cobra.Command {
	var debugDirs, debug []string
	c := &cobra.Command{
		Use:   "abi [flags] FILE",
		Short: "Write the ABI of a library as a baseline for compat diff",
		Long: `Write the ABI of a shared library as JSON (schema compat/abi/v1). The output is sorted
and has one symbol or type on a line, so that it can be committed and reviewed. 'compat diff' reads
it as OLD.

Types are included if the library has debug information, or a separate debug file next to it.`,
		Example: `  compat abi build/libfoo.so.1 > abi/libfoo.json
  compat diff abi/libfoo.json build/libfoo.so.1`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			sources, err := openDebug(c.Context(), debugDirs, debug)
			if err != nil {
				return err
			}
			defer sources.close()
			s, err := readSide(c.Context(), args[:1], sources)
			if err != nil {
				return err
			}
			if len(s.libraries) != 1 {
				return fmt.Errorf("%s has %d libraries; give one library", args[0], len(s.libraries))
			}
			b, err := abi.Baseline(s.libraries[0])
			if err != nil {
				return err
			}
			_, err = env.Out.Write(b)
			return err
		},
	}
	debugFlags(c.Flags(), &debugDirs, &debug)
	return c
}
