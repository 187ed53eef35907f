package sqltest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store"
)

// Big opens a store in an empty database and gives it n tasks. A quarter of them have ended after
// an attempt; the others are a chain of one ordering key. fill copies the one task in the database
// n times, to be due from a given time on.
func Big(t *testing.T, d sqlstore.Driver, n int, fill func(due time.Time) error) *sqlstore.Store {
	t.Helper()
	ctx := context.Background()
	s, err := sqlstore.New(ctx, d)
	must(t, err)
	due := time.Now().Add(48 * time.Hour)
	first := Task(0, due)
	must(t, s.Commit(ctx, &store.Batch{Adds: []store.Add{{Task: first}}}))
	began := time.Now()
	must(t, fill(due))
	Finish(t, s, 1)
	to := first.Status
	to.Attempts = 1
	must(t, s.Commit(ctx, &store.Batch{Changes: []store.Change{{ID: first.ID, Version: 1, To: to, Attempt: &bellman.Attempt{Number: 1, Response: "fail"}}}}))
	for _, text := range []string{
		`INSERT INTO bellman_attempt (task_id, number, cause, due, started, took_ns, result, status, response, node)
			SELECT l.id, 1, a.cause, l.due, a.started, a.took_ns, a.result, a.status, a.response, a.node
			FROM bellman_live l CROSS JOIN (SELECT * FROM bellman_attempt LIMIT 1) a WHERE l.shard < 16 AND l.id <> a.task_id`,
		`INSERT INTO bellman_ended (state, id, finished, reason, shard, version, line, attempts, queue, rest, attempt)
			SELECT 1, l.id, l.due, e.reason, l.shard, 2, l.line, 1, l.queue, e.rest, e.attempt
			FROM bellman_live l CROSS JOIN (SELECT * FROM bellman_ended LIMIT 1) e WHERE l.shard < 16`,
		`DELETE FROM bellman_live WHERE shard < 16`,
		`INSERT INTO bellman_alias (alias, id) SELECT order_no, id FROM bellman_task`,
		// The tasks of one merchant form a chain.
		`INSERT INTO bellman_order (id, queue, ordering_key, supersedes, seq)
			SELECT l.id, e.queue, t.event, CASE WHEN l.shard < 32 THEN 1 ELSE 0 END, l.due
			FROM bellman_live l CROSS JOIN (SELECT * FROM bellman_ended LIMIT 1) e CROSS JOIN (SELECT * FROM bellman_task WHERE event IS NOT NULL LIMIT 1) t
			WHERE l.shard >= 16`,
	} {
		must(t, d.Define(ctx, text))
	}
	t.Logf("%d tasks, a quarter of which have ended, in %v", n, time.Since(began).Round(time.Millisecond))
	return s
}

// Asked returns how many rows a statement asks for: the lengths of its lists, or its limit.
func Asked(s *sqlstore.Statement) (n int64) {
	if s.Insert != nil {
		return int64(sqlstore.Len(s.Insert.Columns[0].Values))
	}
	limit := int64(0) // the last number; it is the same in each part of the statement
	for _, a := range s.Args {
		switch a := a.(type) {
		case []bellman.ID, []int64, [][]byte:
			n += int64(sqlstore.Len(a))
		case int64:
			limit = a
		}
	}
	if limits := int64(strings.Count(s.Text, "LIMIT ?")); limits > 0 {
		if !strings.HasSuffix(s.Text, ")") {
			limits = 1 // one limit for the whole statement
		}
		n += limits * limit
	}
	return n
}
