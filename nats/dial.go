package nats

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	dialTimeout = 10 * time.Second
	ping        = 10 * time.Second // two that are not answered end a connection
	askTimeout  = 10 * time.Second // of a question to JetStream
)

// dial connects to one of the servers that a URL names. The connection is not made
// anew when it breaks: whoever uses it finds out, and dials again. No error has a
// password in it.
func dial(ctx context.Context, url, name string, closed func(error)) (*nats.Conn, jetstream.JetStream, error) {
	timeout := dialTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	conn, err := nats.Connect(url, nats.Name(name), nats.Timeout(timeout), nats.NoReconnect(), nats.PingInterval(ping),
		nats.SetCustomDialer(dialer(func(network, addr string) (net.Conn, error) {
			d := net.Dialer{Timeout: timeout}
			return d.DialContext(ctx, network, addr)
		})),
		nats.ClosedHandler(func(conn *nats.Conn) { closed(conn.LastError()) }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // the default prints; what matters is told otherwise
	if err != nil {
		return nil, nil, fmt.Errorf("cannot connect: %w", err)
	}
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(askTimeout))
	if err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("cannot use JetStream: %w", err)
	}
	return conn, js, nil
}

// A dialer is a function as the library wants one.
type dialer func(network, addr string) (net.Conn, error)

func (d dialer) Dial(network, addr string) (net.Conn, error) { return d(network, addr) }
