package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/settings"
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

// analyze fetches what was found and judges it. compare finds what the base has; a base that can't be had is none.
func (t *task) analyze(ctx context.Context, found *artifact.Found, c *config.Repository, accepted []accepted,
	compare func(context.Context, *config.Repository, *artifact.Found) (*artifact.Found, error)) (judgement, error) {
	var j judgement
	head, err := t.Fetcher.Download(ctx, t.client, found)
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

	o := analyzer.Options{Source: t.Source, NoIndex: t.Source == nil, Scratch: t.Scratch, Version: t.Version, Today: t.Now().UTC().Format(time.DateOnly)}
	settings.Apply(c, &o)
	locked, err := t.locked(ctx, found, c.Python.Lock)
	if err != nil {
		return j, err
	}
	o.With = append(locked, o.With...)
	for _, a := range accepted {
		o.Accept = append(o.Accept, a.option(t.ruleIDs())...)
	}
	if j.logs, err = t.logs(ctx, found.Runs); err != nil {
		return j, err
	}
	by, hold := t.watched(j.logs)
	start := t.Now()
	j.report, err = t.check(ctx, by, inputs, o)
	j.took = t.Now().Sub(start)
	if err != nil && ctx.Err() == nil && !passing(err) {
		return j, &badOptions{err}
	}
	if err == nil {
		hold(j.report)
	}
	if err != nil || compare == nil || len(j.report.Findings) == 0 { // nothing that the base could have
		return j, err
	}
	had, err := t.had(ctx, c, found, o, compare)
	if had != nil {
		j.report.MarkExisting(had)
		j.base = t.state.Base.Ref
	}
	return j, err
}

// check has inputs judged when there is room for one more analysis.
func (t *task) check(ctx context.Context, by *analyzer.Analyzer, inputs []analyzer.Input, o analyzer.Options) (*analyzer.Report, error) {
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := t.lease.Risk(ctx, true); err != nil {
		return nil, err
	}
	r, err := by.Check(ctx, inputs, o)
	if e := t.lease.Risk(ctx, false); err == nil && e != nil {
		return nil, e
	}
	return r, err
}

// passing says that an error is the world's and not the options'.
func passing(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrClosed)
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
