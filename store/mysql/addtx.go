package mysql

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store"
)

// AddTx adds tasks in a transaction of the caller: they exist once it commits, and never if it does
// not. tx must be in the database of the store. This process needs no open store and no running
// engine:
//
//	added, err := mysql.AddTx(ctx, tx, rules.Prepare(&bellman.Task{…})...)
//
// Here rules is an engine.Engine, or engine.Rules in a process without one. If the tasks are due,
// an engine attempts them within a second of the commit, or within a minute if they were due more
// than 30 s before it. An engine in this process attempts them at once if the caller passes them to
// Engine.Committed.
//
// The results are in order and mean the same as those of Engine.Add: Existing if the key exists
// with the same content, ErrKeyTaken if it exists with other content, ErrAliasTaken if another task
// has the alias. The error is the first one of any task. It leaves the transaction usable, with all
// other tasks added: roll it back if you want all or none.
//
// If the database fails, the result is nil. The transaction is then unchanged or unusable: roll it
// back. After a deadlock (1213) the server has already ended it.
//
// Any isolation level works. But MariaDB from 11.6 on fails with 1020 if a transaction at
// REPEATABLE READ meets a key or an alias that it cannot see: run the transaction again. Two
// transactions that add the same key or alias wait for each other, as with any unique key. On two
// members of a Galera cluster they do not wait, and the later COMMIT fails with 1213. A transaction
// that adds an existing key makes new keys next to it wait until it ends; at SERIALIZABLE it makes
// all new tasks wait.
func AddTx(ctx context.Context, tx *sql.Tx, adds ...store.Add) ([]bellman.Added, error) {
	added, err := sqlstore.AddTx(ctx, sqlstore.Caller{Tx: caller{tx}, Locks: true}, adds)
	if err != nil {
		err = fmt.Errorf("mysql: %w", err)
	}
	return added, err
}

// A caller is a transaction of the caller of AddTx.
type caller struct{ tx *sql.Tx }

// callerPacket is the size in bytes of the values of one statement in a caller's transaction,
// because the server's limit is not known. A single larger task is sent whole.
const callerPacket = 1 << 20

func (c caller) Send(ctx context.Context, statements ...*sqlstore.Statement) error {
	return (&database{packet: callerPacket}).send(ctx, c.tx, statements)
}
