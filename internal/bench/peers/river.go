package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/bellmanhq/bellman/internal/bench"
	"github.com/bellmanhq/bellman/internal/bench/scratch"
)

// riverConnections is how many connections River's workers share. 4 and 32 were not better.
const riverConnections = 16

// notify is the kind of job.
type notify struct {
	Body string `json:"body"`
}

func (notify) Kind() string { return "notify" }

// inRiver is River in a database of its own.
type inRiver struct {
	server   *scratch.Server
	database *scratch.Database
	pool     *pgxpool.Pool
	client   *river.Client[pgx.Tx]
}

func newRiver(ctx context.Context, url string) (_ *inRiver, err error) {
	r := &inRiver{}
	if r.server, err = scratch.Connect(ctx, url); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	r.database = r.server.Database(scratch.Name())
	if err := r.database.Create(ctx); err != nil {
		return nil, err
	}
	if r.pool, err = newPool(ctx, r.database.URL, bench.SingleClients); err != nil {
		return nil, err
	}
	driver := riverpgxv5.New(r.pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	// It notifies at most ten times a second, as by default: the workers look more often by
	// themselves.
	r.client, err = river.NewClient(driver, &river.Config{Logger: riverLog})
	return r, err
}

func newPool(ctx context.Context, url string, connections int) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	c.MaxConns = int32(connections)
	return pgxpool.NewWithConfig(ctx, c)
}

func (r *inRiver) close() error {
	if r.pool != nil {
		r.pool.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(r.database.Drop(ctx), r.server.Close())
}

// riverLog says what goes wrong.
var riverLog = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))

func (r *inRiver) Batch() int { return 1000 }

// Efforts are the best of the settings that were tried: 100 to 2,000 workers that poll every 2 to
// 20 ms. By default River polls every second, and when it is notified, 100 ms after the last poll.
func (r *inRiver) Efforts() []bench.Effort {
	return []bench.Effort{{Workers: 100, Looks: 5 * time.Millisecond}, {Workers: 500, Looks: 5 * time.Millisecond}, {Workers: 1000, Looks: 10 * time.Millisecond}}
}

func (r *inRiver) Work(e bench.Effort, url string) (stop func() error, err error) {
	return startWork("river", r.database.URL, e, url)
}

func (r *inRiver) Create(ctx context.Context, tasks []bench.PeerTask) error {
	jobs := make([]river.InsertManyParams, len(tasks))
	for i, t := range tasks {
		jobs[i].Args = notify{t.Body}
		if !t.Due.IsZero() {
			jobs[i].InsertOpts = &river.InsertOpts{ScheduledAt: t.Due}
		}
	}
	if len(jobs) == 1 {
		_, err := r.client.Insert(ctx, jobs[0].Args, jobs[0].InsertOpts)
		return err
	}
	_, err := r.client.InsertManyFast(ctx, jobs)
	return err
}

// Done looks for jobs that are not completed, in the order of River's own index.
func (r *inRiver) Done(ctx context.Context) (done bool, err error) {
	err = r.pool.QueryRow(ctx, `SELECT NOT EXISTS (SELECT FROM river_job
		WHERE state = ANY('{running,available,scheduled,retryable,pending,discarded,cancelled}'))`).Scan(&done)
	return done, err
}

func (r *inRiver) Forget(ctx context.Context) error {
	_, err := r.pool.Exec(ctx, "TRUNCATE river_job")
	return err
}

// A deliverer makes River's deliveries.
type deliverer struct {
	river.WorkerDefaults[notify]
	post post
}

func (d *deliverer) Work(ctx context.Context, job *river.Job[notify]) error {
	return d.post(ctx, job.Args.Body)
}

func startRiver(url string, e bench.Effort, post post) (stop func() error, err error) {
	ctx := context.Background() // it ends by being stopped
	pool, err := newPool(ctx, url, riverConnections)
	if err != nil {
		return nil, err
	}
	known := river.NewWorkers()
	river.AddWorker(known, &deliverer{post: post})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Workers: known, Logger: riverLog,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: e.Workers}}, FetchCooldown: e.Looks, FetchPollInterval: e.Looks})
	if err == nil {
		err = client.Start(ctx)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return func() error { err := client.Stop(ctx); pool.Close(); return err }, nil
}
