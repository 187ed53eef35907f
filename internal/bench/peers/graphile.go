package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bellmanhq/bellman/internal/bench"
	"github.com/bellmanhq/bellman/internal/bench/scratch"
)

// jobsOfProcess is the number of jobs that one Node process runs at once, at most.
const jobsOfProcess = 128

//go:embed graphile/*.json graphile/*.mjs
var graphileFiles embed.FS

// A graphile is an installed graphile-worker.
type graphile struct{ dir string }

// installGraphile installs graphile-worker in a temporary directory. It returns nil if there is no
// Node.
func installGraphile(ctx context.Context) (_ *graphile, err error) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			fmt.Printf("graphile-worker is skipped: %v\n", err)
			return nil, nil
		}
	}
	dir, err := os.MkdirTemp("", "bellman-graphile-")
	if err != nil {
		return nil, err
	}
	g := &graphile{filepath.Join(dir, "graphile")}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.remove())
		}
	}()
	if err := os.CopyFS(dir, graphileFiles); err != nil {
		return nil, err
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir, npm.Stderr = g.dir, os.Stderr
	return g, npm.Run()
}

func (g *graphile) remove() error { return os.RemoveAll(filepath.Dir(g.dir)) }

// inGraphile is graphile-worker in a database of its own.
type inGraphile struct {
	program  *graphile
	server   *scratch.Server
	database *scratch.Database
	pool     *pgxpool.Pool
}

func newGraphile(ctx context.Context, program *graphile, url string) (_ *inGraphile, err error) {
	g := &inGraphile{program: program}
	if g.server, err = scratch.Connect(ctx, url); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	g.database = g.server.Database(scratch.Name())
	if err := g.database.Create(ctx); err != nil {
		return nil, err
	}
	if g.pool, err = newPool(ctx, g.database.URL, bench.SingleClients); err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, "node", "node_modules/graphile-worker/dist/cli.js", "--schema-only")
	c.Dir, c.Stderr, c.Env = program.dir, os.Stderr, append(os.Environ(), "DATABASE_URL="+g.database.URL)
	return g, c.Run()
}

func (g *inGraphile) close() error {
	if g.pool != nil {
		g.pool.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(g.database.Drop(ctx), g.server.Close())
}

func (g *inGraphile) Batch() int { return 1000 }

// Efforts are the setting of graphile-worker's page on performance, 24 jobs in one process, and
// more jobs in one or two.
func (g *inGraphile) Efforts() []bench.Effort {
	return []bench.Effort{{Workers: 24, Looks: 5 * time.Millisecond}, {Workers: 128, Looks: 5 * time.Millisecond}, {Workers: 256, Looks: 5 * time.Millisecond}}
}

func (g *inGraphile) Work(e bench.Effort, url string) (stop func() error, err error) {
	var stops []func() error
	stop = func() (err error) {
		for _, stop := range stops {
			err = errors.Join(err, stop())
		}
		return err
	}
	for jobs := e.Workers; jobs > 0; jobs -= jobsOfProcess {
		c := exec.Command("node", "work.mjs", url, strconv.Itoa(min(jobs, jobsOfProcess)), strconv.FormatInt(e.Looks.Milliseconds(), 10))
		c.Dir = g.program.dir
		one, err := startProcess(c, g.database.URL)
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		stops = append(stops, one)
	}
	return stop, nil
}

func (g *inGraphile) Create(ctx context.Context, tasks []bench.PeerTask) error {
	type spec struct {
		Identifier string     `json:"identifier"`
		Payload    notify     `json:"payload"`
		RunAt      *time.Time `json:"run_at,omitempty"`
	}
	specs := make([]spec, len(tasks))
	for i, t := range tasks {
		specs[i] = spec{Identifier: "notify", Payload: notify{t.Body}}
		if !t.Due.IsZero() {
			specs[i].RunAt = &t.Due
		}
	}
	if len(specs) == 1 {
		_, err := g.pool.Exec(ctx, "SELECT graphile_worker.add_job('notify', $1::json, run_at => $2)", specs[0].Payload, specs[0].RunAt)
		return err
	}
	text, err := json.Marshal(specs)
	if err != nil {
		return err
	}
	_, err = g.pool.Exec(ctx, `SELECT FROM graphile_worker.add_jobs(
		ARRAY(SELECT spec FROM json_populate_recordset(null::graphile_worker.job_spec, $1::json) spec))`, string(text))
	return err
}

// Done looks for jobs: those that are done are deleted.
func (g *inGraphile) Done(ctx context.Context) (done bool, err error) {
	err = g.pool.QueryRow(ctx, "SELECT NOT EXISTS (SELECT FROM graphile_worker.jobs)").Scan(&done)
	return done, err
}

// Forget has nothing to do: jobs that are done are deleted.
func (g *inGraphile) Forget(context.Context) error { return nil }
