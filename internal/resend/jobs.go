package resend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
)

// Jobs keeps the jobs of a store, and works on them while Run runs. All methods are safe for
// concurrent use.
type Jobs struct {
	store Store
	tasks Tasks
	log   *slog.Logger
	leads func() bool // nil: always

	queues func() []string // the configured queues; nil: unknown

	wake sleep.Waker // makes Run look at unfinished again

	mu         sync.Mutex
	running    bool // Run is running
	unsure     bool // a job may have been written although Start returned an error
	starting   int  // jobs that are being created
	unfinished map[bellman.ID]*work
}

// work is an unfinished job in the memory of this process.
type work struct {
	launched bool // a goroutine works on it or is about to; guarded by Jobs.mu

	mu      sync.Mutex // held during saves, so that no older state overwrites a newer one
	job     Job
	resumed time.Time          // tasks beyond the cursor may have been resent since then; zero: no process worked on it before
	cancel  context.CancelFunc // interrupts the goroutine that works on it; nil: there is none
}

// New returns the jobs of a store. They are worked on while Run runs.
func New(o Options) (*Jobs, error) {
	if o.Store == nil || o.Tasks == nil {
		return nil, errors.New("resend: want both a Store and Tasks in the options")
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return &Jobs{
		store: o.Store, tasks: o.Tasks, log: o.Logger, leads: o.Leads, queues: o.Queues,
		wake:       sleep.NewWaker(),
		unfinished: map[bellman.ID]*work{},
	}, nil
}

// Start creates a job with in's Filter, Mode, Rate, Who and Reason, and returns it as stored. The
// default mode is once, the default rate 50 tasks per second. The job is durable when Start
// returns, and touches only tasks created before. Start returns *bellman.Invalid if a field is
// wrong or the filter is empty, and bellman.ErrOverloaded if too many jobs are running. After
// bellman.ErrUnknown the job may exist: then it begins within 10 s, and List has it.
func (j *Jobs) Start(ctx context.Context, in Job) (Job, error) {
	job, err := j.prepare(in, time.Now())
	if err != nil {
		return Job{}, err
	}
	if err := j.reserve(); err != nil {
		return Job{}, err
	}
	w, err := j.begin(ctx, job)

	j.mu.Lock()
	defer j.mu.Unlock()
	j.starting--
	if err != nil {
		if errors.Is(err, bellman.ErrUnknown) { // it must not begin with the next start of the program
			j.unsure = true
		}
		return Job{}, err
	}
	if j.leading() && j.unfinished[job.ID] == nil { // otherwise Run found it in the store already
		j.unfinished[job.ID] = w
		j.wake.Wake()
	}
	return job, nil
}

// reserve takes one of the MaxRunning places.
func (j *Jobs) reserve() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.unfinished)+j.starting >= MaxRunning {
		return tooMany()
	}
	j.starting++
	return nil
}

func tooMany() error {
	return coded.Errorf("resend.many", "%w: %d bulk resends are running: wait for one to end, or cancel one", bellman.ErrOverloaded, MaxRunning)
}

// begin writes a new job, and deletes jobs that ended longer than Keep ago.
func (j *Jobs) begin(ctx context.Context, job Job) (*work, error) {
	batch := &store.Batch{
		Docs:   []store.Doc{document(job)},
		Audits: []store.Audit{store.AuditOf(by(&job), job.Created, "resend", target(job.ID))},
	}
	running := 0
	for old, err := range j.all(ctx) {
		if err != nil {
			return nil, err
		}
		if old.State == Running {
			if running++; running == MaxRunning { // perhaps of other processes
				return nil, tooMany()
			}
		} else if job.Created.Sub(old.Finished) > Keep {
			batch.Docs = append(batch.Docs, store.Doc{Kind: kind, Name: old.ID.String()})
		}
	}
	if err := j.store.Commit(ctx, batch); err != nil {
		return nil, fmt.Errorf("keep bulk resend: %w", err)
	}
	return &work{job: job}, nil
}

// Get returns a job with its present progress. It returns bellman.ErrNotFound if there is none, or
// if it ended longer than Keep ago.
func (j *Jobs) Get(ctx context.Context, id bellman.ID) (Job, error) {
	if w := j.known(id); w != nil {
		return w.now(), nil
	}
	return j.read(ctx, id)
}

