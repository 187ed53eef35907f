package main

import (
	"context"
	"errors"
	"strings"

	"github.com/hibiken/asynq"

	"github.com/bellmanhq/bellman/internal/bench"
)

// inAsynq is Asynq in a Redis.
type inAsynq struct {
	redis  *redis
	client *asynq.Client
	queues *asynq.Inspector
}

func newAsynq(ctx context.Context, r *redis) (*inAsynq, error) {
	if err := r.flush(ctx); err != nil {
		return nil, err
	}
	opt := asynq.RedisClientOpt{Addr: r.address, PoolSize: bench.SingleClients}
	return &inAsynq{redis: r, client: asynq.NewClient(opt), queues: asynq.NewInspector(opt)}, nil
}

func (a *inAsynq) Batch() int { return 1 }

func (a *inAsynq) Efforts() []bench.Effort {
	return []bench.Effort{{Workers: 32, Looks: bench.Punctual}, {Workers: 128, Looks: bench.Punctual}, {Workers: 512, Looks: bench.Punctual}}
}

func (a *inAsynq) Work(e bench.Effort, url string) (stop func() error, err error) {
	return startWork("asynq", a.redis.address, e, url)
}

func (a *inAsynq) Create(ctx context.Context, tasks []bench.PeerTask) error {
	for _, t := range tasks {
		var options []asynq.Option
		if !t.Due.IsZero() {
			options = append(options, asynq.ProcessAt(t.Due))
		}
		if _, err := a.client.EnqueueContext(ctx, asynq.NewTask("notify", []byte(t.Body)), options...); err != nil {
			return err
		}
	}
	return nil
}

func (a *inAsynq) Done(context.Context) (bool, error) {
	info, err := a.queues.GetQueueInfo("default")
	if err != nil {
		if strings.Contains(err.Error(), "NOT_FOUND") {
			return true, nil
		}
		return false, err
	}
	return info.Size == info.Completed, nil
}

// Forget has nothing to do: tasks that are done are deleted.
func (a *inAsynq) Forget(context.Context) error { return nil }

func (a *inAsynq) close() error {
	return errors.Join(a.client.Close(), a.queues.Close(), a.redis.flush(context.Background()))
}

func startAsynq(address string, e bench.Effort, post post) (stop func() error, err error) {
	s := asynq.NewServer(asynq.RedisClientOpt{Addr: address, PoolSize: max(e.Workers/4, 32)}, asynq.Config{Concurrency: e.Workers,
		TaskCheckInterval: e.Looks, DelayedTaskCheckInterval: e.Looks, LogLevel: asynq.ErrorLevel})
	deliver := func(ctx context.Context, t *asynq.Task) error { return post(ctx, string(t.Payload())) }
	return func() error { s.Shutdown(); return nil }, s.Start(asynq.HandlerFunc(deliver))
}
