package postgres

import (
	"context"
	"errors"
	"fmt"
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
		return fmt.Errorf("transactions are %s although read committed was asked for: connect to the server itself, not through a pooler that shares sessions", isolation)
	case standby:
		return errors.New("the server is a standby, which cannot be written to: name the primary, or several hosts with target_session_attrs=read-write")
	case synchronous == "off":
		return errors.New("synchronous_commit is off although on was asked for: a crash of the server would lose what was accepted")
	case fsync != "on":
		d.log.Warn("the server has fsync off: a crash of its machine loses what was accepted")
	}
	return nil
}
