package mysql

import (
	"cmp"
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store"
)

// Options configure a store. The zero value suits most deployments.
type Options struct {
	Connections int // maximum number of connections; default 8
	Shards      int // used only when the schema is created; default 64

	// NoMigrate leaves the schema unchanged, and Open fails if it is outdated. It is for a user
	// without the right to create tables, when another user runs Migrate.
	NoMigrate bool

	// ReadOnly opens the store for reading: for a user with read access only, or for a read-only
	// server. Open probes nothing, and every write fails.
	ReadOnly bool

	// Stopped is how long a transaction may wait for its client before the server ends it, so that
	// a process that hangs holds no shard. Whole seconds; default 3s.
	Stopped time.Duration

	// Answer is the longest time for one statement. After that, the connection is closed. Default
	// 15s.
	Answer time.Duration

	Logger *slog.Logger // default: discards
}

// A Store keeps tasks in a MySQL or MariaDB database. Its methods are safe for concurrent use.
type Store struct {
	*sqlstore.Store
}

var _ store.Store = (*Store)(nil)

// Open opens the store in the database of url, such as mysql://user:password@host:3306/database,
// and creates or updates its tables. The parameters of url are those of
// github.com/go-sql-driver/mysql, such as tls=true. Open fails if the schema is newer than this
// code, or if the database would not keep bellman's promises; the error says what to change.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	d, err := connect(ctx, url, o)
	if err != nil {
		return nil, fmt.Errorf("mysql: %w", explained(err, o))
	}
	s, err := sqlstore.Open(ctx, d, sqlstore.Options{Shards: o.Shards, NoMigrate: o.NoMigrate, ReadOnly: o.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("mysql: %w", explained(err, o))
	}
	return &Store{s}, nil
}

// Migrate creates or updates the tables, and does nothing else.
func Migrate(ctx context.Context, url string, o Options) error {
	d, err := connect(ctx, url, o)
	if err != nil {
		return fmt.Errorf("mysql: %w", explained(err, o))
	}
	if err := errors.Join(sqlstore.Migrate(ctx, d, o.Shards), d.Close()); err != nil {
		return fmt.Errorf("mysql: %w", explained(err, o))
	}
	return nil
}

// CheckURL returns an error if Open would reject the url, before it connects.
func CheckURL(url string) error {
	_, err := parseURL(url)
	return err
}

// parseURL converts an address to the driver's form.
func parseURL(address string) (*driver.Config, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address is no URL: want mysql://user:password@host:3306/database") // err has the password in it
	}
	if u.Scheme != "mysql" && u.Scheme != "mariadb" {
		return nil, fmt.Errorf("the address begins with %q: want mysql:// or mariadb://", u.Scheme)
	}
	name := strings.TrimPrefix(u.Path, "/")
	if name == "" {
		return nil, errors.New("the address names no database: want mysql://user:password@host:3306/database")
	}
	config, err := driver.ParseDSN("/?" + u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("a parameter of the address is wrong: %w", err)
	}
	config.Net, config.Addr = "tcp", net.JoinHostPort(cmp.Or(u.Hostname(), "127.0.0.1"), cmp.Or(u.Port(), "3306"))
	config.DBName, config.User = name, u.User.Username()
	config.Passwd, _ = u.User.Password()
	if config.TLS != nil && config.TLS.ServerName == "" && !config.TLS.InsecureSkipVerify {
		config.TLS.ServerName = u.Hostname()
	}
	return config, nil
}

// A server describes what must be known before its sessions can be configured.
type server struct {
	version string
	packet  int
	galera  bool // a member of a Galera cluster: commits of other members may become visible late
}

func (s server) mariaDB() bool { return strings.Contains(s.version, "MariaDB") }

func (s server) tiDB() bool { return strings.Contains(s.version, "TiDB") }

