package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

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
	// a process that hangs holds no shard. Default 3s.
	Stopped time.Duration

	// Answer is the longest time for one flight of statements. After that, the connection is
	// closed, because a lost connection may never report an error. Default 15s.
	Answer time.Duration

	Logger *slog.Logger // default: discards
}

// A Store keeps tasks in a PostgreSQL database. Its methods are safe for concurrent use.
type Store struct {
	*sqlstore.Store
	d *database
}

var _ interface {
	store.Store
	store.Traits
	store.Counter
} = (*Store)(nil)

// Use returns how an engine should use the store. Batches are large, because each commit writes the
// row of every shard.
func (s *Store) Use() store.Use { return store.Use{BatchSize: 2048} }

// Open opens the store in the database of url, such as postgres://user:password@host:5432/database,
// and creates or updates its tables. It fails if the schema is newer than this code, or if the
// database would not keep bellman's promises; the error says what to change.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	d, err := connect(ctx, url, o)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", explained(err, o))
	}
	s, err := sqlstore.Open(ctx, d, sqlstore.Options{Shards: o.Shards, NoMigrate: o.NoMigrate, ReadOnly: o.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", explained(err, o))
	}
	return &Store{s, d}, nil
}

// Migrate creates or updates the tables.
func Migrate(ctx context.Context, url string, o Options) error {
	d, err := connect(ctx, url, o)
	if err != nil {
		return fmt.Errorf("postgres: %w", explained(err, o))
	}
	defer d.Close()
	if err := sqlstore.Migrate(ctx, d, o.Shards); err != nil {
		return fmt.Errorf("postgres: %w", explained(err, o))
	}
	return nil
}

// CheckURL returns an error if Open would reject the url, before it connects. It reads the files
// that the parameters of the url name.
func CheckURL(url string) error {
	_, err := parseURL(url)
	return err
}

// parseURL converts a URL to the driver's form. No error has a password in it.
func parseURL(url string) (*pgxpool.Config, error) {
	if url == "" { // the driver would choose a database, and Open would create tables in it
		return nil, &store.AddressError{Cause: errors.New("the address is empty: want postgres://user:password@host:5432/database")}
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	if mode := config.ConnConfig.DefaultQueryExecMode; mode != pgx.QueryExecModeCacheStatement {
		return nil, &store.AddressError{Cause: fmt.Errorf("default_query_exec_mode is %s: leave it out, for statements are prepared", mode)}
	}
	return config, nil
}

// dialTimeout is the longest time for connecting, unless the address has a connect_timeout.
const dialTimeout = 5 * time.Second

// connect opens the pool. It configures each connection with what the store relies on, whatever the
// server's defaults are.
func connect(ctx context.Context, url string, o Options) (*database, error) {
	if o.Shards < 0 || o.Shards > store.MaxShards {
		return nil, fmt.Errorf("%d shards: want 1 to %d", o.Shards, store.MaxShards)
	}
	config, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(max(cmp.Or(o.Connections, 8), 2))
	stopped := cmp.Or(o.Stopped, 3*time.Second)
	settings := [][2]string{
		{"default_transaction_isolation", "read committed"},
		{"idle_in_transaction_session_timeout", strconv.FormatInt(stopped.Milliseconds(), 10)},
		{"lock_timeout", strconv.FormatInt(stopped.Milliseconds(), 10)},
		{"statement_timeout", "0"}, // bellman has its own, and a migration may take long
		// Every query has an index in the order that it needs. A plan that is made while a table is
		// empty, or without statistics, must use that index too.
		{"plan_cache_mode", "force_generic_plan"},
		{"jit", "off"},
		{"max_parallel_workers_per_gather", "0"},
		{"enable_seqscan", "off"},
		{"enable_bitmapscan", "off"},
		{"enable_sort", "off"},
		{"enable_hashjoin", "off"},
		{"enable_mergejoin", "off"},
	}
	var set strings.Builder
	set.WriteString("SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
	for _, s := range settings {
		fmt.Fprintf(&set, "; SET %s = '%s'", s[0], s[1])
	}
	if config.ConnConfig.ConnectTimeout == 0 { // not in url
		dialer := &net.Dialer{Timeout: dialTimeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true}}
		config.ConnConfig.ConnectTimeout, config.ConnConfig.DialFunc = dialTimeout, dialer.DialContext
	}
	// A broken connection is closed at once. Otherwise pgx would wait 15 s for a silent server, and
	// the pool would count the connection that long.
	config.BeforeClose = func(conn *pgx.Conn) {
		if conn.IsClosed() {
			conn.PgConn().Conn().Close()
		}
	}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.PgConn().Exec(ctx, set.String()).ReadAll()
		return err
	}
	config.ConnConfig.OnNotice = noticed
	if _, named := config.ConnConfig.RuntimeParams["application_name"]; !named {
		config.ConnConfig.RuntimeParams["application_name"] = "bellman"
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	var version string
	if err := pool.QueryRow(ctx, "SELECT version()").Scan(&version); err != nil {
		pool.Close()
		return nil, err
	}
	return &database{pool: pool, locks: itself(version), stopped: stopped, answer: cmp.Or(o.Answer, 15*time.Second), log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler))}, nil
}

// itself reports whether the text of version() is PostgreSQL's own. YugabyteDB writes "PostgreSQL
// 15.12-YB-2025.2.0.0-b0 on ...", CockroachDB "CockroachDB CCL v25.1.0 ...".
func itself(version string) bool {
	number, is := strings.CutPrefix(version, "PostgreSQL ")
	number, _, _ = strings.Cut(number, " ")
	return is && !strings.Contains(number, "-YB-")
}