// List returns up to limit jobs, the newest first.
func (j *Jobs) List(ctx context.Context, limit int) ([]Job, error) {
	var jobs []Job
	for job, err := range j.all(ctx) {
		if err != nil {
			return nil, err
		}
		if w := j.known(job.ID); w != nil {
			job = w.now()
		}
		jobs = append(jobs, job)
	}
	slices.Reverse(jobs) // ids sort by creation
	return jobs[:min(len(jobs), max(limit, 0))], nil
}

// Cancel ends a running job. Tasks that were resent stay resent, and the tasks in work at this
// moment are resent too. A job that has ended is returned unchanged. Cancel returns
// bellman.ErrNotFound if there is no such job.
func (j *Jobs) Cancel(ctx context.Context, id bellman.ID, by bellman.By) (Job, error) {
	w := j.known(id)
	if w == nil || !j.leading() { // the leader may have taken the job over already, and would save it as running
		job, err := j.read(ctx, id)
		if err != nil || job.State != Running {
			return job, err
		}
		if !j.leading() {
			return j.ask(ctx, job, by)
		}
		w = j.adopt(job)
	}
	job, idle, err := w.end(ctx, j, by)
	if idle && err == nil {
		j.forget(id) // otherwise the goroutine forgets it, after it has saved the progress
	}
	return job, err
}

// ask stores a request to end a job. The process that works on the job finds it at the next save.
func (j *Jobs) ask(ctx context.Context, job Job, by bellman.By) (Job, error) {
	job.State, job.Finished = Cancelled, now()
	err := j.store.Commit(ctx, &store.Batch{
		Docs:   []store.Doc{{Kind: cancelKind, Name: job.ID.String(), Value: []byte("{}")}},
		Audits: []store.Audit{store.AuditOf(by, job.Finished, "cancel", target(job.ID))},
	})
	if err != nil {
		return Job{}, fmt.Errorf("cancel bulk resend %v: %w", job.ID, err)
	}
	return job, nil
}

// rereads reports whether the store may have jobs that this process does not know.
func (j *Jobs) rereads() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.leads != nil || j.unsure
}

// leading reports whether this process works on the jobs.
func (j *Jobs) leading() bool { return j.leads == nil || j.leads() }

// end marks a job as cancelled and interrupts its goroutine. It reports whether the job has none.
func (w *work) end(ctx context.Context, j *Jobs, by bellman.By) (job Job, idle bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	job = w.job
	if job.State != Running {
		return job, w.cancel == nil, nil
	}
	job.State, job.Finished = Cancelled, now()
	err = j.save(ctx, &job, store.AuditOf(by, job.Finished, "cancel", target(job.ID)))
	if err != nil {
		return Job{}, false, err
	}
	w.job = job
	if w.cancel == nil {
		return job, true, nil
	}
	w.cancel()
	return job, false, nil
}

// known returns the work of an unfinished job, nil if it is not in memory.
func (j *Jobs) known(id bellman.ID) *work {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.unfinished[id]
}

// adopt takes over an unfinished job of an earlier process.
func (j *Jobs) adopt(job Job) *work {
	j.mu.Lock()
	defer j.mu.Unlock()
	w := j.unfinished[job.ID]
	if w == nil {
		w = &work{job: job, resumed: cmp.Or(job.Since, job.Updated)}
		j.unfinished[job.ID] = w
		j.wake.Wake()
	}
	return w
}

func (j *Jobs) forget(id bellman.ID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.unfinished, id)
}

// waiting returns the jobs without a goroutine, and marks them as launched.
func (j *Jobs) waiting() []*work {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []*work
	for w := range maps.Values(j.unfinished) {
		if !w.launched {
			w.launched = true
			found = append(found, w)
		}
	}
	return found
}

// now returns a copy of the job with its present progress.
func (w *work) now() Job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.job
}

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// by returns who requested a job.
func by(job *Job) bellman.By {
	return bellman.By{Who: job.Who, Reason: job.Reason, From: job.From}
}

// target returns the name of a job in audit records.
func target(id bellman.ID) string { return "resend/" + id.String() }
