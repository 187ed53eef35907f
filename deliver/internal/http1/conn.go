package http1

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"syscall"
	"time"
)

// past is a deadline that ends whatever waits for a connection.
var past = time.Unix(1, 0)

// A conn is one connection. It belongs to a request, or to the pool.
type conn struct {
	net.Conn // TLS, or socket itself
	t        *Transport
	host     *host
	socket   *socket
	tls      *tls.ConnectionState

	in       *bufio.Reader // nil while no answer is awaited
	limit    int64         // bytes of header that may still be read
	reused   bool          // it has had a request before, or has waited for one
	idleFrom time.Time

	before, after *conn // in the list of idle connections
}

// A socket is what a connection reads from and writes to, below TLS.
type socket struct {
	net.Conn
	control syscall.RawConn // nil: the socket cannot be examined, so its connection is used once
	now     bool            // reads do not wait
	one     [1]byte
}

// Read reads from the server. It waits for data, unless now is set.
func (s *socket) Read(p []byte) (int, error) {
	if s.now {
		return s.readNow(p)
	}
	return s.Conn.Read(p)
}

// silent reports whether the server has neither answered anything since its last answer nor closed
// the connection. It reads without waiting. TLS takes in its own messages, such as session tickets.
// Other data is lost: a connection that is not silent must be closed.
func (c *conn) silent() bool {
	if c.socket.control == nil {
		return false
	}
	c.socket.now = true
	n, err := c.Conn.Read(c.socket.one[:])
	c.socket.now = false
	return n == 0 && err == errNothing
}

// Read reads from the server, up to the limit.
func (c *conn) Read(p []byte) (int, error) {
	if c.limit <= 0 {
		return 0, errLongHeader
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.limit)])
	c.limit -= int64(n)
	return n, err
}

// interrupt ends reads and writes of c now and in the future.
func (c *conn) interrupt() { c.socket.SetDeadline(past) }

// close ends the connection. For TLS it says so to the server, which may take a moment.
func (c *conn) close() {
	c.Conn.Close()
	c.t.release(c.host)
}

// abort ends the connection at once.
func (c *conn) abort() {
	c.socket.Close()
	c.t.release(c.host)
}

// roundTrip sends a request, whose bytes are message, and reads the header of its answer. again
// means that the request can be sent on another connection. If there is no answer, the connection
// is closed.
func (c *conn) roundTrip(ctx context.Context, req *http.Request, message []byte) (resp *http.Response, again bool, err error) {
	stop := context.AfterFunc(ctx, c.interrupt)
	c.in = c.t.readers.Get().(*bufio.Reader)
	c.in.Reset(c)
	c.limit = c.t.std.MaxResponseHeaderBytes
	defer func() {
		if err == nil {
			return
		}
		stop()
		c.abort()
		c.free()
		if ctx.Err() != nil {
			again, err = false, context.Cause(ctx)
		}
	}()
	if n, err := c.Write(message); err != nil {
		return nil, c.reused && n == 0, fmt.Errorf("write: %w", err)
	}
	if _, err := c.in.Peek(1); err != nil {
		return nil, c.reused && isReplayable(req), err
	}
	if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.GotFirstResponseByte != nil {
		trace.GotFirstResponseByte()
	}
	for {
		if resp, err = http.ReadResponse(c.in, req); err != nil {
			if c.limit <= 0 {
				err = errLongHeader
			}
			return nil, false, err
		}
		if resp.StatusCode >= 200 || resp.StatusCode < 100 || resp.StatusCode == http.StatusSwitchingProtocols {
			break
		}
	}
	c.limit = math.MaxInt64
	resp.TLS = c.tls
	b := &body{Reader: resp.Body, c: c, ctx: ctx, stop: stop, keep: !resp.Close && resp.StatusCode >= 200}
	if resp.ContentLength == 0 || req.Method == http.MethodHead || resp.Body == http.NoBody {
		b.end(io.EOF)
		resp.Body = http.NoBody
	} else {
		resp.Body = b
	}
	return resp, false, nil
}

// free returns the reader of an answer to the pool.
func (c *conn) free() {
	c.in.Reset(nil)
	c.t.readers.Put(c.in)
	c.in = nil
}

// isReplayable reports whether net/http sends a request again if no byte of an answer came.
func isReplayable(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	_, key := r.Header["Idempotency-Key"]
	_, xkey := r.Header["X-Idempotency-Key"]
	return key || xkey
}

// A body is that of an answer. At its end the connection goes back to the pool, or is closed.
type body struct {
	io.Reader
	c    *conn
	ctx  context.Context // of the request
	stop func() bool     // of the interruption by ctx
	keep bool            // the answer allows another request
	err  error           // of all further reads; nil: none
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.Reader.Read(p)
	if err != nil {
		b.end(err)
	}
	return n, b.err
}

// Close closes the connection if the body was not read to its end.
func (b *body) Close() error {
	if b.err == nil {
		b.end(errClosed)
	}
	return nil
}

// end ends the answer: io.EOF says that it is complete.
func (b *body) end(err error) {
	b.err = err
	live := b.stop() // else the connection was interrupted, or is about to be
	left := b.c.in.Buffered()
	b.c.free()
	switch {
	case err != io.EOF:
		b.c.abort()
		if err != errClosed && b.ctx.Err() != nil {
			b.err = context.Cause(b.ctx)
		}
	case !live || !b.keep || left > 0:
		b.c.close()
	default:
		b.c.t.put(b.c)
	}
}

// A timeoutError is the error of a step that took too long.
type timeoutError string

func (e timeoutError) Error() string { return string(e) }
func (e timeoutError) Timeout() bool { return true }

// Temporary implements net.Error.
func (e timeoutError) Temporary() bool { return true }

// Errors. Package cause knows those of an attempt by the words of net/http.
var (
	errNothing          = timeoutError("http1: nothing has come") // a timeout, after which TLS goes on
	errHandshakeTimeout = timeoutError("http1: TLS handshake timeout")
	errLongHeader       = errors.New("http1: server response headers exceeded the limit")
	errClosed           = errors.New("http1: read of a closed body")
)
