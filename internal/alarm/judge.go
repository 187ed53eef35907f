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
	// calmRounds is the number of rounds for which a condition must not hold before its alarm ends,
	// if the rule's For is shorter.
	calmRounds = 12

	// blindRounds is the number of rounds without data after which a condition starts to count
	// again from zero.
	blindRounds = 6

	// mostEndpoints is the number of endpoints, or credentials, for which one rule raises alarms of
	// their own. One further alarm counts the others.
	mostEndpoints = 20

	more = "*" // stands for those beyond mostEndpoints
)

// A judge remembers since when each condition has held. Each node has its own. When another node
// takes over, it starts from zero, so an alarm that was not raised yet comes later.
type judge struct {
	calm  time.Duration // calmRounds as a duration
	blind time.Duration // blindRounds as a duration

	held map[string]streak // conditions that hold, by the alarm's id
	well map[string]streak // conditions that do not hold, by the alarm's id
}

// A streak is a period without a break.
type streak struct{ since, seen time.Time }

// A step is a change of an alarm.
type step struct {
	alarm Alarm
	was   *kept // before the change; nil: the alarm did not exist
	once  bool  // it is reported as one that began, and kept as one that ended
}

func newJudge(every time.Duration) *judge {
	return &judge{calm: calmRounds * every, blind: blindRounds * every, held: map[string]streak{}, well: map[string]streak{}}
}

// round returns the alarms that are raised or end now. alarms are the stored alarms by id.
func (j *judge) round(now time.Time, rules []Rule, f *figures.Figures, credentials []Credential, alarms map[string]*kept) (steps []step) {
	known := map[string]bool{}
	for i := range rules {
		r := &rules[i]
		if Momentary(r.When) {
			continue
		}
		var readings map[string]reading
		var rest standing
		if r.When == CredentialExpires {
			readings, rest = expiring(r, credentials, now), fine
		} else {
			readings, rest = read(r, f, now)
		}
		if r.When == EndpointFailing || r.When == CredentialExpires {
			readings = j.bounded(now, r, readings, rest, alarms)
			for _, k := range alarms { // endpoints and credentials that are not there any more
				if _, found := readings[k.subject()]; !found && k.Name == r.Name && k.raised() && covers(r, &k.Alarm) {
					readings[k.subject()] = reading{standing: rest}
				}
			}
		}
		for _, subject := range slices.Sorted(maps.Keys(readings)) {
			id := identify(r.Name, subject)
			known[id] = true
			if s, ok := j.one(now, r, subject, readings[subject], alarms[id]); ok {
				steps = append(steps, s)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(alarms)) {
		if k := alarms[id]; k.raised() && !known[id] && !Momentary(k.When) {
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

// one evaluates one condition. subject is its endpoint, or its credential; empty: it has none.
func (j *judge) one(now time.Time, r *Rule, subject string, is reading, was *kept) (step, bool) {
	id := identify(r.Name, subject)
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
		delete(j.well, id) // of an alarm that has just ended
		since := j.mark(j.held, id, now)
		if !is.since.IsZero() && is.since.Before(since) {
			since = is.since
		}
		if was != nil && since.Before(was.Until) { // the alarm before covers the time until then
			since = was.Until
		}
		if now.Sub(since) < r.For {
			return step{}, false
		}
		a := Alarm{
			ID: id, Name: r.Name, When: r.When, Queue: r.Queue, Endpoint: subject, Above: r.Above, Value: is.value,
			Since: since.UTC().Truncate(time.Millisecond), To: r.To,
		}
		if c := is.credential; c != nil {
			a.Endpoint, a.Credential, a.Expires, a.Above = "", c.Name, c.Expires.UTC(), is.within.Seconds()
		}
		return step{was: was, alarm: a}, true
	}
	return step{}, false
}

// over ends an alarm whose condition has not held for long enough.
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

// bounded limits the number of alarms of a rule: it leaves out endpoints or credentials beyond
// mostEndpoints, except those with a raised alarm, and counts them. The alarms of a credential's
// longer times, which stay raised beside that of the shortest, are not counted.
func (j *judge) bounded(now time.Time, r *Rule, all map[string]reading, rest standing, alarms map[string]*kept) map[string]reading {
	raised := 0
	for id, k := range alarms {
		if k.raised() && k.Name == r.Name && id != identify(r.Name, more) && (k.Credential == "" || all[k.subject()].standing == holds) {
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
	if left > 0 { // left endpoints have failed for at least the rule's For
		since := j.mark(j.held, identify(r.Name, more), now).Add(-r.For)
		readings[more] = reading{standing: holds, value: float64(left), since: since}
	}
	if rest == fine { // endpoints without figures are well
		maps.DeleteFunc(j.held, func(id string, s streak) bool {
			return strings.HasPrefix(id, r.Name+"/") && s.seen != now
		})
	}
	return readings
}

// mark notes that something was seen, and returns the start of its streak.
func (j *judge) mark(streaks map[string]streak, id string, now time.Time) time.Time {
	s, ok := streaks[id]
	if !ok || now.Sub(s.seen) > j.blind {
		s.since = now
	}
	s.seen = now
	streaks[id] = s
	return s.since
}

// identify returns the id of an alarm. It hashes the subject, whose name may be too long for the
// key of a task.
func identify(rule, subject string) string {
	switch subject {
	case "":
		return rule
	case more:
		return rule + "/more"
	}
	sum := sha256.Sum256([]byte(subject))
	return rule + "/" + hex.EncodeToString(sum[:8])
}
