package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	dialTimeout = 10 * time.Second
	heartbeat   = 10 * time.Second // three missed heartbeats end a connection

	closeTimeout = 3 * time.Second // how long the broker has to answer the end of a connection
)

// A transport is a connection with the line below it.
type transport struct {
	*amqp.Connection
	line net.Conn
}

// Close ends the connection. If the broker does not answer in time, it cuts the line: while a
// broker is short of memory or disk, it reads nothing from a connection that publishes.
func (t *transport) Close() {
	cut := time.AfterFunc(closeTimeout, func() { t.line.Close() })
	defer cut.Stop()
	t.Connection.Close()
}

// dial connects to a broker. name is shown to its operator. No error contains the password.
func dial(ctx context.Context, url, name string) (*transport, error) {
	var line net.Conn
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
			line = conn
			over = context.AfterFunc(ctx, func() { conn.Close() }) // the handshake ends with ctx too
			deadline, _ := ctx.Deadline()
			return conn, conn.SetDeadline(deadline) // the library removes it after the handshake
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot connect: %w", said(err))
	}
	return &transport{conn, line}, nil
}

// said returns the broker's own error text, or what to do about an error that the library finds.
func said(err error) error {
	var e *amqp.Error
	switch {
	case !errors.As(err, &e):
		return err
	case strings.Contains(e.Reason, amqp.ErrFrameTooLarge.Reason):
		return fmt.Errorf("%d the headers of a message became larger than frame_max, for the broker adds x-delivery-count when it delivers a message again: raise frame_max of the broker", e.Code)
	}
	return fmt.Errorf("%d %s", e.Code, e.Reason)
}

// code returns the broker's error code; 0: there is none.
func code(err error) int {
	if e, is := errors.AsType[*amqp.Error](err); is {
		return e.Code
	}
	return 0
}
