package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// An answer is a merchant's answer to a notification.
type answer struct {
	status int
	body   string
}

// A merchant receives notifications. It answers as its script says, and success to everything else.
type merchant struct {
	*loopback // its url is where notifications go
	timeline  *timeline

	mu     sync.Mutex
	script map[string][]answer // answers that it will still give, by order number
	heard  map[string]int      // number of notifications received, by order number
}

// newMerchant listens on a free loopback port. Nothing is answered before serve.
func newMerchant(l *timeline) (*merchant, error) {
	m := &merchant{timeline: l, script: map[string][]answer{}, heard: map[string]int{}}
	var err error
	m.loopback, err = listen("merchant", "/notify", m)
	return m, err
}

// A loopback is a server of the demo on a free port.
type loopback struct {
	name, url string
	listener  net.Listener
	server    *http.Server
}

func listen(name, path string, h http.Handler) (*loopback, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &loopback{name, "http://" + l.Addr().String() + path, l, &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}}, nil
}

func (l *loopback) serve() error {
	if err := l.server.Serve(l.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("demo: %s: %w", l.name, err)
	}
	return nil
}

func (l *loopback) close() {
	l.server.Close()
	l.listener.Close() // serve has closed it already, if it ran
}

// answers sets the merchant's next answers to notifications of an order.
func (m *merchant) answers(order string, script ...answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script[order] = script
}

// times returns how many notifications of an order the merchant received.
func (m *merchant) times(order string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.heard[order]
}

func (m *merchant) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var about struct {
		OrderNo string `json:"order_no"`
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return // the caller is gone
	}
	if err := json.Unmarshal(body, &about); err != nil {
		about.OrderNo = "" // a body that is not JSON is about no order
	}
	says := m.hear(about.OrderNo)
	m.timeline.say("merchant", fmt.Sprintf("is told: %s %s, attempt %s", r.Method, r.URL.Path, r.Header.Get("Bellman-Attempt")),
		fmt.Sprintf("answers %d %q", says.status, says.body))
	w.WriteHeader(says.status)
	io.WriteString(w, says.body) // an error means that the caller has left
}

// hear records a notification and returns the answer to it.
func (m *merchant) hear(order string) answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard[order]++
	script := m.script[order]
	if len(script) == 0 {
		return answer{http.StatusOK, "success"}
	}
	m.script[order] = script[1:]
	return script[0]
}
