package bench

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/bellmanhq/bellman/internal/bench/scratch"
	"github.com/bellmanhq/bellman/internal/config"
)

// embedded is the prefix of an embedded store's URL.
const embedded = config.Pebble + ":"

// dropping is the longest time to drop a database.
const dropping = time.Minute

// connect connects to the database server that is measured.
func (r *run) connect() (err error) {
	r.made = map[string]*scratch.Database{}
	if r.server, err = scratch.Connect(r.ctx, r.o.Store); err != nil {
		return err
	}
	if r.report.Machine.Store, err = r.server.About(r.ctx); err != nil {
		return errors.Join(err, r.server.Close())
	}
	r.databasePid = r.server.Pid(r.ctx)
	return nil
}

// kind returns the kind of the measured store, one of config's.
func (r *run) kind() string {
	if r.server == nil {
		return config.Pebble
	}
	return r.server.Kind()
}

// store returns the URL of a new store, which [run.start] creates. It is removed at the end of the
// scenario.
func (r *run) store(name string) string {
	if r.server == nil {
		return embedded + filepath.Join(r.dir, r.scenario+"-"+cmp.Or(name, "store"))
	}
	d := r.server.Database(scratch.Name())
	r.made[d.URL] = d
	return d.URL
}

// drop drops the databases of the scenario. The one with many waiting tasks, which other scenarios
// use, is kept unless all is set.
func (r *run) drop(all bool) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), dropping)
	defer cancel()
	for store, d := range r.made {
		if all || store != r.waiting {
			err = errors.Join(err, d.Drop(ctx))
			delete(r.made, store)
		}
	}
	return err
}

// databaseCPU returns the processor time of the database server so far, including that for other
// users; 0: unknown.
func (r *run) databaseCPU() time.Duration {
	if r.databasePid == 0 {
		return 0
	}
	cpu, _ := cpuOfTree(r.databasePid)
	return cpu
}
