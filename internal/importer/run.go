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
)

// Tasks is where rows become tasks. A client is one.
type Tasks interface {
	CreateBatch(ctx context.Context, tasks []client.CreateTask) ([]client.BatchResult, error)
}

// A Fate is what became of a row.
type Fate uint8

// What can become of a row.
const (
	Taken   Fate = iota // it is a task now; where it was only tried: it would be
	There               // it was taken over before
	Moved               // it was taken over before, and the other system has attempted it since
	Skipped             // nothing is left to do for it
	Wrong               // it cannot be a task
)

// A Report tells what became of one row, and why where that is not plain.
type Report struct {
	Row  Row
	Fate Fate
	Why  string
	Task *client.Task // as the server has it, or would; nil: it does not say
}

// Counts say how many rows there were of each Fate.
type Counts [Wrong + 1]int

// All is how many rows were read.
func (c Counts) All() int {
	n := 0
	for _, of := range c {
		n += of
	}
	return n
}

// What a run does at most.
const (
	pageRows  = 500     // rows of a batch
	pageBytes = 4 << 20 // of what they send, about
	patience  = 10 * time.Minute
	firstWait = time.Second
	lastWait  = 30 * time.Second
)

// Run takes over all rows of a source, in batches, and tells of each. What a server
// cannot take now it is asked to take again, for ten minutes; then, and when the source fails, Run
// returns the error, and all rows that were told of stay as they were told. To run
// again is safe: a row's key makes it the same task.
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

// batch is how many of rows go together.
func batch(rows []Row) int {
	bytes := 0
	for i := range rows {
		t := &rows[i].Task
		bytes += 1000 + len(t.Body) + len(t.JSON) + len(t.URL)
		if bytes > pageBytes && i > 0 {
			return i
		}
	}
	return len(rows)
}

// take makes tasks of rows.
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
		if err != nil && !passes(err) {
			return err
		}
		var again []Row
		for i, r := range results {
			if r.Error != nil && passes(r.Error) {
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
			began, wait = time.Now(), firstWait // some were taken
		}
		if time.Since(began) > patience {
			return fmt.Errorf("%s and %d more rows were not taken over for %v: %w", rows[0].Where, len(rows)-1, patience, err)
		}
		var refused *client.Problem
		if errors.As(err, &refused) {
			wait = max(wait, refused.RetryAfter)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(wait, lastWait)):
		}
		wait *= 2
	}
}

// passes reports whether an error is of a kind that passes by itself.
func passes(err error) bool {
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

// inBatch is where a server says that a task stands which was one of a batch.
var inBatch = regexp.MustCompile(`^body\.tasks\[\d+\]\.?`)

// said is a problem with the fields by their own names: whoever reads it knows the row,
// and not the batch that it happened to be in.
func said(p *client.Problem) string {
	of := *p
	of.Errors = slices.Clone(p.Errors)
	for i := range of.Errors {
		at := &of.Errors[i].Location
		*at = cmp.Or(inBatch.ReplaceAllString(*at, ""), "the task")
	}
	return of.Error()
}

// judge says what a server's answer means for a row.
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
