package mysql

import (
	"errors"
	"fmt"

	driver "github.com/go-sql-driver/mysql"

	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store"
)

// explained adds to an error of Open what the operator can do about it, if the server's answer
// shows that.
func explained(err error, o Options) error {
	server, is := errors.AsType[*driver.MySQLError](err)
	if !is {
		return err
	}
	var do string
	switch server.Number {
	case 1045, 1698:
		do = "look at the user and the password, and from which hosts the user may come"
	case 1049:
		do = "create it: CREATE DATABASE"
	case 1044, 1142, 1143, 1227, 1370:
		if o.ReadOnly {
			do = "grant the user SELECT on the database"
			break
		}
		if o.NoMigrate {
			do = "grant the user SELECT, INSERT, UPDATE and DELETE on the database"
			break
		}
		do = "grant the user SELECT, INSERT, UPDATE and DELETE on the database, and to create tables CREATE, ALTER and INDEX; or run bellman migrate as another user, and bellman serve --no-migrate as this one"
	case 1146:
		return fmt.Errorf("%w: %w", err, sqlstore.ErrNoTables)
	case 1290, 1792, 1836:
		do = "the server, or the session, may only read, as a replica does: name the primary"
	case 1040, 1203, 1226:
		do = "the server has no connection left: raise its max_connections, or lower connections in the address of each node"
	case 1193:
		return &store.AddressError{Cause: fmt.Errorf("%w: a parameter of the address is neither bellman's (connections, shards) nor the driver's nor a variable of the server", err)}
	case 1231, 1232, 1238, 1064:
		return &store.AddressError{Cause: fmt.Errorf("%w: a parameter of the address has a value that its variable cannot have", err)}
	default:
		return err
	}
	return fmt.Errorf("%w: %s", err, do)
}
