package console

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/schedule"
)

// durationLike matches texts that are meant as durations, even invalid ones.
var durationLike = regexp.MustCompile(`^[-+]?[0-9.]+ ?[A-Za-z]*$`)

// moment parses a duration from now, or a time: RFC 3339, or the form that pages show, which is in
// the viewer's zone with the script and in UTC without.
func moment(text, zone string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, errWhen
	}
	d, err := schedule.ParseDuration(text)
	if err == nil {
		return now.Add(d), nil
	}
	if durationLike.MatchString(text) {
		return time.Time{}, notThen(err)
	}
	text, utc := strings.CutSuffix(text, " UTC")
	if utc {
		zone = ""
	}
	clocks, unknown := time.LoadLocation(zone)
	if unknown != nil {
		clocks = nil
	}
	at, ok := wallTime(text, clocks)
	if ok || !at.IsZero() { // long ago
		return at, nil
	}
	if clocks != nil && inGap(text, clocks) {
		return at, notThen(noClock(text, clocks))
	}
	if _, timed := wallTime(text, time.UTC); unknown != nil && timed {
		return at, notThen(coded.Errorf("when.zone", "the time zone %.40q is not known: want the time with its own, such as 2026-11-20T15:04:05Z", zone))
	}
	if never(text) {
		return at, notThen(coded.Errorf("when.never", "there is no such time as %.40q: want one such as 2026-11-20 15:04", text))
	}
	return at, errWhen
}

// reachable returns an error for a time in the past or too far ahead. The engine checks the same;
// here it is reported together with the other mistakes of a form.
func reachable(due, now time.Time) error {
	switch {
	case now.Sub(due) > bellman.MaxPast:
		return notThen(coded.Errorf("task.past", "%s lies in the past: want a time that is still to come", due.UTC().Format(time.RFC3339)))
	case due.Sub(now) > schedule.MaxDuration:
		return notThen(coded.Errorf("task.ahead", "%s is more than ten years ahead: want a time before that", due.UTC().Format(time.RFC3339)))
	}
	return nil
}

// never reports whether a text is a date that does not exist, such as February 30.
func never(text string) bool {
	for _, layout := range append(wallLayouts[:], time.RFC3339) {
		_, err := time.Parse(layout, text)
		if why, is := errors.AsType[*time.ParseError](err); is && strings.HasSuffix(why.Message, "out of range") {
			return true
		}
	}
	return false
}

// notThen returns the error for the time of a form.
func notThen(why error) error {
	bad := new(bellman.Invalid)
	bad.Note("due", why)
	return bad
}
