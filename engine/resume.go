package engine

import (
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

// maxMade bounds Resume.Attempts.
const maxMade = 1_000_000

// checkResume validates a task that another system began. s is nil if its schedule is invalid.
func checkResume(t *bellman.Task, s *schedule.Schedule, now time.Time, bad *bellman.Invalid) {
	r, noted := t.Resume(), len(bad.Fields)
	if t.Delay != 0 || !t.StartAt.IsZero() {
		bad.Add("resume", "says when the next attempt is due: give neither due nor delay")
	}
	if r.Attempts < 1 || r.Attempts > maxMade {
		bad.Add("resume.attempts", fmt.Sprintf("%d is out of range: want 1 to %d, or no resume for a task that was never attempted", r.Attempts, maxMade))
	}
	switch {
	case r.Last.IsZero():
		bad.Add("resume.last", "is required: when the last attempt began")
	case r.Last.After(now.Add(time.Minute)):
		bad.Add("resume.last", "is in the future: want when the last attempt began, with its zone")
	case r.Began.After(r.Last):
		bad.Add("resume.began", "is after last: want when the first attempt was due")
	}
	if s == nil || len(bad.Fields) > noted {
		return
	}
	due, over := s.Next(r.Attempts, begun(r), r.Last, 0)
	if over == "" && t.MaxAge > 0 && due.Sub(begun(r)) > t.MaxAge {
		over = schedule.MaxAge
	}
	if over != "" {
		bad.Add("resume.attempts", fmt.Sprintf("the schedule is over after %d attempts (%s): nothing is left to do", r.Attempts, over))
	}
}

// begun is when the schedule of a resumed task began.
func begun(r *bellman.Resume) time.Time {
	if r.Began.IsZero() {
		return r.Last.UTC().Truncate(time.Millisecond)
	}
	return r.Began.UTC().Truncate(time.Millisecond)
}
