// Package resend sends many tasks again: a filter chooses them, and a job that
// survives a restart works through them at a bounded rate.
//
// [Jobs.Count] says beforehand how many tasks that would be, [Jobs.Start] makes
// the job durable, [Jobs.Run] does the work, and [Tasks] resends each task.
//
// # At least once
//
// A job goes through its tasks from the newest to the oldest. It saves its progress
// after every 100 tasks and at least every second, and always after the tasks were
// resent. A crash can therefore lose the record of a resend, but never a resend. Up
// to about 130 tasks can be resent between the last save and a crash. The next
// process looks at these tasks first. If a task waits for a manual attempt, or had
// one since that save, the task is counted and not resent. A task is resent twice
// only if its attempt was not recorded before the crash. The same look follows a
// commit of unknown outcome.
//
// # Several processes on one store
//
// One process works on the jobs, as [Options].Leads says. Every process can start,
// show and cancel jobs. When another process becomes the leader, the former one stops,
// and the new one continues within 10 s, from the progress that was last saved.
package resend

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/nearest"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

const (
	// defaultRate is the default rate of a job, in tasks per second.
	defaultRate = 50

	// MaxRate is the highest rate of a job, in tasks per second. The lowest is schedule.MinRate.
	MaxRate = 10_000

	// MaxRunning is the largest number of unfinished jobs.
	MaxRunning = 32

	// Keep is how long an ended job is kept.
	Keep = 90 * 24 * time.Hour
)

// kind is the kind of the documents of jobs; their names are the ids. A document of cancelKind
// requests the end of a job.
const (
	kind       = "resend"
	cancelKind = "resend-cancel"
)

// takeUp is the longest time until a job of another process is found.
const takeUp = 10 * time.Second

// A Store is the part of a store.Store that jobs need.
type Store interface {
	// Commit is only called with Docs and Audits.
	Commit(ctx context.Context, b *store.Batch) error
	Task(ctx context.Context, id bellman.ID) (*bellman.Task, error)
	List(ctx context.Context, f store.Filter, before bellman.ID, limit int) (tasks []*bellman.Task, next bellman.ID, err error)
	store.DocReader
}

// Tasks resends one task; the engine implements it.
type Tasks interface {
	// Resend returns when it is durable that the task will be attempted again. It returns
	// bellman.ErrNotFound if there is no such task.
	Resend(ctx context.Context, id bellman.ID, mode engine.ResendMode, by bellman.By) (*bellman.Task, error)
}

// Options of Jobs.
type Options struct {
	Store  Store        // required
	Tasks  Tasks        // required
	Logger *slog.Logger // nil: slog.Default()

	// Leads reports whether this process works on the jobs now. Nil: always. If two processes lead
	// for a moment, up to 32 tasks of a job are resent twice.
	Leads func() bool

	// Queues returns the configured queues: a job for another queue is rejected. Nil: unknown.
	Queues func() []string
}

// prepare checks the fields of a new job, fills in defaults, and returns the job as it starts at
// now.
func (j *Jobs) prepare(in Job, now time.Time) (Job, error) {
	now = now.UTC().Truncate(time.Millisecond)
	filter, wrong := j.bound(in.Filter, now)
	job := Job{
		ID: bellman.NewID(), Filter: filter, Mode: in.Mode, Rate: in.Rate, Who: in.Who, Reason: in.Reason, From: in.From,
		State: Running, Created: now, Updated: now,
	}
	job.Mode = cmp.Or(job.Mode, engine.ResendOnce)
	if job.Mode != engine.ResendOnce && job.Mode != engine.ResendRestart {
		wrong.Note("mode", coded.Errorf("resend.mode", "%.40q is not a mode: want once or restart", in.Mode))
	}
	job.Rate = cmp.Or(job.Rate, defaultRate)
	if !(job.Rate >= schedule.MinRate && job.Rate <= MaxRate) { // rejects NaN too
		wrong.Note("rate", coded.Errorf("resend.rate", "%s a second is out of range: want 1/h to %d/s", strconv.FormatFloat(in.Rate, 'f', -1, 64), MaxRate))
	}
	return job, wrong.Err()
}

// bound returns f with an end, so that tasks added later are not touched, and the errors of f.
func (j *Jobs) bound(f Pick, now time.Time) (Pick, bellman.Invalid) {
	var wrong bellman.Invalid
	if f.Empty() {
		wrong.Note("filter", coded.Errorf("resend.filter", "is empty: want at least one of queue, kind, key, state, merchant_no, order_no, event, url_host, result, status, created_from, created_to, finished_from"))
	}
	if f.Queue != "" && j.queues != nil {
		if names := j.queues(); !slices.Contains(names, f.Queue) {
			wrong.Note("filter.queue", coded.Errorf("resend.no_queue", "no queue %.60q is configured: want one of %s", f.Queue, nearest.Some(names)))
		}
	}
	if f.Kind != "" && !slices.Contains([]string{"notify", "order", "poll"}, f.Kind) {
		wrong.Note("filter.kind", coded.Errorf("resend.kind", "%.40q is no kind: want notify, order or poll", f.Kind))
	}
	if f.Status != 0 && (f.Status < 100 || f.Status > 599) {
		wrong.Note("filter.status", coded.Errorf("resend.status", "%d is no HTTP status: want 100 to 599", f.Status))
	}
	if f.CreatedTo.IsZero() || f.CreatedTo.After(now) {
		f.CreatedTo = now
	}
	if !f.CreatedFrom.Before(f.CreatedTo) {
		wrong.Note("filter.created_from", coded.Errorf("resend.from", "is not before created_to, or not before now: want an earlier time"))
	}
	return f, wrong
}
