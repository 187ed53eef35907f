package console

import (
	"math"
	"strconv"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

// What a timeline is drawn in: a picture of 1000 by 92.
const (
	lineLeft, lineRight = 24.0, 976.0
	labelRoom           = 34.0 // between labels that must not touch
	maxPlanned          = 40   // attempts to come that are drawn
)

// A timeline is a task's attempts, and those to come, from left to right. Distances
// are logarithms: the first minute of a day-long schedule has a third of the line.
type timeline struct {
	Marks []mark
	Ticks []tick
	Now   float64 // where now is; 0: not drawn, the task has ended
	More  bool    // more attempts may follow than are drawn
}

// A mark is one attempt on the line.
type mark struct {
	X       float64
	Class   string // ok, bad, odd, next, plan
	Label   string // over it; empty where there is no room
	Number  string // under it; empty where there is no room
	At      time.Time
	Attempt *bellman.Attempt // nil: to come
}

// A tick is an age on the line.
type tick struct {
	X    float64
	Text string
}

// line draws a task with its newest attempts; planned are the due times to come.
func line(t *bellman.Task, log []bellman.Attempt, planned []time.Time, more bool, now time.Time) *timeline {
	start, end := t.Created(), t.Created()
	widen := func(at time.Time) {
		if at.Before(start) {
			start = at
		}
		if at.After(end) {
			end = at
		}
	}
	for i := range log {
		widen(log[i].Started)
	}
	for _, at := range planned {
		widen(at)
	}
	if !t.State.Ended() {
		widen(now)
	}
	whole := max(end.Sub(start), 100*time.Millisecond)
	unit := min(time.Second, whole/5)
	place := func(age time.Duration) float64 {
		share := math.Log1p(float64(max(age, 0))/float64(unit)) / math.Log1p(float64(whole)/float64(unit))
		return math.Round(10*(lineLeft+(lineRight-lineLeft)*share)) / 10
	}
	l := &timeline{More: more}
	for i := range log {
		a := &log[i]
		l.Marks = append(l.Marks, mark{X: place(a.Started.Sub(start)), Class: classOf(a.Result), Label: outcome(a),
			Number: strconv.Itoa(a.Number), At: a.Started, Attempt: a})
	}
	for i, at := range planned {
		m := mark{X: place(at.Sub(start)), Class: "plan", Number: strconv.Itoa(t.Attempts + 1 + i), At: at}
		if i == 0 {
			m.Class = "next"
		}
		l.Marks = append(l.Marks, m)
	}
	l.thin()
	if !t.State.Ended() {
		l.Now = place(now.Sub(start))
	}
	last := -labelRoom
	for _, age := range []time.Duration{0, time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute,
		15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 72 * time.Hour,
		7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour} {
		if x := place(age); age <= whole && x-last >= 1.5*labelRoom {
			l.Ticks = append(l.Ticks, tick{x, ageText(age)})
			last = x
		}
	}
	return l
}

// thin takes away labels that would touch the one before them. That of the last
// attempt stays.
func (l *timeline) thin() {
	next := math.Inf(1)
	for i := len(l.Marks) - 1; i >= 0; i-- {
		m := &l.Marks[i]
		if next-m.X < labelRoom {
			m.Label = ""
		}
		if next-m.X < labelRoom/2 {
			m.Number = ""
			continue
		}
		next = m.X
	}
}

func ageText(d time.Duration) string {
	if d >= 48*time.Hour {
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	}
	return schedule.FormatDuration(d)
}

// outcome is how an attempt went, in a few letters.
func outcome(a *bellman.Attempt) string {
	switch {
	case a.Status != 0:
		return strconv.Itoa(a.Status)
	case a.Result == bellman.TimedOut:
		return "…"
	}
	return "–"
}

// classOf is how a result is drawn.
func classOf(r bellman.Result) string {
	switch r {
	case bellman.Accepted:
		return "ok"
	case bellman.Unknown:
		return "odd"
	}
	return "bad"
}

// planned are the due times of the attempts to come if each starts when it is due,
// the next one first; more says that there are others. Of an order only the next
// is known: what follows hangs on its answer.
func (c *Console) planned(t *bellman.Task, order bool) (due []time.Time, more bool) {
	if t.State.Ended() || t.Due.IsZero() {
		return nil, false
	}
	due = append(due, t.Due)
	s, err := c.schedules.Parse(t.Schedule)
	if err != nil || order {
		return due, true
	}
	if within, err := s.Within(t.MaxAge); err == nil {
		s = within
	}
	at := t.Due
	if t.Before != nil { // this one was asked for, and then the schedule goes on
		if t.Before.Due.IsZero() {
			return due, false
		}
		at = t.Before.Due
		due = append(due, at)
	}
	for n := t.Step + 1; ; n++ {
		next, end := s.Next(n, t.Began, at, 0)
		switch {
		case end != "":
			return due, false
		case len(due) == maxPlanned:
			return due, true
		}
		if next.Before(at) {
			next = at
		}
		due = append(due, next)
		at = next
	}
}
