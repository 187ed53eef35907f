package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/bellmanhq/bellman"
)

// A Driver implements the features that differ between databases.
//
// All drivers share the texts of statements. Drivers replace these placeholders:
//
//	?               an argument
//	IN (??)         a list: []bellman.ID, []int64 or [][]byte
//	IN (???)        a list of pairs, given as two lists
//	FROM (????)     a table of pairs with the columns a and b
//	{now}           the database's clock in Unix ms
//	{micros}        the database's clock in Unix µs
//	{by COLUMN}     behind bellman_task: use the index that begins with COLUMN
//	{by key}        behind bellman_task: use the index of keys
//	{by alias}      behind bellman_alias: use the primary key
//	{within COLUMN} COLUMN = ? AND id >= ? AND COLUMN = ? AND id < ?,
//	                phrased so that the database uses this index
//	{page}          look >= ? AND look < ? AND (look > ? OR id > ?),
//	                phrased so that the scan starts right behind this id
type Driver interface {
	// Read runs statements outside of a transaction, in one flight if possible.
	Read(ctx context.Context, statements ...*Statement) error

	// Begin opens a transaction at READ COMMITTED. The driver may defer the request to the database
	// until the first statements.
	Begin(ctx context.Context) (Tx, error)

	// Define runs a statement that defines a table or an index. Words in braces
	// stand for types: see migrations.
	Define(ctx context.Context, text string) error

	// Alone calls f while no other process is in Alone at the same database.
	Alone(ctx context.Context, f func() error) error

	// Check returns an error if the server or the session is unsuitable: its version, its
	// isolation, a read-only replica. The error says how to fix the problem.
	Check(ctx context.Context) error

	// Kind classifies an error of the database.
	Kind(err error) Kind

	// Unblock ends sessions of stopped clients that hold a shard's row, if the server does not end
	// such sessions itself. The store calls Unblock after an error of kind Blocked.
	Unblock(ctx context.Context) error

	// LockFences reports whether a lock of a row, SELECT ... FOR NO KEY UPDATE, excludes every
	// write of that row until the transaction ends, on all servers of the database. Otherwise the
	// fence is a write.
	LockFences() bool

	// KeepsVersions reports whether an update passes all old versions of its row while any session
	// has a transaction open.
	KeepsVersions() bool

	// CountsInserts reports whether Affected is the exact number of new rows of an Insert with
	// Keep.
	CountsInserts() bool

	// Largest returns how many bytes a value may have, and the server's setting that says so.
	// 0: no task is too large.
	Largest() (bytes int, setting string)

	// Pool returns statistics of the connections.
	Pool() Pool

	// Merges reports whether the database merges ordered scans lazily: a UNION ALL with an order
	// and a LIMIT reads each scan only as far as necessary.
	Merges() bool

	Close() error
}

// A Sender is an open transaction.
type Sender interface {
	// Send runs statements in order, in one flight if possible. After an error, only a rollback may
	// follow.
	Send(ctx context.Context, statements ...*Statement) error
}

// A Tx is one transaction. It is used by one goroutine, and must end with
// Commit or Rollback.
type Tx interface {
	Sender

	// Commit sends statements that return no rows, and commits. If the driver sends one flight, the
	// database itself must undo everything when a Want is not met. A Failed error means that
	// nothing was written. For any other error, Kind tells whether the outcome is certain.
	Commit(ctx context.Context, statements ...*Statement) error

	// Rollback ends the transaction without effect and frees its locks at once.
	Rollback()
}

// A Statement is one SQL statement and its results.
type Statement struct {
	Name   string // its purpose, for errors: "read statuses"
	Text   string
	Args   []any
	Insert *Insert // instead of Text

	// Each is called with each row; nil if the statement returns no rows.
	Each func(Row) error

	// Want is the required number of affected rows; another number is ErrRaced. Zero: any number.
	Want int64

	Affected int64 // set after the run
}

// A Row is read into *bellman.ID, *int64, *[]byte (nil for NULL) and *string.
type Row interface {
	Scan(dest ...any) error
}

// An Insert inserts rows, given column by column.
type Insert struct {
	Into    string
	Columns []Column
	Key     []string // the columns of the unique key for Then
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

// A Conflict is the action of an Insert if the key of a row exists.
type Conflict int

const (
	Fail    Conflict = iota // an error of kind Duplicate
	Keep                    // keeps the existing row, for a conflict on any unique key
	Replace                 // overwrites all columns outside the key
	Sum                     // adds to all columns outside the key
)

// A Kind classifies an error by the caller's reaction.
type Kind int

const (
	Other     Kind = iota // not retryable: a wrong statement, a missing privilege, …
	Retry                 // a deadlock or a failed serialization: retry the whole transaction
	Blocked               // a lock wait timed out: call Unblock, then retry the whole transaction
	Lost                  // the connection broke: the last statements may have run
	Overflow              // a number is out of range
	Duplicate             // a unique key exists
	Exists                // a table or an index exists
	Full                  // the disk is full
)

// ErrRaced is returned if a Statement affected an unexpected number of rows, because another
// transaction changed them. The whole transaction may be retried.
var ErrRaced = errors.New("rows were changed meanwhile")

// Failed is a driver's error for a statement that failed.
type Failed struct {
	Statement *Statement
	Err       error
}

func (f *Failed) Error() string { return f.Statement.Name + ": " + f.Err.Error() }

func (f *Failed) Unwrap() error { return f.Err }
