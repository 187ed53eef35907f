package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store"
)

// AddTx adds tasks in a transaction of yours: they are there when it commits,
// and never if it does not. tx must be of the database, and the schema, that the
// store is in. No store need be open, and no engine run, in this process:
//
//	added, err := postgres.AddTx(ctx, tx, rules.Prepare(&bellman.Task{…})...)
//
// where rules are an engine.Engine or, without one, engine.Rules. An engine
// attempts the tasks within a second of your commit if they are due; one in this
// process does it at once if it is told by Engine.Committed. Your transaction has no NOTIFY:
// PostgreSQL commits such transactions one at a time.
//
// What became of each task is returned in order, as by Engine.Add: Existing says
// that its key was there with the same content, and ErrKeyTaken that it was there
// with another. The error is the first of any task. It leaves your transaction as
// it is, with all other tasks added: roll it back if you want all or none.
//
// When the database fails, the result is nil, and the transaction is as it was
// before, or cannot go on: roll it back. One at REPEATABLE READ or SERIALIZABLE
// fails with 40001 when another transaction that it cannot see added the same key:
// run it again, as after all its failures of that kind. Two transactions that add
// the same key wait for each other, as with any unique key.
func AddTx(ctx context.Context, tx pgx.Tx, adds ...store.Add) ([]bellman.Added, error) {
	return addTx(ctx, pipelined{tx}, adds)
}

// AddSQLTx is AddTx for database/sql, with pgx's driver of it
// (github.com/jackc/pgx/v5/stdlib).
func AddSQLTx(ctx context.Context, tx *sql.Tx, adds ...store.Add) ([]bellman.Added, error) {
	return addTx(ctx, single{tx}, adds)
}

func addTx(ctx context.Context, tx sqlstore.Sender, adds []store.Add) ([]bellman.Added, error) {
	added, err := sqlstore.AddTx(ctx, sqlstore.Caller{Tx: tx, CountsInserts: true}, adds)
	if err != nil {
		err = fmt.Errorf("postgres: %w", err)
	}
	return added, err
}

// A pipelined transaction is a caller's, by pgx.
type pipelined struct{ tx pgx.Tx }

func (p pipelined) Send(ctx context.Context, statements ...*sqlstore.Statement) error {
	var batch pgx.Batch
	for _, s := range statements {
		text, args := renderCaller(s)
		batch.Queue(text, args...)
	}
	results := p.tx.SendBatch(ctx, &batch)
	for _, s := range statements {
		if err := receive(results, s); err != nil {
			results.Close() // its error is this one again
			return &sqlstore.Failed{Statement: s, Err: err}
		}
	}
	return results.Close()
}

// A single transaction is a caller's, by database/sql: a statement at a time.
type single struct{ tx *sql.Tx }

func (t single) Send(ctx context.Context, statements ...*sqlstore.Statement) error {
	for _, s := range statements {
		if err := t.run(ctx, s); err != nil {
			return &sqlstore.Failed{Statement: s, Err: err}
		}
	}
	return nil
}

func (t single) run(ctx context.Context, s *sqlstore.Statement) error {
	text, args := renderCaller(s)
	if s.Each == nil {
		result, err := t.tx.ExecContext(ctx, text, args...)
		if err != nil {
			return err
		}
		s.Affected, err = result.RowsAffected()
		return err
	}
	rows, err := t.tx.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := s.Each(sqlRow{rows}); err != nil {
			return err
		}
	}
	return rows.Err()
}

// A sqlRow is read by database/sql, which has ids as text.
type sqlRow struct{ rows *sql.Rows }

func (r sqlRow) Scan(dest ...any) error {
	for i := range dest {
		if id, is := dest[i].(*bellman.ID); is {
			dest[i] = (*textID)(id)
		}
	}
	return r.rows.Scan(dest...)
}

type textID bellman.ID

func (t *textID) Scan(value any) error {
	text, is := value.(string)
	if !is {
		return fmt.Errorf("an id of %v: want text", value)
	}
	id, err := bellman.ParseID(text)
	*t = textID(id)
	return err
}
