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

// AddTx adds tasks in a transaction of the caller: they exist once it commits, and never if it does
// not. tx must be in the database of the store, and use its schema. This process needs no open
// store and no running engine:
//
//	added, err := postgres.AddTx(ctx, tx, rules.Prepare(&bellman.Task{…})...)
//
// Here rules is an engine.Engine, or engine.Rules in a process without one. If the tasks are due,
// an engine attempts them within a second of the commit, or within a minute if they were due more
// than 30 s before it. An engine in this process attempts them at once if the caller passes them to
// Engine.Committed. AddTx sends no NOTIFY, because PostgreSQL commits transactions with a NOTIFY one
// at a time.
//
// The results are in order and mean the same as those of Engine.Add: Existing if the key exists
// with the same content, ErrKeyTaken if it exists with other content, ErrAliasTaken if another task
// has the alias. The error is the first one of any task. It leaves the transaction usable, with all
// other tasks added: roll it back if you want all or none.
//
// If the database fails, the result is nil. The transaction is then unchanged or unusable: roll it
// back.
//
// A transaction at REPEATABLE READ or SERIALIZABLE fails with 40001 if another transaction that it
// cannot see added the same key or alias. Run it again, as after any failure with 40001. Two
// transactions that add the same key or alias wait for each other, as with any unique key.
func AddTx(ctx context.Context, tx pgx.Tx, adds ...store.Add) ([]bellman.Added, error) {
	return addTx(ctx, pipelined{tx}, adds)
}

// AddSQLTx is AddTx for database/sql with the driver github.com/jackc/pgx/v5/stdlib.
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

// A pipelined transaction is a caller's transaction of pgx.
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

// A single transaction is a caller's transaction of database/sql. It sends one statement at a time.
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
		if s.Affected, err = result.RowsAffected(); err == nil && s.Want != 0 && s.Affected != s.Want {
			err = sqlstore.ErrRaced
		}
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

// A sqlRow scans a row of database/sql, which returns ids as text.
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
