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

func (c collector) Collect(to chan<- prometheus.Metric) {
	s, now, out := c.sources.Load(), time.Now(), output(to)
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
		out.gauge("merchants_failing", "Merchants that accepted none of three or more attempts of this node within a day, counted up to 200; updated every 10 s.", float64(len(failing)))
		for _, f := range failing[:min(len(failing), maxMerchants)] {
			out.gauge("merchant_failing", "1 while a merchant is failing; only the 20 that have been failing the longest.", 1, "merchant", label(f.MerchantNo))
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
			out.gauge("alarm_raised", "Raised alarms of a rule, by its name: one at most, except for rules with one alarm for each endpoint. The same at all nodes.", float64(a.Raised), "name", label(a.Name))
		}
	}
	if s.Reconciled != nil {
		for _, r := range s.Reconciled() {
			out.gauge("reconcile_differences", "Differences between a queue's orders and the bill of the newest day that was reconciled, by kind. The same at all nodes.", float64(r.Differences), "queue", label(r.Queue), "kind", r.Kind)
		}
	}
	if s.Certificates != nil {
		for _, c := range s.Certificates() {
			out.gauge("certificate_expiry_timestamp_seconds", "Until when a certificate of a queue's channel is valid, Unix time.", unix(c.NotAfter), "queue", label(c.Queue), "certificate", label(c.Name))
		}
	}
	if s.Credentials != nil {
		all := s.Credentials()
		for _, c := range all[:min(len(all), maxCredentials)] {
			out.gauge("credential_expires_seconds", "Seconds until a certificate or key expires; below 0 it has expired. Only the 100 that expire first.", c.Left.Seconds(), "credential", label(c.Name))
		}
	}
	collectFigures("bellman_store_", s.Store, out)
	collectFigures("bellman_", s.Nodes, out)
	collectFigures("bellman_spans_", s.Traces, out)
}

// collectFigures passes the figures of a source to the scrape.
func collectFigures(prefix string, source func() []store.Figure, out output) {
	if source == nil {
		return
	}
	for _, f := range source() {
		kind := prometheus.GaugeValue
		if f.Counter {
			kind = prometheus.CounterValue
		}
		out.send(kind, prefix+f.Name, f.Help, f.Value)
	}
}

func engineGauges(g figures.Gauges, now time.Time, out output) {
	out.gauge("attempts_in_flight", "Attempts in flight.", float64(g.InFlight))
	out.gauge("pool_limit", "Present limit of concurrent attempts; it adapts.", float64(g.PoolLimit))
	out.gauge("pool_floor", "Smallest limit of concurrent attempts to quick endpoints.", float64(g.PoolFloor))
	out.gauge("pool_ceiling", "Largest number of concurrent attempts.", float64(g.PoolCeiling))
	out.gauge("tasks_waiting", "Due tasks that wait in memory.", float64(g.Waiting))
	out.gauge("oldest_waiting_seconds", "How long the first task that waits in memory has been due.", age(g.OldestWaiting, now))
	out.gauge("tasks_loaded", "Tasks in memory that are not due yet.", float64(g.Loaded))
	out.gauge("operations_uncommitted", "Operations that wait for a group commit.", float64(g.Uncommitted))
	out.gauge("oldest_overdue_seconds", "How long the oldest overdue task in the store has been due, without tasks that a pause or a breaker holds.", age(g.OldestOverdue, now))
	out.gauge("endpoints", "Endpoints that had tasks lately.", float64(g.Endpoints))
	out.gauge("breakers_open", "Endpoints whose breaker is open.", float64(g.BreakersOpen))
	out.gauge("heartbeat_timestamp_seconds", "When the loop that starts attempts last ran and could have started some, Unix time; 0 before the first time.", unix(g.Fired))
	out.gauge("tasks_stray", "Tasks in memory of queues that are not configured at this node; they are not attempted.", float64(g.Stray))
	out.counter("follows_refused_total", "Follow-up tasks that were not added because they were invalid.", float64(g.RefusedFollows))
}

func queueGauges(q *figures.Queue, now time.Time, out output) {
	name := label(q.Name)
	for state, n := range map[bellman.State]int64{
		bellman.Pending: q.Depth.Pending, bellman.Succeeded: q.Depth.Succeeded, bellman.Failed: q.Depth.Failed, bellman.Cancelled: q.Depth.Cancelled,
	} {
		out.gauge("queue_tasks", "Tasks in the store, by queue and state.", float64(n), "queue", name, "state", state.String())
	}
	out.gauge("queue_waiting", "Due tasks of a queue that wait in memory.", float64(q.Waiting), "queue", name)
	out.gauge("queue_held", "Tasks of bellman_queue_waiting that a pause or a breaker holds.", float64(q.Held), "queue", name)
	out.gauge("queue_in_flight", "Attempts of a queue in flight.", float64(q.InFlight), "queue", name)
	out.gauge("queue_oldest_overdue_seconds", "How long the oldest task of a queue that waits in memory has been due, without tasks that a pause or a breaker holds.", age(q.OldestOverdue, now), "queue", name)
	out.gauge("queue_paused", "1 while a queue is paused.", flag(q.Pause != nil), "queue", name)
}

