package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/logmatch"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/causetext"
	"github.com/compat-app/compat/internal/mdsafe"
)

func newExplainCommand(env environment) *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "explain [flags] [FILE|-] [PATH...]",
		Short: "Explain linker, loader and runtime errors in a log",
		Long: `Read the log of a build or a run, from a file or standard input, and explain each linker, loader
and runtime error: the symbol, version, library and object, where the cause is (the artifact, the
environment or the build), and how to fix it.

compat recognizes errors of the linkers GNU ld, gold, lld and mold, of the loaders of glibc, musl,
Android, macOS and Windows, and of Python, Node.js, the JVM, CUDA, ROCm, auditwheel and abi3audit;
errors of NumPy, PyTorch and OpenMP about incompatible builds; errors of pip, uv and Poetry that no
wheel supports this Python and platform; and programs that ended with an illegal instruction. Other
lines, time stamps of GitHub Actions and colors are ignored. Nothing is run.

PATHs after the log are the artifacts that the log is about. They are checked as "compat check"
does, and each diagnosis says whether the check confirms or contradicts it. Fixes of a confirmed
diagnosis were verified.

The output is text on a terminal, else JSON unless --format is text.

Exit code: 0 the log was read, also if it has no such error; 2 the log is a binary or an archive, or
the log or a PATH could not be read.`,
		Example: "  make 2>&1 | compat explain --format text\n  gh run view --log-failed | compat " +
			"explain -\n  compat explain --format text build.log dist/*.whl",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"-"}
			}
			if f.format == "" {
				f.format = "json"
				if terminal(env.Out) {
					f.format = "text"
				}
			}
			return explain(c.Context(), env, f, args[0], args[1:])
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.format, "format", "", "json or text (default: text on a terminal, else json)")
	flags.Var(
		(*nameList)(&f.platforms),
		"platform",
		"check PATHs against this platform, on which the log was made; repeatable",
	)
	flags.StringArrayVar(
		&f.with,
		"with",
		nil,
		"check as if this requirement were installed too (torch==2.7.0); repeatable",
	)
	flags.StringVar(
		&f.config,
		"config",
		"",
		"configuration file (default: "+config.Path+" or [tool.compat] in "+config.ProjectPath+")",
	)
	flags.StringArrayVar(
		&f.index,
		"index-url",
		nil,
		"package index to use (default: PIP_INDEX_URL, UV_DEFAULT_INDEX, pip.conf or uv.toml), "+
			"or \"pip\" for the one that pip uses by default; "+
			"repeatable, the first that has a wheel is used",
	)
	return c
}

func explain(ctx context.Context, env environment, f checkFlags, log string, paths []string) error {
	if f.format != "json" && f.format != "text" {
		return fmt.Errorf("unknown --format %s; use json or text", f.format)
	}
	var artifacts inputs
	defer artifacts.close()
	if log != "-" {
		artifacts.stdin = env.In
	}
	var from *packageSource
	if len(paths) > 0 {
		var err error
		if from, err = openPackages(env, f.index, f.facts, false, false); err != nil {
			return err
		}
		artifacts.download = from.download(ctx, f)
	}
	for _, p := range paths {
		if err := artifacts.add(p); err != nil {
			return &pathError{p, err}
		}
	}
	in, name := env.In, "standard input"
	if log != "-" {
		name = log
		file, err := openInput(log)
		switch {
		case errors.Is(err, fs.ErrNotExist) && slices.Contains(rules.IDs(), log):
			return fmt.Errorf("%s is the name of a rule, not a log; 'compat rules %s' describes it",
				log, log)
		case err != nil:
			return fmt.Errorf("%w; give a readable log, or - for standard input", err)
		}
		defer file.Close()
		in = file
	}
	start := bufio.NewReader(in)
	if head, _ := start.Peek(len(magic[0])); slices.ContainsFunc(magic, func(m string) bool {
		return strings.HasPrefix(string(head), m)
	}) {
		return fmt.Errorf("%s: a binary or an archive, not a log; give the log first, then the "+
			"artifacts that it is about, or check the artifact with \"compat check\"",
			name)
	}
	result, err := buildlog.Read(start)
	if err != nil {
		return err
	}
	var report *analyzer.Report
	if len(paths) > 0 {
		if report, err = compareWithLog(ctx, env, f, from, &result, artifacts.list); err != nil {
			return err
		}
	}
	if f.format == "text" {
		err = explainText(env.Out, result, report)
	} else {
		err = explainJSON(env.Out, result)
	}
	if err != nil {
		return fmt.Errorf("writing the diagnoses: %w", err)
	}
	if report != nil && len(report.Artifacts) == 0 {
		return exit{
			code: exitUsage,
			err: errors.New(
				"the PATHs contain no shared library; give wheels, archives or shared libraries",
			),
		}
	}
	return nil
}

