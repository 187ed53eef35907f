package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/store"
)

// Sources are called at each scrape, possibly concurrently. A nil function is left out. Each must
// return within a few seconds, the patience of a scraper.
type Sources struct {
	Gauges func() figures.Gauges  // of the engine
	Queues func() []figures.Queue // every queue
	Store  func() []store.Figure  // of the store, after "bellman_store_"
	Nodes  func() []store.Figure  // of the nodes that share the store, after "bellman_"

	Sources func() []source.Info  // every source
	Intake  func() figures.Intake // whether new tasks are accepted
	Alarms  func() []Alarm        // every rule, with its raised alarms

	Reconciled func() []Reconciled   // every queue with a result, and each kind of difference
	Traces     func() []store.Figure // of spans, after "bellman_spans_"

	Certificates func() []Certificate // of the channels of queues
	Credentials  func() []Credential  // everything that expires, what expires first at first

	// Merchants returns the paused merchants, the longest paused first, and the number of their
	// waiting tasks.
	Merchants func() (paused []figures.MerchantPause, waiting int)

	// Failing returns the merchants that accept nothing from this node, the longest failing first.
	Failing func() []figures.FailingMerchant

	// Endpoints returns all known endpoints. At most MaxEndpoints (default 100, none if negative)
	// are exposed by name, because each costs memory in Prometheus for as long as it keeps data.
	// The worst come first: endpoints whose breaker is not closed, then paused ones, then those
	// with the oldest waiting task, then the longest lines.
	Endpoints    func() []figures.Endpoint
	MaxEndpoints int
}

// A Credential is a certificate or key that expires.
type Credential struct {
	Name string
	Left time.Duration // until it expires; negative: it has expired
}

// maxCredentials is how many certificates and keys have a series of their own.
const maxCredentials = 100

// A Certificate is a certificate in the configuration of an order queue's channel.
type Certificate struct {
	Queue    string
	Name     string // its place in the channel's configuration
	NotAfter time.Time
}

// Reconciled is the number of differences of one kind between a queue and the newest bill that it
// was compared with.
type Reconciled struct {
	Queue, Kind string
	Differences int
}

// An Alarm is the number of raised alarms of a rule.
type Alarm struct {
	Name   string
	Raised int
}

// collector reads the sources at a scrape. The names of the store's figures are not known in
// advance, so it describes nothing, and the registry checks the names at each scrape.
type collector struct{ *Metrics }

func (c collector) Describe(chan<- *prometheus.Desc) {}

func (c collector) Collect(out chan<- prometheus.Metric) {
	s, now := c.sources.Load(), time.Now()
	if s == nil {
		return
	}
	if s.Gauges != nil {
		engineGauges(s.Gauges(), now, out)
	}
	if s.Queues != nil {
		for _, q := range s.Queues() {
			queueGauges(&q, now, out)
		}
	}
	if s.Endpoints != nil {
		for _, e := range worst(s.Endpoints(), max(cmp.Or(s.MaxEndpoints, 100), 0)) {
			endpointGauges(&e, now, out)
		}
	}
	if s.Merchants != nil {
		paused, waiting := s.Merchants()
		merchantGauges(paused, waiting, out)
	}
	if s.Failing != nil {
		failing := s.Failing()
		send(out, merchantsFailing, prometheus.GaugeValue, float64(len(failing)))
		for _, f := range failing[:min(len(failing), maxMerchants)] {
			send(out, merchantFailing, prometheus.GaugeValue, 1, label(f.MerchantNo))
		}
	}
	if s.Sources != nil {
		for _, source := range s.Sources() {
			sourceGauges(&source, out)
		}
	}
	if s.Intake != nil {
		intakeGauges(s.Intake(), out)
	}
	if s.Alarms != nil {
		for _, a := range s.Alarms() {
			send(out, alarmRaised, prometheus.GaugeValue, float64(a.Raised), label(a.Name))
		}
	}
	if s.Reconciled != nil {
		for _, r := range s.Reconciled() {
			send(out, reconcileDifferences, prometheus.GaugeValue, float64(r.Differences), label(r.Queue), r.Kind)
		}
	}
	if s.Certificates != nil {
		for _, c := range s.Certificates() {
			send(out, certificateExpiry, prometheus.GaugeValue, unix(c.NotAfter), label(c.Queue), label(c.Name))
		}
	}
	if s.Credentials != nil {
		all := s.Credentials()
		for _, c := range all[:min(len(all), maxCredentials)] {
			send(out, credentialExpires, prometheus.GaugeValue, c.Left.Seconds(), label(c.Name))
		}
	}
	collectFigures("bellman_store_", s.Store, out)
	collectFigures("bellman_", s.Nodes, out)
	collectFigures("bellman_spans_", s.Traces, out)
}

