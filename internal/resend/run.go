package resend

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sleep"
)

// maxBackoff is the longest wait before a retry.
const maxBackoff = 30 * time.Second

// Run works on all unfinished jobs until ctx ends, and then returns nil. When it returns, the
// progress of every job is saved and no goroutine is left. Call it once at a time.
func (j *Jobs) Run(ctx context.Context) error {
	j.mu.Lock()
	if j.running {
		j.mu.Unlock()
		return errors.New("resend: Run is running already")
	}
	j.running = true
	j.mu.Unlock()
	defer func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.running = false
	}()

	var workers sync.WaitGroup
	defer workers.Wait()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var read time.Time // when the jobs were read; zero: not since this process leads
	for {
		switch {
		case !j.leading():
			read = time.Time{}
			j.giveUp()
		case read.IsZero() || j.rereads() && time.Since(read) >= takeUp:
			if !j.resume(ctx) {
				return nil
			}
			read = time.Now()
			fallthrough
		default:
			for _, w := range j.waiting() {
				workers.Go(func() { j.work(ctx, w) })
			}
		}
		select {
		case <-j.wake:
		case <-look.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// lookEvery is the interval of the checks whether this process leads.
const lookEvery = time.Second

// giveUp stops work on all jobs because another process leads, and forgets them. It saves nothing:
// the other process may have saved later progress.
func (j *Jobs) giveUp() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for id, w := range j.unfinished {
		if !w.launched {
			delete(j.unfinished, id)
			continue
		}
		w.stop()
	}
}

// resume adopts the unfinished jobs of earlier processes, and retries until the store answers. It
// returns false if ctx ended first.
func (j *Jobs) resume(ctx context.Context) bool {
	for wait := time.Second; ; wait = min(2*wait, maxBackoff) {
		err := j.adoptAll(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		j.log.Error("bulk resends cannot be read; retrying", "in", wait, "err", err)
		if !sleep.For(ctx, wait) {
			return false
		}
	}
}

func (j *Jobs) adoptAll(ctx context.Context) error {
	for job, err := range j.all(ctx) {
		if err != nil {
			return err
		}
		if job.State != Running {
			continue
		}
		w := j.known(job.ID)
		if w == nil {
			switch job, err = j.read(ctx, job.ID); { // it may have ended since the page was read
			case errors.Is(err, bellman.ErrNotFound):
				continue
			case err != nil:
				return err
			case job.State == Running:
				j.adopt(job)
				j.log.Info("bulk resend goes on", "resend", job.ID, "examined", job.Examined)
			}
			continue
		}
		asked, err := j.askedToEnd(ctx, job.ID)
		if err != nil {
			return err
		}
		if asked { // at a low rate it may be long until the next save
			w.stop()
		}
	}
	return nil
}

// work works on one job until the job ends or is cancelled, or ctx ends.
func (j *Jobs) work(ctx context.Context, w *work) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer j.leave(w)

	w.mu.Lock()
	w.cancel = cancel
	job, resumed := w.job, w.resumed
	w.mu.Unlock()
	if job.State == Running { // otherwise it was cancelled before its turn
		newRunner(j, w, job, resumed).run(ctx, waiting)
	}
}

// leave marks a job as one without a goroutine.
func (j *Jobs) leave(w *work) {
	w.mu.Lock()
	w.cancel = nil
	w.resumed = cmp.Or(w.job.Since, w.job.Updated)
	id, state := w.job.ID, w.job.State
	w.mu.Unlock()

	j.mu.Lock()
	defer j.mu.Unlock()
	w.launched = false
	if state != Running || !j.leading() {
		delete(j.unfinished, id)
	}
}
