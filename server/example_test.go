package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/server"
)

// A whole server, in which the attempts of one queue are made by Go code of the program.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	dir, err := os.MkdirTemp("", "bellman")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	c, err := server.ParseConfig([]byte("listen: 127.0.0.1:0\nqueues: {sms: {}}"))
	if err != nil {
		panic(err)
	}
	c.Store = "pebble:" + filepath.Join(dir, "data")

	sent := make(chan struct{})
	sms := bellman.HandlerFunc(func(_ context.Context, t *bellman.Task, attempt int) bellman.Verdict {
		fmt.Printf("attempt %d: %s\n", attempt, t.Body)
		if attempt == 1 {
			return bellman.Verdict{Next: bellman.Again} // by the schedule
		}
		close(sent)
		return bellman.Verdict{Next: bellman.Succeed}
	})
	s, err := server.Open(server.Options{
		Config:   c,
		Logger:   slog.New(slog.DiscardHandler),
		Handlers: map[string]bellman.Handler{"sms": sms},
	})
	if err != nil {
		panic(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()

	api, err := client.New(client.Options{Server: "http://" + s.Addr()})
	if err != nil {
		panic(err)
	}
	_, _, err = api.Create(ctx, client.CreateTask{Queue: "sms", Schedule: "0s, 10ms", Body: "your code is 4711"})
	if err != nil {
		panic(err)
	}
	<-sent
	stop()
	fmt.Println(<-ran, s.Close())
	// Output:
	// attempt 1: your code is 4711
	// attempt 2: your code is 4711
	// <nil> <nil>
}
