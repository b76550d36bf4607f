package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/spf13/cobra"
)

func newFactsCommand(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "facts FILE",
		Short: "Print the contents of one ELF, Mach-O or PE file as JSON (docs/facts*.schema.json)",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := openInput(args[0])
			if err != nil {
				return fmt.Errorf("%w; give a readable ELF, Mach-O or PE file", err)
			}
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				return err
			}
			if !info.Mode().IsRegular() {
				return fmt.Errorf("%s is not a regular file; give an ELF, Mach-O or PE file", args[0])
			}
			if isPE(args[0]) {
				o, err := peobj.Read(f, info.Size())
				if err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
				return printJSON(env.Out, o)
			}
			if isMachO(args[0]) {
				return writeMachOFacts(env.Out, args[0])
			}
			if isWheel(f, info.Size()) {
				return fmt.Errorf("%s is a wheel; 'compat check' reads its objects, and "+
					"'unzip' extracts one for compat facts", args[0])
			}
			o, err := elfobj.Read(f, info.Size())
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return printJSON(env.Out, o.Facts())
		},
	}
	c.AddCommand(newFactsAddCommand(env), newFactsKeyCommand(env))
	return c
}

// printJSON writes a value as JSON for people too, with an indent.
func printJSON(w io.Writer, value any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(value)
}

// machOFacts is a Mach-O file as JSON.
type machOFacts struct {
	Fat    bool         `json:"fat"`
	Slices []machOSlice `json:"slices"`
}

// machOSlice is a slice, or the reason why it could not be read.
type machOSlice struct {
	machoobj.Slice
	Error string `json:"error,omitempty"`
}

func writeMachOFacts(w io.Writer, path string) error {
	f, err := readMachO(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	facts := machOFacts{Fat: f.Fat}
	for _, s := range f.Slices {
		x := machOSlice{Slice: s}
		if s.Err != nil {
			x.Error = s.Err.Error()
		}
		facts.Slices = append(facts.Slices, x)
	}
	return printJSON(w, facts)
}
