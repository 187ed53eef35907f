package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// number finds the version in the text that a server reports: 10.11.6-MariaDB, 8.4.2.
var number = regexp.MustCompile(`^(\d+)\.(\d+)`)

// Check checks the server and the settings of a session.
func (d *database) Check(ctx context.Context) error {
	if err := d.server.check(); err != nil {
		return err
	}
	isolation := "@@transaction_isolation"
	if d.server.mariaDB() {
		isolation = "@@tx_isolation"
	}
	var level, mode string
	var readOnly bool
	if err := d.db().QueryRowContext(ctx, "SELECT "+isolation+", @@sql_mode, @@read_only").Scan(&level, &mode, &readOnly); err != nil {
		return err
	}
	switch {
	case level != "READ-COMMITTED":
		return fmt.Errorf("transactions are %s although READ-COMMITTED was asked for: connect to the server itself, not through a proxy that shares sessions", level)
	case !strings.Contains(mode, "STRICT_TRANS_TABLES"):
		return fmt.Errorf("sql_mode is %q although strict was asked for: connect to the server itself, not through a proxy that shares sessions", mode)
	case readOnly:
		return errors.New("the server is read only, as replicas are: name the primary")
	}
	var engine sql.NullString
	err := d.db().QueryRowContext(ctx, `SELECT engine FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'bellman_shard'`).Scan(&engine)
	if err != nil && !errors.Is(err, sql.ErrNoRows) { // no tables yet
		return err
	}
	if err == nil && engine.String != "InnoDB" {
		return fmt.Errorf("the tables are kept by %s, which may have no transactions: want InnoDB", engine.String)
	}
	if d.server.tiDB() {
		return nil
	}
	var flush int
	if err := d.db().QueryRowContext(ctx, "SELECT @@innodb_flush_log_at_trx_commit").Scan(&flush); err != nil {
		return err
	}
	if flush != 1 {
		d.log.Warn("the server does not write its log at each commit: a crash of its machine loses what was accepted", "innodb_flush_log_at_trx_commit", flush)
	}
	return nil
}

// check refuses servers that are too old.
func (s server) check() error {
	name, major, minor := "MySQL", 8, 0
	if s.mariaDB() {
		name, major, minor = "MariaDB", 10, 6
	}
	found := number.FindStringSubmatch(s.version)
	if found == nil {
		return fmt.Errorf("the server has version %q: want %s %d.%d or newer", s.version, name, major, minor)
	}
	a, _ := strconv.Atoi(found[1]) // digits alone
	b, _ := strconv.Atoi(found[2])
	if a < major || a == major && b < minor {
		return fmt.Errorf("the server is %s %s: want %d.%d or newer", name, s.version, major, minor)
	}
	return nil
}
