package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/eventually"
)

// TestTorture kills the server repeatedly under load, like a crash: BELLMAN_TORTURE rounds, 3 by
// default. Every task that was answered 201 is delivered. Only deliveries in flight at a kill are
// repeated. The attempt log agrees with what the receiver saw.
func TestTorture(t *testing.T) {
	t.Parallel()
	rounds := 3
	if text := os.Getenv("BELLMAN_TORTURE"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil || rounds < 1 {
			t.Fatalf("BELLMAN_TORTURE=%q: want a number of rounds", text)
		}
	}
	dir := filepath.Join(t.TempDir(), "data")
	w := &witness{seen: map[string][]sight{}, more: make(chan struct{}, 1)}
	hook := w.listen(t)
	var creators [6]creator
	for i := range creators {
		creators[i] = creator{name: fmt.Sprint("creator", i), url: hook}
	}
	twice := map[string]int{} // number of kills at which a task was in flight
	for round := 1; round <= rounds; round++ {
		p := serveStore(t, dir)
		ctx, stop := context.WithCancel(t.Context())
		var load sync.WaitGroup
		for i := range creators {
			load.Go(func() { creators[i].load(ctx, p.client()) })
		}
		before := w.count()
		w.await(t, before+100+rand.IntN(1500))
		p.kill()
		stop()
		load.Wait()
		w.rest(t, hook)
		for i := range creators {
			if creators[i].refused != nil {
				t.Fatalf("round %d: %s: %v", round, creators[i].name, creators[i].refused)
			}
		}
		told := w.look()
		inFlight := 0
		for id, missing := range unrecorded(t, dir, told) {
			n := missing.sights - twice[id]
			if n < 0 || n > 1 || n == 1 && missing.newest <= missing.logged {
				t.Errorf("round %d: task %s: %d deliveries of this round are not logged, the latest has attempt number %d, and the log has %d attempts; want at most one, with the next number",
					round, id, n, missing.newest, missing.logged)
			}
			inFlight += n
			twice[id] += n
		}
		t.Logf("round %d: %d deliveries, %d in flight at the kill; %s", round, w.count()-before, inFlight, p.hello)
	}

	// A last start finishes everything.
	p := serveStore(t, dir)
	for i := range creators {
		creators[i].finish(t, p.client())
	}
	eventually.True(t, "over", func() bool {
		queues, err := p.client().Queues(t.Context())
		return err == nil && queues.Queues[0].Depth.Pending == 0
	})
	p.stop()
	if out := must(t, "check", "--store", "pebble:"+dir); testing.Verbose() {
		t.Logf("%s%s", p.hello+"\n", out)
	}
	told := w.look()
	accepted := 0
	for i := range creators {
		for _, id := range creators[i].accepted {
			accepted++
			if len(told[id]) == 0 {
				t.Errorf("task %s was answered 201, but never delivered", id)
			}
		}
	}
	for id, missing := range unrecorded(t, dir, told) {
		if missing.sights != twice[id] {
			t.Errorf("task %s has %d deliveries that are not logged; want one for each of the %d kills at which it was in flight", id, missing.sights, twice[id])
		}
	}
	again := 0
	for id, sights := range told {
		done := 0
		for _, s := range sights {
			if s.status == http.StatusOK && s.body == "success" {
				done++
			}
		}
		if done == 0 || done > 1+twice[id] {
			t.Errorf("task %s was accepted by the receiver %d times; want at most one more than the %d kills at which it was in flight", id, done, twice[id])
		}
		again += done - 1
	}
	t.Logf("%d tasks answered 201, %d delivered, %d of them once more", accepted, len(told), again)
}

// A gap is what is missing in a task's attempt log.
type gap struct {
	sights int // deliveries that are not in the log
	newest int // attempt number of the latest delivery
	logged int // number of attempts in the log
}

// unrecorded compares the attempt logs of a store with what the receiver saw, and returns what is
// missing in them. Every logged attempt must have been seen and answered as logged.
func unrecorded(t *testing.T, dir string, told map[string][]sight) map[string]gap {
	t.Helper()
	missing := map[string]gap{}
	for id, sights := range told {
		missing[id] = gap{sights: len(sights), newest: sights[len(sights)-1].number}
	}
	kept := map[string]bool{}
	for _, task := range exported(t, must(t, "export", "--store", "pebble:"+dir)) {
		kept[task.ID] = true
		g := missing[task.ID]
		g.logged = len(task.AttemptLog)
		for i, a := range task.AttemptLog {
			if a.Number != i+1 {
				t.Errorf("task %s: attempt number %d is at position %d of its log", task.ID, a.Number, i+1)
			}
			if a.Result == "unknown" {
				continue // announced before the server died: it may or may not have been sent
			}
			g.sights--
			seen := false
			for _, s := range told[task.ID] {
				seen = seen || s.number == a.Number && s.status == a.Status && s.body == a.Response
			}
			if !seen {
				t.Errorf("task %s: attempt %d was %s, %d %q; the receiver saw %v", task.ID, a.Number, a.Result, a.Status, a.Response, told[task.ID])
			}
		}
		if g.logged > 0 || g.sights > 0 {
			missing[task.ID] = g
		}
	}
	for id := range told {
		if !kept[id] {
			t.Errorf("task %s was delivered, but is not in the store", id)
		}
	}
	return missing
}

