package console

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

// Measures of a timeline: a picture with a lane for each kind of request. There is one picture for
// wide pages and one for phones; the stylesheet shows the one that fits.
const (
	wideLine, phoneLine = 1000.0, 320.0

	laneHeight  = 52
	roundHeight = 68   // height of a lane whose name stands under the numbers of the lane above
	labelRoom   = 34.0 // least distance of labels
	markRoom    = 9.0  // least distance of marks that do not overlap
	maxPlanned  = 40   // future attempts that are drawn
)

// A timeline shows past and future attempts from left to right. Distances are logarithmic: the
// first minute of a day-long schedule takes a third of the line.
type timeline struct {
	Width float64
	Lanes []*lane
	Ticks []tick
	Now   float64 // position of the present; 0: not drawn, because everything has ended
	More  bool    // more attempts may follow than are drawn

	NowTop int  // top of the line that marks the present
	Rounds bool // each lane is a round of the schedule, and ages count from its beginning
}

// Phone reports whether the timeline is drawn for phones.
func (l *timeline) Phone() bool { return l.Width == phoneLine }

// Left returns where the line begins.
func (l *timeline) Left() float64 { left, _ := ends(l.Width); return left }

// Right returns where the line ends.
func (l *timeline) Right() float64 { _, right := ends(l.Width); return right }

// ends returns where the line begins and ends in a picture of this width.
func ends(width float64) (left, right float64) {
	if width == phoneLine {
		return 12, width - 14
	}
	return 24, width - 24
}

// Height returns the height of the picture.
func (l *timeline) Height() int { return l.Axis() + 26 }

// Axis returns the position of the ages.
func (l *timeline) Axis() int { return l.Lanes[len(l.Lanes)-1].Y + 24 }

// A lane is one line of marks.
type lane struct {
	Name  string // drawn above its beginning; empty: it is the only lane
	Y     int
	Marks []mark
}

// A mark is an attempt or another event on the line.
type mark struct {
	X       float64
	Class   string // ok, bad, odd, wait, next, plan or end
	Label   string // drawn above; empty: there is no room
	Side    string // left or right, for a label without room above the middle; empty: there is room
	Number  string // drawn below; empty: there is no room
	At      time.Time
	Attempt *bellman.Attempt // nil: a future attempt
}

// labelGap is the least distance between two labels.
const labelGap = 6

// labelWidth estimates the width of a label: Chinese characters are twice as wide as others.
func labelWidth(label string) (width float64) {
	for _, r := range label {
		if r >= 0x2e80 {
			width += 13
		} else {
			width += 7.2
		}
	}
	return width
}

// reach returns where a mark's label begins and ends in a picture of this width.
func (m *mark) reach(of float64) (left, right float64) {
	width := labelWidth(m.Label)
	switch half := width / 2; {
	case m.X+half > of:
		m.Side = "left"
		return m.X - width, m.X
	case m.X-half < 0:
		m.Side = "right"
		return m.X, m.X + width
	}
	return m.X - width/2, m.X + width/2
}

// A tick is an age on the line.
type tick struct {
	X    float64
	Text string
}

// A scale maps times to positions on a line.
type scale struct {
	start       time.Time
	whole, unit time.Duration
	left, right float64
}

func newScale(width float64, start, end time.Time) *scale {
	whole := max(end.Sub(start), 100*time.Millisecond)
	left, right := ends(width)
	return &scale{start, whole, min(time.Second, whole/5), left, right}
}

// finer makes room for events that are gap apart at the beginning; 0: there are none.
func (s *scale) finer(gap time.Duration) {
	if gap > 0 {
		s.unit = min(s.unit, max(gap, 10*time.Millisecond))
	}
}

func (s *scale) place(at time.Time) float64 {
	share := math.Log1p(float64(max(at.Sub(s.start), 0))/float64(s.unit)) / math.Log1p(float64(s.whole)/float64(s.unit))
	return math.Round(10*(s.left+(s.right-s.left)*min(share, 1))) / 10
}

func (s *scale) ticks() (ticks []tick) {
	last := math.Inf(-1)
	for _, age := range []time.Duration{0, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute,
		15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 72 * time.Hour,
		7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour} {
		if x := s.place(s.start.Add(age)); age <= s.whole && x-last >= 1.5*labelRoom {
			ticks = append(ticks, tick{x, ageText(age)})
			last = x
		}
	}
	return ticks
}

// A span is the period that a timeline covers.
type span struct{ start, end time.Time }

func (s *span) widen(at time.Time) {
	if s.start.IsZero() || at.Before(s.start) {
		s.start = at
	}
	if at.After(s.end) {
		s.end = at
	}
}

