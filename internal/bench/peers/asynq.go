package main

import (
	"context"
	"errors"
	"strings"

	"github.com/hibiken/asynq"
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
	opt := asynq.RedisClientOpt{Addr: r.address, PoolSize: creators}
	return &inAsynq{redis: r, client: asynq.NewClient(opt), queues: asynq.NewInspector(opt)}, nil
}

func (a *inAsynq) name() string { return "Asynq" }

func (a *inAsynq) most() int { return 1 }

func (a *inAsynq) efforts() []effort {
	return []effort{{32, punctual}, {128, punctual}, {512, punctual}}
}

func (a *inAsynq) crew() (name, store string) { return "asynq", a.redis.address }

func (a *inAsynq) add(ctx context.Context, tasks []task) error {
	for _, t := range tasks {
		var options []asynq.Option
		if !t.due.IsZero() {
			options = append(options, asynq.ProcessAt(t.due))
		}
		if _, err := a.client.EnqueueContext(ctx, asynq.NewTask("notify", []byte(body(t.number))), options...); err != nil {
			return err
		}
	}
	return nil
}

func (a *inAsynq) done(context.Context) (bool, error) {
	info, err := a.queues.GetQueueInfo("default")
	if err != nil {
		if strings.Contains(err.Error(), "NOT_FOUND") {
			return true, nil
		}
		return false, err
	}
	return info.Size == info.Completed, nil
}

// forget has nothing to do: tasks that are done are deleted.
func (a *inAsynq) forget(context.Context) error { return nil }

func (a *inAsynq) close() error {
	return errors.Join(a.client.Close(), a.queues.Close(), a.redis.flush(context.Background()))
}

// startAsynq starts the workers in this process.
func startAsynq(address string, e effort, post func(context.Context, string) error) (stop func() error, err error) {
	s := asynq.NewServer(asynq.RedisClientOpt{Addr: address, PoolSize: max(e.workers/4, 32)}, asynq.Config{Concurrency: e.workers,
		TaskCheckInterval: e.looks, DelayedTaskCheckInterval: e.looks, LogLevel: asynq.ErrorLevel})
	deliver := func(ctx context.Context, t *asynq.Task) error { return post(ctx, string(t.Payload())) }
	return func() error { s.Shutdown(); return nil }, s.Start(asynq.HandlerFunc(deliver))
}
