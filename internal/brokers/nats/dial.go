package nats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	dialTimeout = 10 * time.Second
	ping        = 10 * time.Second // two unanswered pings end a connection
	askTimeout  = 10 * time.Second // timeout of a request to JetStream
)

// Access is what a server requires in addition to its URL. The zero Access is nothing. The files
// are read at each connect.
type Access struct {
	CA          string // a PEM file of certificate authorities; empty: the system's
	Credentials string // a file with a user's JWT and NKey seed (.creds), or only the seed (.nk); empty: none
}

func (a Access) options() ([]nats.Option, error) {
	var all []nats.Option
	if a.CA != "" {
		all = append(all, nats.RootCAs(a.CA))
	}
	if a.Credentials == "" {
		return all, nil
	}
	text, err := os.ReadFile(a.Credentials)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	if bytes.Contains(text, []byte("BEGIN NATS USER JWT")) {
		return append(all, nats.UserCredentials(a.Credentials)), nil
	}
	key, err := nats.NkeyOptionFromSeed(a.Credentials)
	if err != nil {
		return nil, errors.New("credentials: the file has neither a user's JWT nor the seed of an NKey")
	}
	return append(all, key), nil
}

// dial connects to one of the servers of a URL. A broken connection is not restored: its user
// notices and dials again. No error contains a password.
func dial(ctx context.Context, url string, access Access, name string, closed func(error)) (*nats.Conn, jetstream.JetStream, error) {
	timeout := dialTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	options, err := access.options()
	if err != nil {
		return nil, nil, err
	}
	options = append(options, nats.Name(name), nats.Timeout(timeout), nats.NoReconnect(), nats.PingInterval(ping),
		nats.SetCustomDialer(dialer(func(network, addr string) (net.Conn, error) {
			d := net.Dialer{Timeout: timeout}
			return d.DialContext(ctx, network, addr)
		})),
		nats.ClosedHandler(func(conn *nats.Conn) { closed(conn.LastError()) }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // the default handler prints; errors that matter arrive by other ways
	conn, err := nats.Connect(url, options...)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot connect: %w", err)
	}
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(askTimeout), jetstream.WithPublishAsyncTimeout(askTimeout))
	if err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("cannot use JetStream: %w", err)
	}
	return conn, js, nil
}

// A dialer adapts a function to the library's interface.
type dialer func(network, addr string) (net.Conn, error)

func (d dialer) Dial(network, addr string) (net.Conn, error) { return d(network, addr) }
