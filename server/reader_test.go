package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose one connection is a pipe.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A caller that asks and reads no answer is cut off after writeAnswer. A handler may think for
// longer than that, and on a connection that is used again each answer has its time anew.
func TestAnswersThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := strings.Repeat("x", 1<<20)
		srv := &http.Server{Handler: untilRead(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				time.Sleep(2 * writeAnswer)
			}
			io.WriteString(w, large)
		}))}
		p := &pipes{make(chan net.Conn), make(chan struct{})}
		done := make(chan error, 1)
		go func() { done <- srv.Serve(p) }()
		ask := func(c net.Conn, path string) {
			if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				t.Errorf("GET %s: %v", path, err)
			}
		}

		mine, theirs := net.Pipe()
		p.conns <- theirs
		client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return mine, nil }}}
		for _, path := range []string{"/slow", "/", "/slow"} {
			resp, err := client.Get("http://localhost" + path)
			if err != nil {
				t.Fatalf("GET %s: %v", path, err)
			}
			if body, err := io.ReadAll(resp.Body); err != nil || len(body) != len(large) {
				t.Errorf("GET %s: %d bytes, %v; want %d", path, len(body), err, len(large))
			}
			resp.Body.Close()
		}
		client.CloseIdleConnections()

		mine, theirs = net.Pipe()
		p.conns <- theirs
		ask(mine, "/")
		began := time.Now()
		time.Sleep(2 * writeAnswer)
		if n, err := io.Copy(io.Discard, mine); err == nil && n >= int64(len(large)) || err != nil && !errors.Is(err, io.EOF) {
			t.Errorf("%v after an answer that nobody read %d bytes of it came, %v; want the connection closed", time.Since(began), n, err)
		}
		srv.Close()
		<-done
	})
}