// collectFigures passes the figures of a source to the scrape.
func collectFigures(prefix string, source func() []store.Figure, out chan<- prometheus.Metric) {
	if source == nil {
		return
	}
	for _, f := range source() {
		kind := prometheus.GaugeValue
		if f.Counter {
			kind = prometheus.CounterValue
		}
		send(out, prometheus.NewDesc(prefix+f.Name, f.Help, nil, nil), kind, f.Value)
	}
}

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("bellman_"+name, help, labels, nil)
}

var (
	inFlight      = gauge("attempts_in_flight", "Attempts in flight.")
	poolLimit     = gauge("pool_limit", "Present limit of concurrent attempts; it adapts.")
	poolFloor     = gauge("pool_floor", "Smallest limit of concurrent attempts to quick endpoints.")
	poolCeiling   = gauge("pool_ceiling", "Largest number of concurrent attempts.")
	waiting       = gauge("tasks_waiting", "Due tasks that wait in memory.")
	oldestWaiting = gauge("oldest_waiting_seconds", "How long the first task that waits in memory has been due.")
	loaded        = gauge("tasks_loaded", "Tasks in memory that are not due yet.")
	uncommitted   = gauge("operations_uncommitted", "Operations that wait for a group commit.")
	oldestOverdue = gauge("oldest_overdue_seconds", "How long the oldest overdue task in the store has been due, without tasks that a pause or a breaker holds.")
	endpoints     = gauge("endpoints", "Endpoints that had tasks lately.")
	breakersOpen  = gauge("breakers_open", "Endpoints whose breaker is open.")
	heartbeat     = gauge("heartbeat_timestamp_seconds", "When the loop that starts attempts last ran and could have started some, Unix time; 0 before the first time.")
	stray         = gauge("tasks_stray", "Tasks in memory of queues that are not configured at this node; they are not attempted.")
	followsLost   = gauge("follows_refused_total", "Follow-up tasks that were not added because they were invalid.")
)

func engineGauges(g figures.Gauges, now time.Time, out chan<- prometheus.Metric) {
	send(out, inFlight, prometheus.GaugeValue, float64(g.InFlight))
	send(out, poolLimit, prometheus.GaugeValue, float64(g.PoolLimit))
	send(out, poolFloor, prometheus.GaugeValue, float64(g.PoolFloor))
	send(out, poolCeiling, prometheus.GaugeValue, float64(g.PoolCeiling))
	send(out, waiting, prometheus.GaugeValue, float64(g.Waiting))
	send(out, oldestWaiting, prometheus.GaugeValue, age(g.OldestWaiting, now))
	send(out, loaded, prometheus.GaugeValue, float64(g.Loaded))
	send(out, uncommitted, prometheus.GaugeValue, float64(g.Uncommitted))
	send(out, oldestOverdue, prometheus.GaugeValue, age(g.OldestOverdue, now))
	send(out, endpoints, prometheus.GaugeValue, float64(g.Endpoints))
	send(out, breakersOpen, prometheus.GaugeValue, float64(g.BreakersOpen))
	send(out, heartbeat, prometheus.GaugeValue, unix(g.Fired))
	send(out, stray, prometheus.GaugeValue, float64(g.Stray))
	send(out, followsLost, prometheus.CounterValue, float64(g.RefusedFollows))
}

var (
	queueTasks         = gauge("queue_tasks", "Tasks in the store, by queue and state.", "queue", "state")
	queueWaiting       = gauge("queue_waiting", "Due tasks of a queue that wait in memory.", "queue")
	queueInFlight      = gauge("queue_in_flight", "Attempts of a queue in flight.", "queue")
	queueOldestOverdue = gauge("queue_oldest_overdue_seconds", "How long the oldest task of a queue that waits in memory has been due, without tasks that a pause or a breaker holds.", "queue")
	queueHeld          = gauge("queue_held", "Tasks of bellman_queue_waiting that a pause or a breaker holds.", "queue")
	queuePaused        = gauge("queue_paused", "1 while a queue is paused.", "queue")
)

