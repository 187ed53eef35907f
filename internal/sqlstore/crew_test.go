package sqlstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
)

// troubles is a log that counts warnings and errors. Engines log none as long as each heartbeat is
// in time. One that is too late, as on a busy machine, costs its node the shards.
type troubles struct{ n atomic.Int64 }

func (l *troubles) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (l *troubles) Handle(context.Context, slog.Record) error        { l.n.Add(1); return nil }
func (l *troubles) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *troubles) WithGroup(string) slog.Handler                    { return l }

// crew runs engines over stores on one database. The engines send each other hints. crew returns
// them with a function that stops each.
func crew(tb testing.TB, drivers []sqlstore.Driver, queue engine.Queue, log slog.Handler) (engines []*engine.Engine, stop []func()) {
	tb.Helper()
	var mu sync.Mutex
	at := make(map[string]*engine.Engine)
	for i, d := range drivers {
		s, err := sqlstore.New(context.Background(), d)
		if err != nil {
			tb.Fatal(err)
		}
		name := fmt.Sprintf("node-%d", i)
		e, err := engine.New(engine.Options{Store: s, Node: name, Addr: name, Queues: []engine.Queue{queue}, Logger: slog.New(log),
			Hint: func(_ context.Context, addr string, h engine.Hint) {
				mu.Lock()
				e := at[addr]
				mu.Unlock()
				if e != nil {
					e.Hinted(h)
				}
			}})
		if err != nil {
			tb.Fatal(err)
		}
		mu.Lock()
		at[name] = e
		mu.Unlock()
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		engines = append(engines, e)
		stop = append(stop, sync.OnceFunc(func() {
			cancel()
			if err := <-ended; err != nil {
				tb.Errorf("Run of %s: %v", name, err)
			}
		}))
	}
	return engines, stop
}

// patience is how long a test waits for a condition. It suits a slow and busy machine.
const patience = 5 * time.Minute

// settled waits until one engine leads, each engine has shards, and every shard has an owner.
func settled(tb testing.TB, engines []*engine.Engine) {
	tb.Helper()
	had := ""
	same := time.Now()
	eventually.True(tb, "the shards are shared out", func() bool {
		nodes, unowned, err := engines[0].Nodes(context.Background())
		if err != nil {
			tb.Fatal(err)
		}
		now, with := "", 0
		for _, n := range nodes {
			now += fmt.Sprint(n.Name, len(n.Shards), " ")
			if n.Alive && len(n.Shards) > 0 {
				with++
			}
		}
		if now != had || len(unowned) > 0 || with != len(engines) {
			had, same = now, time.Now()
		}
		return time.Since(same) > time.Second
	})
}

// idle runs engines on an empty database for d, and returns the statements that each of them sends
// per second. If there are more than most after a late heartbeat, it measures again, because shards
// that move take statements too.
func idle(tb testing.TB, drivers []sqlstore.Driver, d time.Duration, most float64) (perSecond float64) {
	tb.Helper()
	recorders := make([]*sqltest.Recorder, len(drivers))
	for i := range drivers {
		recorders[i] = sqltest.Record(drivers[i])
		drivers[i] = recorders[i]
	}
	log := new(troubles)
	engines, stop := crew(tb, drivers, engine.Queue{Name: "q", Handler: bellman.HandlerFunc(nothing)}, log)
	settled(tb, engines)
	sent := func() (n int) {
		for _, r := range recorders {
			n += r.Sent()
		}
		return n
	}
	for try := 1; ; try++ {
		before, began := sent(), time.Now()
		<-time.After(d)
		perSecond = float64(sent()-before) / time.Since(began).Seconds() / float64(len(drivers))
		if perSecond <= most || log.n.Load() == 0 || try == 5 {
			break
		}
	}
	for _, stop := range stop {
		stop()
	}
	return perSecond
}

func nothing(context.Context, *bellman.Task, int) bellman.Verdict {
	return bellman.Verdict{Next: bellman.Succeed}
}