func askServer(ctx context.Context, config *driver.Config) (s server, err error) {
	connector, err := driver.NewConnector(config)
	if err != nil {
		return s, err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	if err := db.QueryRowContext(ctx, "SELECT VERSION(), @@max_allowed_packet").Scan(&s.version, &s.packet); err != nil {
		return s, err
	}
	var name, value string
	err = db.QueryRowContext(ctx, "SHOW GLOBAL VARIABLES LIKE 'wsrep_on'").Scan(&name, &value)
	if errors.Is(err, sql.ErrNoRows) {
		return s, nil // not a kind of server that could be one
	}
	s.galera = value == "ON"
	return s, err
}

// lifetime is how long a connection is used. A new connection finds the server to which the address
// leads then.
const lifetime = 5 * time.Minute

// dialTimeout is the longest time for connecting, unless the address has a timeout.
const dialTimeout = 5 * time.Second

// connect opens the pool. It configures each session with what the store relies on, whatever the
// server's defaults are.
func connect(ctx context.Context, url string, o Options) (*database, error) {
	if o.Shards < 0 || o.Shards > store.MaxShards {
		return nil, fmt.Errorf("%d shards: want 1 to %d", o.Shards, store.MaxShards)
	}
	config, err := parseURL(url)
	if err != nil {
		return nil, &store.AddressError{Cause: err}
	}
	config.Timeout = cmp.Or(config.Timeout, dialTimeout)
	config.Logger = &driver.NopLogger{} // the driver also returns what it would log
	s, err := askServer(ctx, config)
	if err != nil {
		return nil, err
	}
	stopped := max(cmp.Or(o.Stopped, 3*time.Second), time.Second)
	config.ClientFoundRows = true   // UPDATE counts the rows it finds, changed or not
	config.InterpolateParams = true // one round trip for each statement
	config.MultiStatements = false
	config.ParseTime = false
	config.MaxAllowedPacket = s.packet
	config.ReadTimeout = cmp.Or(config.ReadTimeout, cmp.Or(o.Answer, 15*time.Second)) // without it a lost reply is waited for without end
	config.WriteTimeout = cmp.Or(config.WriteTimeout, config.ReadTimeout)
	idle := s.session(config, stopped)
	d := &database{server: s, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), packet: min(s.packet/4, 4<<20)}
	connector, err := driver.NewConnector(config)
	if err != nil {
		return nil, err
	}
	d.open = func() *sql.DB { return pool(connector, max(cmp.Or(o.Connections, 8), 2), idle) }
	slow := config.Clone()
	slow.ReadTimeout, slow.WriteTimeout = 0, 0
	delete(slow.Params, "lock_wait_timeout") // a migration waits for the transactions that use the table
	patient, err := driver.NewConnector(slow)
	if err != nil {
		return nil, err
	}
	d.pool.Store(d.open())
	d.slow = pool(patient, 2, time.Second)
	if err := d.db().PingContext(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// session sets the variables of each session, and returns how long the pool keeps an idle one. The
// server rolls a transaction back that is idle for stopped.
func (s server) session(config *driver.Config, stopped time.Duration) (idle time.Duration) {
	idle = time.Minute
	seconds := strconv.Itoa(int(stopped.Seconds()))
	set := map[string]string{
		"sql_mode":                 "'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
		"time_zone":                "'+00:00'",
		"innodb_lock_wait_timeout": seconds,
		"lock_wait_timeout":        seconds, // of whole tables
		"autocommit":               "1",     // a heartbeat is a statement without COMMIT
		"sql_safe_updates":         "0",     // some statements find their rows without a key
		"sql_select_limit":         "18446744073709551615",
		// Arguments are in the text of a statement. In character sets such as gbk a byte of an
		// argument and the backslash that escapes the next byte could be one character, and that
		// byte could end the argument.
		"character_set_client": "utf8mb4",
	}
	switch {
	case s.mariaDB():
		set["tx_isolation"] = "'READ-COMMITTED'"
		set["idle_transaction_timeout"] = seconds
		set["max_statement_time"] = "0"                // bellman has its own, and a migration may take long
		set["in_predicate_conversion_threshold"] = "0" // a long list is a list
	case s.tiDB():
		set["transaction_isolation"] = "'READ-COMMITTED'"
		set["tidb_txn_mode"] = "'pessimistic'"
		set["tidb_idle_transaction_timeout"] = seconds
	default:
		set["transaction_isolation"] = "'READ-COMMITTED'"
		set["wait_timeout"] = seconds // there is none for transactions alone
		idle = stopped / 2
	}
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	if _, given := config.Params["wsrep_sync_wait"]; s.galera && !given {
		set["wsrep_sync_wait"] = "1" // a transaction sees all commits that any member made before it began
	}
	maps.Copy(config.Params, set)
	return idle
}

func pool(connector sqldriver.Connector, connections int, idle time.Duration) *sql.DB {
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(idle)
	db.SetConnMaxLifetime(lifetime)
	return db
}
