package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
)

// An order's timeout over HTTP: the queue's delay says when an unpaid order is closed, "0s" means
// now, and a paid order cancels its timeout by its key.
func TestOrderTimeout(t *testing.T) {
	const delay = 400 * time.Millisecond
	const later = time.Hour
	const lag = time.Minute // most that the engine's clock, for due, is behind the wall clock, for created, on a busy machine
	closed := make(chan string, 10)
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		order, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("the body of a timeout: %v", err)
		}
		closed <- string(order)
		io.WriteString(w, "success")
	}))
	defer platform.Close()
	api, _, stop := serve(t, t.TempDir(), func(c *config.Config) {
		q := config.DefaultQueue("order-timeout")
		q.URL, q.Delay = platform.URL, delay
		c.Queues = append(c.Queues, q)
		q.Name, q.Delay = "later", later
		c.Queues = append(c.Queues, q)
	})
	defer stop()

	timeout := func(queue, order, delay string) *client.Task {
		return create(t, api, client.CreateTask{Queue: queue, Key: "M1/" + order, Body: order, Delay: delay})
	}
	paid := timeout("later", "paid", "") // cancelled before its time, however slow this machine is
	unpaid := timeout("order-timeout", "unpaid", "")
	if _, err := api.Cancel(t.Context(), client.ByKey("later", "M1/paid"), client.Because{Reason: "paid"}); err != nil {
		t.Fatal(err)
	}
	now := timeout("order-timeout", "now", "0s")
	_, _, err := api.Create(t.Context(), client.CreateTask{Queue: "order-timeout", Key: "M1/now", Body: "now"})
	if client.StatusOf(err) != 409 {
		t.Errorf("the same key without 0s: %v; want 409, since it is another time", err)
	}
	for i, delay := range []string{"", "0s"} { // where there is no delay it is the same
		_, created, err := api.Create(t.Context(), client.CreateTask{Queue: "default", Key: "k", URL: platform.URL, Schedule: "1h", Delay: delay})
		if err != nil || created != (i == 0) {
			t.Errorf("delay %q in a queue without one: created %t, %v", delay, created, err)
		}
	}

	for task, want := range map[*client.Task]time.Duration{paid: later, unpaid: delay} {
		if got := task.Due.Sub(task.Created.Time); got > want || got < want-lag {
			t.Errorf("%s is due %v after it was created; want the queue's %v", task.Key, got, want)
		}
	}
	if got := now.Due.Sub(now.Created.Time); got > 0 || got < -lag {
		t.Errorf("%s is due %v after it was created; want at once: it said 0s", now.Key, got)
	}
	if got := []string{<-closed, <-closed}; !slices.Contains(got, "now") || !slices.Contains(got, "unpaid") {
		t.Errorf("closed %q; want now and unpaid", got)
	}
	task := until(t, api, unpaid.ID, func(t *client.TaskDetail) bool { return t.State == "succeeded" })
	if a := task.AttemptLog[0]; a.Started.Before(unpaid.Due.Time) {
		t.Errorf("closed at %v; want not before %v", a.Started, unpaid.Due)
	}
	cancelled := until(t, api, paid.ID, func(*client.TaskDetail) bool { return true })
	if cancelled.State != "cancelled" || cancelled.Attempts != 0 {
		t.Errorf("the paid order's timeout is %s after %d attempts; want cancelled after none", cancelled.State, cancelled.Attempts)
	}
}

// A periodic task over HTTP that is slower than its period: each round begins after the one before
// has ended.
func TestPeriodicDoesNotOverlapItself(t *testing.T) {
	const period = "20ms"
	beats := make(chan struct{})
	quick := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case beats <- struct{}{}:
		default: // no round runs
		}
		io.WriteString(w, "success")
	}))
	defer quick.Close()
	in := make(chan struct{}, 1) // holds one while a round runs
	rounds := make(chan bool, 100)
	over := make(chan struct{}) // closed when the test has ended
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case in <- struct{}{}:
			for range 4 { // rounds of another task with this period
				select {
				case <-beats:
				case <-over:
				}
			}
			<-in
			rounds <- true
		default:
			rounds <- false
		}
		io.WriteString(w, "success")
	}))
	defer slow.Close()
	api, _, stop := serve(t, t.TempDir(), nil)
	defer stop()
	defer close(over)
	create(t, api, client.CreateTask{Queue: "default", Key: "beat", URL: quick.URL, Repeat: period})
	create(t, api, client.CreateTask{Queue: "default", Key: "reconcile", URL: slow.URL, Repeat: period, Timeout: "1m"})
	for i := range 4 {
		if alone := <-rounds; !alone {
			t.Fatalf("round %d began while another ran", i+1)
		}
	}
	if _, err := api.Cancel(t.Context(), client.ByKey("default", "reconcile"), client.Because{Reason: "enough"}); err != nil {
		t.Fatal(err)
	}
	task, err := api.Task(t.Context(), client.ByKey("default", "reconcile"))
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range task.AttemptLog {
		if i == 0 {
			continue
		}
		before := task.AttemptLog[i-1]
		if end := before.Started.Add(time.Duration(before.TookMS) * time.Millisecond); a.Started.Before(end) {
			t.Errorf("round %d began at %v; want not before the end of the one before, %v", a.Number, a.Started, end)
		}
	}
	if task.State != "cancelled" || len(task.AttemptLog) < 3 {
		t.Errorf("%s with %d rounds in the log; want cancelled with 3 or more", task.State, len(task.AttemptLog))
	}
}
