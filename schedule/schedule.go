package schedule

import (
	"iter"
	"math"
	"time"
)

// An End says why no attempt follows. It is the reason of the ended task. Empty: an attempt
// follows.
type End string

// Why a schedule ends.
const (
	AttemptsUsedUp End = "attempts_used_up" // every attempt of the list was made
	MaxAge         End = "max_age"          // the next attempt would come after the schedule's max
)

// A Schedule says when each attempt of a task is due. It is immutable and safe for concurrent use.
// Only [Parse] makes one. The zero Schedule has no attempts.
type Schedule struct {
	runs   []run         // single attempts and counted gaps, then bands
	max    time.Duration // age after which nothing is due; 0: none
	jitter int64         // percent by which a gap may be longer; 0: none
	text   string        // canonical

	// If every attempt starts when it is due:
	attempts int64         // how many there are; endless: no end
	last     time.Duration // offset of the last one; 0 if there is no end
}

// endless stands for a count without end. Adding a few of them must not overflow.
const endless = math.MaxInt64 / 4

// always is the age until which the last band is in force.
const always = time.Duration(math.MaxInt64)

// A run is a stretch of attempts with the same gap.
type run struct {
	gap   time.Duration // before each of its attempts
	until time.Duration // a band: in force while the attempt before started below this age; 0: not a band
	at    time.Duration // the attempt's offset from the start; only if fixed
	fixed bool          // one attempt at an offset; gap is then the nominal one

	// If every attempt starts when it is due:
	first int64         // attempts before this run
	count int64         // attempts in it; exact unless the run is a band
	from  time.Duration // offset of the last attempt before it; 0 if there is none
}

// Next returns when the attempt after n attempts is due. If no attempt follows, end says why and
// due is zero.
//
// n is the number of attempts since began that count. For n = 0 Next returns the due time of the
// first attempt, counted from began, and ignores last. Otherwise last is the start of the previous
// attempt. Gaps count from last, offsets from began. So due can be in the past, and with offsets
// before last: the caller must not start an attempt before the previous one has ended. A last
// before began counts as began: its age is 0.
//
// jitter is a random number in [0,1), a new one for each call. A schedule with ~p% extends the gap
// by jitter times p percent, in whole milliseconds. It never shortens the gap and never exceeds the
// schedule's max. Without ~ jitter is ignored. Next does not allocate.
func (s *Schedule) Next(n int, began, last time.Time, jitter float64) (due time.Time, end End) {
	if n <= 0 {
		n, last = 0, began
	}
	r := s.run(int64(n), max(last.Sub(began), 0))
	if r == nil {
		return time.Time{}, AttemptsUsedUp
	}
	if r.fixed {
		due = began.Add(r.at)
	} else {
		due = last.Add(r.gap)
	}
	if s.max > 0 && due.Sub(began) > s.max {
		return time.Time{}, MaxAge
	}
	if s.jitter > 0 {
		more := float64(r.gap) * float64(s.jitter) / 100 * min(max(jitter, 0), 1)
		due = due.Add(time.Duration(more).Truncate(time.Millisecond))
		if s.max > 0 && due.Sub(began) > s.max {
			due = began.Add(s.max)
		}
	}
	return due, ""
}

// run returns the run in force after n attempts, the last of which started at age; nil: no attempt
// follows.
func (s *Schedule) run(n int64, age time.Duration) *run {
	for i := range s.runs {
		r := &s.runs[i]
		if r.until == 0 && n < r.first+r.count || r.until > age || r.until == always {
			return r
		}
	}
	return nil
}

// Attempts returns the number of attempts if each starts when it is due. If the last item repeats
// and no max ends it, finite is false and n is 0.
func (s *Schedule) Attempts() (n int, finite bool) {
	if s.attempts >= endless {
		return 0, false
	}
	return int(min(s.attempts, math.MaxInt)), true
}

// MaxAge returns the age after which no attempt is due; 0: there is none.
func (s *Schedule) MaxAge() time.Duration { return s.max }

// Total returns the time from the first to the last attempt if each starts when it is due: 24h4m
// for wechat_notify. finite is false, and total 0, if [Schedule.Attempts] is not finite.
func (s *Schedule) Total() (total time.Duration, finite bool) {
	if s.attempts >= endless {
		return 0, false
	}
	if s.attempts == 0 {
		return 0, true
	}
	return s.last - s.runs[0].gap, true
}

// Gap returns the gap before the attempt after n attempts, without jitter, if each starts when it
// is due. For n = 0 it is the delay before the first attempt. ok is false if no attempt follows.
// For the next two gaps of a task, call [Schedule.Next] twice, the second time with n+1 and the due
// time of the first.
func (s *Schedule) Gap(n int) (gap time.Duration, ok bool) {
	k := int64(max(n, 0))
	if k >= s.attempts {
		return 0, false
	}
	for i := range s.runs {
		if r := &s.runs[i]; k < r.first+r.count {
			return r.gap, true
		}
	}
	return 0, false
}

// A Row is one attempt of a schedule, if each attempt starts when it is due.
type Row struct {
	Number int           // 1 for the first
	Offset time.Duration // since the schedule began
	Gap    time.Duration // since the attempt before; for the first, since the schedule began
	Total  time.Duration // since the first attempt
}

// Rows lists the attempts. A schedule without end ends 100 years after its start.
func (s *Schedule) Rows() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		row := Row{}
		for {
			gap, ok := s.Gap(row.Number)
			if !ok || row.Offset+gap > 10*MaxDuration {
				return
			}
			row.Number++
			row.Gap = gap
			row.Offset += gap
			if row.Number > 1 {
				row.Total += gap
			}
			if !yield(row) {
				return
			}
		}
	}
}

// String returns the canonical text, which [Parse] reads back to an equal schedule.
func (s *Schedule) String() string { return s.text }
