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
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/settings"
)

// judgement is the result of one analysis: a report, or a problem why there is none.
type judgement struct {
	report  *analyzer.Report
	problem *comment.Problem
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
	if compare != nil {
		base, closeBase, err := t.comparison(ctx, c, found, compare)
		if err != nil {
			return j, err
		}
		defer closeBase()
		if base != nil {
			o.Base, j.base = base, t.state.Base.Ref
		}
	}
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return j, ctx.Err()
	}
	start := t.Now()
	j.report, err = t.Analyzer.Check(ctx, inputs, o)
	j.took = t.Now().Sub(start)
	if err != nil && ctx.Err() == nil && !passing(err) {
		return j, &badOptions{err}
	}
	return j, err
}

// passing says that an error is the world's and not the options'.
func passing(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrClosed)
}

// comparison fetches the base's artifacts. Only a limit, a lost lease or the like is an error: without a base everything is new.
func (t *task) comparison(ctx context.Context, c *config.Repository, like *artifact.Found,
	compare func(context.Context, *config.Repository, *artifact.Found) (*artifact.Found, error)) ([]analyzer.Input, func(), error) {
	none := func() {}
	found, err := compare(ctx, c, like)
	var set *artifact.Set
	if err == nil && found.State == artifact.Ready {
		set, err = t.Fetcher.Download(ctx, t.client, found)
	}
	switch kind := github.Classify(err).Kind; {
	case err != nil && (ctx.Err() != nil || kind == github.After || kind == github.Retry && !t.lease.Last):
		return nil, none, err
	case err != nil:
		t.Log.Warn("the base's artifacts can't be had; everything counts as new", "error", err)
		return nil, none, nil
	case set == nil:
		t.Log.Debug("nothing to compare with", "reason", found.Reason)
		return nil, none, nil
	}
	inputs, closeFiles, err := open(set)
	if err != nil || len(inputs) == 0 {
		set.Close()
		return nil, none, err
	}
	return inputs, func() { closeFiles(); set.Close() }, nil
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
