package postgres

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/sqlstore"
)

// A caller's transaction has no NOTIFY. For NOTIFY PostgreSQL holds a lock of the whole server
// until the end of the commit, so all such transactions would commit one at a time.
func TestNoNotify(t *testing.T) {
	url := newDatabase(t)
	openTest(t, url, Options{})
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	seen := &statements{}
	config := conn.Config()
	config.Tracer = seen
	traced, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer traced.Close(context.WithoutCancel(ctx))
	rules, err := engine.NewRules(engine.Queue{Name: "q", Handler: bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict { return bellman.Verdict{} })})
	if err != nil {
		t.Fatal(err)
	}
	err = pgx.BeginFunc(ctx, traced, func(tx pgx.Tx) error {
		_, err := AddTx(ctx, tx, rules.Prepare(&bellman.Task{Queue: "q"})...)
		return err
	})
	if err != nil || len(seen.texts) == 0 {
		t.Fatalf("AddTx() = %v, with statements %q", err, seen.texts)
	}
	for _, text := range seen.texts {
		if strings.Contains(strings.ToLower(text), "notify") {
			t.Errorf("AddTx sent %s; want no NOTIFY", text)
		}
	}
}

// A statement in a caller's transaction that affects another number of rows than it wants is raced,
// whichever driver the caller uses.
func TestRowsThatACallersStatementWants(t *testing.T) {
	ctx, url := t.Context(), newDatabase(t)
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ofPgx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ofSQL, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ofSQL.Rollback()
	for name, tx := range map[string]sqlstore.Sender{"pgx": pipelined{ofPgx}, "database/sql": single{ofSQL}} {
		for _, want := range []int64{0, 1, 2} {
			s := &sqlstore.Statement{Name: "one row", Text: "SELECT 1", Want: want}
			err := tx.Send(ctx, s)
			if raced := errors.Is(err, sqlstore.ErrRaced); raced != (want == 2) || err != nil && !raced || s.Affected != 1 {
				t.Errorf("%s: a statement that wants %d rows and affects one: %v, Affected %d; want ErrRaced only if it wants two", name, want, err, s.Affected)
			}
		}
	}
}

// statements collects the texts that a connection sends.
type statements struct{ texts []string }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.texts = append(s.texts, data.SQL)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, q := range data.Batch.QueuedQueries {
		s.texts = append(s.texts, q.SQL)
	}
	return ctx
}

func (s *statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
