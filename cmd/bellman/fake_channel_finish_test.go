package main

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/eventually"
)

// killed ends a run of the server. It waits until every request of the dead server was seen. Their
// connections are accepted before a new one, and closed after they were read.
func (l *till) killed(t *testing.T) {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patient}
	for _, url := range []string{l.channel, l.merchant} {
		resp, err := c.Post(url, "", strings.NewReader("no JSON"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	eventually.True(t, "at rest", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.open == 0
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run++
}

// finish waits until nothing is left to do. A task in flight at three deaths in a row is
// quarantined for ten minutes, because it may have caused them. On a busy machine this happens to
// some tasks, and finish resends them as an operator would.
func (l *till) finish(t *testing.T, p *process) {
	t.Helper()
	defer func() {
		if t.Failed() {
			l.unfinished(t, p)
		}
	}()
	looks := 0
	eventually.True(t, "over", func() bool {
		if looks++; looks%100 == 0 {
			bringForward(t, p)
		}
		return l.pending(t, p) == 0
	})
}

// bringForward resends the tasks whose last three attempts were in flight at a death.
func bringForward(t *testing.T, p *process) {
	t.Helper()
	to := p.client()
	for task, err := range to.Tasks(t.Context(), client.Filter{State: "pending"}) {
		if err != nil {
			t.Fatal(err)
		}
		if task.Last == nil || task.Last.Result != "unknown" {
			continue
		}
		log, err := to.AttemptsAfter(t.Context(), client.ByID(task.ID), max(task.Attempts-3, 0))
		if err != nil {
			t.Fatal(err)
		}
		if len(log) != 3 || log[0].Result != "unknown" || log[1].Result != "unknown" {
			continue
		}
		if _, err := to.Reschedule(t.Context(), client.ByID(task.ID), client.RescheduleTask{Due: client.Time{Time: time.Now()}, Reason: "test"}); err != nil && client.StatusOf(err) != http.StatusConflict {
			t.Fatalf("resend task %s: %v", task.ID, err)
		}
		t.Logf("order %s was in flight at three deaths in a row, and is resent", task.OrderNo)
	}
}

// unfinished logs everything about unfinished tasks: their orders, what the server has in memory,
// and its goroutines. It ends the server for this.
func (l *till) unfinished(t *testing.T, p *process) {
	t.Helper()
	to := p.client()
	for task, err := range to.Tasks(t.Context(), client.Filter{State: "pending"}) {
		if err != nil {
			t.Logf("pending tasks: %v", err)
			break
		}
		t.Logf("pending at %s: %+v", time.Now().UTC().Format(time.RFC3339Nano), task)
		if page, err := to.Order(t.Context(), client.OrderRef{MerchantNo: task.MerchantNo, OrderNo: task.OrderNo}, 0); err == nil {
			var log []client.Attempt
			for _, a := range page.Attempts {
				log = append(log, a.Attempt)
			}
			t.Logf("its order is %s, late payment %q, with these attempts: %s", page.OrderState, page.LatePayment, logged(log))
		}
		l.mu.Lock()
		if b := l.bills[task.OrderNo]; b != nil {
			t.Logf("at the channel it is %s, %s: %s", b.fate, b.state, brief(b.visits))
		}
		l.mu.Unlock()
	}
	for _, path := range []string{"/v1/queues", "/v1/endpoints", "/v1/nodes", "/metrics"} {
		if answer, err := http.Get(p.url + path); err == nil {
			text, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			t.Logf("%s: %v\n%s", path, err, text)
		}
	}
	p.signal(syscall.SIGQUIT)
	p.end(patient)
	t.Logf("log of the server\n%s", p.log.String())
}

// pending returns the number of pending tasks.
func (l *till) pending(t *testing.T, p *process) (n int) {
	t.Helper()
	queues, err := p.client().Queues(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range queues.Queues {
		n += int(q.Depth.Pending)
	}
	return n
}
