package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/pinned"
	"github.com/compat-app/compat/internal/report"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completeValues lets shells complete the values of flags that have few.
func completeValues(c *cobra.Command) {
	for flag, values := range map[string]func() []string{
		"format":   func() []string { return formats },
		"fail-on":  func() []string { return []string{"error", "warning", "never"} },
		"platform": func() []string { return platform.Names("x86_64") },
	} {
		err := c.RegisterFlagCompletionFunc(flag,
			func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return values(), cobra.ShellCompDirectiveNoFileComp
			})
		if err != nil {
			panic(err) // the command has no such flag
		}
	}
}

// formats are the formats of a report, in the order in which they are documented.
var formats = []string{"text", "json", "sarif", "markdown", "html", "github", "gitlab", "junit"}

// outputFlags adds --format and --output.
func outputFlags(flags *pflag.FlagSet, f *checkFlags) {
	flags.StringVar(&f.format, "format", "text", formatNames())
	flags.StringArrayVar(&f.output, "output", nil,
		"also write the report to a file, as FORMAT=FILE (sarif=compat.sarif); repeatable")
}

func formatNames() string {
	last := len(formats) - 1
	return strings.Join(formats[:last], ", ") + " or " + formats[last]
}

// ofSources reports whether a format refers to lines of source files in the working directory.
func ofSources(format string) bool {
	return format == "github" || format == "gitlab" || format == "sarif"
}

// outputs are the formats and destinations of a report: one for standard output, and any number
// of files.
type outputs struct {
	env     environment
	format  string
	verbose bool
	of      string            // see report.TextOptions.Of
	failOn  analyzer.Severity // set before write
	files   []outputFile
	written bool // the report, or as much of it as could be
}

type outputFile struct{ format, path string }

// newOutputs reads --format and --output.
func newOutputs(env environment, f checkFlags) (*outputs, error) {
	if !slices.Contains(formats, f.format) {
		return nil, fmt.Errorf("unknown --format %s; use %s", f.format, formatNames())
	}
	o := &outputs{env: env, format: f.format, verbose: f.verbose}
	for _, s := range f.output {
		format, path, ok := strings.Cut(s, "=")
		if !ok || path == "" || !slices.Contains(formats, format) {
			return nil, fmt.Errorf("--output %s: give FORMAT=FILE, where FORMAT is %s",
				s, formatNames())
		}
		if slices.ContainsFunc(o.files, func(f outputFile) bool { return f.path == path }) {
			return nil, fmt.Errorf("--output %s: another --output writes %s; name another file", s, path)
		}
		o.files = append(o.files, outputFile{format, path})
	}
	return o, nil
}

// orReport returns the error that ended a command. If it ended before there was a report, orReport
// writes one that has the error, because CI systems expect a report of each run. Text is not
// written: its readers get the error.
func (o *outputs) orReport(failed error) error {
	var ended exit
	if failed == nil || o.written || errors.As(failed, &ended) || errors.Is(failed, context.Canceled) {
		return failed
	}
	unread := analyzer.Unread{Path: "settings", Reason: failed.Error()} // flags or the configuration
	var path *pathError
	var file *pinned.FileError
	switch {
	case errors.As(failed, &path):
		unread = analyzer.Unread{Path: path.path, Reason: path.problem()}
	case errors.As(failed, &file):
		unread = analyzer.Unread{Path: file.Path, Reason: file.Reason()}
	}
	r := analyzer.NewReport(version())
	r.Verdict = analyzer.Unchecked
	r.Unread = append(r.Unread, unread)
	r.Decide(o.failOn)
	if o.format == "text" {
		lines := func() report.Lines { return sourceLines(r) }
		return errors.Join(failed, o.writeFiles(r, lines))
	}
	return errors.Join(failed, o.write(o.env.Out, r))
}

// pathError is an error that in.add returned for a path.
type pathError struct {
	path string
	error
}

func (e *pathError) Unwrap() error { return e.error }

// problem is the error without the path.
func (e *pathError) problem() string {
	text := strings.TrimPrefix(e.Error(), e.path+": ")
	return strings.TrimPrefix(text, strconv.Quote(e.path)+": ")
}

// write writes the report to w and to the files. What cannot be written does not prevent the rest.
func (o *outputs) write(w io.Writer, r *analyzer.Report) error {
	o.written = true
	lines := sync.OnceValue(func() report.Lines { return sourceLines(r) })
	err := o.as(o.format, w, r, report.TextOptions{
		Verbose: o.verbose,
		Color:   colored(o.env, o.env.Out),
		Width:   columns(o.env.Out),
		Of:      o.of,
	}, lines)
	if err != nil {
		err = fmt.Errorf("writing the report: %w", err)
	}
	return errors.Join(err, o.writeFiles(r, lines))
}

// writeFiles writes the report to each file, of which the folder is created.
func (o *outputs) writeFiles(r *analyzer.Report, lines func() report.Lines) error {
	var failed error
	for _, x := range o.files {
		err := os.MkdirAll(filepath.Dir(x.path), 0o755)
		var f *os.File
		if err == nil {
			f, err = os.Create(x.path)
		}
		if err != nil {
			err = fmt.Errorf("--output: %w; give a file that can be written", err)
			failed = errors.Join(failed, err)
			continue
		}
		text := report.TextOptions{Verbose: o.verbose, Of: o.of}
		if err := errors.Join(o.as(x.format, f, r, text, lines), f.Close()); err != nil {
			failed = errors.Join(failed, fmt.Errorf("--output: %w", err))
		}
	}
	return failed
}

// as writes the report in a format. lines is called by the formats of ofSources only.
func (o *outputs) as(
	format string,
	w io.Writer,
	r *analyzer.Report,
	text report.TextOptions,
	lines func() report.Lines,
) error {
	switch format {
	case "json":
		return report.JSON(w, r)
	case "sarif":
		return report.SARIF(w, r, ruleDescriptions(), lines())
	case "markdown":
		return report.Markdown(w, r, lines())
	case "html":
		v := report.NewView(r)
		v.Header.Subject = text.Of
		return report.File(w, v)
	case "github":
		return report.GitHub(w, r, lines())
	case "gitlab":
		return report.GitLab(w, r, lines())
	case "junit":
		return report.JUnit(w, r, o.failOn)
	}
	return report.Text(w, r, text)
}

const (
	maxTree   = 20000   // files of the working directory that are searched
	maxSource = 1 << 20 // bytes of a source file
)

// sourceLines returns the source lines for the causes of a report, in the files of the working
// directory. Files that cannot be read are skipped, because the lines only decide where a message
// is shown.
func sourceLines(r *analyzer.Report) report.Lines {
	if r.Environment { // the places are in the causes
		return nil
	}
	var paths []string
	seen := 0
	_ = filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		if seen++; seen > maxTree {
			return fs.SkipAll
		}
		if d.IsDir() && p != "." && p != ".github" && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if info, err := d.Info(); err == nil && d.Type().IsRegular() && info.Size() <= maxSource {
			paths = append(paths, filepath.ToSlash(p))
		}
		return nil
	})
	files := map[string]string{}
	for _, p := range comment.Candidates(paths) {
		if b, err := os.ReadFile(p); err == nil {
			files[p] = string(b)
		}
	}
	return comment.Lines(r, files)
}

// ruleDescriptions returns the rules as SARIF describes them.
func ruleDescriptions() []report.Rule {
	var out []report.Rule
	for _, r := range rules.All() {
		out = append(out, report.Rule{ID: r.ID, Title: r.Title, Help: r.Doc, Severity: r.Severity,
			References: r.References, Example: ruleExamples()[r.ID]})
	}
	return out
}
