package postgres

import (
	"context"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// A pooler gives all its clients one session of a server, as PgBouncer does in transaction mode: a
// client has the session until its transaction is over.
type pooler struct {
	turn   sync.Mutex
	server *pgconn.HijackedConn
}

// poolerOf returns the address of a database through a pooler.
func poolerOf(t *testing.T, address string) string {
	t.Helper()
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	server, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pooler{server: server}
	var clients sync.WaitGroup
	clients.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			clients.Go(func() {
				defer conn.Close()
				p.serve(conn) // ends with an error when the client is gone
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		server.Conn.Close()
		clients.Wait()
	})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = l.Addr().String()
	return u.String()
}

func (p *pooler) serve(conn net.Conn) error {
	client := pgproto3.NewBackend(conn, conn)
	if _, err := client.ReceiveStartupMessage(); err != nil {
		return err
	}
	client.Send(&pgproto3.AuthenticationOk{})
	for name, value := range p.server.ParameterStatuses {
		client.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
	}
	client.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for {
		if err := client.Flush(); err != nil {
			return err
		}
		message, err := client.Receive()
		if _, ends := message.(*pgproto3.Terminate); err != nil || ends {
			return err
		}
		p.turn.Lock()
		err = p.transaction(client, message)
		p.turn.Unlock()
		if err != nil {
			return err
		}
	}
}

// transaction passes the messages of a client, beginning with this one, until its transaction is
// over.
func (p *pooler) transaction(client *pgproto3.Backend, message pgproto3.FrontendMessage) error {
	for over := false; ; {
		p.server.Frontend.Send(message)
		var err error
		switch message.(type) {
		case *pgproto3.Query, *pgproto3.Sync:
			over, err = p.answer(client)
		}
		if over || err != nil {
			return err
		}
		if message, err = client.Receive(); err != nil {
			return err
		}
	}
}

// answer passes the messages of the server until it is ready for the next ones. It reports whether
// the transaction is over.
func (p *pooler) answer(client *pgproto3.Backend) (over bool, err error) {
	if err := p.server.Frontend.Flush(); err != nil {
		return false, err
	}
	for {
		message, err := p.server.Frontend.Receive()
		if err != nil {
			return false, err
		}
		client.Send(message)
		if ready, is := message.(*pgproto3.ReadyForQuery); is {
			return ready.TxStatus == 'I', client.Flush()
		}
	}
}

// TestSharedSession opens a store through a pooler that shares sessions. The start rejects it,
// because each connection would lose its settings, also if it is the only one at that moment.
func TestSharedSession(t *testing.T) {
	address := newDatabase(t)
	openTest(t, address, Options{})
	shared := poolerOf(t, address)
	s, err := Open(t.Context(), shared, Options{})
	if err == nil {
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), noPooler) {
		t.Errorf("Open() = %v; want an error with %q", err, noPooler)
	}
	// The session of that start is still there, with what it has prepared.
	if found, err := Examine(t.Context(), shared, Options{}); err == nil || !strings.Contains(err.Error(), noPooler) {
		t.Errorf("Examine() = %+v, %v; want an error with %q", found, err, noPooler)
	}
}
