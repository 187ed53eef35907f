package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hibiken/asynq"
	"golang.org/x/sync/errgroup"
)

// The variables that make this program a process of workers.
const (
	envRedis   = "PEERS_REDIS"
	envTo      = "PEERS_TO"
	envWorkers = "PEERS_WORKERS"
)

// often is how often Asynq looks for work: much more often than by default.
const often = 2 * time.Millisecond

// workers are the numbers of them that are tried.
var workers = []int{32, 128, 512}

// creators is how many create tasks at once, as in bellman's scenario.
const creators = 32

// child turns this process into Asynq's workers, if it was started to be that, and
// then never returns. It ends when its standard input does.
func child() {
	if os.Getenv(envRedis) == "" {
		return
	}
	n, err := strconv.Atoi(os.Getenv(envWorkers))
	if err == nil {
		err = work(os.Getenv(envRedis), os.Getenv(envTo), n)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func work(address, to string, n int) error {
	transport := &http.Transport{MaxIdleConns: 0, MaxIdleConnsPerHost: n, DisableCompression: true, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext}
	poster := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	s := asynq.NewServer(asynq.RedisClientOpt{Addr: address, PoolSize: max(n/4, 32)}, asynq.Config{Concurrency: n, TaskCheckInterval: often, DelayedTaskCheckInterval: often,
		LogLevel: asynq.ErrorLevel})
	post := func(ctx context.Context, t *asynq.Task) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(t.Payload()))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := poster.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		said, err := io.ReadAll(io.LimitReader(resp.Body, 1024))
		if err == nil && string(said) != "success" {
			err = fmt.Errorf("it answered %d %q", resp.StatusCode, said)
		}
		return err
	}
	if err := s.Start(asynq.HandlerFunc(post)); err != nil {
		return err
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	return nil
}

// A crew is the process of workers.
type crew struct {
	*exec.Cmd
	in io.Closer
}

func startCrew(r *redis, to string, n int) (*crew, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &crew{Cmd: exec.Command(self)}
	c.Env = append(os.Environ(), envRedis+"="+r.address, envTo+"="+to, envWorkers+"="+strconv.Itoa(n))
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.in = in
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		return nil, errors.Join(fmt.Errorf("Asynq's workers did not start: %w", err), c.stop())
	}
	return c, nil
}

func (c *crew) stop() error {
	c.in.Close()
	return c.Wait()
}

// An asynqRun measures Asynq on one Redis.
type asynqRun struct {
	r        *redis
	client   *asynq.Client
	queues   *asynq.Inspector
	receiver *receiver
	failures []string
}

// patience is how long nothing may arrive before tasks are taken for lost.
const patience = 30 * time.Second

func measureAsynq(ctx context.Context, r *redis, s sizes) (f figures, err error) {
	opt := asynq.RedisClientOpt{Addr: r.address, PoolSize: creators}
	run := &asynqRun{r: r, client: asynq.NewClient(opt), queues: asynq.NewInspector(opt)}
	defer func() { err = errors.Join(err, run.client.Close(), run.queues.Close()) }()
	if run.receiver, err = newReceiver(); err != nil {
		return f, err
	}
	defer run.receiver.close()
	for _, n := range workers {
		drain, err := run.drain(ctx, n, s.drain)
		if err != nil {
			return f, err
		}
		if drain > f.drain {
			f.drain, f.workers = drain, n
		}
		both, err := run.endToEnd(ctx, n, s.endToEnd)
		if err != nil {
			return f, err
		}
		if both > f.endToEnd {
			f.endToEnd, f.endToEndWorkers = both, n
		}
	}
	late, err := run.lateness(ctx, f.workers, s)
	if err != nil {
		return f, err
	}
	f.late, f.late99 = late[len(late)/2], late[len(late)*99/100]
	f.earliest = max(-late[0], 0)
	f.failures = run.failures
	return f, nil
}

