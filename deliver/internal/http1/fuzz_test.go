package http1

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/cause"
)

// A script is a connection on which the server's side is known beforehand.
type script struct {
	net.Conn           // nil: no other method may be called
	deadline time.Time // of reads
	answer   []byte    // what the server sends after the request
	step     int       // bytes that one read returns at most
	end      error     // of reads after the answer; nil: the server is silent
	silence  func()    // is called when the server falls silent
	written  []byte    // the request
	sent     sync.Once
	request  chan struct{} // closed when the request has come
	stop     sync.Once
	over     chan struct{} // closed when nothing is waited for any more
}

func newScript(answer []byte, step int, end error, silence func()) *script {
	return &script{answer: answer, step: step, end: end, silence: silence, request: make(chan struct{}), over: make(chan struct{})}
}

func (s *script) Write(p []byte) (int, error) {
	s.written = append(s.written, p...)
	s.sent.Do(func() { close(s.request) })
	return len(p), nil
}

func (s *script) Read(p []byte) (int, error) {
	select {
	case <-s.request:
	case <-s.over:
		return 0, os.ErrDeadlineExceeded
	}
	if len(s.answer) > 0 {
		n := copy(p[:min(len(p), s.step)], s.answer)
		s.answer = s.answer[n:]
		return n, nil
	}
	if s.end != nil {
		return 0, s.end
	}
	s.silence()
	<-s.over
	return 0, os.ErrDeadlineExceeded
}

func (s *script) Close() error {
	s.stop.Do(func() { close(s.over) })
	return nil
}

func (s *script) SetReadDeadline(t time.Time) error {
	s.deadline = t
	return nil
}

func (s *script) SetDeadline(time.Time) error { return s.Close() } // only to interrupt

// An outcome is what the caller of a transport sees of a request and its answer.
type outcome struct {
	Fault     string // of the answer's header; empty: it came
	Status    string
	Code      int
	Proto     string
	Header    http.Header
	Length    int64
	Close     bool
	Body      string
	BodyFault string // empty: the body is complete
	Trailer   http.Header
}

// ask sends a request and reads at most 64 KiB of the answer, as deliver does.
func ask(ctx context.Context, rt http.RoundTripper, method string) (o outcome) {
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader("{}")
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://merchant.example/notify", body)
	if err != nil {
		panic(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		o.Fault = faultOf(ctx, err)
		return o
	}
	o = outcome{Status: resp.Status, Code: resp.StatusCode, Proto: resp.Proto, Header: resp.Header, Length: resp.ContentLength, Close: resp.Close}
	if resp.StatusCode != http.StatusSwitchingProtocols { // what follows is no answer
		b, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		if o.Body = string(b); err != nil {
			o.BodyFault = faultOf(ctx, err)
		}
	}
	resp.Body.Close()
	o.Trailer = resp.Trailer
	return o
}

func faultOf(ctx context.Context, err error) string {
	result, text := cause.Of(ctx, err)
	return fmt.Sprint(result, ": ", text)
}

var ends = []error{nil, io.EOF, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}}

// compare plays the same answer to net/http and to a Transport, and fails if they see different
// things, or if the Transport keeps a connection that net/http would close.
func compare(t *testing.T, method string, answer []byte, step, end int) {
	std := func(silence func()) *http.Transport {
		return &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				return newScript(answer, 1+step, ends[end%len(ends)], silence), nil
			},
			MaxResponseHeaderBytes: 8 << 10, MaxIdleConns: 1, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Hour,
			ReadBufferSize: 512, DisableCompression: true, TLSClientConfig: &tls.Config{},
		}
	}
	play := func(wrap func(*http.Transport) http.RoundTripper) (o outcome, kept bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		rt := wrap(std(cancel))
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{PutIdleConn: func(err error) { kept = kept || err == nil }})
		o = ask(traced, rt, method)
		if ours, is := rt.(*Transport); is {
			kept = ours.idle.n == 1
		}
		rt.(interface{ CloseIdleConnections() }).CloseIdleConnections()
		return o, kept
	}
	want, mayKeep := play(func(t *http.Transport) http.RoundTripper { return t })
	got, kept := play(func(t *http.Transport) http.RoundTripper { return New(t) })
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s, answered %q by %d bytes, then %v:\n%+v; net/http has\n%+v", method, answer, 1+step, ends[end%len(ends)], got, want)
	}
	if kept && !mayKeep {
		t.Errorf("%s, answered %q by %d bytes, then %v: the connection is kept; net/http closes it", method, answer, 1+step, ends[end%len(ends)])
	}
}

// FuzzAnswer: whatever a server sends, and however it ends, a Transport sees what net/http sees.
func FuzzAnswer(f *testing.F) {
	log.SetOutput(io.Discard) // net/http logs what comes after an answer
	f.Cleanup(func() { log.SetOutput(os.Stderr) })
	for i, a := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsuccess",
		"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsuccessHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfail",
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsuccess",
		"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nContent-Length: 8\r\n\r\nsuccess",
		"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nContent-Length: 7\r\n\r\nsuccess",
		"HTTP/1.1 200 OK\r\nContent-Length: -7\r\n\r\nsuccess",
		"HTTP/1.1 200 OK\r\nContent-Length: +7\r\n\r\nsuccess",
		"HTTP/1.1 200 OK\r\nContent-Length: 7, 7\r\n\r\nsuccess",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nsuccess",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nsuccess\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n7;ext=1\r\nsuccess\r\n0\r\nX-Sum: 1\r\nX-Other: 2\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n7\r\nsuccess\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n7\r\nsuccess\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nsuccess",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\nsuccess\n0\n\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-7\r\nsuccess\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nsuccess",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\nsuccess",
		"HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\nsuccess",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 7\r\n\r\nsuccess",
		"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 7\r\n\r\nsuccess",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsuccess",
		"HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nsuccess",
		"HTTP/1.1 101 Switching Protocols\r\n\r\nsuccess",
		"HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\nsuccess",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
		"HTTP/1.1 199 Odd\r\n\r\n" + strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 400),
		"HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", 9<<10) + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\n" + strings.Repeat("x", 9<<10) + ": x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 12288\r\n\r\n" + strings.Repeat("success ", 12<<10/8),
		"HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\n: empty\r\n\r\n",
		"HTTP/1.1 200 OK\r\nNo colon\r\n\r\n",
		"HTTP/1.1 200 OK\r\nSp ace: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n",
		"HTTP/1.1 200 OK\nContent-Length: 7\n\nsuccess",
		"HTTP/1.1 200\r\nContent-Length: 7\r\n\r\nsuccess",
		"HTTP/1.1 2000 OK\r\n\r\n",
		"HTTP/1.1 -20 OK\r\n\r\n",
		"HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/9 200 OK\r\n\r\n",
		"220 mail.example ESMTP\r\n",
		"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n",
		"\r\nHTTP/1.1 200 OK\r\n\r\n",
		"\x15\x03\x01\x00\x02\x02\x46",
		"",
	} {
		f.Add([]byte(a), byte(0), uint16(511), byte(0))
		f.Add([]byte(a), byte(i), uint16(i), byte(1+i%2))
	}
	f.Fuzz(func(t *testing.T, answer []byte, method byte, step uint16, end byte) {
		methods := []string{http.MethodPost, http.MethodGet, http.MethodHead}
		compare(t, methods[int(method)%len(methods)], answer, int(step), int(end))
	})
}