// A sight is one delivery as the receiver saw it.
type sight struct {
	number, status int
	body           string
}

// A witness is a receiver that records each delivery before it answers. It rejects the first
// attempt of some tasks.
type witness struct {
	mu    sync.Mutex
	seen  map[string][]sight // by task id
	total int
	open  int           // open connections
	more  chan struct{} // signals that there is something new
}

// listen starts the receiver.
func (w *witness) listen(t *testing.T) (url string) { return serveCounted(t, w, &w.mu, &w.open) }

// serveCounted starts a server, and counts its open connections in open, which mu guards.
func serveCounted(t *testing.T, h http.Handler, mu *sync.Mutex, open *int) (url string) {
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		switch state {
		case http.StateNew:
			*open++
		case http.StateClosed, http.StateHijacked:
			*open--
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// rest waits until every request of a dead server was seen. Their connections are accepted before a
// new one, and closed after they were read.
func (w *witness) rest(t *testing.T, url string) {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patient}
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	eventually.True(t, "at rest", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.open == 0
	})
}

func (w *witness) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	var about struct{ N int }
	if err := json.NewDecoder(r.Body).Decode(&about); err != nil {
		return // the server died while sending, so the request did not arrive
	}
	number, _ := strconv.Atoi(r.Header.Get("Bellman-Attempt")) // 0 is in no log
	s := sight{number, http.StatusOK, "success"}
	switch {
	case number == 1 && about.N%8 == 1:
		s.status, s.body = http.StatusInternalServerError, "busy"
	case number == 1 && about.N%8 == 2:
		s.body = "fail"
	}
	w.mu.Lock()
	id := r.Header.Get("Bellman-Task")
	w.seen[id] = append(w.seen[id], s)
	w.total++
	w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
	// Answers take some time, so that some attempts are in flight at a kill.
	work := time.NewTimer(rand.N(8 * time.Millisecond))
	defer work.Stop()
	select {
	case <-work.C:
	case <-r.Context().Done():
		return
	}
	out.WriteHeader(s.status)
	io.WriteString(out, s.body) // if the server has died, nobody reads it
}

func (w *witness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total
}

// look returns what was seen so far.
func (w *witness) look() map[string][]sight {
	w.mu.Lock()
	defer w.mu.Unlock()
	told := make(map[string][]sight, len(w.seen))
	for id, sights := range w.seen {
		told[id] = append([]sight(nil), sights...)
	}
	return told
}

// await waits until n deliveries were seen.
func (w *witness) await(t *testing.T, total int) {
	t.Helper()
	timeout := time.NewTimer(patient)
	defer timeout.Stop()
	for w.count() < total {
		select {
		case <-w.more:
		case <-timeout.C:
			t.Fatalf("%d deliveries after %s; want %d", w.count(), patient, total)
		}
	}
}

// A creator creates tasks, one by one and in batches. It repeats requests without an answer, which
// is safe with the same keys.
type creator struct {
	name, url string
	made      int
	open      []client.CreateTask // requests without an answer
	accepted  []string            // ids of accepted tasks
	refused   error               // an error of a live server, which must accept every task
}

// load creates tasks until the server is gone.
func (c *creator) load(ctx context.Context, to *client.Client) {
	for ctx.Err() == nil {
		if err := c.ask(ctx, to); err != nil {
			if client.StatusOf(err) != 0 {
				c.refused = err
			}
			return
		}
	}
}

// finish repeats the requests without an answer.
func (c *creator) finish(t *testing.T, to *client.Client) {
	if len(c.open) == 0 {
		return
	}
	if err := c.ask(t.Context(), to); err != nil {
		t.Errorf("%s: %v", c.name, err)
	}
}

// ask creates one task or several.
func (c *creator) ask(ctx context.Context, to *client.Client) error {
	if len(c.open) == 0 {
		for range 1 + rand.IntN(2)*rand.IntN(20) {
			c.made++
			c.open = append(c.open, client.CreateTask{
				Queue: "default", Key: fmt.Sprintf("%s/%d", c.name, c.made), URL: c.url,
				JSON: fmt.Appendf(nil, `{"n":%d}`, c.made), Schedule: "0s, 20ms*20, 1s*60", Timeout: "5m",
			})
		}
	}
	if len(c.open) == 1 {
		task, _, err := to.Create(ctx, c.open[0])
		if err != nil {
			return err
		}
		c.accepted = append(c.accepted, task.ID)
	} else {
		results, err := to.CreateBatch(ctx, c.open)
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Error != nil {
				return r.Error
			}
			c.accepted = append(c.accepted, r.Task.ID)
		}
	}
	c.open = nil
	return nil
}
