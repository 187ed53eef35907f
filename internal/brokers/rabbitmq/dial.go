package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	dialTimeout = 10 * time.Second
	heartbeat   = 10 * time.Second // three that are missed end a connection
)

// dial connects to a broker. The name is what its operator sees. No error has the
// password in it.
func dial(ctx context.Context, url, name string) (*amqp.Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	over := func() bool { return true }
	defer func() { over() }()
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName(name)
	conn, err := amqp.DialConfig(url, amqp.Config{
		Heartbeat:  heartbeat,
		Properties: properties,
		Dial: func(network, addr string) (net.Conn, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			over = context.AfterFunc(ctx, func() { conn.Close() }) // a handshake ends with ctx, too
			deadline, _ := ctx.Deadline()
			return conn, conn.SetDeadline(deadline) // which the library lifts after the handshake
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot connect: %w", said(err))
	}
	return conn, nil
}

// said is what a broker said, in its own words alone.
func said(err error) error {
	var e *amqp.Error
	if errors.As(err, &e) {
		return fmt.Errorf("%d %s", e.Code, e.Reason)
	}
	return err
}

// code is the number of what a broker said; 0: it said nothing.
func code(err error) int {
	var e *amqp.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}