// magic are the first bytes of binaries and archives, the longest first: ar and deb, ELF, ZIP, RPM,
// xz, Mach-O, gzip and PE.
var magic = []string{
	"!<arch>\n", "\x7fELF", "PK\x03\x04", "\xed\xab\xee\xdb", "\xfd7zXZ", "\xcf\xfa\xed\xfe",
	"\xca\xfe\xba\xbe", "\x1f\x8b", "MZ\x90",
}

// compareWithLog checks the artifacts and reports in each diagnosis whether they confirm it.
func compareWithLog(
	ctx context.Context,
	env environment,
	f checkFlags,
	from *packageSource,
	result *buildlog.Result,
	artifacts []analyzer.Input,
) (*analyzer.Report, error) {
	settings, err := checkOptions(env, f)
	if err != nil {
		return nil, err
	}
	if broken := settings.broken; broken != nil {
		return nil, fmt.Errorf(
			"%s: %s; fix the configuration",
			broken.Unread[0].Path,
			broken.Unread[0].Reason,
		)
	}
	o := settings.Options
	o.Source, o.NoIndex = from.Source, len(from.names) == 0
	report, compared, err := logmatch.Check(ctx, rules.All(), artifacts, o, result.Diagnoses)
	if err != nil {
		return nil, err
	}
	result.Diagnoses = compared
	return report, nil
}

// explainJSON writes the diagnoses as JSON, with limit if the log was not read to its end.
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

// count returns a number with its noun, as "1 line" or "2 lines".
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// inJobs names the jobs of a diagnosis; "" if the log does not name them.
func inJobs(jobs []string) string {
	if len(jobs) == 0 {
		return ""
	}
	return ", " + map[bool]string{true: "job", false: "jobs"}[len(jobs) == 1] + " " +
		mdsafe.Visible(strings.Join(jobs, ", "))
}

// explainText writes the diagnoses for a terminal. report is that of the artifacts; nil if there
// were none.
func explainText(w io.Writer, r buildlog.Result, report *analyzer.Report) error {
	var b strings.Builder
	if len(r.Diagnoses) == 0 {
		fmt.Fprintf(&b, "No known linker or loader error in %s.\n", count(r.Lines, "line"))
	}
	for _, d := range r.Diagnoses {
		fmt.Fprintf(&b, "line %d%s: %s\n  %s", d.Line, inJobs(d.Jobs), mdsafe.Visible(d.Message), d.Class)
		if d.Cause != buildlog.CauseUnknown {
			fmt.Fprintf(&b, "; where to fix: the %s", d.Cause)
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
			fmt.Fprintf(&b, "  fix (%s%s): %s\n", f.Kind, mark, mdsafe.Visible(f.Title.String()))
			if f.Command != "" {
				fmt.Fprintf(
					&b,
					"      %s\n",
					strings.ReplaceAll(mdsafe.Lines(commandOf(f, report)), "\n", "\n      "),
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

// commandOf returns the command of a fix. One of findings is run in the folder of each artifact
// that has them, as "compat check" prints it.
func commandOf(f fix.Fix, report *analyzer.Report) string {
	if report == nil {
		return string(f.Command)
	}
	var lines []string
	for i := range report.Findings {
		x := &report.Findings[i]
		if !slices.ContainsFunc(x.Fixes, func(y fix.Fix) bool { return y.Command == f.Command }) {
			continue
		}
		c := &analyzer.Cause{Artifact: x.Artifact}
		for _, l := range causetext.Commands(c, analyzer.CauseFix{Fix: f}) {
			if !slices.Contains(lines, l) {
				lines = append(lines, l)
			}
		}
	}
	if lines == nil {
		return string(f.Command)
	}
	return strings.Join(lines, "\n")
}
