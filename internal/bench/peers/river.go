package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverConnections is how many connections River's workers share: neither 4 nor 32
// were better.
const riverConnections = 16

// notify is the kind of job.
type notify struct {
	Body string `json:"body"`
}

func (notify) Kind() string { return "notify" }

// inRiver is River in a database of its own.
type inRiver struct {
	database *database
	client   *river.Client[pgx.Tx]
}

func newRiver(ctx context.Context, p *postgres) (_ *inRiver, err error) {
	d, err := p.newDatabase(ctx, creators)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	driver := riverpgxv5.New(d.pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	// It notifies at most ten times a second, as by default: the workers look more
	// often by themselves.
	client, err := river.NewClient(driver, &river.Config{Logger: riverLog})
	return &inRiver{d, client}, err
}

// riverLog says what goes wrong.
var riverLog = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))

func (r *inRiver) name() string { return "River" }

func (r *inRiver) most() int { return 1000 }

// efforts are the best of what was tried: 100 to 2,000 workers that look every 2 to
// 20 ms; by default River looks every second, and 100 ms after the last time when it
// is notified.
func (r *inRiver) efforts() []effort {
	return []effort{{100, 5 * time.Millisecond}, {500, 5 * time.Millisecond}, {1000, 10 * time.Millisecond}}
}

func (r *inRiver) crew() (name, store string) { return "river", r.database.URL }

func (r *inRiver) add(ctx context.Context, tasks []task) error {
	jobs := make([]river.InsertManyParams, len(tasks))
	for i, t := range tasks {
		jobs[i].Args = notify{body(t.number)}
		if !t.due.IsZero() {
			jobs[i].InsertOpts = &river.InsertOpts{ScheduledAt: t.due}
		}
	}
	if len(jobs) == 1 {
		_, err := r.client.Insert(ctx, jobs[0].Args, jobs[0].InsertOpts)
		return err
	}
	_, err := r.client.InsertManyFast(ctx, jobs)
	return err
}

// done looks for what is not completed in the order of River's own index.
func (r *inRiver) done(ctx context.Context) (done bool, err error) {
	err = r.database.pool.QueryRow(ctx, `SELECT NOT EXISTS (SELECT FROM river_job
		WHERE state = ANY('{running,available,scheduled,retryable,pending,discarded,cancelled}'))`).Scan(&done)
	return done, err
}

func (r *inRiver) forget(ctx context.Context) error {
	_, err := r.database.pool.Exec(ctx, "TRUNCATE river_job")
	return err
}

func (r *inRiver) close() error { return r.database.close() }

// A deliverer makes River's deliveries.
type deliverer struct {
	river.WorkerDefaults[notify]
	post func(context.Context, string) error
}

func (d *deliverer) Work(ctx context.Context, job *river.Job[notify]) error {
	return d.post(ctx, job.Args.Body)
}

// startRiver starts the workers in this process.
func startRiver(url string, e effort, post func(context.Context, string) error) (stop func() error, err error) {
	ctx := context.Background() // it ends by being stopped
	pool, err := newPool(ctx, url, riverConnections)
	if err != nil {
		return nil, err
	}
	known := river.NewWorkers()
	river.AddWorker(known, &deliverer{post: post})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Workers: known, Logger: riverLog,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: e.workers}}, FetchCooldown: e.looks, FetchPollInterval: e.looks})
	if err == nil {
		err = client.Start(ctx)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return func() error { err := client.Stop(ctx); pool.Close(); return err }, nil
}