func queueGauges(q *figures.Queue, now time.Time, out chan<- prometheus.Metric) {
	name := label(q.Name)
	for _, d := range []struct {
		state bellman.State
		tasks int64
	}{
		{bellman.Pending, q.Depth.Pending},
		{bellman.Succeeded, q.Depth.Succeeded},
		{bellman.Failed, q.Depth.Failed},
		{bellman.Cancelled, q.Depth.Cancelled},
	} {
		send(out, queueTasks, prometheus.GaugeValue, float64(d.tasks), name, d.state.String())
	}
	send(out, queueWaiting, prometheus.GaugeValue, float64(q.Waiting), name)
	send(out, queueHeld, prometheus.GaugeValue, float64(q.Held), name)
	send(out, queueInFlight, prometheus.GaugeValue, float64(q.InFlight), name)
	send(out, queueOldestOverdue, prometheus.GaugeValue, age(q.OldestOverdue, now), name)
	send(out, queuePaused, prometheus.GaugeValue, flag(q.Pause != nil), name)
}

var (
	merchantsPaused  = gauge("merchants_paused", "Paused merchants.")
	merchantsWaiting = gauge("merchants_paused_tasks", "Pending tasks of paused merchants, counted up to 2000; updated every 30 s.")
	merchantsFailing = gauge("merchants_failing", "Merchants that accepted none of three or more attempts of this node within a day, counted up to 200; updated every 10 s.")
	merchantFailing  = gauge("merchant_failing", "1 while a merchant is failing; only the 20 that have been failing the longest.", "merchant")
	merchantPaused   = gauge("merchant_paused", "1 while a merchant is paused; only the 20 that have been paused the longest.", "merchant")
)

// maxMerchants is how many paused merchants, and how many failing ones, have a series of their own.
const maxMerchants = 20

var certificateExpiry = gauge("certificate_expiry_timestamp_seconds",
	"Until when a certificate of a queue's channel is valid, Unix time.", "queue", "certificate")

var credentialExpires = gauge("credential_expires_seconds",
	"Seconds until a certificate or key expires; below 0 it has expired. Only the 100 that expire first.", "credential")

func merchantGauges(paused []figures.MerchantPause, waiting int, out chan<- prometheus.Metric) {
	send(out, merchantsPaused, prometheus.GaugeValue, float64(len(paused)))
	send(out, merchantsWaiting, prometheus.GaugeValue, float64(waiting))
	for _, p := range paused[:min(len(paused), maxMerchants)] {
		send(out, merchantPaused, prometheus.GaugeValue, 1, label(p.MerchantNo))
	}
}

var (
	endpointInFlight = gauge("endpoint_in_flight", "Attempts in flight to an endpoint.", "endpoint")
	endpointLimit    = gauge("endpoint_limit", "Present limit of concurrent attempts to an endpoint; it adapts.", "endpoint")
	endpointRate     = gauge("endpoint_rate", "Present rate limit of an endpoint that answered 429 or 503 too often, in attempts a second; 0: none.", "endpoint")
	endpointWaiting  = gauge("endpoint_waiting", "Due tasks in memory that wait for an endpoint.", "endpoint")
	endpointOldest   = gauge("endpoint_oldest_waiting_seconds", "How long the first task that waits for an endpoint has been due.", "endpoint")
	endpointSuccess  = gauge("endpoint_success_ratio", "Share of an endpoint's latest attempts that succeeded; absent before the first.", "endpoint")
	endpointBreaker  = gauge("endpoint_breaker_state", "0 closed, 1 half open, 2 open.", "endpoint")
	endpointPaused   = gauge("endpoint_paused", "1 while an endpoint is paused.", "endpoint")
)

func endpointGauges(e *figures.Endpoint, now time.Time, out chan<- prometheus.Metric) {
	name := label(e.Endpoint)
	send(out, endpointInFlight, prometheus.GaugeValue, float64(e.InFlight), name)
	send(out, endpointLimit, prometheus.GaugeValue, float64(e.Limit), name)
	send(out, endpointRate, prometheus.GaugeValue, e.Rate, name)
	send(out, endpointWaiting, prometheus.GaugeValue, float64(e.Waiting), name)
	send(out, endpointOldest, prometheus.GaugeValue, age(e.Oldest, now), name)
	if e.SuccessRate >= 0 {
		send(out, endpointSuccess, prometheus.GaugeValue, e.SuccessRate, name)
	}
	send(out, endpointBreaker, prometheus.GaugeValue, float64(openness(e)), name)
	send(out, endpointPaused, prometheus.GaugeValue, flag(e.Pause != nil), name)
}

