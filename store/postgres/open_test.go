package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestSession checks the settings of each session, whatever the server's defaults are.
func TestSession(t *testing.T) {
	d := connectTest(t, newDatabase(t)+"&statement_timeout=600000")
	want := map[string]string{"transaction_isolation": "read committed", "synchronous_commit": "on", "jit": "off",
		"idle_in_transaction_session_timeout": "3s", "lock_timeout": "3s", "statement_timeout": "0", "application_name": "bellman"}
	for name, value := range want {
		var have string
		if err := d.pool.QueryRow(context.Background(), "SELECT current_setting($1)", name).Scan(&have); err != nil || have != value {
			t.Errorf("%s = %q, %v; want %q", name, have, err, value)
		}
	}
}

// TestAloneWhileIdle holds the lock of a migration for longer than the server lets a session be
// idle.
func TestAloneWhileIdle(t *testing.T) {
	ctx := t.Context()
	u, err := url.Parse(newDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	database := u.String()
	other, err := pgx.Connect(ctx, database)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.WithoutCancel(ctx))
	count := func(text string, args ...any) (n int, err error) {
		err = other.QueryRow(ctx, text, args...).Scan(&n)
		return n, err
	}
	if n, err := count("SELECT count(*) FROM pg_settings WHERE name = 'idle_session_timeout'"); n == 0 && err == nil {
		t.Skip("this server has no idle_session_timeout")
	}
	query := u.Query()
	query.Set("idle_session_timeout", "1000")
	u.RawQuery = query.Encode()
	err = connectTest(t, u.String()).Alone(ctx, func() error {
		idle, err := pgx.Connect(ctx, database) // the server ends it after the session of the lock
		if err != nil {
			return err
		}
		defer idle.Close(context.WithoutCancel(ctx))
		if _, err := idle.Exec(ctx, "SET idle_session_timeout = 2000"); err != nil {
			return err
		}
		for end, there := time.Now().Add(patient), 1; there > 0; time.Sleep(10 * time.Millisecond) {
			if there, err = count("SELECT count(*) FROM pg_stat_activity WHERE pid = $1", int64(idle.PgConn().PID())); err != nil || time.Now().After(end) {
				return fmt.Errorf("the server does not end an idle session: %w", err)
			}
		}
		held, err := count(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
		if held != 1 {
			err = errors.Join(err, fmt.Errorf("%d locks are held; want that of the migration", held))
		}
		return err
	})
	if err != nil {
		t.Errorf("Alone() = %v", err)
	}
}
