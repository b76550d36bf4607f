// Package subject handles the jobs that give a verdict: on pull requests, merge groups, releases
// and deployments, and on the default branch that pull requests are compared with. There is a
// file per kind; check.go has the common part of those with a check run.
//
// A job names a subject, not a step. The handler compares the state on GitHub with the desired
// state and makes the missing changes, so jobs may run twice, late, or again after a crash. The
// external ID of the check run is a digest of everything that the verdict depends on, so the same
// inputs are never concluded twice.
//
//	s, err := subject.New(subject.Options{App: app, Store: store, Fetcher: fetcher, Analyzer: analyzer.New(rules.All()), Config: service})
//	w, err := worker.New(worker.Options{Handlers: s.Handlers(), …})
package subject

import (
	"context"
	"errors"
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
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/review"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

// Options configures New. App, Store, Fetcher, Analyzer and Config are required.
type Options struct {
	App      *github.App
	Store    *store.Store
	Fetcher  *artifact.Fetcher
	Analyzer *analyzer.Analyzer
	Checker  Checker // nil = the Analyzer in this process
	Impacts  Impacts // nil = this process
	// Index is the package index; nil = none.
	Index *PackageIndex
	// Source is used if there is no Index; nil = the embedded history, and reports say that no index
	// is configured.
	Source packages.Source
	// Reviewer reviews changes of pinned packages with the Index; nil = no reviews.
	Reviewer *review.Reviewer
	Scratch  func(size int64) (unpack.Scratch, error)
	Config   *config.Service
	Version  string                // version of compat, for reports
	Metrics  prometheus.Registerer // nil = not registered
}

// analyses is the number of concurrent analyses in one process. Each holds decompressed objects
// of untrusted artifacts in memory; two fit on a small machine while other workers wait for
// GitHub.
const analyses = 2

const (
	// largeArtifacts is the size of a job's artifacts, in bytes, from which it counts as large. One
	// analysis less than all may be of a large job, so that jobs with small artifacts never wait
	// for minutes. In the large pool there are none.
	largeArtifacts = 512 << 20

	// largePause is the pause before a large job tries again, here or in another process. It is
	// short compared with the time that a large job takes.
	largePause = 15 * time.Second
)

// Checker analyzes artifacts whose Content is an *os.File. *sandbox.Runner does so in another
// process.
type Checker interface {
	// Check is like sandbox.Judge. It calls risky once when the analysis may end this process.
	Check(
		ctx context.Context,
		inputs []analyzer.Input,
		o analyzer.Options,
		diagnoses []buildlog.Diagnosis,
		risky func(),
	) (*analyzer.Report, []buildlog.Diagnosis, error)
}

// Service handles the jobs of all subjects.
type Service struct {
	Options
	opener  *repository.Opener
	metrics *metrics
	slots   chan struct{} // running analyses
	large   chan struct{} // jobs with large artifacts that were admitted
}

// New returns an error if a required option is missing.
func New(o Options) (*Service, error) {
	if o.App == nil || o.Store == nil || o.Fetcher == nil || o.Analyzer == nil || o.Config == nil {
		return nil, errors.New("subject: app, store, fetcher, analyzer and config are required")
	}
	if o.Checker == nil {
		o.Checker = inProcess{o.Analyzer}
	}
	if o.Impacts == nil {
		o.Impacts = inProcess{o.Analyzer}
	}
	s := &Service{
		Options: o,
		metrics: newMetrics(o.Metrics),
		slots:   make(chan struct{}, analyses),
		large:   make(chan struct{}, analyses-1),
	}
	if queue.Pool(o.Config.Pool) == queue.LargePool {
		s.large = make(chan struct{}, analyses)
	}
	s.opener = &repository.Opener{App: o.App, Store: o.Store, Rules: s.ruleIDs()}
	return s, nil
}

func (s *Service) ruleIDs() []string {
	var ids []string
	for _, r := range s.Analyzer.Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}

// admit returns a function to call after the analysis of the artifacts. It returns nil if they
// cannot be downloaded and analyzed by this process now. Then the job ends with otherwise, so that
// it occupies no worker.
func (s *Service) admit(found *artifact.Found) (release func(), otherwise worker.Outcome) {
	size := int64(0)
	for _, item := range found.Items {
		size += item.Size
	}
	if size < largeArtifacts {
		return func() {}, worker.Done
	}
	if queue.Pool(s.Config.Pool) == queue.SmallPool {
		return nil, worker.Large
	}
	select {
	case s.large <- struct{}{}:
		return func() { <-s.large }, worker.Done
	default:
		return nil, worker.Later(largePause, "Other jobs with large artifacts are being checked.")
	}
}

func (s *Service) now() time.Time { return s.Store.Now() }

type metrics struct {
	stages    *prometheus.HistogramVec
	artifacts *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		stages: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{
				Name: "compat_stage_seconds",
				Help: "Duration of each stage of a job: download, slot (waiting for one of the " +
					"concurrent analyses), analysis, post.",
				Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
			},
			[]string{"stage"},
		),
		artifacts: prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "compat_artifact_cache_total",
				Help: "Artifacts of jobs, by whether they were in the cache.",
			},
			[]string{"result"},
		),
	}
	for _, stage := range []string{"download", "slot", "analysis", "post"} {
		m.stages.WithLabelValues(stage)
	}
	for _, result := range []string{"hit", "miss"} {
		m.artifacts.WithLabelValues(result)
	}
	if r != nil {
		r.MustRegister(m.stages, m.artifacts)
	}
	return m
}

// stage starts the clock of a stage; the returned function stops it.
func (s *Service) stage(name string) (end func()) {
	start := s.now()
	return func() { s.metrics.stages.WithLabelValues(name).Observe(s.now().Sub(start).Seconds()) }
}
