package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/schedule"
)

// An Alarm is the rule of an alarm.
type Alarm struct {
	Name  string        // unique
	When  string        // one of alarm.Whens
	Queue string        // counts only tasks of this queue; empty: of all queues
	Above float64       // the largest value without an alarm: seconds or a count, see alarm.Figured
	For   time.Duration // how long the condition must hold
	To    string        // the queue whose tasks report the alarm

	above string // as written in the file
}

const (
	mostAlarms = 100
	longFor    = 24 * time.Hour
)

var alarmFields = []field[Alarm]{
	{name: "name", set: func(a *Alarm, s string) error { return name(&a.Name, s) }},
	{name: "when", set: func(a *Alarm, s string) error { return choice(&a.When, s, alarm.Whens()...) }},
	{name: "queue", set: func(a *Alarm, s string) error { return name(&a.Queue, s) }},
	{name: "above", set: func(a *Alarm, s string) error { a.above = s; return nil }},
	{name: "for", set: func(a *Alarm, s string) error { return duration(&a.For, s, 0, longFor) }},
	{name: "to", set: func(a *Alarm, s string) error { return name(&a.To, s) }},
}

// readAlarms replaces the alarms. checkAlarms checks later that their queues exist: they may come from
// elsewhere.
func readAlarms(r *reader, path string, n ast.Node, c *Config) {
	c.Alarms = nil
	elements := r.list(n, path)
	if len(elements) > mostAlarms {
		r.note(n, path, fmt.Sprintf("has %d rules: want %d at most", len(elements), mostAlarms))
		return
	}
	taken := map[string]bool{}
	for i, element := range elements {
		at := fmt.Sprintf("%s[%d]", path, i)
		var a Alarm
		noted := len(r.problems)
		fill(r, element, at, "", alarmFields, &a)
		r.places[at] = r.place(element)
		if len(r.problems) == noted {
			for _, wrong := range a.finish() {
				r.problems = append(r.problems, c.placeOf(at+wrong.field, at).problem(at+wrong.field, wrong.text))
			}
		}
		if len(r.problems) == noted && taken[a.Name] {
			r.note(element, at+".name", fmt.Sprintf("%q is another alarm's: want a name of its own", a.Name))
		}
		taken[a.Name] = true
		c.Alarms = append(c.Alarms, a)
	}
}

// finish fills in the defaults of an alarm, and returns the mistakes that concern several of its fields.
func (a *Alarm) finish() (all []mistake) {
	add := func(field, text string) { all = append(all, mistake{field, text}) }
	if a.To == "" {
		add(".to", "is missing: want the queue whose tasks tell")
	}
	if a.When == "" {
		add(".when", "is missing: want "+oneOf(alarm.Whens()))
		return all
	}
	if a.Name == "" {
		a.Name = alarm.Name(a.When, a.Queue)
		if len(a.Name) > 100 {
			add(".name", "is missing, and when and queue are too long for one: want a name of at most 100 letters")
		}
	}
	if a.Queue != "" && !alarm.Queued(a.When) {
		add(".queue", "has no meaning for "+a.When+", which is of all queues: leave it out")
	}
	long, many := alarm.Figured(a.When)
	switch {
	case long && a.above == "":
		add(".above", "is missing: want a duration, such as 1m")
	case long:
		d, err := schedule.ParseDuration(a.above)
		switch {
		case err != nil:
			add(".above", err.Error())
		case d > 10*365*24*time.Hour:
			add(".above", a.above+": want at most 87600h")
		}
		a.Above = d.Seconds()
	case many:
		var n int
		if err := number(&n, cmp.Or(a.above, "0"), 0, 1_000_000_000); err != nil {
			add(".above", err.Error())
		}
		a.Above = float64(n)
	case a.above != "":
		add(".above", "has no meaning for "+a.When+", which has no figure: leave it out")
	}
	return all
}

// checkAlarms checks that the queues of alarms exist and have the right kind.
func (c *Config) checkAlarms() (ps Problems) {
	for i, a := range c.Alarms {
		note := func(field, text string) {
			at := fmt.Sprintf("alarms[%d]", i)
			ps = append(ps, c.placeOf(at+field, at).problem(at+field, text))
		}
		if a.Queue != "" {
			j := slices.IndexFunc(c.Queues, func(q Queue) bool { return q.Name == a.Queue })
			kind := map[string]string{alarm.OrdersUnknown: "order", alarm.TasksFailed: "notify"}[a.When]
			switch {
			case j < 0:
				note(".queue", fmt.Sprintf("%.40q is no queue: want one of %s", a.Queue, strings.Join(queueNames(c.Queues, ""), ", ")))
			case kind != "" && c.Queues[j].Kind != kind:
				note(".queue", fmt.Sprintf("%.40q is of kind %s: %s is of queues of kind %s", a.Queue, c.Queues[j].Kind, a.When, kind))
			}
		}
		if a.To == "" {
			continue // already reported
		}
		if wrong := notNotify(c.Queues, a.To, "an alarm"); wrong != "" {
			note(".to", wrong)
		}
	}
	return ps
}
