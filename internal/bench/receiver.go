package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A receiver is the merchant: it answers success to every request and records arrivals. Hanging
// addresses never answer.
type receiver struct {
	server  *http.Server
	hanging *http.Server
	serving sync.WaitGroup

	loads  [slots]atomic.Pointer[load] // by id modulo slots
	strays atomic.Int64                // arrivals of no load, or of a load that is over
	hung   atomic.Int64                // attempts without an answer
	over   chan struct{}               // ends hanging requests
}

// slots is the largest number of concurrent loads.
const slots = 16

func newReceiver() *receiver {
	r := &receiver{over: make(chan struct{})}
	r.server = &http.Server{Handler: r}
	r.hanging = &http.Server{Handler: http.HandlerFunc(r.hang)}
	return r
}

// listen opens n addresses, on 127.0.a.b if the machine has them, else on ports of 127.0.0.1, and
// returns their URLs.
func (r *receiver) listen(n int, hang bool) ([]string, error) {
	urls := make([]string, 0, n)
	s := r.server
	if hang {
		s = r.hanging
	}
	for i := range n {
		l, err := listenAt(i, n)
		if err != nil {
			return nil, err
		}
		urls = append(urls, "http://"+l.Addr().String()+"/notify")
		r.serving.Go(func() { s.Serve(l) }) // until close
	}
	return urls, nil
}

// listenAt opens address i of n.
func listenAt(i, n int) (net.Listener, error) {
	host := "127.0.0.1"
	if n > 1 {
		host = fmt.Sprintf("127.0.%d.%d", 1+i/250, 1+i%250)
	}
	l, err := net.Listen("tcp", host+":0")
	if err != nil { // not Linux: one host, many ports
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("receiver: %w", err)
	}
	return l, nil
}

func (r *receiver) close() {
	close(r.over)
	r.server.Close()
	r.hanging.Close()
	r.serving.Wait()
}

// begin registers a load. It replaces the one that is slots before it.
func (r *receiver) begin(l *load) { r.loads[l.id%slots].Store(l) }

// forget ends a load that has arrived.
func (r *receiver) forget(l *load) { r.loads[l.id%slots].CompareAndSwap(l, nil) }

var (
	bodies    = sync.Pool{New: func() any { return new([2 * bodyBytes]byte) }}
	plainText = []string{"text/plain"}
	success   = []byte("success")
)

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	at := time.Now()
	buf := bodies.Get().(*[2 * bodyBytes]byte)
	n := 0
	for {
		m, err := req.Body.Read(buf[n:])
		n += m
		if err != nil || n == len(buf) {
			break
		}
	}
	r.note(buf[:n], at)
	bodies.Put(buf)
	w.Header()["Content-Type"] = plainText
	w.Write(success)
}

func (r *receiver) note(body []byte, at time.Time) {
	id, task, ok := readBody(body)
	switch l := r.loads[id%slots].Load(); {
	case ok && id == 0: // raw
	case !ok || l == nil || l.id != id || task >= len(l.at):
		r.strays.Add(1)
	default:
		l.arrive(task, at)
	}
}

func (r *receiver) hang(_ http.ResponseWriter, req *http.Request) {
	io.Copy(io.Discard, req.Body) // net/http notices a closed connection only after the body was read
	r.hung.Add(1)
	select {
	case <-req.Context().Done():
	case <-r.over:
	}
}

// A load is a number of tasks and their arrivals. An arrival with a number beyond the load counts
// as a stray.
type load struct {
	id  int
	due []int64        // Unix ms; 0, or nil for all: now
	at  []atomic.Int64 // Unix ns of the first arrival

	arrived atomic.Int64
	doubled atomic.Int64
	early   atomic.Int64
	first   atomic.Int64 // Unix ns
	all     chan struct{}
}

func newLoad(id, tasks int) *load {
	return &load{id: id, at: make([]atomic.Int64, tasks), all: make(chan struct{})}
}

func (l *load) arrive(task int, at time.Time) {
	ns := at.UnixNano()
	if l.due != nil && ns < l.due[task]*int64(time.Millisecond) {
		l.early.Add(1)
	}
	if !l.at[task].CompareAndSwap(0, ns) {
		l.doubled.Add(1)
		return
	}
	n := l.arrived.Add(1)
	if n == 1 {
		l.first.Store(ns)
	}
	if n == int64(len(l.at)) {
		close(l.all)
	}
}

// await waits until everything has arrived.
func (l *load) await(ctx context.Context) error {
	return awaitAll(ctx, l.all, &l.arrived, len(l.at), "tasks arrived")
}

// awaitAll waits until all is closed. It fails if soFar does not grow for patience.
func awaitAll(ctx context.Context, all <-chan struct{}, soFar *atomic.Int64, want int, what string) error {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	last, since := int64(0), time.Now()
	for {
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
		}
		if n := soFar.Load(); n != last {
			last, since = n, time.Now()
		} else if time.Since(since) > patience {
			return fmt.Errorf("%w in %s: %d of %d %s", errStuck, patience, n, want, what)
		}
	}
}
