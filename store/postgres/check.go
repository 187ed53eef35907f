package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// oldest is the oldest accepted version of the server.
const oldest = 13

// Check checks the server and the settings of a session.
func (d *database) Check(ctx context.Context) error {
	var version int
	var isolation, synchronous, fsync string
	var standby bool
	err := d.pool.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('transaction_isolation'),
		current_setting('synchronous_commit'), current_setting('fsync'), pg_is_in_recovery()`).Scan(&version, &isolation, &synchronous, &fsync, &standby)
	switch {
	case err != nil:
		return err
	case version/10000 < oldest:
		return fmt.Errorf("the server is PostgreSQL %d: want %d or newer", version/10000, oldest)
	case isolation != "read committed":
		return fmt.Errorf("transactions are %s although read committed was asked for: %s", isolation, noPooler)
	case standby:
		return errors.New("the server is a standby, which cannot be written to: name the primary, or several hosts with target_session_attrs=read-write")
	case synchronous == "off":
		return errors.New("synchronous_commit is off although on was asked for: a crash of the server would lose what was accepted")
	case fsync != "on":
		d.log.Warn("the server has fsync off: a crash of its machine loses what was accepted")
	}
	return d.checkSessions(ctx)
}

const noPooler = "connect to the server itself, not through a pooler that shares sessions"

// checkSessions rejects a pooler that gives two connections one session of the server, as PgBouncer
// does in transaction mode. Settings and prepared statements of a connection would be those of
// others.
func (d *database) checkSessions(ctx context.Context) error {
	var sessions [2]int
	for i := range sessions {
		conn, err := d.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release() // when both are known
		if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&sessions[i]); err != nil {
			return err
		}
	}
	if sessions[0] == sessions[1] {
		return fmt.Errorf("two connections have the same session of the server: %s", noPooler)
	}
	return nil
}