// line draws a task with its newest attempts. planned are the due times of future attempts. The
// attempts after each restart have a lane of their own.
func (l *language) line(width float64, t *bellman.Task, log []bellman.Attempt, restarts, planned []time.Time, more bool, now time.Time) *timeline {
	rounds, first := roundsOf(t, log, restarts)
	last := &rounds[len(rounds)-1]
	for _, at := range planned {
		last.widen(at)
	}
	if !t.State.Ended() {
		last.widen(now)
	}
	var whole, gap time.Duration
	for i := range rounds {
		r := &rounds[i]
		whole = max(whole, r.end.Sub(r.start))
		if g := r.gap(planned); gap == 0 || g > 0 && g < gap {
			gap = g
		}
	}
	out := &timeline{Width: width, More: more, Rounds: len(rounds) > 1}
	for i := range rounds {
		r := &rounds[i]
		s := newScale(width, r.start, r.start.Add(whole))
		s.finer(gap)
		on := &lane{Y: laneHeight + i*roundHeight - 10}
		if out.Rounds {
			on.Name = l.say("line.round", "n", first+i)
		}
		for i := range r.log {
			on.Marks = append(on.Marks, made(s, &r.log[i], l.answered(&r.log[i])))
		}
		if r == last {
			for i, at := range planned {
				m := mark{X: s.place(at), Class: "plan", At: at}
				if i == 0 {
					m.Class = "next"
				}
				on.Marks = append(on.Marks, m)
			}
			if out.Ticks = s.ticks(); !t.State.Ended() {
				out.Now, out.NowTop = s.place(now), i*roundHeight+14
			}
		}
		on.thin(width)
		out.Lanes = append(out.Lanes, on)
	}
	return out
}

// made returns the mark of an attempt.
func made(s *scale, a *bellman.Attempt, label string) mark {
	return mark{X: s.place(a.Started), Class: classOf(a), Label: label, Number: strconv.Itoa(a.Number), At: a.Started, Attempt: a}
}

// thin removes labels that would touch others, and those of marks beneath another mark. The
// decision's label has priority, then that of the last attempt.
func (l *lane) thin(width float64) {
	type room struct{ left, right float64 }
	var taken []room
	place := func(m *mark) {
		if m.Label == "" {
			return
		}
		left, right := m.reach(width)
		if slices.ContainsFunc(taken, func(r room) bool { return left < r.right+labelGap && r.left < right+labelGap }) {
			m.Label = ""
			return
		}
		taken = append(taken, room{left, right})
	}
	for i := range slices.Backward(l.Marks) {
		if m := &l.Marks[i]; m.Class == "end" {
			place(m)
		}
	}
	next, numbered := math.Inf(1), math.Inf(1)
	for i := range slices.Backward(l.Marks) {
		m := &l.Marks[i]
		if m.Class != "end" {
			if next-m.X < markRoom {
				m.Label = ""
			}
			place(m)
		}
		next = m.X
		if numbered-m.X < labelRoom/2 {
			m.Number = ""
			continue
		}
		numbered = m.X
	}
}

func ageText(d time.Duration) string {
	if d >= 48*time.Hour {
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	}
	return schedule.FormatDuration(d)
}

// answered describes the answer to an attempt: its status, or why there is none.
func (l *language) answered(a *bellman.Attempt) string {
	if a.Status != 0 {
		return strconv.Itoa(a.Status)
	}
	return l.named("result", a.Result)
}

// outcome describes how the answer to a query or close was interpreted, or else the result of the
// attempt.
func (l *language) outcome(a *bellman.Attempt) string {
	if tone(a.Reading) == "" {
		return l.named("result", a.Result)
	}
	return l.named("reading", a.Reading)
}

// classOf returns how an attempt is drawn, by the interpretation of its answer if there is one.
func classOf(a *bellman.Attempt) string {
	switch tone(a.Reading) {
	case "wait":
		return "wait"
	case "warn":
		return "odd"
	}
	switch a.Result {
	case bellman.Accepted:
		return "ok"
	case bellman.Unknown:
		return "odd"
	}
	return "bad"
}

// tone returns how the interpretation of a channel's answer is shown: wait, ok, bad, warn or gone;
// empty: it is no answer.
func tone(reading string) string {
	switch reading {
	case "PENDING", "NOT_FOUND", "in_flight":
		return "wait"
	case "PAID", "closed", "already_closed", "DONE", "accepted":
		return "ok"
	case "FAILED", "FAILED_THERE", "refused":
		return "bad"
	case "PAID_REFUNDED", "paid_hint", "not_exist", "refunded":
		return "warn"
	case "CLOSED", "REVOKED":
		return "gone"
	}
	return ""
}

// planned returns the due times of future attempts on the present schedule, the next first, if each
// starts when it is due. more means that there are others. For an order or poll only the next is
// known: the following ones depend on its answer.
func (c *Console) planned(t *bellman.Task, follows string, order bool) (due []time.Time, more bool) {
	if t.State.Ended() || t.Due.IsZero() {
		return nil, false
	}
	due = append(due, t.Due)
	s, err := c.o.Schedules.Parse(follows)
	if err != nil || order {
		return due, true
	}
	if within, err := s.Within(t.MaxAge); err == nil {
		s = within
	}
	at := t.Due
	if t.Before != nil { // the pending attempt was requested manually; afterwards the schedule goes on
		if t.Before.Due.IsZero() {
			return due, false
		}
		at = t.Before.Due
		due = append(due, at)
	}
	for n := int(t.Step) + 1; ; n++ {
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
