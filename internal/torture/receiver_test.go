package torture

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A sight is one delivery as the receiver saw it, and its answer.
type sight struct {
	at     time.Time
	node   int // the node that sent it
	number int // number of the attempt
	status int
	body   string
}

func (s sight) String() string {
	return fmt.Sprintf("attempt %d of node %d at %s, answered %d %q", s.number, s.node, s.at.UTC().Format("15:04:05.000"), s.status, s.body)
}

// A receiver is a merchant that records each delivery before it answers. Its answer depends on the
// number in the task's body and on that of the attempt.
type receiver struct {
	url  string
	mu   sync.Mutex
	seen map[string][]sight // by task id
}

// receive starts a receiver.
func receive(t testing.TB) *receiver {
	r := &receiver{seen: map[string][]sight{}}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

// slowest is the longest time that an answer takes.
const slowest = 400 * time.Millisecond

func (r *receiver) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	var about struct{ N int }
	if err := json.NewDecoder(in.Body).Decode(&about); err != nil {
		return // the sender died while sending, so the request did not arrive
	}
	number, _ := strconv.Atoi(in.Header.Get("Bellman-Attempt")) // 0 is in no log
	s := sight{at: time.Now(), node: sender(in), number: number, status: http.StatusOK, body: "success"}
	work := time.Duration(about.N%8) * time.Millisecond
	switch about.N % 16 {
	case 1:
		if number == 1 {
			s.status, s.body = http.StatusInternalServerError, "busy"
		}
	case 2, 3:
		if number <= about.N%16 {
			s.body = "fail"
		}
	case 4:
		work = slowest
	}
	id := in.Header.Get("Bellman-Task")
	r.mu.Lock()
	r.seen[id] = append(r.seen[id], s)
	r.mu.Unlock()
	// Answers take some time, so that attempts are in flight when trouble comes.
	timer := time.NewTimer(work)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-in.Context().Done():
		return
	}
	out.WriteHeader(s.status)
	io.WriteString(out, s.body) // if the sender has died, nobody reads it
}

// sender returns the number of the node that sent a request; -1: unknown.
func sender(in *http.Request) int {
	_, text, _ := strings.Cut(in.UserAgent(), "torture-node-")
	if node, err := strconv.Atoi(text); err == nil {
		return node
	}
	return -1
}

// sights returns the deliveries of each task so far.
func (r *receiver) sights() map[string][]sight {
	r.mu.Lock()
	defer r.mu.Unlock()
	told := make(map[string][]sight, len(r.seen))
	for id, s := range r.seen {
		told[id] = append([]sight(nil), s...)
	}
	return told
}
