package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store"
)

// explained adds to an error of Open what the operator can do about it, if the server's answer
// shows that. The codes are in appendix A of PostgreSQL's manual.
func explained(err error, o Options) error {
	var server *pgconn.PgError
	if _, is := errors.AsType[*pgconn.ParseConfigError](err); is {
		return &store.AddressError{Cause: err} // pgx leaves the password out
	}
	if !errors.As(err, &server) {
		return err
	}
	var do string
	switch server.Code {
	case "28P01", "28000":
		do = "look at the user and the password, and at pg_hba.conf"
	case "3D000":
		do = "create it: CREATE DATABASE"
	case "42501":
		if o.ReadOnly {
			do = "grant the user SELECT on all tables that begin with bellman_"
			break
		}
		if o.NoMigrate {
			do = "grant the user SELECT, INSERT, UPDATE and DELETE on all tables that begin with bellman_"
			break
		}
		do = "grant the user CREATE on the schema, and SELECT, INSERT, UPDATE and DELETE on all tables that begin with bellman_; or run bellman migrate as another user, and bellman serve --no-migrate as this one"
	case "42P01":
		return fmt.Errorf("%w: %w", err, sqlstore.ErrNoTables)
	case "25006":
		do = "the server, or the session, may only read, as on a standby: name the primary, or several hosts with target_session_attrs=read-write"
	case "42P05": // another client of the pooler has prepared it
		do = noPooler
	case "53300":
		do = "the server has no connection left: raise its max_connections, or lower connections in the address of each node"
	case "42704", "22023", "42602":
		return &store.AddressError{Cause: fmt.Errorf("%w: a parameter of the address is neither bellman's (connections, shards) nor the driver's nor a setting of the server, or has no such value", err)}
	default:
		return err
	}
	return fmt.Errorf("%w: %s", err, do)
}
