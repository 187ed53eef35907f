// Package metrics exposes an engine to Prometheus. It observes the hot paths as an
// [engine.Observer], reads present values at each scrape, and serves both from its own registry.
// The engine and the store define the figures; this package names them.
package metrics

import (
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bellmanhq/bellman/engine"
)

// Metrics is the registry of one process. It is an [engine.Observer], and safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	lateness *prometheus.HistogramVec
	took     *prometheus.HistogramVec
	attempts *prometheus.CounterVec
	added    *prometheus.CounterVec
	ended    *prometheus.CounterVec
	alerts   *prometheus.CounterVec
	refused  *prometheus.CounterVec
	notices  *prometheus.CounterVec

	commitOperations prometheus.Histogram
	commitSeconds    prometheus.Histogram

	// queues is replaced as a whole, under adding, when a new queue appears. So a queue is found
	// without a lock, and its counters without a further search.
	queues atomic.Pointer[map[string]*queue]
	adding sync.Mutex

	sources atomic.Pointer[Sources] // nil until Watch
}

var _ engine.Observer = (*Metrics)(nil)

// New returns metrics that count from zero, together with those of the Go runtime and the process.
// version is the program's, for bellman_build_info.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		lateness: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "bellman_lateness_seconds",
			Help: "Start of an attempt minus its due time, by queue.",
			Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
				1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 6 * 3600},
		}, []string{"queue"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "bellman_attempt_seconds",
			Help:    "Duration of an attempt, to the end of its answer or to the timeout, by queue.",
			Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"queue"}),
		attempts: counter("attempts_total", "Recorded attempts, by queue and result.", "queue", "result"),
		added:    counter("tasks_added_total", "Added tasks, by queue.", "queue"),
		ended:    counter("tasks_ended_total", "Ended tasks, by queue and state.", "queue", "state"),
		alerts:   counter("order_alerts_total", "Orders, refunds and transfers that need manual action, by queue and state: UNKNOWN, a late payment, FAILED_THERE, or PENDING after the schedule. Each at least once: nodes that find one payment at the same moment may all count it.", "queue", "order_state"),
		notices:  counter("notices_total", "Notices that payment channels sent, by result: applied, duplicate, held, mismatch or refused.", "queue", "result"),
		refused:  counter("auth_refused_total", "Requests with an unknown key, and sign-ins with a wrong one, by place: api or console.", "place"),
		commitOperations: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "bellman_commit_operations",
			Help:    "Operations in a group commit.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10), // 1 to 512, the largest commit
		}),
		commitSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "bellman_commit_seconds",
			Help:    "Duration of a group commit, until it is durable.",
			Buckets: []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5},
		}),
	}
	m.queues.Store(&map[string]*queue{})
	for _, place := range []string{"api", "console"} {
		m.refused.WithLabelValues(place) // exposed from zero, so that the first one is an increase
	}

	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "bellman_build_info",
		Help:        "Always 1; the labels name the version.",
		ConstLabels: prometheus.Labels{"version": label(version), "go": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(m.lateness, m.took, m.attempts, m.added, m.ended, m.alerts, m.refused, m.notices,
		m.commitOperations, m.commitSeconds, build, collector{m},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "bellman_" + name, Help: help}, labels)
}

// Watch makes further scrapes read s, and nothing that was watched before: a new engine replaces
// the old one.
func (m *Metrics) Watch(s Sources) { m.sources.Store(&s) }

// Handler serves the metrics. It serves four scrapes at a time, and answers 503 to more. A figure
// that fails does not affect the others.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Registry:            m.registry,
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
	})
}
