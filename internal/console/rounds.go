package console

import (
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
)

// maxRounds is how many of the newest rounds of a task's schedule are drawn.
const maxRounds = 4

// A round holds the attempts from one start of the schedule to the next restart.
type round struct {
	span
	log []bellman.Attempt
}

// roundsOf divides a task's attempts at the restarts of its schedule. first is the number of the
// first returned round; it is 1 unless there are more rounds than are drawn. A task that repeats is
// one round, because the starts of its earlier rounds are not recorded.
func roundsOf(t *bellman.Task, log []bellman.Attempt, restarts []time.Time) (rounds []round, first int) {
	begins := []time.Time{t.Created()}
	if t.Repeat == "" {
		restarts = append(slices.Clone(restarts), t.Began) // known even if no audit record was found
		slices.SortFunc(restarts, time.Time.Compare)
		for _, at := range slices.Compact(restarts) {
			before := slices.ContainsFunc(log, func(a bellman.Attempt) bool {
				return a.Started.Before(at) && !a.Started.Before(begins[len(begins)-1])
			})
			if before { // without an earlier attempt it was not a restart, but a delay
				begins = append(begins, at)
			}
		}
	}
	for i, begin := range begins {
		r := round{span: span{begin, begin}}
		for _, a := range log {
			here := (i == 0 || !a.Started.Before(begin)) && (i == len(begins)-1 || a.Started.Before(begins[i+1]))
			if here {
				r.log = append(r.log, a)
				r.widen(a.Started)
			}
		}
		rounds = append(rounds, r)
	}
	more := max(len(rounds)-maxRounds, 0)
	return rounds[more:], 1 + more
}

// gap returns the shortest time between two attempts of a round, made or planned; 0: there are not
// two.
func (r *round) gap(planned []time.Time) (gap time.Duration) {
	var at []time.Time
	for i := range r.log {
		at = append(at, r.log[i].Started)
	}
	at = append(at, planned...)
	for i := 1; i < len(at); i++ {
		if g := at[i].Sub(at[i-1]); g > 0 && (gap == 0 || g < gap) {
			gap = g
		}
	}
	return gap
}
