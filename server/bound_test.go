package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"

	"github.com/bellmanhq/bellman/internal/config"
)

// idle opens a connection to a server and, where it is answered, leaves it open.
func idle(t *testing.T, addr string) (net.Conn, error) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, ask(c)
}

func ask(c net.Conn) error {
	if _, err := fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return err
	}
	return read(c)
}

func read(c net.Conn) error {
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// One address has so many connections and no more; when one of them ends another may come.
func TestConnectionsOfOneAddress(t *testing.T) {
	_, s, stop := serve(t, t.TempDir(), func(c *config.Config) { c.HTTP = config.HTTP{Connections: 10, PerAddress: 3} })
	defer stop()
	var open []net.Conn
	for i := range 3 {
		c, err := idle(t, s.Addr())
		if err != nil {
			t.Fatalf("connection %d: %v", i+1, err)
		}
		open = append(open, c)
	}
	for range 20 {
		if _, err := idle(t, s.Addr()); err == nil {
			t.Fatal("a fourth connection of one address is answered")
		}
	}
	for _, c := range open {
		if err := ask(c); err != nil {
			t.Errorf("a connection that was there: %v", err)
		}
	}
	open[0].Close()
	passes(t, "one is answered after one was closed", func() bool { _, err := idle(t, s.Addr()); return err == nil })
}

// When all places are taken a connection waits for one. Those of a trusted proxy have no bound of
// their own. A server with waiting connections stops.
func TestConnectionsOfAll(t *testing.T) {
	_, s, stop := serve(t, t.TempDir(), func(c *config.Config) {
		c.HTTP = config.HTTP{Connections: 3, PerAddress: 1}
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	var open []net.Conn
	for i := range 3 {
		c, err := idle(t, s.Addr())
		if err != nil {
			t.Fatalf("connection %d: %v", i+1, err)
		}
		open = append(open, c)
	}
	answered := make(chan error, 1)
	go func() {
		c, err := net.Dial("tcp", s.Addr())
		if err == nil {
			defer c.Close()
			err = ask(c)
		}
		answered <- err
	}()
	for range 50 {
		if err := ask(open[0]); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-answered:
		t.Fatalf("a fourth connection is answered (%v) while three are open", err)
	default:
	}
	open[1].Close()
	if err := <-answered; err != nil {
		t.Errorf("a connection that waited: %v", err)
	}
	stop()
}
