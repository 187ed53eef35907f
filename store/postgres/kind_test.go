package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
)

func TestKind(t *testing.T) {
	d := &database{}
	for code, want := range map[string]sqlstore.Kind{
		"40001": sqlstore.Retry, "40P01": sqlstore.Retry, "55P03": sqlstore.Blocked, "22003": sqlstore.Overflow, "23505": sqlstore.Duplicate,
		"42P07": sqlstore.Exists, "42701": sqlstore.Exists, "53100": sqlstore.Full, "25006": sqlstore.Lost, "25P03": sqlstore.Lost, "57P01": sqlstore.Lost, "08006": sqlstore.Lost,
		"": sqlstore.Other, "42601": sqlstore.Other, "42501": sqlstore.Other, "23502": sqlstore.Other,
	} {
		if got := d.Kind(&sqlstore.Failed{Statement: &sqlstore.Statement{}, Err: &pgconn.PgError{Code: code}}); got != want {
			t.Errorf("Kind(%s) = %d, want %d", code, got, want)
		}
	}
	if got := d.Kind(errLost{errors.New("cut")}); got != sqlstore.Lost {
		t.Errorf("Kind() of a lost connection = %d, want %d", got, sqlstore.Lost)
	}
}

// TestNoConnectionLeft needs a connection while the server gives the user no more. The call fails
// as if the server could not be reached, and another can succeed as soon as a connection is free.
func TestNoConnectionLeft(t *testing.T) {
	ctx := t.Context()
	u, err := url.Parse(newDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	admin, err := pgx.Connect(ctx, u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.WithoutCancel(ctx))
	id := bellman.NewID()
	user := fmt.Sprintf("bellman_test_%x", id[:])
	if _, err := admin.Exec(ctx, fmt.Sprintf("CREATE ROLE %s LOGIN CONNECTION LIMIT 2; GRANT CREATE ON SCHEMA public TO %[1]s", user)); err != nil {
		t.Fatal(err)
	}
	defer admin.Exec(context.WithoutCancel(ctx), fmt.Sprintf("DROP OWNED BY %s; DROP ROLE %[1]s", user))
	u.User = url.User(user)
	s, err := Open(ctx, u.String(), Options{})
	for began := time.Now(); err != nil && strings.Contains(err.Error(), "53300") && time.Since(began) < patient; {
		s, err = Open(ctx, u.String(), Options{}) // the server may still count a session that Open closed
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var held []*pgxpool.Conn
	for began := time.Now(); len(held) < 2; {
		conn, err := s.d.pool.Acquire(ctx)
		switch {
		case err == nil:
			held = append(held, conn)
		case !strings.Contains(err.Error(), "53300") || time.Since(began) > patient: // 53300: the server still counts a session that Open closed
			for _, conn := range held {
				conn.Release() // Close waits for it
			}
			t.Fatal(err)
		}
	}
	if _, err := s.Task(ctx, bellman.NewID()); !errors.Is(err, bellman.ErrUnreachable) {
		t.Errorf("Task() without a connection = %v; want ErrUnreachable", err)
	}
	if err := s.Commit(ctx, sqltest.Adds(1, 1, time.Now())); !errors.Is(err, bellman.ErrUnreachable) || errors.Is(err, bellman.ErrUnknown) {
		t.Errorf("Commit() without a connection = %v; want ErrUnreachable", err)
	}
	for _, conn := range held {
		conn.Release()
	}
	if err := s.Commit(ctx, sqltest.Adds(1, 1, time.Now())); err != nil {
		t.Errorf("Commit() with a connection = %v", err)
	}
}
