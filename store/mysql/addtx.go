package mysql

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store"
)

// AddTx adds tasks in a transaction of yours: they are there when it commits,
// and never if it does not. tx must be of the database that the store is in. No
// store need be open, and no engine run, in this process:
//
//	added, err := mysql.AddTx(ctx, tx, rules.Prepare(&bellman.Task{…})...)
//
// where rules are an engine.Engine or, without one, engine.Rules. An engine
// attempts the tasks within a second of your commit if they are due; one in this
// process does it at once if it is told by Engine.Committed.
//
// What became of each task is returned in order, as by Engine.Add: Existing says
// that its key was there with the same content, and ErrKeyTaken that it was there
// with another. The error is the first of any task. It leaves your transaction as
// it is, with all other tasks added: roll it back if you want all or none.
//
// When the database fails, the result is nil, and the transaction is as it was
// before, or cannot go on: roll it back. After a deadlock (1213) the server has
// ended it already. Any isolation will do, but MariaDB from 11.6 on fails with 1020
// when one at REPEATABLE READ meets a key that it cannot see: run it again. Two
// transactions that add the same key wait for each other, as with any unique key;
// on two members of a Galera cluster they do not, and your later COMMIT fails with
// 1213. One that adds a key that is there keeps new keys next to it waiting until it
// ends, and at SERIALIZABLE all new tasks.
func AddTx(ctx context.Context, tx *sql.Tx, adds ...store.Add) ([]bellman.Added, error) {
	added, err := sqlstore.AddTx(ctx, sqlstore.Caller{Tx: caller{tx}, Locks: true}, adds)
	if err != nil {
		err = fmt.Errorf("mysql: %w", err)
	}
	return added, err
}

// A caller is a transaction that is not the store's.
type caller struct{ tx *sql.Tx }

// callerPacket is how many bytes of values one statement has in a caller's
// transaction, whose server's limit is not known; unless a single task has more.
const callerPacket = 1 << 20

func (c caller) Send(ctx context.Context, statements ...*sqlstore.Statement) error {
	return (&database{packet: callerPacket}).send(ctx, c.tx, statements)
}
