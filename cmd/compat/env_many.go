package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/report"
)

// patternOf returns the value of --lock that is a pattern of files ('services/*/uv.lock'), or "".
func (f *envFlags) patternOf() string {
	for _, file := range f.lock {
		if _, err := os.Lstat(file); err != nil && strings.ContainsAny(file, "*?[") {
			return file
		}
	}
	return ""
}

// manyFiles returns the files that a pattern of --lock matches, each of which is an environment;
// nil if no value is a pattern.
func (f *envFlags) manyFiles() ([]string, error) {
	pattern := f.patternOf()
	if pattern == "" {
		return nil, nil
	}
	if len(f.lock) > 1 || len(f.requirements)+len(f.before)+len(f.output) > 0 ||
		f.format != "text" && f.format != "json" {
		return nil, fmt.Errorf("--lock %q checks each file that matches; it can be combined "+
			"with --format text or json, and not with other files or --output", pattern)
	}
	files, err := filepath.Glob(pattern)
	if err == nil && len(files) == 0 {
		err = errors.New("no file matches")
	}
	if err != nil {
		return nil, fmt.Errorf("--lock %q: %w", pattern, err)
	}
	return files, nil
}

// checkMany checks each file as an environment of its own. It prints a table, or one JSON document
// for each file. The exit code is that of a failure, if there is one.
func checkMany(
	ctx context.Context,
	env environment,
	from *packageSource,
	o analyzer.Options,
	failOn analyzer.Severity,
	f envFlags,
	files []string,
) error {
	w := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	if f.format == "text" {
		fmt.Fprintln(w, "FILE\tRESULT\tPACKAGES\tPYTHON\tPROBLEM")
	}
	code := 0
	for _, file := range files {
		r, python, err := checkOne(ctx, from, o, f, file)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r = &analyzer.Report{Outcome: analyzer.OutcomeError, Unread: []analyzer.Unread{
				{Path: file, Reason: err.Error()},
			}}
		} else {
			r.Decide(failOn)
		}
		switch {
		case r.Outcome == analyzer.OutcomeFail:
			code = exitIncompatible
		case r.Outcome == analyzer.OutcomeError:
			code = cmp.Or(code, exitUsage)
		}
		if err := printOne(env.Out, w, f.format, file, python, r); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	if note := from.facts.Note(); note != "" {
		fmt.Fprintln(env.Err, note)
	}
	if f.verbose {
		fmt.Fprintln(env.Err, from.cost())
	}
	return errors.Join(w.Flush(), exited(code))
}

// checkOne also returns the version of the interpreter.
func checkOne(
	ctx context.Context,
	from *packageSource,
	o analyzer.Options,
	f envFlags,
	file string,
) (r *analyzer.Report, python string, err error) {
	if err := f.configure([]string{file}); err != nil {
		return nil, "", err
	}
	f.defaultPlatforms()
	pins, err := readPinned(f, []string{file})
	if err != nil {
		return nil, "", err
	}
	if python = pins[0].On.Python; pins[0].Guessed {
		python += " (assumed)"
	}
	c := newCheck(from, o)
	c.Pins = pins
	r, _, err = c.Report(ctx)
	return r, python, err
}

// printOne prints a row of the table, or a document.
func printOne(
	out, table io.Writer,
	format, file, python string,
	r *analyzer.Report,
) error {
	if format == "json" {
		return report.JSON(out, r)
	}
	word, problem := "compatible", ""
	switch {
	case r.Outcome == analyzer.OutcomeFail:
		word = "incompatible"
	case r.Outcome == analyzer.OutcomeError:
		word = "not checked"
		for _, u := range r.Unread {
			problem = u.Reason
			break
		}
	}
	for _, c := range r.Causes {
		if c.Severity == analyzer.Error {
			problem = c.Title
			break
		}
	}
	_, err := fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", file, word, len(r.Artifacts),
		python, problem)
	return err
}
