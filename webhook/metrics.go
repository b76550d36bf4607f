package webhook

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	answers   *prometheus.CounterVec
	seconds   prometheus.Histogram
	secrets   *prometheus.CounterVec
	namesakes prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		answers: prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "compat_webhook_answers_total",
				Help: "Deliveries by response.",
			},
			[]string{"event", "status", "code"},
		),
		// GitHub gives up after ten seconds.
		seconds: prometheus.NewHistogram(
			prometheus.HistogramOpts{
				Name:    "compat_webhook_seconds",
				Help:    "Response time of deliveries.",
				Buckets: []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
			},
		),
		secrets: prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "compat_webhook_secret_total",
				Help: "Deliveries by the secret that signed them.",
			},
			[]string{"secret"},
		),
		namesakes: prometheus.NewCounter(
			prometheus.CounterOpts{
				Name: "compat_webhook_namesakes_total",
				Help: "Passing check runs of other Apps with the name of this App's check run.",
			},
		),
	}
	m.answers.WithLabelValues("other", "refused", "401")
	m.secrets.WithLabelValues("1")
	r.MustRegister(m.answers, m.seconds, m.secrets, m.namesakes)
	return m
}

// answered counts one response. Unknown events and events of refused deliveries are counted as
// other, because anyone can send them.
func (m *metrics) answered(event, status string, code int, took time.Duration) {
	if _, known := events.Get()[event]; !known || status == "refused" {
		event = "other"
	}
	m.answers.WithLabelValues(event, status, strconv.Itoa(code)).Inc()
	m.seconds.Observe(took.Seconds())
}
