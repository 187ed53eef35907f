package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
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
