package worker

import (
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
	"github.com/compat-app/compat/internal/sandbox"
)

// judgement is the result of one analysis: a report, or a problem why there is none.
type judgement struct {
	report  *analyzer.Report
	problem *comment.Problem
	logs    *comment.Logs     // what the logs of failed jobs say; nil: none failed
	partial []analyzer.Unread // what could not be fetched, beside a report
	base    string            // branch that the report was compared with; "" none
	took    time.Duration
}

// badOptions is a configuration that can be read but not used: a platform that nobody knows.
type badOptions struct{ error }

func (e *badOptions) Unwrap() error { return e.error }

// analyze fetches what was found and judges it. compare finds what the base has; a base that can't
// be had is none.
func (t *task) analyze(
	ctx context.Context,
	found *artifact.Found,
	c *config.Repository,
	accepted []accepted,
	compare func(context.Context, *config.Repository, *artifact.Found) (*artifact.Found, error),
) (judgement, error) {
	var j judgement
	head, err := t.download(ctx, found)
	if err != nil {
		return j, err
	}
	defer head.Close()
	if len(head.Files) == 0 {
		j.problem = comment.Unjudged("", "there is nothing to read")
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

	o, err := t.options(ctx, found, c)
	if err != nil {
		return j, err
	}
	for _, a := range accepted {
		o.Accept = append(o.Accept, a.options()...)
	}
	if j.logs, err = t.logs(ctx, found.Runs); err != nil {
		return j, err
	}
	start := t.Now()
	var judged []buildlog.Diagnosis
	j.report, judged, err = t.check(ctx, inputs, o, diagnoses(j.logs))
	j.took = t.Now().Sub(start)
	if f := (*sandbox.Failure)(nil); errors.As(err, &f) && f.Limit {
		j.problem = comment.Unjudged("", f.Reason)
		return j, nil
	}
	if err == nil {
		held(j.logs, judged)
	}
	if err != nil || compare == nil {
		return j, err
	}
	if linkedAgainst(j.report) {
		base, closeBase, err := t.baseInputs(ctx, c, found, compare)
		defer closeBase()
		if err != nil || len(base) == 0 {
			return j, err
		}
		o.Base = base
		both, judged, err := t.check(ctx, inputs, o, diagnoses(j.logs))
		if f := (*sandbox.Failure)(nil); errors.As(err, &f) && f.Limit {
			t.Log.Warn(
				"the base takes too much to be judged beside the head; everything counts as new",
				"error",
				err,
			)
			return j, nil
		}
		if err == nil {
			j.report, j.base = both, t.state.Base.Ref
			held(j.logs, judged)
		}
		return j, err
	}
	if len(j.report.Findings) == 0 { // nothing that the base could have
		return j, nil
	}
	had, err := t.had(ctx, c, found, o, compare)
	if had != nil {
		j.report.MarkExisting(had)
		j.base = t.state.Base.Ref
	}
	return j, err
}

// options are those that a configuration asks for what was found.
func (t *task) options(
	ctx context.Context,
	found *artifact.Found,
	c *config.Repository,
) (analyzer.Options, error) {
	o := analyzer.Options{
		Source:  t.Source,
		NoIndex: t.Source == nil,
		Scratch: t.Scratch,
		Version: t.Version,
		Today:   t.today(),
	}
	options.Apply(c, &o)
	if t.state != nil {
		o.Also = t.state.Also
	}
	err := t.locked(ctx, found, c.Python.Lock, &o)
	return o, err
}

func (t *task) download(ctx context.Context, found *artifact.Found) (*artifact.Set, error) {
	defer t.stage("download")()
	set, err := t.Fetcher.Download(ctx, t.client, found)
	if err == nil {
		t.metrics.artifacts.WithLabelValues("hit").Add(float64(set.Kept))
		t.metrics.artifacts.WithLabelValues("miss").Add(float64(len(set.Files) - set.Kept))
	}
	return set, err
}

// crashes is how many analyses of a job may end without a word, in a process of their own, before
// it is given up.
const crashes = 3

// check has inputs judged, and diagnoses of logs held against them, when there is room for one more
// analysis. An error is of ctx, *badOptions, an *sandbox.Failure that is due to a limit, or what
// makes the job be tried again or given up.
func (t *task) check(
	ctx context.Context,
	inputs []analyzer.Input,
	o analyzer.Options,
	diagnoses []buildlog.Diagnosis,
) (*analyzer.Report, []buildlog.Diagnosis, error) {
	waited := t.stage("slot")
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	waited()
	defer t.stage("analysis")()
	atRisk := false
	r, judged, err := t.Checker.Check(ctx, inputs, o, diagnoses, func() {
		if err := t.lease.Risk(ctx, true); err != nil {
			t.Log.Warn("that the job takes much could not be noted", "error", err)
		}
		atRisk = true
	})
	if atRisk {
		if err := t.lease.Risk(ctx, false); err != nil {
			t.Log.Warn("that the job takes no longer much could not be noted", "error", err)
		}
	}
	f := (*sandbox.Failure)(nil)
	switch {
	case err == nil:
		return r, judged, nil
	case errors.As(err, &f):
		t.Log.Error("an analysis failed", "reason", f.Reason, "limit", f.Limit, "detail", f.Detail)
		if f.Limit {
			return nil, nil, err
		}
		if t.lease.Attempt >= crashes {
			return nil, nil, &unfit{f.Reason + "."}
		}
		return nil, nil, &ownFault{err}
	case ctx.Err() != nil, passing(err):
		return nil, nil, err
	}
	return nil, nil, &badOptions{err}
}

// inProcess judges in this process, which every analysis may end.
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

// passing says that an error is the world's and not the options'.
func passing(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, os.ErrClosed)
}

// open gives the analyzer the files of a set.
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
			return nil, nil, fmt.Errorf("worker: open a downloaded artifact: %w", err)
		}
		files = append(files, file)
		inputs = append(inputs, analyzer.Input{Name: f.Name, Content: file, Size: f.Size})
	}
	return inputs, closeAll, nil
}

func (t *task) ruleIDs() []string {
	var ids []string
	for _, r := range t.Analyzer.Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}
