package rabbitmq

import (
	"crypto/tls"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/brokers/source/sourcetest"
)

// TestTLS: amqps speaks AMQP over TLS to a broker whose certificate an authority of
// the URL signed, and to no other. The broker hangs up after the first words.
func TestTLS(t *testing.T) {
	certificate, key := sourcetest.Certificate(t)
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	words := make(chan string, 2)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			words <- first(conn)
		}
	}()
	defer func() { listener.Close(); <-ended }()

	at := "amqps://u:geheim@" + listener.Addr().String() + "/"
	if _, err := dial(t.Context(), at+"?cacertfile="+url.QueryEscape(certificate), "test"); err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("a broker that hangs up: %v", err)
	}
	if got := <-words; got != "AMQP\x00\x00\x09\x01" {
		t.Errorf("the broker heard %q", got)
	}
	if _, err := dial(t.Context(), at, "test"); err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Errorf("an unknown authority: %v", err)
	}
	if got := <-words; got != "" {
		t.Errorf("a broker of an unknown authority heard %q", got)
	}
}

// first is what a client says first.
func first(conn net.Conn) string {
	defer conn.Close()
	head := make([]byte, 8)
	n, _ := io.ReadFull(conn, head)
	return string(head[:n])
}