var (
	sourceMessages = gauge("source_messages_total", "Messages of a broker, by source and outcome: became a task, repeated a task, or went to the dead letters.", "source", "outcome")
	sourceInHand   = gauge("source_in_hand", "Messages that were received and not yet confirmed to the broker, by source.", "source")
	sourceFailures = gauge("source_failures_total", "How often a broker could not be reached, or the connection broke, by source.", "source")
	sourceState    = gauge("source_state", "1 for the present state of a source.", "source", "state")
)

func sourceGauges(s *source.Info, out chan<- prometheus.Metric) {
	name := label(s.Name)
	send(out, sourceMessages, prometheus.CounterValue, float64(s.Stored), name, "stored")
	send(out, sourceMessages, prometheus.CounterValue, float64(s.Existing), name, "existing")
	send(out, sourceMessages, prometheus.CounterValue, float64(s.Dead), name, "dead")
	send(out, sourceInHand, prometheus.GaugeValue, float64(s.InHand), name)
	send(out, sourceFailures, prometheus.CounterValue, float64(s.Failures), name)
	for _, state := range []string{"connecting", "consuming", "paused", "stopped"} {
		send(out, sourceState, prometheus.GaugeValue, flag(s.State == state), name, state)
	}
}

var reconcileDifferences = gauge("reconcile_differences", "Differences between a queue's orders and the bill of the newest day that was reconciled, by kind. The same at all nodes.", "queue", "kind")

var alarmRaised = gauge("alarm_raised", "Raised alarms of a rule, by its name: one at most, except for rules with one alarm for each endpoint. The same at all nodes.", "name")

var (
	intakeOpen    = gauge("intake_open", "1 while new tasks are accepted, 0 while sources are paused and creates are answered with 429.")
	intakeWaiting = gauge("intake_waiting", "Tasks that are overdue or wait to be committed, but for those set aside: what the marks are of. They are counted no further than it takes to know: a little above intake_high there may be more.")
	intakeHigh    = gauge("intake_high", "High mark: above this number of waiting tasks new tasks are rejected.")
	intakeHeap    = gauge("intake_heap_bytes", "Live heap after the last garbage collection, in bytes.")
)

func intakeGauges(i figures.Intake, out chan<- prometheus.Metric) {
	send(out, intakeOpen, prometheus.GaugeValue, flag(i.Open))
	send(out, intakeWaiting, prometheus.GaugeValue, float64(i.Waiting))
	send(out, intakeHigh, prometheus.GaugeValue, float64(i.High))
	send(out, intakeHeap, prometheus.GaugeValue, float64(i.Heap))
}

// worst returns at most n endpoints, those with the greatest need of attention first.
func worst(all []figures.Endpoint, n int) []figures.Endpoint {
	if len(all) <= n {
		return all
	}
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b figures.Endpoint) int {
		return cmp.Or(
			cmp.Compare(openness(&b), openness(&a)),
			cmp.Compare(flag(b.Pause != nil), flag(a.Pause != nil)), // its waiting tasks are on disk, so that it looks idle
			longest(a.Oldest, b.Oldest),
			cmp.Compare(b.Waiting, a.Waiting),
			cmp.Compare(b.InFlight, a.InFlight),
			cmp.Compare(a.Endpoint, b.Endpoint),
		)
	})
	return all[:n]
}

// longest sorts by time, the zero time last.
func longest(a, b time.Time) int {
	if a.IsZero() != b.IsZero() {
		return cmp.Compare(flag(a.IsZero()), flag(b.IsZero()))
	}
	return a.Compare(b)
}

func openness(e *figures.Endpoint) int {
	switch e.Breaker {
	case "open":
		return 2
	case "half_open":
		return 1
	}
	return 0
}

// age returns the seconds since t; 0 for the zero time and the future.
func age(t, now time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(now.Sub(t), 0).Seconds()
}

// unix returns a Unix time; 0 for the zero time.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1e3
}

func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// send passes one figure to the scrape. An invalid figure spoils only itself.
func send(out chan<- prometheus.Metric, d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
	m, err := prometheus.NewConstMetric(d, kind, value, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	out <- m
}
