// Package worker does the jobs that the webhook stored: it looks at GitHub, fetches artifacts, has
// them judged and posts what was found.
//
// A job names a subject (a pull request, a release …), never a step. Handling it means to compare
// what GitHub shows now with what should be there and to do what is missing, so any job may run
// twice, late, or again after a crash. A worker holds its job under a lease that a heartbeat
// renews; when the lease is lost or a newer job of the subject has come, the job's context ends,
// and the fence before each write lets nothing through.
//
// How a job ends is its outcome: done, snoozed until there may be something new, parked with its
// installation while a rate limit lasts, tried again, or dead. The file of a kind (pull.go,
// release.go …) says what is done; run.go what becomes of its errors.
//
//	w, err := worker.New(worker.Options{Queue: q, App: app, Fetcher: fetcher, Analyzer: analyzer.New(rules.All()), Config: service, Log: log})
//	err = w.Run(ctx) // until ctx ends and every lease is given back
package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/queue"
)

// Options is what New needs. Queue, App, Fetcher, Analyzer and Config are required.
type Options struct {
	Queue    *queue.Queue
	App      *github.App
	Fetcher  *artifact.Fetcher
	Analyzer *analyzer.Analyzer
	Checker  Checker // nil = the Analyzer, in this process
	// nil = the embedded history, and the reports say that no index was configured
	Source  packages.Source
	Scratch func(size int64) (unpack.Scratch, error)
	Config  *config.Service
	Version string // of the tool, for reports
	Log     *slog.Logger
	Metrics prometheus.Registerer // nil = none
	Now     func() time.Time      // nil = time.Now
}

// analyses at once, in one process: each holds decompressed objects, and an artifact is the choice
// of whoever opened the pull request. Two leave room on a small machine; the other workers wait for
// GitHub meanwhile.
const analyses = 2

// Checker judges artifacts, whose Content is an *os.File each. *analysis.Runner does, in a process
// of its own.
type Checker interface {
	// Check is analysis.Judge. It calls risky once when the analysis begins to take so much that it
	// may end this process.
	Check(
		ctx context.Context,
		inputs []analyzer.Input,
		o analyzer.Options,
		diagnoses []buildlog.Diagnosis,
		risky func(),
	) (*analyzer.Report, []buildlog.Diagnosis, error)
}

// Worker runs jobs. One Run at a time.
type Worker struct {
	Options
	metrics *metrics
	slots   chan struct{} // analyses under way
	accepts sync.Mutex    // around reading and writing what commands accepted
	shared  sync.Mutex    // around reading and writing which subjects share a head
}

// New checks the options.
func New(o Options) (*Worker, error) {
	if o.Queue == nil || o.App == nil || o.Fetcher == nil || o.Analyzer == nil || o.Config == nil {
		return nil, errors.New("worker: queue, app, fetcher, analyzer and config are all needed")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Checker == nil {
		o.Checker = inProcess{o.Analyzer}
	}
	return &Worker{
		Options: o,
		metrics: newMetrics(o.Metrics, o.Queue),
		slots:   make(chan struct{}, analyses),
	}, nil
}

// Run takes jobs with as many workers as configured until ctx ends. It returns when every job under
// way has stopped and its lease is given back, some seconds later at most.
func (w *Worker) Run(ctx context.Context) error {
	var wait sync.WaitGroup
	for range w.Config.Workers {
		wait.Go(func() { w.work(ctx) })
	}
	if w.Config.Workers > 0 {
		wait.Go(func() { w.sweep(ctx) })
	}
	wait.Wait()
	return nil
}

// work is one worker: claim, handle, again.
func (w *Worker) work(ctx context.Context) {
	pause := time.Duration(0)
	for ctx.Err() == nil {
		lease, err := w.Queue.Claim(ctx, 5*time.Second)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			pause = min(max(2*pause, 100*time.Millisecond), 3*time.Second)
			w.Log.Warn("the queue doesn't answer", "error", err, "pause", pause)
			sleep(ctx, pause)
			continue
		}
		pause = 0
		if lease != nil {
			w.run(ctx, lease)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