// create enqueues a load's tasks one by one.
func (a *asynqRun) create(ctx context.Context, l *load, due func(int) time.Time) error {
	g, ctx := errgroup.WithContext(ctx)
	for part := range creators {
		g.Go(func() error {
			for n := part; n < len(l.at); n += creators {
				var options []asynq.Option
				if due != nil {
					options = append(options, asynq.ProcessAt(due(n)))
				}
				if _, err := a.client.EnqueueContext(ctx, asynq.NewTask("notify", body(n)), options...); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// finish waits until a load has arrived and the queue says that nothing is left.
func (a *asynqRun) finish(ctx context.Context, l *load, what string) error {
	before, since := int64(-1), time.Now()
	for {
		select {
		case <-l.all:
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
			if n := l.arrived.Load(); n != before {
				before, since = n, time.Now()
			} else if time.Since(since) > patience {
				a.failures = append(a.failures, fmt.Sprintf("Asynq, %s: %d of %d tasks never arrived", what, int64(len(l.at))-n, len(l.at)))
				return nil
			}
			continue
		}
		break
	}
	if n := l.twice.Load(); n > 0 {
		a.failures = append(a.failures, fmt.Sprintf("Asynq, %s: %d deliveries more than one of a task", what, n))
	}
	for {
		info, err := a.queues.GetQueueInfo("default")
		if err != nil && !strings.Contains(err.Error(), "NOT_FOUND") || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if err != nil || info.Size == info.Completed {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

func (a *asynqRun) newLoad(tasks int) *load {
	l := newLoad(tasks)
	a.receiver.load.Store(l)
	return l
}

// drain is how many tasks a second are delivered and recorded that were stored when
// nobody worked, from the first delivery on.
func (a *asynqRun) drain(ctx context.Context, workers, tasks int) (float64, error) {
	l := a.newLoad(tasks)
	if err := a.create(ctx, l, nil); err != nil {
		return 0, err
	}
	c, err := startCrew(a.r, a.receiver.url, workers)
	if err != nil {
		return 0, err
	}
	err = a.finish(ctx, l, "drain")
	took := time.Since(time.Unix(0, l.first.Load()))
	return float64(tasks) / took.Seconds(), errors.Join(err, c.stop())
}

// endToEnd is how many tasks a second are created one by one, delivered and recorded.
func (a *asynqRun) endToEnd(ctx context.Context, workers, tasks int) (float64, error) {
	c, err := startCrew(a.r, a.receiver.url, workers)
	if err != nil {
		return 0, err
	}
	l := a.newLoad(tasks)
	began := time.Now()
	if err = a.create(ctx, l, nil); err == nil {
		err = a.finish(ctx, l, "created one by one")
	}
	took := time.Since(began)
	return float64(tasks) / took.Seconds(), errors.Join(err, c.stop())
}

// lateness is how long after their due times tasks arrive, in ms and ascending.
func (a *asynqRun) lateness(ctx context.Context, workers int, s sizes) ([]float64, error) {
	c, err := startCrew(a.r, a.receiver.url, workers)
	if err != nil {
		return nil, err
	}
	l := a.newLoad(s.late)
	from := time.Now().Add(3*time.Second + time.Duration(s.late)*time.Second/8_000)
	due := make([]time.Time, s.late)
	for n := range due {
		due[n] = from.Add(time.Duration(rand.Int64N(s.over.Milliseconds())) * time.Millisecond)
	}
	if err = a.create(ctx, l, func(n int) time.Time { return due[n] }); err == nil {
		err = a.finish(ctx, l, "lateness")
	}
	if err = errors.Join(err, c.stop()); err != nil {
		return nil, err
	}
	var late []float64
	for n := range due {
		if at := l.at[n].Load(); at > 0 {
			late = append(late, float64(time.Unix(0, at).Sub(due[n]).Microseconds())/1e3)
		}
	}
	if len(late) == 0 {
		return nil, errors.New("Asynq: no task that was due later arrived")
	}
	slices.Sort(late)
	return late, nil
}
