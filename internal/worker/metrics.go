package worker

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/queue"
)

type metrics struct {
	jobs    *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	stages  *prometheus.HistogramVec

	sweeps      *prometheus.CounterVec
	artifacts   *prometheus.CounterVec
	redelivered prometheus.Counter
	revived     prometheus.Counter
}

func newMetrics(r prometheus.Registerer, q *queue.Queue) *metrics {
	m := &metrics{
		jobs: prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "compat_jobs_total",
				Help: "Jobs handled, by how they ended.",
			},
			[]string{"kind", "outcome"},
		),
		seconds: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{
				Name: "compat_job_seconds",
				Help: "Time a worker spent on a job.",
				Buckets: []float64{
					.05,
					.1,
					.25,
					.5,
					1,
					2.5,
					5,
					10,
					30,
					60,
					300,
					1800,
				},
			},
			[]string{"kind", "outcome"},
		),
		stages: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{
				Name: "compat_stage_seconds",
				Help: "Time that a stage of a job took: download, slot (waiting for one of the analyses that run at once), analysis, post.",
				Buckets: []float64{
					.01,
					.05,
					.1,
					.25,
					.5,
					1,
					2.5,
					5,
					10,
					30,
					60,
					300,
				},
			},
			[]string{"stage"},
		),
		sweeps: prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "compat_sweeps_total",
				Help: "Looks of the process that leads: at GitHub's list of deliveries for those that failed, and at all open heads, merge groups and new releases for those without a check.",
			},
			[]string{"for", "outcome"},
		),
		artifacts: prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "compat_artifact_cache_total",
				Help: "Artifacts that a job needed, by whether their bytes were here already.",
			},
			[]string{"result"},
		),
		redelivered: prometheus.NewCounter(
			prometheus.CounterOpts{
				Name: "compat_sweeper_redeliveries_total",
				Help: "Failed deliveries that GitHub was asked to send again.",
			},
		),
		revived: prometheus.NewCounter(
			prometheus.CounterOpts{
				Name: "compat_sweeper_revived_total",
				Help: "Open heads, merge groups and releases without a concluded check and without a job that were given one.",
			},
		),
	}
	for _, kind := range job.Kinds() {
		m.jobs.WithLabelValues(string(kind), "done")
		m.seconds.WithLabelValues(string(kind), "done")
	}
	for _, stage := range []string{"download", "slot", "analysis", "post"} {
		m.stages.WithLabelValues(stage)
	}
	for _, result := range []string{"hit", "miss"} {
		m.artifacts.WithLabelValues(result)
	}
	for _, what := range []string{"deliveries", "heads"} {
		m.sweeps.WithLabelValues(what, "done")
		m.sweeps.WithLabelValues(what, "failed")
	}
	if r != nil {
		r.MustRegister(
			m.jobs,
			m.seconds,
			m.stages,
			m.sweeps,
			m.artifacts,
			m.redelivered,
			m.revived,
			&depth{queue: q,
				jobs: prometheus.NewDesc(
					"compat_queue_jobs",
					"Jobs in the queue.",
					[]string{"state"},
					nil,
				),
				oldest: prometheus.NewDesc(
					"compat_queue_oldest_seconds",
					"How long the oldest job has been in its state.",
					[]string{"state"},
					nil,
				),
				parked: prometheus.NewDesc(
					"compat_queue_parked_installations",
					"Installations that a rate limit holds back.",
					nil,
					nil,
				),

				crowdInstallations: prometheus.NewDesc(
					"compat_queue_class_installations",
					"Installations of which jobs wait, by how many: few (up to 4), many (up to 99), flood.",
					[]string{"class"},
					nil,
				),
				crowdJobs: prometheus.NewDesc(
					"compat_queue_class_waiting_jobs",
					"Jobs that wait, by the class of their installation.",
					[]string{"class"},
					nil,
				),
				crowdOldest: prometheus.NewDesc(
					"compat_queue_class_oldest_seconds",
					"How long the oldest waiting job of a class has waited.",
					[]string{"class"},
					nil,
				),
			},
		)
	}
	return m
}

// ended counts a job. Kinds come from our own webhook, but a journal may be older than this
// program.
func (m *metrics) ended(kind job.Kind, how string, took time.Duration) {
	if !slices.Contains(job.Kinds(), kind) {
		kind = "other"
	}
	m.jobs.WithLabelValues(string(kind), how).Inc()
	m.seconds.WithLabelValues(string(kind), how).Observe(took.Seconds())
}

// stage begins a stage of a job; the function that it returns ends it.
func (w *Worker) stage(name string) (end func()) {
	start := w.Now()
	return func() { w.metrics.stages.WithLabelValues(name).Observe(w.Now().Sub(start).Seconds()) }
}

func (m *metrics) swept(what string, err error) {
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	m.sweeps.WithLabelValues(what, outcome).Inc()
}

// depth asks the queue when it is scraped. While the queue doesn't answer there is nothing to tell.
type depth struct {
	queue                *queue.Queue
	jobs, oldest, parked *prometheus.Desc

	crowdInstallations, crowdJobs, crowdOldest *prometheus.Desc
}

func (d *depth) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{d.jobs, d.oldest, d.parked, d.crowdInstallations, d.crowdJobs, d.crowdOldest} {
		ch <- desc
	}
}

func (d *depth) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s, err := d.queue.Stats(ctx)
	if err != nil {
		return
	}
	for state, n := range map[queue.State]int{queue.Waiting: s.Waiting, queue.Running: s.Running, queue.Delayed: s.Delayed, queue.Dead: s.Dead} {
		ch <- prometheus.MustNewConstMetric(d.jobs, prometheus.GaugeValue, float64(n), string(state))
		ch <- prometheus.MustNewConstMetric(d.oldest, prometheus.GaugeValue, s.Oldest[state].Seconds(), string(state))
	}
	ch <- prometheus.MustNewConstMetric(d.parked, prometheus.GaugeValue, float64(s.Parked))
	crowds, err := d.queue.Crowds(ctx)
	if err != nil {
		return
	}
	for _, class := range queue.Classes() {
		c := crowds[class]
		ch <- prometheus.MustNewConstMetric(d.crowdInstallations, prometheus.GaugeValue, float64(c.Installations), string(class))
		ch <- prometheus.MustNewConstMetric(d.crowdJobs, prometheus.GaugeValue, float64(c.Jobs), string(class))
		ch <- prometheus.MustNewConstMetric(d.crowdOldest, prometheus.GaugeValue, c.Oldest.Seconds(), string(class))
	}
}
