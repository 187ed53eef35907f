package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/nearest"
	"github.com/bellmanhq/bellman/schedule"
)

// An Alarm is the rule of an alarm. Its Name is unique.
type Alarm = alarm.Rule

// A writtenAlarm is an alarm as the file has it: the unit of above depends on when.
type writtenAlarm struct {
	Alarm
	above string
}

const (
	mostAlarms = 100
	longFor    = 24 * time.Hour
)

var alarmFields = []field[writtenAlarm]{
	{name: "name", set: func(a *writtenAlarm, s string) error { return name(&a.Name, s) }},
	{name: "when", set: func(a *writtenAlarm, s string) error { return choice(&a.When, s, alarm.Whens()...) }},
	{name: "queue", set: func(a *writtenAlarm, s string) error { return name(&a.Queue, s) }},
	{name: "above", set: func(a *writtenAlarm, s string) error { a.above = s; return nil }},
	{name: "for", set: func(a *writtenAlarm, s string) error { return duration(&a.For, s, 0, longFor) }},
	{name: "to", set: func(a *writtenAlarm, s string) error { return name(&a.To, s) }},
}

// readAlarms replaces the alarms. checkAlarms checks later that their queues exist: they may come
// from elsewhere.
func readAlarms(r *reader, path string, n ast.Node, c *Config) {
	c.Alarms = nil
	elements := r.elements(n, path)
	if len(elements) > mostAlarms {
		r.note(n, path, fmt.Sprintf("has %d rules: want %d at most", len(elements), mostAlarms))
		return
	}
	taken := map[string]bool{}
	for _, e := range elements {
		var a writtenAlarm
		noted := len(r.problems)
		if fill(r, e.value, e.at, alarmFields, &a) {
			a.finish(func(field, text string) {
				r.problems = append(r.problems, c.problem(e.at+field, text, r.place(e.value)))
			})
		}
		r.places[e.at] = r.place(e.value)
		if len(r.problems) == noted && taken[a.Name] {
			r.note(e.value, e.at+".name", fmt.Sprintf("%q is another alarm's: want a name of its own", a.Name))
		}
		taken[a.Name] = true
		c.Alarms = append(c.Alarms, a.Alarm)
	}
}

// finish fills in the defaults of an alarm, and notes the mistakes that concern several of its
// fields.
func (a *writtenAlarm) finish(note func(field, text string)) {
	if a.To == "" {
		note(".to", "is missing: want the queue that sends the notices")
	}
	if a.When == "" {
		note(".when", "is missing: want "+nearest.Either(alarm.Whens()))
		return
	}
	if a.Name == "" {
		a.Name = alarm.Name(a.When, a.Queue)
		if len(a.Name) > 100 {
			note(".name", "is missing, and when and queue are too long for one: want a name of at most 100 letters")
		}
	}
	if a.Queue != "" && !alarm.Queued(a.When) {
		note(".queue", "has no meaning for "+a.When+", which is of all queues: leave it out")
	}
	if alarm.Momentary(a.When) && a.For > 0 {
		note(".for", "has no meaning for "+a.When+", which is told at once: leave it out")
	}
	long, many := alarm.Figured(a.When)
	switch {
	case long && a.above == "":
		note(".above", "is missing: want a duration, such as 1m")
	case long:
		d, err := schedule.ParseDuration(a.above)
		switch {
		case err != nil:
			note(".above", err.Error())
		case d > 10*365*24*time.Hour:
			note(".above", a.above+": want at most 87600h")
		}
		a.Above = d.Seconds()
	case many:
		var n int
		if err := number(&n, cmp.Or(a.above, "0"), 0, 1_000_000_000); err != nil {
			note(".above", err.Error())
		}
		a.Above = float64(n)
	case a.above != "":
		note(".above", "has no meaning for "+a.When+", which has no figure: leave it out")
	}
}

// checkAlarms checks that the queues of alarms exist and have the right kind.
func (c *Config) checkAlarms() (ps Problems) {
	for i, a := range c.Alarms {
		at := fmt.Sprintf("alarms[%d]", i)
		note := func(field, text string) { ps = append(ps, c.problem(at+field, text, c.places[at])) }
		if a.Queue != "" {
			j := slices.IndexFunc(c.Queues, func(q Queue) bool { return q.Name == a.Queue })
			kind := alarm.Kind(a.When)
			switch {
			case j < 0:
				note(".queue", fmt.Sprintf("%.40q is no queue: want one of %s", a.Queue, strings.Join(queueNames(c.Queues, ""), ", ")))
			case kind != "" && c.Queues[j].Kind != kind:
				note(".queue", fmt.Sprintf("%.40q is of kind %s: %s is of queues of kind %s", a.Queue, c.Queues[j].Kind, a.When, kind))
			}
		}
		if wrong := notNotify(c.Queues, a.To, "an alarm"); a.To != "" && wrong != "" { // a missing to is already reported
			note(".to", wrong)
		}
	}
	return ps
}
