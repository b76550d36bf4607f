package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/options"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/runlog"
	"github.com/compat-app/compat/internal/sandbox"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

// analysis is the analysis of artifacts in one attempt at a job.
type analysis struct {
	*Service
	attempt *worker.Attempt
	repo    *repository.Repository
	also    []string // additional platforms
	head    string   // the commit of the lock files; "" = that of the artifacts' workflow run
	base    string   // the branch to compare with; "" for a release
	tag     string   // tag of the release to check; "" for other subjects
	// before returns the tag of the earlier release that compare found; nil = base is a branch
	before func() string
}

// result is the result of an analysis: a report, or the reason why there is none.
type result struct {
	report  *analyzer.Report
	problem *comment.Problem
	logs    *comment.Logs     // errors in the logs of failed jobs; nil = no job failed
	partial []analyzer.Unread // files that could not be downloaded, in addition to a report
	base    string            // branch that the report was compared with; "" = none
	took    time.Duration

	options  analyzer.Options // of the analysis
	contents contents         // of the artifacts; nil without a report
}

// badOptions is a configuration that is well-formed but not usable, such as an unknown platform.
type badOptions struct{ error }

func (e *badOptions) Unwrap() error { return e.error }

// analyze downloads and analyzes artifacts. compare finds those of the base; if they are not
// available, every finding is new.
func (a *analysis) analyze(
	ctx context.Context,
	found *artifact.Found,
	c *config.Repository,
	accepted []store.Accepted,
	compare comparison,
) (result, error) {
	var j result
	head, err := a.download(ctx, found)
	if err != nil {
		return j, err
	}
	defer head.Close()
	if len(head.Files) == 0 {
		j.problem = comment.Unjudged("", "there are no artifacts")
		if len(head.Problems) > 0 {
			j.problem = comment.Unjudged(head.Problems[0].Name, head.Problems[0].Reason)
		}
		return j, nil
	}
	for _, p := range head.Problems {
		j.partial = append(j.partial, analyzer.Unread{Path: p.Name, Reason: p.Reason})
	}
	inputs, closeHead, err := open(head)
	if err != nil {
		return j, err
	}
	defer closeHead()

	o, err := a.options(ctx, found, c)
	if err != nil {
		return j, err
	}
	for _, some := range accepted {
		o.Accept = append(o.Accept, some.Options()...)
	}
	j.options = o
	if j.logs, err = runlog.Read(ctx, a.attempt, a.repo, found.Runs); err != nil {
		return j, err
	}
	start := a.now()
	var compared []buildlog.Diagnosis
	j.report, compared, err = a.check(ctx, inputs, o, runlog.Diagnoses(j.logs))
	j.took = a.now().Sub(start)
	if f := (*sandbox.Failure)(nil); errors.As(err, &f) && f.Limit {
		j.problem = comment.Unjudged("", f.Reason)
		return j, nil
	}
	if err == nil {
		runlog.Compared(j.logs, compared)
		j.contents = contentsOf(head.Files, j.report)
	}
	if err != nil || compare == nil {
		return j, err
	}
	if c.ABI.Policy != analyzer.PolicyNone &&
		(linkedAgainst(j.report) || len(c.ABI.Against) > 0 || c.ABI.Policy != "") {
		base, closeBase, err := a.baseInputs(ctx, c, found, compare)
		defer closeBase()
		if err != nil {
			return j, err
		}
		notes, closeEarlier, err := a.earlier(ctx, c, &o)
		defer closeEarlier()
		for _, note := range notes {
			j.report.AddNote(note)
		}
		if err != nil || len(base) == 0 && len(o.Earlier) == 0 {
			return j, err
		}
		a.nameBase(&o, base)
		both, compared, err := a.check(ctx, inputs, o, runlog.Diagnoses(j.logs))
		if f := (*sandbox.Failure)(nil); errors.As(err, &f) && f.Limit {
			a.attempt.Log.Warn(
				"the analysis of head and base together exceeds a limit; every finding counts as new",
				"error",
				err,
			)
			return j, nil
		}
		if err == nil {
			for _, note := range notes {
				both.AddNote(note)
			}
			j.report = both
			if len(base) > 0 {
				j.base = a.base
			}
			runlog.Compared(j.logs, compared)
		}
		return j, err
	}
	// Without findings the base cannot change the verdict. Only for a release its wheels are worth
	// more calls of GitHub.
	clean := len(j.report.Findings) == 0
	if clean && (a.before == nil || len(analyzer.Wheels(j.report)) == 0) {
		return j, nil
	}
	had, err := a.baseFindings(ctx, c, found, o, compare, clean)
	if had == nil {
		return j, err
	}
	name := a.base
	if a.before != nil {
		name = a.before()
	}
	a.Analyzer.AddLostSupport(j.report, had.Wheels, name, o)
	if !clean {
		j.report.MarkExisting(had.Had)
		had.noteUnread(j.report, name)
		j.base = a.base
	}
	return j, err
}

