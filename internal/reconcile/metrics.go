package reconcile

import (
	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	sweeps      *prometheus.CounterVec
	redelivered prometheus.Counter
	revived     prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		sweeps: prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "compat_sweeps_total",
				Help: "Looks of the process that leads: at GitHub's list of deliveries for those that " +
					"failed, and at all open heads, merge groups and new releases for those without a check.",
			},
			[]string{"for", "outcome"},
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
				Help: "Open heads, merge groups and releases without a concluded check and without " +
					"a job that were given one.",
			},
		),
	}
	for _, what := range []string{"deliveries", "heads"} {
		m.sweeps.WithLabelValues(what, "done")
		m.sweeps.WithLabelValues(what, "failed")
	}
	if r != nil {
		r.MustRegister(m.sweeps, m.redelivered, m.revived)
	}
	return m
}

func (m *metrics) swept(what string, err error) {
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	m.sweeps.WithLabelValues(what, outcome).Inc()
}
