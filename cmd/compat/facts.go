package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/spf13/cobra"
)

func newFactsCommand(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "facts FILE",
		Short: "Print the contents of one ELF or PE file as JSON (docs/facts*.schema.json)",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return fmt.Errorf("%w; give a readable ELF file", err)
			}
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				return err
			}
			if !info.Mode().IsRegular() {
				return fmt.Errorf("%s is not a regular file; give an ELF file", args[0])
			}
			if isPE(args[0]) {
				o, err := peobj.Read(f, info.Size())
				if err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
				return printFacts(env.Out, o)
			}
			o, err := elfobj.Read(f, info.Size())
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return printFacts(env.Out, o.Facts())
		},
	}
}

func printFacts(w io.Writer, facts any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(facts)
}