// maxMerchants is how many paused merchants, and how many failing ones, have a series of their own.
const maxMerchants = 20

func merchantGauges(paused []figures.MerchantPause, waiting int, out output) {
	out.gauge("merchants_paused", "Paused merchants.", float64(len(paused)))
	out.gauge("merchants_paused_tasks", "Pending tasks of paused merchants, counted up to 2000; updated every 30 s.", float64(waiting))
	for _, p := range paused[:min(len(paused), maxMerchants)] {
		out.gauge("merchant_paused", "1 while a merchant is paused; only the 20 that have been paused the longest.", 1, "merchant", label(p.MerchantNo))
	}
}

func endpointGauges(e *figures.Endpoint, now time.Time, out output) {
	name := label(e.Endpoint)
	out.gauge("endpoint_in_flight", "Attempts in flight to an endpoint.", float64(e.InFlight), "endpoint", name)
	out.gauge("endpoint_limit", "Present limit of concurrent attempts to an endpoint; it adapts.", float64(e.Limit), "endpoint", name)
	out.gauge("endpoint_rate", "Present rate limit of an endpoint that answered 429 or 503 too often, in attempts a second; 0: none.", e.Rate, "endpoint", name)
	out.gauge("endpoint_waiting", "Due tasks in memory that wait for an endpoint.", float64(e.Waiting), "endpoint", name)
	out.gauge("endpoint_oldest_waiting_seconds", "How long the first task that waits for an endpoint has been due.", age(e.Oldest, now), "endpoint", name)
	if e.SuccessRate >= 0 {
		out.gauge("endpoint_success_ratio", "Share of an endpoint's latest attempts that succeeded; absent before the first.", e.SuccessRate, "endpoint", name)
	}
	out.gauge("endpoint_breaker_state", "0 closed, 1 half open, 2 open.", float64(openness(e)), "endpoint", name)
	out.gauge("endpoint_paused", "1 while an endpoint is paused.", flag(e.Pause != nil), "endpoint", name)
}

func sourceGauges(s *source.Info, out output) {
	name := label(s.Name)
	for outcome, n := range map[string]int64{"stored": s.Stored, "existing": s.Existing, "dead": s.Dead} {
		out.counter("source_messages_total", "Messages of a broker, by source and outcome: became a task, repeated a task, or went to the dead letters.", float64(n), "source", name, "outcome", outcome)
	}
	out.gauge("source_in_hand", "Messages that were received and not yet confirmed to the broker, by source.", float64(s.InHand), "source", name)
	out.counter("source_failures_total", "How often a broker could not be reached, or the connection broke, by source.", float64(s.Failures), "source", name)
	for _, state := range []string{"connecting", "consuming", "paused", "stopped"} {
		out.gauge("source_state", "1 for the present state of a source.", flag(s.State == state), "source", name, "state", state)
	}
}

func intakeGauges(i figures.Intake, out output) {
	out.gauge("intake_open", "1 while new tasks are accepted, 0 while sources are paused and creates are answered with 429.", flag(i.Open))
	out.gauge("intake_waiting", "Tasks that are overdue or wait to be committed, without deferred tasks. The count stops once it is known to be above intake_high.", float64(i.Waiting))
	out.gauge("intake_high", "High mark: above this number of waiting tasks new tasks are rejected.", float64(i.High))
	out.gauge("intake_heap_bytes", "Live heap after the last garbage collection, in bytes.", float64(i.Heap))
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
	return cmp.Or(cmp.Compare(flag(a.IsZero()), flag(b.IsZero())), a.Compare(b))
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

// An output takes the figures of a scrape. labels are names and values in turn.
type output chan<- prometheus.Metric

func (out output) gauge(name, help string, value float64, labels ...string) {
	out.send(prometheus.GaugeValue, "bellman_"+name, help, value, labels...)
}

func (out output) counter(name, help string, value float64, labels ...string) {
	out.send(prometheus.CounterValue, "bellman_"+name, help, value, labels...)
}

// send passes one figure to the scrape. An invalid figure spoils only itself.
func (out output) send(kind prometheus.ValueType, name, help string, value float64, labels ...string) {
	var names, values []string
	for label := range slices.Chunk(labels, 2) {
		names, values = append(names, label[0]), append(values, label[1])
	}
	d := prometheus.NewDesc(name, help, names, nil)
	m, err := prometheus.NewConstMetric(d, kind, value, values...)
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	out <- m
}
