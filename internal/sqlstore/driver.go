package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/bellmanhq/bellman"
)

// A Driver is one database, and what differs between databases.
//
// Texts of statements are the same for all: a ? is an argument, IN (??) a list
// ([]bellman.ID, []int64 or [][]byte), IN (???) a list of pairs, given as two
// such lists, FROM (????) a table of such pairs, a and b, {now} the database's clock in Unix ms, and {micros} the same in µs. {by COLUMN} stands after
// the name of bellman_task for its index that begins with that column, or with
// {by key} for that of keys, and {within COLUMN} for COLUMN = ? AND id >= ?
// AND COLUMN = ? AND id < ?, in words that lead to this index. {page} stands
// for look >= ? AND look < ? AND (look > ? OR id > ?), in words that lead right
// behind that id.
type Driver interface {
	// Read runs statements outside of a transaction, in one flight if it can.
	Read(ctx context.Context, statements ...*Statement) error

	// Begin opens a transaction at READ COMMITTED. The driver may wait for the
	// first statements before it tells the database.
	Begin(ctx context.Context) (Tx, error)

	// Define runs a statement that defines a table or an index. Words in braces
	// stand for types: see migrations.
	Define(ctx context.Context, text string) error

	// Alone calls f while no other process is in Alone at the same database.
	Alone(ctx context.Context, f func() error) error

	// Check says what is wrong with the server or the session: its version, its
	// isolation, a replica that cannot be written to. The error says what to do.
	Check(ctx context.Context) error

	// Kind says what an error of the database means.
	Kind(err error) Kind

	// Unblock ends sessions that hold a shard's row and whose clients have stopped,
	// where the server does not do so by itself. It is called after Blocked.
	Unblock(ctx context.Context) error

	// CountsInserts says that Affected is exact for an Insert with Keep: the rows
	// that were not there.
	CountsInserts() bool

	// Pool says how the connections are used.
	Pool() Pool

	// Merges says that of several scans in one order, put together by UNION ALL and
	// a LIMIT in that order, none is read further than it must be.
	Merges() bool

	Close() error
}

// A Sender is a transaction that is open.
type Sender interface {
	// Send runs statements in order, in one flight if the driver can. After an
	// error only a rollback may follow.
	Send(ctx context.Context, statements ...*Statement) error
}

// A Tx is one transaction. It is used by one goroutine, and must end with
// Commit or Rollback.
type Tx interface {
	Sender

	// Commit sends statements, which read nothing, and ends the transaction, all in
	// one flight if the driver can: then the database itself must undo everything
	// when a Want is not met. A Failed says that nothing was written; of any other
	// error Kind says whether that is certain.
	Commit(ctx context.Context, statements ...*Statement) error

	// Rollback gives the transaction up, and frees its locks at once.
	Rollback()
}

// A Statement is sent to the database.
type Statement struct {
	Name   string // what it does, for errors: "read statuses"
	Text   string
	Args   []any
	Insert *Insert // instead of Text

	// Each is called with each row; nil: there are none.
	Each func(Row) error

	// Want is how many rows must be affected; another number is ErrRaced. Zero:
	// any number.
	Want int64

	Affected int64 // set when it has run
}

// A Row is read into *bellman.ID, *int64, *[]byte (nil for NULL) and *string.
type Row interface {
	Scan(dest ...any) error
}

// An Insert inserts rows, given column by column.
type Insert struct {
	Into    string
	Columns []Column
	Key     []string // the columns of the conflict that Then is about
	Then    Conflict
}

// A Column is a name and a value for each row: []bellman.ID, []int64, or
// [][]byte, in which nil is NULL.
type Column struct {
	Name   string
	Values any
}

// Len is how many values a column or a list has.
func Len(values any) int {
	switch v := values.(type) {
	case []bellman.ID:
		return len(v)
	case []int64:
		return len(v)
	case [][]byte:
		return len(v)
	}
	panic(fmt.Sprintf("sqlstore: %T is no column: want []bellman.ID, []int64 or [][]byte", values))
}

// A Conflict says what an Insert does with a row whose key is there.
type Conflict int

const (
	Fail    Conflict = iota // an error of kind Duplicate
	Keep                    // leaves what is there, whatever unique key conflicts
	Replace                 // overwrites all columns that are not of the key
	Sum                     // adds to all columns that are not of the key
)

// A Kind says what an error means for whoever sees it.
type Kind int

const (
	Other     Kind = iota // the statement is wrong, a right is missing, …: trying again does not help
	Retry                 // a deadlock or a failed serialization: the transaction as a whole may be tried again
	Blocked               // a lock was waited for in vain: the same, after Unblock
	Lost                  // the connection broke: what was sent last may have been done
	Overflow              // a number is out of range
	Duplicate             // a unique key exists
	Exists                // a table or an index exists
	Full                  // no room on disk
)

// ErrRaced is returned when a Statement did not affect the rows that it had to:
// somebody else changed them. The transaction as a whole may be tried again.
var ErrRaced = errors.New("rows were changed meanwhile")

// Failed is what a driver returns when a statement failed.
type Failed struct {
	Statement *Statement
	Err       error
}

func (f *Failed) Error() string { return f.Statement.Name + ": " + f.Err.Error() }

func (f *Failed) Unwrap() error { return f.Err }
