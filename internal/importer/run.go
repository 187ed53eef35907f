package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/sleep"
)

// Tasks creates tasks. A client implements it.
type Tasks interface {
	CreateBatch(ctx context.Context, tasks []client.CreateTask) ([]client.BatchResult, error)
}

// A Fate is the result for one row.
type Fate uint8

// The fates.
const (
	Taken   Fate = iota // it became a task, or would in a dry run
	There               // it was imported before
	Moved               // it was imported before, and the other system has attempted it since
	Skipped             // nothing remains to be done for it
	Wrong               // it cannot become a task
)

// A Report is the result for one row, with the reason where that is not obvious.
type Report struct {
	Row  Row
	Fate Fate
	Why  string
	Task *client.Task // as the server returned it; nil: the server returned none
}

// Counts has the number of rows for each Fate.
type Counts [Wrong + 1]int

// All returns the number of rows.
func (c Counts) All() int {
	n := 0
	for _, of := range c {
		n += of
	}
	return n
}

// The bounds of one batch.
const (
	pageRows  = 500     // rows of a batch
	pageBytes = 4 << 20 // approximate size of a request
	patience  = 10 * time.Minute
	firstWait = time.Second
	lastWait  = 30 * time.Second
)

// Run imports all rows of a source in batches, and reports each. If the server cannot accept rows
// now, Run retries for ten minutes. After that, or if the source fails, it returns the error; rows
// that were reported stay imported. A repeated run is safe: a row's key makes it the same task.
func Run(ctx context.Context, from Source, to Tasks, tell func(Report)) (Counts, error) {
	var counts Counts
	note := func(r Report) {
		counts[r.Fate]++
		tell(r)
	}
	for {
		rows, err := from.Next(ctx, pageRows)
		if err != nil || len(rows) == 0 {
			return counts, err
		}
		good := rows[:0:0]
		for _, row := range rows {
			switch {
			case row.Skip != "":
				note(Report{Row: row, Fate: Skipped, Why: row.Skip})
			case row.Wrong != nil:
				note(Report{Row: row, Fate: Wrong, Why: row.Wrong.Error()})
			default:
				good = append(good, row)
			}
		}
		for len(good) > 0 {
			n := batch(good)
			if err := take(ctx, good[:n], to, note); err != nil {
				return counts, err
			}
			good = good[n:]
		}
	}
}

// batch returns how many of rows go into one batch.
func batch(rows []Row) int {
	bytes := 0
	for i := range rows {
		t := &rows[i].Task
		bytes += 1000 + len(t.Body) + len(t.JSON) + len(t.URL)
		if t.Notify != nil {
			bytes += len(t.Notify.JSON)
		}
		if bytes > pageBytes && i > 0 {
			return i
		}
	}
	return len(rows)
}

// take creates tasks from rows.
func take(ctx context.Context, rows []Row, to Tasks, note func(Report)) error {
	began, wait := time.Now(), firstWait
	for {
		tasks := make([]client.CreateTask, len(rows))
		for i := range rows {
			tasks[i] = rows[i].Task
		}
		results, err := to.CreateBatch(ctx, tasks)
		if err == nil && len(results) != len(rows) {
			return fmt.Errorf("the server answered %d results for %d tasks", len(results), len(rows))
		}
		if err != nil && !Passes(err) {
			return err
		}
		var again []Row
		for i, r := range results {
			if r.Error != nil && Passes(r.Error) {
				again, err = append(again, rows[i]), r.Error
				continue
			}
			note(judge(rows[i], r))
		}
		if len(results) == 0 {
			again = rows
		}
		if rows = again; len(rows) == 0 {
			return nil
		}
		if len(results) > len(rows) {
			began, wait = time.Now(), firstWait // some were accepted
		}
		if time.Since(began) > patience {
			return fmt.Errorf("%s and %d more rows were not taken over for %v: %w", rows[0].Where, len(rows)-1, patience, err)
		}
		if refused, is := errors.AsType[*client.Problem](err); is {
			wait = max(wait, refused.RetryAfter)
		}
		if !sleep.For(ctx, min(wait, lastWait)) {
			return context.Cause(ctx)
		}
		wait *= 2
	}
}

// Passes reports whether an error is temporary: Run tries again.
func Passes(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	switch status := client.StatusOf(err); status {
	case 0, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// inBatch is the path of a task in a batch, in the server's messages.
var inBatch = regexp.MustCompile(`^body\.tasks\[\d+\]\.?`)

// said returns a problem with the fields' own names, without the place in the batch: the reader
// knows the row.
func said(p *client.Problem) string {
	of := *p
	of.Errors = slices.Clone(p.Errors)
	for i := range of.Errors {
		at := &of.Errors[i].Location
		*at = cmp.Or(inBatch.ReplaceAllString(*at, ""), "the task")
	}
	return of.Error()
}

// judge converts the server's answer for a row.
func judge(row Row, r client.BatchResult) Report {
	out := Report{Row: row, Task: r.Task}
	switch {
	case r.Error != nil && r.Error.Status == http.StatusConflict:
		out.Fate, out.Why = Wrong, "a task with its key has other content: "+said(r.Error)
	case r.Error != nil:
		out.Fate, out.Why = Wrong, said(r.Error)
	case r.Status == http.StatusOK && row.Task.Resume != nil && r.Task != nil && row.Task.Resume.Last.After(r.Task.Created.Time):
		out.Fate, out.Why = Moved, "the other system attempted it at "+row.Task.Resume.Last.Format(time.RFC3339)+", after it was taken over: stop that first"
	case r.Status == http.StatusOK:
		out.Fate = There
	}
	return out
}