// options returns the options of a configuration for artifacts.
func (a *analysis) options(
	ctx context.Context,
	found *artifact.Found,
	c *config.Repository,
) (analyzer.Options, error) {
	var err error
	o := analyzer.Options{
		NoIndex: a.Source == nil && a.Index == nil,
		Scratch: a.Scratch,
		Version: a.Version,
		Today:   a.Store.Today(),
		// A pull request can still correct the bounds that it declares.
		WholeRanges: a.base != "",
	}
	ref := cmp.Or(a.base, a.repo.DefaultBranch)
	if o.Source, err = a.source(ctx, a.repo, ref, c, nil); err != nil {
		return o, err
	}
	options.Apply(c, config.Path, &o)
	o.Also = a.also
	err = a.locked(ctx, found, c.Python.Lock, &o)
	return o, err
}

func (a *analysis) download(ctx context.Context, found *artifact.Found) (*artifact.Set, error) {
	defer a.stage("download")()
	set, err := a.Fetcher.Download(ctx, a.repo.Client, found)
	if err == nil {
		a.metrics.artifacts.WithLabelValues("hit").Add(float64(set.Kept))
		a.metrics.artifacts.WithLabelValues("miss").Add(float64(len(set.Files) - set.Kept))
	}
	return set, err
}

// crashes is the number of analyses of a job, in processes of their own, that may crash before
// the job is given up.
const crashes = 3

// check analyzes inputs and compares the diagnoses of logs with them, when there is a free slot.
// The error is that of ctx, a *badOptions, a *sandbox.Failure because of a limit, or one that
// makes the job be retried or given up.
func (a *analysis) check(
	ctx context.Context,
	inputs []analyzer.Input,
	o analyzer.Options,
	diagnoses []buildlog.Diagnosis,
) (*analyzer.Report, []buildlog.Diagnosis, error) {
	release, err := a.slot(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	defer a.stage("analysis")()
	atRisk := false
	r, compared, err := a.Checker.Check(ctx, inputs, o, diagnoses, func() {
		if err := a.attempt.Risk(ctx, true); err != nil {
			a.attempt.Log.Warn("the job could not be marked as memory-intensive", "error", err)
		}
		atRisk = true
	})
	if atRisk {
		if err := a.attempt.Risk(ctx, false); err != nil {
			a.attempt.Log.Warn("the memory-intensive mark of the job could not be removed", "error", err)
		}
	}
	f := (*sandbox.Failure)(nil)
	switch {
	case err == nil:
		return r, compared, nil
	case errors.As(err, &f):
		a.attempt.Log.Error("an analysis failed", "reason", f.Reason, "limit", f.Limit, "detail",
			f.Detail)
		if f.Limit {
			return nil, nil, err
		}
		if a.attempt.Attempt >= crashes {
			return nil, nil, worker.Permanent(f.Reason + ".")
		}
		return nil, nil, worker.Internal(err)
	case ctx.Err() != nil, passing(err):
		return nil, nil, err
	}
	return nil, nil, &badOptions{err}
}

// inProcess analyzes in this process, which a crash of the analysis would end.
type inProcess struct{ *analyzer.Analyzer }

func (p inProcess) Check(
	ctx context.Context,
	inputs []analyzer.Input,
	o analyzer.Options,
	diagnoses []buildlog.Diagnosis,
	risky func(),
) (*analyzer.Report, []buildlog.Diagnosis, error) {
	risky()
	return sandbox.Judge(ctx, p.Analyzer, inputs, o, diagnoses)
}

// passing reports whether an error is temporary and not due to the options.
func passing(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, os.ErrClosed)
}

// open opens the files of a set for the analyzer.
func open(set *artifact.Set) ([]analyzer.Input, func(), error) {
	var inputs []analyzer.Input
	var files []*os.File
	closeAll := func() {
		for _, f := range files {
			f.Close()
		}
	}
	for _, f := range set.Files {
		file, err := os.Open(f.Path)
		if err != nil {
			closeAll()
			return nil, nil, fmt.Errorf("open a downloaded artifact: %w", err)
		}
		files = append(files, file)
		inputs = append(inputs, analyzer.Input{Name: f.Name, Content: file, Size: f.Size})
	}
	return inputs, closeAll, nil
}
