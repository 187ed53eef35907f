package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/bellmanhq/bellman/internal/eventually"
)

// During a stop, a notice that arrives slowly does not keep the API open, and is waited for.
func TestSlowNoticeKeepsNoAPIOpen(t *testing.T) {
	serve := func(h http.Handler) (*http.Server, string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: h}
		t.Cleanup(func() { s.Close() })
		go s.Serve(l)
		return s, l.Addr().String()
	}
	arrives := make(chan struct{})
	noticed, to := serve(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrives)
		io.Copy(io.Discard, r.Body)
	}))
	api, addr := serve(http.NotFoundHandler())
	slow, err := net.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprint(slow, "POST / HTTP/1.1\r\nHost: notices\r\nContent-Length: 10\r\n\r\n1")
	<-arrives
	s := &Server{http: api, notices: &notices{http: noticed}}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.drain(t.Context())
	}()
	eventually.True(t, "the API is closed", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	select {
	case <-drained:
		t.Error("the stop did not wait for the notice")
	default:
	}
	slow.Close()
	<-drained
}
