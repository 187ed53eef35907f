package console

import (
	"fmt"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

func TestPlanned(t *testing.T) {
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := func(s ...int) (all []time.Time) {
		for _, n := range s {
			all = append(all, t0.Add(time.Duration(n)*time.Second))
		}
		return all
	}
	for _, tt := range []struct {
		name  string
		task  bellman.Task
		order bool
		want  []time.Time
		more  bool
	}{
		{"after two attempts", bellman.Task{Schedule: "0s, 15s*2, 30s", Status: bellman.Status{Step: 2, Began: t0, Due: t0.Add(31 * time.Second)}}, false, at(31, 61), false},
		{"the last one", bellman.Task{Schedule: "0s, 15s", Status: bellman.Status{Step: 1, Began: t0, Due: t0.Add(15 * time.Second)}}, false, at(15), false},
		{"too old for more", bellman.Task{Schedule: "0s, 15s*3", MaxAge: 40 * time.Second, Status: bellman.Status{Step: 1, Began: t0, Due: t0.Add(15 * time.Second)}}, false, at(15, 30), false},
		{"ended", bellman.Task{Schedule: "0s, 15s", Status: bellman.Status{State: bellman.Succeeded}}, false, nil, false},
		{"asked for by hand after its end", bellman.Task{Schedule: "0s, 15s", Status: bellman.Status{Due: t0, Before: &bellman.Before{State: bellman.Failed}}}, false, at(0), false},
		{"asked for by hand in between", bellman.Task{Schedule: "0s, 15s, 30s", Status: bellman.Status{Step: 1, Began: t0, Due: t0.Add(time.Second),
			Before: &bellman.Before{Due: t0.Add(15 * time.Second)}}}, false, at(1, 15, 45), false},
		{"an order", bellman.Task{Schedule: "3s*", Status: bellman.Status{Began: t0, Due: t0.Add(3 * time.Second)}}, true, at(3), true},
	} {
		got, more := c.planned(&tt.task, tt.task.Schedule, tt.order)
		same := len(got) == len(tt.want) && more == tt.more
		for i := range got {
			same = same && got[i].Equal(tt.want[i])
		}
		if !same {
			t.Errorf("%s: %v, more %t; want %v, %t", tt.name, got, more, tt.want, tt.more)
		}
	}
	got, more := c.planned(&bellman.Task{Status: bellman.Status{Began: t0, Due: t0}}, "5m*", false)
	if len(got) != maxPlanned || !more {
		t.Errorf("without end: %d attempts, more %t; want %d, true", len(got), more, maxPlanned)
	}
}

func TestLineStaysInItsPicture(t *testing.T) {
	task := &bellman.Task{ID: bellman.FirstID(t0), Status: bellman.Status{Attempts: 3, Due: t0.Add(time.Hour)}}
	log := []bellman.Attempt{
		{Number: 1, Started: t0.Add(-time.Second), Result: bellman.Refused, Status: 200}, // a clock that was set
		{Number: 2, Started: t0.Add(15 * time.Second), Result: bellman.TimedOut},
		{Number: 3, Started: t0.Add(15*time.Second + time.Millisecond), Result: bellman.Accepted, Status: 200},
	}
	all, err := allLanguages()
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []float64{wideLine, phoneLine} {
		l := all["en"].line(width, task, log, nil, []time.Time{t0.Add(time.Hour), t0.Add(24 * time.Hour)}, false, t0.Add(time.Minute))
		marks := l.Lanes[0].Marks
		if len(marks) != 5 {
			t.Fatalf("%d marks; want 5", len(marks))
		}
		last := 0.0
		for i, m := range marks {
			if m.X < l.Left() || m.X > l.Right() || m.X < last {
				t.Errorf("mark %d is at %v after %v; want it between %v and %v, from left to right", i, m.X, last, l.Left(), l.Right())
			}
			last = m.X
			if left, right := m.reach(width); m.Label != "" && (left < 0 || right > width) {
				t.Errorf("label %q is drawn from %v to %v; want it within %v", m.Label, left, right, width)
			}
		}
		if marks[1].Label != "" || marks[2].Label != "200" {
			t.Errorf("labels that would touch: %q and %q; want only the later one", marks[1].Label, marks[2].Label)
		}
		for i, want := range []string{"bad", "bad", "ok", "next", "plan"} {
			if marks[i].Class != want {
				t.Errorf("mark %d is drawn as %q; want %q", i, marks[i].Class, want)
			}
		}
		if l.Now < marks[2].X || l.Now > marks[3].X {
			t.Errorf("now is at %v; want it between the last attempt and the next", l.Now)
		}
		if len(l.Ticks) < 4 || l.Ticks[0].Text != "0s" {
			t.Errorf("ages %v in a picture %v wide; want some, from 0s on", l.Ticks, width)
		}
	}
}

// Where labels would touch, the decision's stays; and none stands over another's mark.
func TestTheDecisionHasItsLabel(t *testing.T) {
	l := lane{Marks: []mark{{X: 300, Label: "Not decided"}, {X: 420, Label: "Not decided"}, {X: 424, Label: "Closed now"}, {X: 500, Class: "end", Label: "Closed"}, {X: 540, Label: "Not decided"}}}
	l.thin(wideLine)
	for i, want := range []string{"Not decided", "", "Closed now", "Closed", ""} {
		if l.Marks[i].Label != want {
			t.Errorf("mark %d at %v is labelled %q; want %q", i, l.Marks[i].X, l.Marks[i].Label, want)
		}
	}
}

// After a restart of its schedule, a task has a line for each round. The attempts of a round are
// placed by the time since the beginning of that round.
func TestRoundsOfALine(t *testing.T) {
	all, err := allLanguages()
	if err != nil {
		t.Fatal(err)
	}
	again, third := t0.Add(26*time.Hour), t0.Add(50*time.Hour)
	task := &bellman.Task{ID: bellman.FirstID(t0), Schedule: "0s, 15s, 30s", Status: bellman.Status{Attempts: 7, Began: third, Due: third.Add(45 * time.Second)}}
	var log []bellman.Attempt
	for _, begin := range []time.Time{t0, again, third} {
		for _, age := range []time.Duration{5 * time.Millisecond, 15 * time.Second, 45 * time.Second} {
			if at := begin.Add(age); len(log) < 8 {
				log = append(log, bellman.Attempt{Number: len(log) + 1, Started: at, Result: bellman.Refused, Status: 200})
			}
		}
	}
	restarts := []time.Time{third, again}
	for _, width := range []float64{wideLine, phoneLine} {
		l := all["en"].line(width, task, log, restarts, []time.Time{task.Due}, false, third.Add(20*time.Second))
		if len(l.Lanes) != 3 || !l.Rounds {
			t.Fatalf("%d lanes; want one for each round", len(l.Lanes))
		}
		for i, on := range l.Lanes {
			if len(on.Marks) != 3 || on.Name != fmt.Sprintf("Round %d", i+1) {
				t.Fatalf("lane %q has %d marks; want the three of round %d", on.Name, len(on.Marks), i+1)
			}
			for j, m := range on.Marks {
				if first := l.Lanes[0].Marks[j].X; m.X-first > 1 || first-m.X > 1 {
					t.Errorf("in round %d mark %d is at %v, and in the first at %v; want the same", i+1, j+1, m.X, first)
				}
				if j > 0 && m.X-on.Marks[j-1].X < 2*markRoom {
					t.Errorf("in round %d mark %d is at %v, upon the one at %v", i+1, j+1, m.X, on.Marks[j-1].X)
				}
			}
		}
		if l.Now <= l.Lanes[2].Marks[1].X || l.Now >= l.Lanes[2].Marks[2].X || l.NowTop < l.Lanes[1].Y {
			t.Errorf("now is at %v from %d down; want it between the second mark and the third of the last round alone", l.Now, l.NowTop)
		}
	}
	for name, tt := range map[string]struct {
		task     bellman.Task
		restarts []time.Time
		want     int
		first    int
	}{
		"the record of the restart is not found": {bellman.Task{Status: bellman.Status{Began: again}}, nil, 2, 1},
		"it was delayed, and never restarted":    {bellman.Task{Status: bellman.Status{Began: t0.Add(time.Millisecond)}}, nil, 1, 1},
		"restarted, and not attempted since":     {bellman.Task{Status: bellman.Status{Began: t0.Add(60 * time.Hour)}}, []time.Time{t0.Add(60 * time.Hour)}, 2, 1},
		"it repeats itself":                      {bellman.Task{Repeat: "1h", Status: bellman.Status{Began: again}}, nil, 1, 1},
		"more rounds than are drawn": {bellman.Task{Status: bellman.Status{Began: third}},
			[]time.Time{t0.Add(10 * time.Second), t0.Add(20 * time.Second), again, again.Add(10 * time.Second), third}, maxRounds, 3},
	} {
		tt.task.ID = bellman.FirstID(t0)
		if rounds, first := roundsOf(&tt.task, log, tt.restarts); len(rounds) != tt.want || first != tt.first {
			t.Errorf("%s: %d rounds from the %d.; want %d from the %d.", name, len(rounds), first, tt.want, tt.first)
		}
	}
}
