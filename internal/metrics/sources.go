package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/brokers/source"
)

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

// An Alarm is the number of raised alarms of a rule.
type Alarm struct {
	Name   string
	Raised int
}

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
