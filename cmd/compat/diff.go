package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/compat-app/compat/analyzer/abi"
	"github.com/spf13/cobra"
)

func newDiffCommand(env environment) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "diff [flags] OLD NEW",
		Short: "Compare the ABI of two builds of a shared library",
		Args:  cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			old, err := readABI(args[0])
			if err != nil {
				return err
			}
			new, err := readABI(args[1])
			if err != nil {
				return err
			}
			r := abi.Compare(old, new, abi.Options{})
			return writeDiff(env.Out, r, format)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}

func readABI(path string) (*abi.Library, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	return abi.Read(
		abi.File{
			Name:    path,
			Content: f,
			Size:    info.Size(),
			Open: func(p string) (io.ReaderAt, int64, bool) {
				if !filepath.IsAbs(p) {
					p = filepath.Join(dir, p)
				}
				f, err := os.Open(p)
				if err != nil {
					return nil, 0, false
				}
				info, err := f.Stat()
				if err != nil || !info.Mode().IsRegular() {
					return nil, 0, false
				}
				return f, info.Size(), true
			},
		},
	)
}

func writeDiff(out io.Writer, r *abi.Result, format string) error {
	if format == "json" {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(r); err != nil {
			return err
		}
	} else {
		for _, c := range r.Changes {
			fmt.Fprintf(out, "%s %s %s %s: %s\n", c.Severity, c.Rule, c.Symbol, c.Type, c.Detail)
		}
	}
	if r.Verdict == abi.Breaking {
		return exit{code: exitIncompatible}
	}
	return nil
}
