package cause_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/cause"
)

type blocked struct{}

func (blocked) Error() string { return "10.0.0.1 is a private address" }
func (blocked) Blocked() bool { return true }

func TestOf(t *testing.T) {
	live := t.Context()
	late, cancel := context.WithDeadline(live, time.Now().Add(-time.Second))
	defer cancel()
	stopped, stop := context.WithCancel(live)
	stop()
	dial := func(err error) error { return fmt.Errorf("get: %w", &net.OpError{Op: "dial", Err: err}) }
	tests := []struct {
		ctx  context.Context
		err  error
		want bellman.Result
		text string
	}{
		{live, dial(blocked{}), bellman.Blocked, "10.0.0.1 is a private address"},
		{late, dial(blocked{}), bellman.Blocked, "10.0.0.1 is a private address"},
		{stopped, dial(blocked{}), bellman.Unknown, "cut off by us before an answer came"},
		{late, io.EOF, bellman.TimedOut, "no answer in the time of one attempt"},
		{live, dial(syscall.ECONNREFUSED), bellman.Unreachable, "connect: refused"},
		{live, dial(syscall.ETIMEDOUT), bellman.TimedOut, "connect: no connection in time"},
		{live, &net.OpError{Op: "read", Err: syscall.ECONNRESET}, bellman.Unreachable, "connection: reset by the other end"},
		{live, io.ErrUnexpectedEOF, bellman.Unreachable, "connection: closed before the answer was whole"},
		{live, &net.DNSError{Name: "gw", IsNotFound: true}, bellman.Unreachable, "dns: no such host: gw"},
		{live, &net.DNSError{Name: "gw", IsTimeout: true}, bellman.TimedOut, "dns: no answer about gw"},
		{live, errors.New("net/http: odd"), bellman.Unreachable, "odd"},
		{live, errors.New("net/http: HTTP/1.x transport connection broken: malformed HTTP response \"220\""), bellman.Unreachable, "malformed HTTP response \"220\""},
	}
	for _, tt := range tests {
		if got, text := cause.Of(tt.ctx, tt.err); got != tt.want || text != tt.text {
			t.Errorf("Of(%v, %v) = %v, %q; want %v, %q", tt.ctx.Err(), tt.err, got, text, tt.want, tt.text)
		}
	}
}

func TestRedirect(t *testing.T) {
	tests := []struct {
		status   int
		location string
		want     string
	}{
		{302, "https://u:p@elsewhere.example/a?token=1#b", "redirects are not followed; this one leads to https://elsewhere.example/a"},
		{308, "/a", "redirects are not followed; this one leads to /a"},
		{302, "http://[", "redirects are not followed"},
		{302, "", ""},
		{201, "/a", ""},
		{404, "/a", ""},
	}
	for _, tt := range tests {
		if got := cause.Redirect(tt.status, http.Header{"Location": {tt.location}}); got != tt.want {
			t.Errorf("Redirect(%d, %q) = %q; want %q", tt.status, tt.location, got, tt.want)
		}
	}
}

func TestLine(t *testing.T) {
	if got := cause.Line("a\r\nb\u2028c\x7f" + strings.Repeat("单", 400)); got != "a  b c "+strings.Repeat("单", 293) {
		t.Errorf("Line = %q", got)
	}
}
