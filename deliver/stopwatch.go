package deliver

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
)

// A stopwatch is the context of one request. It times the connection that is made for the request,
// and the first byte of the answer. The request may be sent on another connection that came free,
// or the attempt may end first: then the connection that is still being made does not count.
type stopwatch struct {
	context.Context
	trace httptrace.ClientTrace

	mu      sync.Mutex
	waiting bool           // the request waits for a connection
	part    *time.Duration // the part of timing that is running; nil: none
	since   time.Time      // when part began
	ready   time.Time      // when the request got its connection
	timing  bellman.Timing
}

// stopwatchKey finds the stopwatch of a request in the context of a dial.
type stopwatchKey struct{}

// newStopwatch returns the context of a request, and its stopwatch.
func newStopwatch(ctx context.Context, secure bool) (context.Context, *stopwatch) {
	w := &stopwatch{Context: ctx}
	w.trace.GetConn, w.trace.GotConn, w.trace.GotFirstResponseByte = w.want, w.got, w.answered
	if secure {
		w.trace.TLSHandshakeStart, w.trace.TLSHandshakeDone = w.startTLS, w.endTLS
	}
	return httptrace.WithClientTrace(w, &w.trace), w
}

// Value returns the stopwatch itself, or what ctx has.
func (w *stopwatch) Value(key any) any {
	if _, mine := key.(stopwatchKey); mine {
		return w
	}
	return w.Context.Value(key)
}

// want begins the wait for a connection. It is called again if the first connection turns out to be
// dead.
func (w *stopwatch) want(string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = true
}

// got ends the wait. A connection that was there already took no time to make.
func (w *stopwatch) got(conn httptrace.GotConnInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn(nil)
	w.waiting, w.ready = false, time.Now()
	if conn.Reused {
		w.timing = bellman.Timing{}
	}
}

// answered notes the first byte of an answer.
func (w *stopwatch) answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timing.FirstByte = time.Since(w.ready)
}

// stop ends the wait, if it has not ended, and returns its parts.
func (w *stopwatch) stop() bellman.Timing {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn(nil)
	w.waiting = false
	return w.timing
}

// turn ends one part and begins another, if the request still waits for a connection. The caller
// holds mu.
func (w *stopwatch) turn(to *time.Duration) {
	if !w.waiting || w.part == nil && to == nil {
		return
	}
	now := time.Now()
	if w.part != nil {
		*w.part += now.Sub(w.since)
	}
	w.part, w.since = to, now
}

func (w *stopwatch) enter(part *time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn(part)
}

func (w *stopwatch) startTLS()                         { w.enter(&w.timing.TLS) }
func (w *stopwatch) endTLS(tls.ConnectionState, error) { w.enter(nil) }

// timed returns dial with its parts timed, for requests that have a stopwatch.
func timed(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		w, ok := ctx.Value(stopwatchKey{}).(*stopwatch)
		if !ok {
			return dial(ctx, network, address)
		}
		w.enter(&w.timing.Connect)
		defer w.enter(nil)
		return dial(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			DNSStart: func(httptrace.DNSStartInfo) { w.enter(&w.timing.DNS) },
			DNSDone:  func(httptrace.DNSDoneInfo) { w.enter(&w.timing.Connect) },
		}), network, address)
	}
}
