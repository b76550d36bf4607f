package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/logmatch"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/mdsafe"
	"github.com/spf13/cobra"
)

func newExplainCommand(env environment) *cobra.Command {
	f := checkFlags{format: "json"}
	c := &cobra.Command{
		Use:   "explain [flags] [FILE|-] [PATH...]",
		Short: "Say what linkers, loaders and runtimes complain of in a log",
		Long: `Read the log of a build or a run (a file, or standard input) and say for each thing that went wrong what it is, which symbol, version, library and object it is about, where to look
(the artifact, the environment, the build), and what mends it. It understands GNU ld, gold, lld, mold, the loaders of glibc, musl and Android, Python, Node, the JVM, CUDA, ROCm,
auditwheel and pip; GitHub's time stamps and colors are removed. Logs of any size are read in one pass. Nothing is run.

PATHs behind the log are wheels, archives and shared libraries that it is about. They are judged as 'compat check' does, and each diagnosis says whether that confirms it, contradicts it (the
log is of another build, or of another environment), or can't tell; the fixes of a confirmed one were tried.

A log without such an error gives no diagnosis, and exit code 0 as well; 2 says that the log or a PATH could not be read.`,
		Example: "  make 2>&1 | compat explain --format text\n  gh run view --log-failed | compat explain -\n  compat explain --format text build.log dist/*.whl",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"-"}
			}
			return explain(c.Context(), env, f, args[0], args[1:])
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.format, "format", f.format, "json or text")
	flags.StringArrayVar(
		&f.platforms,
		"platform",
		nil,
		"judge PATHs against this platform, that of the log (debian11, manylinux_2_28); may be repeated",
	)
	flags.StringArrayVar(
		&f.with,
		"with",
		nil,
		"a requirement that is installed beside PATHs (torch==2.7.0); may be repeated",
	)
	flags.StringVar(
		&f.config,
		"config",
		"",
		"configuration file (default: "+config.Path+" where there is one)",
	)
	flags.StringVar(
		&f.index,
		"index-url",
		"",
		"package index to look packages up in (default: PIP_INDEX_URL or UV_DEFAULT_INDEX; none is built in)",
	)
	return c
}

func explain(ctx context.Context, env environment, f checkFlags, log string, paths []string) error {
	if f.format != "json" && f.format != "text" {
		return fmt.Errorf("--format %s is not known; use json or text", f.format)
	}
	var artifacts inputs
	defer artifacts.close()
	for _, p := range paths {
		if err := artifacts.add(p); err != nil {
			return err
		}
	}
	in := env.In
	if log != "-" {
		file, err := os.Open(log)
		if err != nil {
			return fmt.Errorf("%w; give the path of a readable log, or - for standard input", err)
		}
		defer file.Close()
		in = file
	}
	result, err := buildlog.Read(in)
	if err != nil {
		return err
	}
	var report *analyzer.Report
	if len(paths) > 0 {
		if report, err = held(ctx, env, f, &result, artifacts.list); err != nil {
			return err
		}
	}
	write := explainJSON
	if f.format == "text" {
		write = explainText
	}
	if err := write(env.Out, result); err != nil {
		return fmt.Errorf("writing the diagnoses: %w", err)
	}
	if report != nil && len(report.Artifacts) == 0 {
		return exit{
			code: exitUsage,
			err: errors.New(
				"nothing to judge was found in the PATHs; give wheels, archives or shared libraries",
			),
		}
	}
	return nil
}

// held holds the diagnoses against the artifacts.
func held(
	ctx context.Context,
	env environment,
	f checkFlags,
	result *buildlog.Result,
	artifacts []analyzer.Input,
) (*analyzer.Report, error) {
	o, _, broken, err := checkOptions(env, f)
	if err != nil {
		return nil, err
	}
	if broken != nil {
		return nil, fmt.Errorf(
			"%s: %s; correct the configuration",
			broken.Unread[0].Path,
			broken.Unread[0].Reason,
		)
	}
	witness := logmatch.New(result.Diagnoses)
	report, err := analyzer.New(append(rules.All(), witness.Rule())).Check(ctx, artifacts, o)
	if err != nil {
		return nil, err
	}
	result.Diagnoses = witness.Judge(report)
	return report, nil
}

// explainJSON writes a result as the contract has it; limit is there only when the log was not read
// to its end.
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
		fmt.Fprintf(
			&b,
			"%d lines, and no error of a linker or loader that compat knows.\n",
			r.Lines,
		)
	}
	for _, d := range r.Diagnoses {
		fmt.Fprintf(&b, "line %d: %s\n  %s", d.Line, mdsafe.Visible(d.Message), d.Class)
		if d.Cause != buildlog.CauseUnknown {
			fmt.Fprintf(&b, ", look at the %s", d.Cause)
		}
		b.WriteString("\n")
		if a := d.Analysis; a != nil {
			fmt.Fprintf(&b, "  %s: %s\n", a.Verdict, mdsafe.Visible(a.Why))
		}
		for _, f := range d.Fixes {
			mark := ""
			if f.Verified {
				mark = ", verified"
			}
			fmt.Fprintf(&b, "  fix (%s%s): %s\n", f.Kind, mark, mdsafe.Visible(f.Title))
			if f.Command != "" {
				fmt.Fprintf(
					&b,
					"      %s\n",
					strings.ReplaceAll(mdsafe.Lines(f.Command), "\n", "\n      "),
				)
			}
		}
	}
	if r.Limit != "" {
		fmt.Fprintf(&b, "%s\n", r.Limit)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
