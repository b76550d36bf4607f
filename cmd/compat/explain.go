package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/spf13/cobra"
)

func newExplainCommand(env environment) *cobra.Command {
	format := "json"
	c := &cobra.Command{
		Use:   "explain [FILE|-]",
		Short: "Say what linkers, loaders and runtimes complain of in a log",
		Long: `Read the log of a build or a run (a file, or standard input) and say for each thing that went wrong what it is, which symbol, version, library and object it is about, where to look
(the artifact, the environment, the build), and what mends it. It understands GNU ld, gold, lld, mold, the loaders of glibc, musl and Android, Python, Node, the JVM, CUDA, ROCm,
auditwheel and pip; GitHub's time stamps and colors are removed. Logs of any size are read in one pass. Nothing is run, and no fix was tried: give the artifact to
'compat check' for fixes that were.

A log without such an error gives no diagnosis, and exit code 0 as well; 2 says that the log could not be read.`,
		Example: "  make 2>&1 | compat explain --format text\n  gh run view --log-failed | compat explain -",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if format != "json" && format != "text" {
				return fmt.Errorf("--format %s is not known; use json or text", format)
			}
			in := env.In
			if len(args) == 1 && args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return fmt.Errorf("%w; give the path of a readable log, or - for standard input", err)
				}
				defer f.Close()
				in = f
			}
			result, err := buildlog.Read(in)
			if err != nil {
				return err
			}
			if format == "text" {
				return explainText(env.Out, result)
			}
			return explainJSON(env.Out, result)
		},
	}
	c.Flags().StringVar(&format, "format", format, "json or text")
	return c
}

// explainJSON writes a result as the contract has it; limit is there only when the log was not read to its end.
func explainJSON(w io.Writer, r buildlog.Result) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	diagnoses := r.Diagnoses
	if diagnoses == nil {
		diagnoses = []buildlog.Diagnosis{}
	}
	return out.Encode(struct {
		Diagnoses []buildlog.Diagnosis `json:"diagnoses"`
		Limit     string               `json:"limit,omitempty"`
	}{diagnoses, r.Limit})
}

func explainText(w io.Writer, r buildlog.Result) error {
	var b strings.Builder
	if len(r.Diagnoses) == 0 {
		fmt.Fprintf(&b, "%d lines, and no error of a linker or loader that compat knows.\n", r.Lines)
	}
	for _, d := range r.Diagnoses {
		fmt.Fprintf(&b, "line %d: %s\n  %s", d.Line, d.Message, d.Class)
		if d.Cause != buildlog.CauseUnknown {
			fmt.Fprintf(&b, ", look at the %s", d.Cause)
		}
		b.WriteString("\n")
		for _, f := range d.Fixes {
			fmt.Fprintf(&b, "  fix (%s): %s\n", f.Kind, f.Title)
			if f.Command != "" {
				fmt.Fprintf(&b, "      %s\n", f.Command)
			}
		}
	}
	if r.Limit != "" {
		fmt.Fprintf(&b, "%s\n", r.Limit)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
