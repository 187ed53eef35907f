// A program of your own that runs a whole bellman server, with a payment channel and a notification
// that are Go code: bellman polls the channel until an order is paid, closes an order that nobody
// pays, and then notifies the merchant.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/server"
)

// The configuration is that of bellman serve. SECOND is replaced by the duration of a second of the
// story.
const settings = `
listen: 127.0.0.1:0
queues:
  wallet-orders:
    kind: order
    channel: {kind: program}    # Options.Channels below
    schedule: 3SECOND*
    expires: 20SECOND
    on_exhausted: close
    confirm: 0s, 2SECOND        # queries after a close, for a payment at the same moment
    late_watch: 0s              # 15m is the default: queries for a payment that comes late
    then: merchant-notify
  merchant-notify: {}           # Options.Handlers below
`

func main() {
	second := flag.Duration("second", 100*time.Millisecond, "how long a second of the story takes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // SIGTERM: Kubernetes, systemd
	defer stop()
	if err := run(ctx, *second); err != nil {
		log.Fatal(err)
	}
}

// A wallet is the channel: an account where orders are placed. Yours would ask a database, a bank's
// socket or a device.
type wallet struct {
	mu      sync.Mutex
	began   time.Time
	second  time.Duration
	queries map[string]int // so far, by order
	paid    map[string]int // the query before which somebody pays, by order; 0: nobody does
	closed  map[string]bool
}

func (w *wallet) say(format string, a ...any) {
	fmt.Printf("%4.0f s  %s\n", float64(time.Since(w.began))/float64(w.second), fmt.Sprintf(format, a...))
}

// Query returns the state of an order. An answer without a Reading decides nothing.
func (w *wallet) Query(_ context.Context, o *order.Order) order.QueryAnswer {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := order.QueryAnswer{Answer: order.Answer{Result: bellman.Accepted}, Reading: order.Pending}
	w.queries[o.OrderNo]++
	at := w.paid[o.OrderNo]
	switch {
	case at > 0 && w.queries[o.OrderNo] >= at:
		a.Reading, a.Taken = order.Paid, map[string]any{"amount": 100}
	case w.closed[o.OrderNo]:
		a.Reading = order.Closed
	}
	w.say("asked about %s: %v", o.OrderNo, a.Reading)
	return a
}

// Close rejects later payments of an order. It is called only right after a Query that said that
// nobody has paid.
func (w *wallet) Close(_ context.Context, o *order.Order) order.CloseAnswer {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed[o.OrderNo] = true
	w.say("closed %s", o.OrderNo)
	return order.CloseAnswer{Answer: order.Answer{Result: bellman.Accepted}, Reading: order.CloseDone}
}

func run(ctx context.Context, second time.Duration) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	dir, err := os.MkdirTemp("", "bellman-example")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c, err := server.ParseConfig([]byte(inSeconds(settings, second)))
	if err != nil {
		return err
	}
	c.Store = "pebble:" + filepath.Join(dir, "data")

	w := &wallet{second: second, queries: map[string]int{}, paid: map[string]int{"A1": 3}, closed: map[string]bool{}}
	notified := make(chan string)
	notify := bellman.HandlerFunc(func(_ context.Context, t *bellman.Task, _ int) bellman.Verdict {
		w.say("the merchant of %s is notified: %s", t.OrderNo, t.Event)
		notified <- t.OrderNo
		return bellman.Verdict{Next: bellman.Succeed}
	})
	s, err := server.Open(server.Options{
		Config:   c,
		Logger:   slog.New(slog.DiscardHandler),
		Channels: map[string]order.Channel{"wallet-orders": w},
		Handlers: map[string]bellman.Handler{"merchant-notify": notify},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()

	api, err := client.New(client.Options{Server: "http://" + s.Addr()})
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.began = time.Now()
	w.mu.Unlock()
	for _, no := range []string{"A1", "A2"} { // somebody pays A1 before its third query; nobody pays A2
		if _, _, err := api.Create(ctx, client.CreateTask{Queue: "wallet-orders", MerchantNo: "M1", OrderNo: no}); err != nil {
			return err
		}
	}
	for range 2 {
		select {
		case <-notified:
		case <-ctx.Done():
		case err := <-ran:
			return err
		}
	}
	stop()
	return <-ran
}

// inSeconds replaces SECOND by a duration: 3SECOND by three times the duration.
func inSeconds(text string, second time.Duration) string {
	for _, n := range []int{20, 3, 2} {
		text = strings.ReplaceAll(text, fmt.Sprintf("%dSECOND", n), (time.Duration(n) * second).String())
	}
	return text
}
