package alarm

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/engine/figures"
)

const (
	// calmRounds is for how many rounds a condition must not hold before an alarm is
	// over, where its rule's For is shorter.
	calmRounds = 12

	// blindRounds is for how many rounds nothing may be known of a condition that goes
	// on: after more, it begins to hold, or not to, anew.
	blindRounds = 6

	// mostEndpoints is how many endpoints one rule raises alarms for. What is beyond is
	// one alarm more, whose value is how many they are.
	mostEndpoints = 20

	more = "*" // in the place of an endpoint: those beyond mostEndpoints
)

// A judge remembers since when conditions have held. It is one node's, and begins
// anew where another node judges: what has not been told is told that much later.
type judge struct {
	calm  time.Duration // calmRounds
	blind time.Duration // blindRounds

	held map[string]streak // by the alarm's id
	well map[string]streak // likewise
}

// A streak is how long something has been seen without a break.
type streak struct{ since, seen time.Time }

// A step is an alarm as it is to be kept, and as it was.
type step struct {
	alarm Alarm
	was   *kept // nil: there was none
}

func newJudge(every time.Duration) *judge {
	return &judge{calm: calmRounds * every, blind: blindRounds * every, held: map[string]streak{}, well: map[string]streak{}}
}

// round says which alarms begin and which are over. alarms are those that are kept,
// by their ids.
func (j *judge) round(now time.Time, rules []Rule, f *figures.Figures, alarms map[string]*kept) (steps []step) {
	known := map[string]bool{}
	for i := range rules {
		r := &rules[i]
		readings, rest := read(r, f, now)
		if r.When == EndpointFailing {
			readings = j.bounded(now, r, readings, rest, alarms)
			for _, k := range alarms { // those that no figures are of any more
				if _, found := readings[k.Endpoint]; !found && k.Name == r.Name && k.raised() && covers(r, &k.Alarm) {
					readings[k.Endpoint] = reading{standing: rest}
				}
			}
		}
		for _, endpoint := range slices.Sorted(maps.Keys(readings)) {
			id := identify(r.Name, endpoint)
			known[id] = true
			if s, ok := j.one(now, r, endpoint, readings[endpoint], alarms[id]); ok {
				steps = append(steps, s)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(alarms)) {
		if k := alarms[id]; k.raised() && !known[id] {
			if s, ok := j.over(now, id, j.calm, "rule_removed", k); ok {
				steps = append(steps, s)
			}
		}
	}
	for _, streaks := range []map[string]streak{j.held, j.well} {
		maps.DeleteFunc(streaks, func(_ string, s streak) bool { return now.Sub(s.seen) > j.blind })
	}
	return steps
}

// one judges one condition.
func (j *judge) one(now time.Time, r *Rule, endpoint string, is reading, was *kept) (step, bool) {
	id := identify(r.Name, endpoint)
	raised := was.raised()
	switch {
	case raised && !covers(r, &was.Alarm):
		return j.over(now, id, j.calm, "rule_changed", was)
	case is.standing == fine && raised:
		delete(j.held, id)
		return j.over(now, id, max(r.For, j.calm), "over", was)
	case is.standing == fine:
		delete(j.held, id)
	case is.standing == holds && raised:
		delete(j.well, id)
	case is.standing == holds:
		since := j.mark(j.held, id, now)
		if !is.since.IsZero() && is.since.Before(since) {
			since = is.since
		}
		if was != nil && since.Before(was.Until) { // that much was told before
			since = was.Until
		}
		if now.Sub(since) < r.For {
			return step{}, false
		}
		return step{was: was, alarm: Alarm{
			ID: id, Name: r.Name, When: r.When, Queue: r.Queue, Endpoint: endpoint, Above: r.Above, Value: is.value,
			Since: since.UTC().Truncate(time.Millisecond), To: r.To,
		}}, true
	}
	return step{}, false
}

// over ends an alarm that has been well for long enough.
func (j *judge) over(now time.Time, id string, calm time.Duration, reason string, was *kept) (step, bool) {
	since := j.mark(j.well, id, now)
	if now.Sub(since) < calm {
		return step{}, false
	}
	ended := was.Alarm
	ended.Until, ended.Ended, ended.Reason = since.UTC().Truncate(time.Millisecond), now.UTC().Truncate(time.Millisecond), reason
	if ended.Until.Before(ended.Since) {
		ended.Until = ended.Since
	}
	ended.Untold = ""
	return step{alarm: ended, was: was}, true
}

// bounded leaves out the endpoints beyond mostEndpoints that fail, but for those that
// are raised already, and says how many they are.
func (j *judge) bounded(now time.Time, r *Rule, all map[string]reading, rest standing, alarms map[string]*kept) map[string]reading {
	raised := 0
	for id, k := range alarms {
		if k.raised() && k.Name == r.Name && id != identify(r.Name, more) {
			raised++
		}
	}
	left := 0
	readings := make(map[string]reading, len(all)+1)
	for _, endpoint := range slices.Sorted(maps.Keys(all)) {
		is, id := all[endpoint], identify(r.Name, endpoint)
		if is.standing != holds || alarms[id].raised() {
			readings[endpoint] = is
			continue
		}
		since := j.mark(j.held, id, now)
		switch {
		case now.Sub(since) < r.For:
		case raised < mostEndpoints:
			raised++
			readings[endpoint] = is
		default:
			left++
		}
	}
	readings[more] = reading{standing: rest}
	if left > 0 { // these have failed for as long as the rule says
		since := j.mark(j.held, identify(r.Name, more), now).Add(-r.For)
		readings[more] = reading{standing: holds, value: float64(left), since: since}
	}
	if rest == fine { // those that are missing are well
		maps.DeleteFunc(j.held, func(id string, s streak) bool {
			return strings.HasPrefix(id, r.Name+"/") && s.seen != now
		})
	}
	return readings
}

// mark notes that something is seen, and returns since when it has been.
func (j *judge) mark(streaks map[string]streak, id string, now time.Time) time.Time {
	s, ok := streaks[id]
	if !ok || now.Sub(s.seen) > j.blind {
		s.since = now
	}
	s.seen = now
	streaks[id] = s
	return s.since
}

// identify names an alarm. An endpoint's name is too long for a key of a task.
func identify(rule, endpoint string) string {
	switch endpoint {
	case "":
		return rule
	case more:
		return rule + "/more"
	}
	sum := sha256.Sum256([]byte(endpoint))
	return rule + "/" + hex.EncodeToString(sum[:8])
}
