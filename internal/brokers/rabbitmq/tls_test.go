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

// With amqps the client speaks AMQP over TLS, and only to a broker whose certificate is from the
// authority in the URL. The broker of this test closes the connection after the first bytes.
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
		t.Errorf("the broker closes the connection: %v; want an error", err)
	}
	if got := <-words; got != "AMQP\x00\x00\x09\x01" {
		t.Errorf("the broker received %q; want the AMQP header", got)
	}
	if _, err := dial(t.Context(), at, "test"); err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Errorf("a broker with a certificate of an unknown authority: %v; want an error about it", err)
	}
	if got := <-words; got != "" {
		t.Errorf("a broker with a certificate of an unknown authority received %q; want nothing", got)
	}
}

// first returns the first bytes that a client sends.
func first(conn net.Conn) string {
	defer conn.Close()
	head := make([]byte, 8)
	n, _ := io.ReadFull(conn, head)
	return string(head[:n])
}
