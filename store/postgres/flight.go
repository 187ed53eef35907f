package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bellmanhq/bellman/internal/sqlstore"
)

// parts are the statements that a flight has in addition.
type parts int

const (
	plain   parts = 0
	opening parts = 1 // BEGIN
	closing parts = 2 // COMMIT
)

// A call is one statement of a flight, as it is sent to the server.
type call struct {
	of   *sqlstore.Statement // nil for BEGIN and COMMIT
	text string
	args []any

	plan   *pgconn.StatementDescription
	values [][]byte
}

// send sends statements in one flight. If the flight includes COMMIT, a Want that is not met is an
// error of the server, so that the server does not commit.
func send(ctx context.Context, conn *pgx.Conn, statements []*sqlstore.Statement, with parts) (err error) {
	defer func() {
		if err != nil && conn.IsClosed() {
			err = errLost{err}
		}
	}()
	calls := make([]call, 0, len(statements)+2)
	if with&opening != 0 {
		calls = append(calls, call{text: "BEGIN ISOLATION LEVEL READ COMMITTED"})
	}
	for _, s := range statements {
		text, args := render(s)
		if with&closing != 0 && s.Want != 0 {
			text, args = guarded(text, len(args)), append(args[:len(args):len(args)], s.Want)
		}
		calls = append(calls, call{of: s, text: text, args: args})
	}
	if with&closing != 0 {
		calls = append(calls, call{text: "COMMIT"})
	}
	if err := prepare(ctx, conn.PgConn(), calls); err != nil {
		return err
	}
	return fly(ctx, conn.PgConn(), calls, with)
}

// fly sends calls whose statements are prepared, and reads the results.
func fly(ctx context.Context, conn *pgconn.PgConn, calls []call, with parts) (err error) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	if *buffer, err = encode(calls, (*buffer)[:0]); err != nil {
		return err
	}
	delete(conn.CustomData(), localKey)
	flight := conn.StartPipeline(ctx)
	committed := false
	defer func() {
		if closed := flight.Close(); err == nil && !committed {
			err = closed
		}
		if err != nil {
			forget(conn, err)
		}
	}()
	for i := range calls {
		flight.SendQueryStatement(calls[i].plan, calls[i].values, binaryFormat, binaryFormat)
	}
	if err := flight.Sync(); err != nil {
		return err
	}
	if cap(*buffer) > keptBuffer {
		*buffer = *newBuffer()
	}
	for i := range calls {
		c := &calls[i]
		tag, err := c.receive(flight, with)
		if err != nil {
			return c.failed(err)
		}
		if with&closing != 0 && i == len(calls)-1 {
			if committed = tag.String() == "COMMIT"; !committed {
				return fmt.Errorf("%w: the server answered COMMIT with %s", sqlstore.ErrRaced, tag)
			}
		}
	}
	if committed && conn.CustomData()[localKey] != nil {
		return errors.New("somebody cancelled the COMMIT while it waited for a standby, which may not have it")
	}
	return nil
}

const localKey = "bellman_local"

// noticed marks a connection whose COMMIT was cancelled while it waited for a synchronous standby.
// The server then warns, and answers that it has committed.
func noticed(conn *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == "SyncRepWaitForLSN" {
		conn.CustomData()[localKey] = true
	}
}

// buffers are for arguments. The connection copies the arguments when it sends them. keptBuffer is
// the largest buffer that is kept for reuse.
var buffers = sync.Pool{New: func() any { return newBuffer() }}

const keptBuffer = 1 << 20

// newBuffer returns an empty buffer. It is not nil, because pgconn sends a nil argument as NULL.
func newBuffer() *[]byte {
	b := make([]byte, 0, 4<<10)
	return &b
}

// binaryFormat is the format of all arguments and all columns.
var binaryFormat = []int16{1}

// encode writes the arguments of calls to b. The values of the calls are then slices of b.
func encode(calls []call, b []byte) (_ []byte, err error) {
	n := 0
	for i := range calls {
		c := &calls[i]
		if len(c.args) != len(c.plan.ParamOIDs) {
			return b, c.failed(fmt.Errorf("%d arguments for %d parameters", len(c.args), len(c.plan.ParamOIDs)))
		}
		n += len(c.args)
	}
	ends := make([]int, 0, n)
	for i := range calls {
		c := &calls[i]
		for j, arg := range c.args {
			if b, err = appendArgument(b, c.plan.ParamOIDs[j], arg); err != nil {
				return b, c.failed(err)
			}
			ends = append(ends, len(b))
		}
	}
	values, begin := make([][]byte, n), 0
	for i, end := range ends {
		values[i], begin = b[begin:end:end], end
	}
	for i := range calls {
		c := &calls[i]
		c.values, values = values[:len(c.args)], values[len(c.args):]
	}
	return b, nil
}

