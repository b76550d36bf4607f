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
	}
	for _, kind := range job.Kinds() {
		m.jobs.WithLabelValues(string(kind), "done")
		// increase() does not see the first value of a series that begins with 1.
		m.jobs.WithLabelValues(string(kind), "dead")
		m.seconds.WithLabelValues(string(kind), "done")
	}
	if r != nil {
		r.MustRegister(
			m.jobs,
			m.seconds,
			&depth{queue: q,
				jobs: prometheus.NewDesc("compat_queue_jobs", "Jobs in the queue.", []string{"state"}, nil),
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

				classInstallations: prometheus.NewDesc(
					"compat_queue_class_installations",
					"Installations of which jobs wait, by how many: few (up to 4), many (up to 99), flood; "+
						"and those with jobs for the large pool: large.",
					[]string{"class"},
					nil,
				),
				classJobs: prometheus.NewDesc(
					"compat_queue_class_waiting_jobs",
					"Jobs that wait, by the class of their installation.",
					[]string{"class"},
					nil,
				),
				classOldest: prometheus.NewDesc(
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

// ended counts a job. A journal may contain kinds of other releases.
func (m *metrics) ended(kind job.Kind, how string, took time.Duration) {
	if !slices.Contains(job.Kinds(), kind) {
		kind = "other"
	}
	m.jobs.WithLabelValues(string(kind), how).Inc()
	m.seconds.WithLabelValues(string(kind), how).Observe(took.Seconds())
}

// depth reads the queue at each scrape. It has no values while the queue does not respond.
type depth struct {
	queue                *queue.Queue
	jobs, oldest, parked *prometheus.Desc

	classInstallations, classJobs, classOldest *prometheus.Desc
}

func (d *depth) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{d.jobs, d.oldest, d.parked, d.classInstallations,
		d.classJobs, d.classOldest} {
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
	for state, n := range map[queue.State]int{queue.Waiting: s.Waiting, queue.Running: s.Running,
		queue.Delayed: s.Delayed, queue.Dead: s.Dead} {
		ch <- prometheus.MustNewConstMetric(d.jobs, prometheus.GaugeValue, float64(n), string(state))
		ch <- prometheus.MustNewConstMetric(d.oldest, prometheus.GaugeValue, s.Oldest[state].Seconds(),
			string(state))
	}
	ch <- prometheus.MustNewConstMetric(d.parked, prometheus.GaugeValue, float64(s.Parked))
	classes, err := d.queue.ByClass(ctx)
	if err != nil {
		return
	}
	for _, class := range queue.Classes() {
		c := classes[class]
		ch <- prometheus.MustNewConstMetric(d.classInstallations, prometheus.GaugeValue,
			float64(c.Installations), string(class))
		ch <- prometheus.MustNewConstMetric(d.classJobs, prometheus.GaugeValue, float64(c.Jobs),
			string(class))
		ch <- prometheus.MustNewConstMetric(d.classOldest, prometheus.GaugeValue, c.Oldest.Seconds(),
			string(class))
	}
}
