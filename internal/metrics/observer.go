package metrics

import (
	"maps"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bellmanhq/bellman"
)

// results and states are the numbers of values. A value beyond them counts as the zero value,
// unknown.
const (
	results = int(bellman.Blocked) + 1
	states  = int(bellman.Cancelled) + 1
)

// A queue has the counters of one queue.
type queue struct {
	lateness prometheus.Observer
	took     prometheus.Observer
	added    prometheus.Counter
	attempts [results]prometheus.Counter
	ended    [states]prometheus.Counter // nil for Pending
}

// Attempted counts an attempt by queue and result, with its lateness and duration.
func (m *Metrics) Attempted(queue string, result bellman.Result, lateness, took time.Duration) {
	q := m.queue(queue)
	q.attempts[index(int(result), results)].Inc()
	q.lateness.Observe(lateness.Seconds())
	q.took.Observe(took.Seconds())
}

// Added counts n new tasks of a queue.
func (m *Metrics) Added(queue string, n int) { m.queue(queue).added.Add(float64(max(n, 0))) }

// Ended counts a task that reached an end state. Other states are ignored.
func (m *Metrics) Ended(queue string, state bellman.State) {
	if c := m.queue(queue).ended[index(int(state), states)]; c != nil {
		c.Inc()
	}
}

// Committed counts a group commit, with its size and duration.
func (m *Metrics) Committed(operations int, took time.Duration) {
	m.commitOperations.Observe(float64(operations))
	m.commitSeconds.Observe(took.Seconds())
}

// Alerted counts an order that needs manual action.
func (m *Metrics) Alerted(queue, orderState string) {
	m.alerts.WithLabelValues(label(queue), label(orderState)).Inc()
}

func index(i, n int) int {
	if i < n {
		return i
	}
	return 0
}

// queue returns the counters of a queue. It creates all of them at zero, so that the rate of a
// result that was never seen before is right.
func (m *Metrics) queue(name string) *queue {
	if q := (*m.queues.Load())[name]; q != nil {
		return q
	}
	m.adding.Lock()
	defer m.adding.Unlock()
	known := *m.queues.Load()
	if q := known[name]; q != nil {
		return q
	}
	text := label(name)
	q := &queue{
		lateness: m.lateness.WithLabelValues(text),
		took:     m.took.WithLabelValues(text),
		added:    m.added.WithLabelValues(text),
	}
	for i := range q.attempts {
		q.attempts[i] = m.attempts.WithLabelValues(text, bellman.Result(i).String())
	}
	for i := range q.ended {
		if state := bellman.State(i); state.Ended() {
			q.ended[i] = m.ended.WithLabelValues(text, state.String())
		}
	}
	grown := maps.Clone(known)
	grown[strings.Clone(name)] = q // the caller's string may be part of a larger one
	m.queues.Store(&grown)
	return q
}

// label returns a text as the value of a label, which must be UTF-8.
func label(text string) string { return strings.ToValidUTF8(text, "�") }

// Noticed counts a notice of a channel, by queue and result.
func (m *Metrics) Noticed(queue, result string) {
	m.notices.WithLabelValues(label(queue), result).Inc()
}

// Refused counts a rejected key, by place: api or console.
func (m *Metrics) Refused(place string) { m.refused.WithLabelValues(place).Inc() }