func (c *call) failed(err error) error {
	if server, is := errors.AsType[*pgconn.PgError](err); is && server.Code == noStatement {
		err = fmt.Errorf("%w: its session was reset, or is shared: %s", err, noPooler)
	}
	if c.of == nil {
		return err
	}
	return &sqlstore.Failed{Statement: c.of, Err: err}
}

// receive reads the result of a call.
func (c *call) receive(flight *pgconn.Pipeline, with parts) (tag pgconn.CommandTag, err error) {
	got, err := flight.GetResults()
	if err != nil {
		return tag, c.raced(err, with)
	}
	rows, is := got.(*pgconn.ResultReader)
	if !is {
		return tag, fmt.Errorf("the server answered with %T", got)
	}
	if c.of != nil && c.of.Each != nil {
		for rows.NextRow() {
			row := rawRow(rows.Values())
			if err := c.of.Each(&row); err != nil {
				return tag, err
			}
		}
	}
	if tag, err = rows.Close(); err != nil {
		return tag, c.raced(err, with)
	}
	if c.of != nil && c.of.Each == nil && (with&closing == 0 || c.of.Want == 0) {
		c.of.Affected = tag.RowsAffected()
		if c.of.Want != 0 && c.of.Affected != c.of.Want {
			return tag, sqlstore.ErrRaced
		}
	}
	return tag, nil
}

// raced returns the error of a call, or ErrRaced if its guard failed.
func (c *call) raced(err error, with parts) error {
	if server, is := errors.AsType[*pgconn.PgError](err); c.of != nil && c.of.Want != 0 && with&closing != 0 && is && server.Code == "22012" { // divided by zero
		return sqlstore.ErrRaced
	}
	return err
}

// plans are the prepared statements of a connection, by text.
//
// Their names begin with a random prefix. A pooler may begin to share sessions while bellman runs,
// and then a statement may reach the session of another connection. If names were the same on all
// connections, the statement that has this name there would run: a delete in place of a read, for
// example. With the prefix the server rejects it.
type plans struct {
	known  map[string]*pgconn.StatementDescription
	prefix string
	named  int
}

// mostPlans is how many statements a connection keeps prepared. Some depend on the number of shards
// of a node.
const mostPlans = 400

const plansKey = "bellman"

func plansOf(conn *pgconn.PgConn) *plans {
	p, is := conn.CustomData()[plansKey].(*plans)
	if !is {
		p = &plans{known: map[string]*pgconn.StatementDescription{}, prefix: "bellman_" + strconv.FormatUint(rand.Uint64(), 36) + "_"}
		conn.CustomData()[plansKey] = p
	}
	return p
}

// prepare sets the plans of calls. It prepares all missing plans in one flight.
func prepare(ctx context.Context, conn *pgconn.PgConn, calls []call) (err error) {
	p := plansOf(conn)
	var missing []*call // one for each text
	wanted := make(map[string]bool, len(calls))
	for i := range calls {
		c := &calls[i]
		if c.plan = p.known[c.text]; c.plan == nil && !wanted[c.text] {
			missing = append(missing, c)
		}
		wanted[c.text] = true
	}
	if len(missing) == 0 {
		return nil
	}
	flight := conn.StartPipeline(ctx)
	defer func() {
		if closed := flight.Close(); err == nil {
			err = closed
		}
	}()
	gone := 0
	for text, plan := range p.known {
		if len(p.known)+len(missing) <= mostPlans {
			break
		}
		if !wanted[text] { // any other plan: if it is used again, it is prepared again
			delete(p.known, text)
			flight.SendDeallocate(plan.Name)
			gone++
		}
	}
	names := make([]string, len(missing))
	for i, c := range missing {
		p.named++
		names[i] = p.prefix + strconv.Itoa(p.named)
		flight.SendPrepare(names[i], c.text, nil)
	}
	if err := flight.Sync(); err != nil {
		return err
	}
	for range gone {
		if _, err := flight.GetResults(); err != nil {
			return err
		}
	}
	for i, c := range missing {
		got, err := flight.GetResults()
		if err != nil {
			return c.failed(err)
		}
		plan, is := got.(*pgconn.StatementDescription)
		if !is {
			return fmt.Errorf("the server answered with %T", got)
		}
		plan.Name, plan.SQL = names[i], c.text
		p.known[c.text] = plan
	}
	for i := range calls {
		calls[i].plan = p.known[calls[i].text]
	}
	return nil
}

// forget drops the plans of a connection if the server has dropped or replaced them.
func forget(conn *pgconn.PgConn, err error) {
	if server, is := errors.AsType[*pgconn.PgError](err); is && stale(server) {
		plansOf(conn).known = map[string]*pgconn.StatementDescription{}
	}
}

// stale reports whether a statement was rejected because its plan is gone, or is of an earlier
// definition of a table.
func stale(server *pgconn.PgError) bool {
	return server.Code == noStatement || server.Code == "0A000" && server.Routine == "RevalidateCachedQuery"
}