// handOver stops engines on one database one after the other under load, except the last. A stopped
// engine must own no shard: others would wait until it expires. handOver returns the greatest
// lateness before the first stop and in all, the number of attempted tasks, and how many of them
// were attempted twice.
func handOver(tb testing.TB, drivers []sqlstore.Driver, log slog.Handler) (before, late time.Duration, made, twice int) {
	tb.Helper()
	var mu sync.Mutex
	seen := make(map[bellman.ID]int)
	var done atomic.Int64
	engines, stop := crew(tb, drivers, engine.Queue{Name: "q", Handler: bellman.HandlerFunc(
		func(_ context.Context, t *bellman.Task, _ int) bellman.Verdict {
			mu.Lock()
			defer mu.Unlock()
			late = max(late, time.Since(t.Due))
			seen[t.ID]++
			done.Add(1)
			return bellman.Verdict{Next: bellman.Succeed}
		})}, log)
	settled(tb, engines)
	last := len(engines) - 1
	added := 0
	for gone := -1; gone < last; gone++ { // no engine is stopped in the first round
		stopped := make(chan struct{})
		for i := range 400 {
			if i == 200 && gone >= 0 {
				go func() {
					defer close(stopped)
					stop[gone]()
					ownsNothing(tb, engines[last], fmt.Sprintf("node-%d/", gone))
				}()
			}
			tasks := make([]*bellman.Task, 4)
			for j := range tasks {
				tasks[j] = &bellman.Task{Queue: "q", Delay: time.Duration(added%200) * 10 * time.Millisecond}
				added++
			}
			for _, a := range engines[last].Add(context.Background(), tasks...) {
				if a.Err != nil {
					tb.Fatal(a.Err)
				}
			}
			<-time.After(5 * time.Millisecond)
		}
		if gone < 0 {
			mu.Lock()
			before = late
			mu.Unlock()
			continue
		}
		<-stopped
	}
	eventually.True(tb, "all is attempted", func() bool { return int(done.Load()) >= added })
	stop[last]()
	mu.Lock()
	defer mu.Unlock()
	for _, n := range seen {
		if n > 1 {
			twice++
		}
	}
	return before, late, len(seen), twice
}

// ownsNothing fails the test if a node, by the begin of its name, owns a shard.
func ownsNothing(tb testing.TB, e *engine.Engine, name string) {
	nodes, _, err := e.Nodes(context.Background())
	if err != nil {
		tb.Error(err)
	}
	for _, n := range nodes {
		if strings.HasPrefix(n.Name, name) && len(n.Shards) > 0 {
			tb.Errorf("%s owns %d shards; want none", n.Name, len(n.Shards))
		}
	}
}

// throughput lets engines on one database attempt n tasks that are stored and due. It returns how
// many outcomes they record per second.
func throughput(tb testing.TB, drivers []sqlstore.Driver, n int) (perSecond float64) {
	tb.Helper()
	var made atomic.Int64
	done := make(chan struct{})
	engines, stop := crew(tb, drivers, engine.Queue{Name: "merchant-notify", Schedule: "0s", Handler: bellman.HandlerFunc(
		func(context.Context, *bellman.Task, int) bellman.Verdict {
			if made.Add(1) == int64(n) {
				close(done)
			}
			return bellman.Verdict{Next: bellman.Succeed}
		})}, slog.DiscardHandler)
	settled(tb, engines)
	if err := engines[0].PauseQueue(context.Background(), "merchant-notify", bellman.By{}); err != nil {
		tb.Fatal(err)
	}
	var tasks []*bellman.Task
	for i := range n {
		tasks = append(tasks, &bellman.Task{Queue: "merchant-notify", Key: fmt.Sprint(i), Body: make([]byte, 300)})
		if len(tasks) == 500 || i == n-1 {
			for _, a := range engines[i/500%len(engines)].Add(context.Background(), tasks...) {
				if a.Err != nil {
					tb.Fatal(a.Err)
				}
			}
			tasks = tasks[:0:0]
		}
	}
	began := time.Now()
	if err := engines[0].ResumeQueue(context.Background(), "merchant-notify", bellman.By{}); err != nil {
		tb.Fatal(err)
	}
	<-done
	for _, stop := range stop { // everything is recorded when it returns
		stop()
	}
	return float64(n) / time.Since(began).Seconds()
}
