package scratch

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"

	"github.com/bellmanhq/bellman/internal/config"
)

// A Server is a database server in which scratch databases are made. Its methods
// are safe for concurrent use.
type Server struct {
	kind  kind
	store config.StoreURL
	url   *url.URL
	admin *sql.DB
	redis *inRedis // nil: not a Redis server; in Redis, databases are prefixes of keys
}

// Connect connects to the server in a store's URL, in the form of a server's configuration. The
// database in the URL is used only to connect; nothing is written to it.
func Connect(ctx context.Context, store string) (*Server, error) {
	s, err := config.ParseStore(store)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if s.Kind == config.Redis {
		return connectRedis(ctx, s)
	}
	k, ok := kinds[s.Kind]
	if !ok {
		return nil, errors.New("store: want postgres://USER:PASSWORD@HOST/DATABASE, mysql://USER:PASSWORD@HOST/DATABASE or redis://USER:PASSWORD@HOST:6379/0")
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, fmt.Errorf("store: %s: is no URL", s)
	}
	admin, err := k.open(u)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", s, err)
	}
	if err := admin.PingContext(ctx); err != nil {
		admin.Close()
		return nil, fmt.Errorf("store %s: %w", s, err)
	}
	return &Server{kind: k, store: s, url: u, admin: admin}, nil
}

// Close closes the connections, and drops nothing.
func (s *Server) Close() error {
	if s.redis != nil {
		return s.redis.Close()
	}
	return s.admin.Close()
}

// Kind is config.Postgres, config.MySQL or config.Redis.
func (s *Server) Kind() string { return s.store.Kind }

// About returns the server's name, version and durability of commits.
func (s *Server) About(ctx context.Context) (string, error) {
	if s.redis != nil {
		return s.redis.about(ctx)
	}
	var name, commit string
	err := s.admin.QueryRowContext(ctx, s.kind.about).Scan(&name, &commit)
	return name + ", " + commit, err
}

// Pid returns the server's process id if it runs on this machine, else 0.
func (s *Server) Pid(ctx context.Context) int {
	if s.redis != nil {
		return s.redis.pid(ctx)
	}
	return s.kind.pid(ctx, s.admin)
}

// Checkpoint makes the server write its memory to disk, if the user has the right, so that it does
// not do so during a measurement.
func (s *Server) Checkpoint(ctx context.Context) {
	if s.kind.checkpoint != "" {
		s.admin.ExecContext(ctx, s.kind.checkpoint) // without the right, it is not done
	}
}

// A Database is empty when it is made.
type Database struct {
	URL string // of the store, as in a server's configuration

	server  *Server
	name    string
	url     *url.URL // for the driver
	created sync.Once
	err     error // of Create
}

// Name returns an unused name for a database.
func Name() string {
	var random [8]byte
	rand.Read(random[:]) // never fails: it ends the program instead
	return "bellman_bench_" + hex.EncodeToString(random[:])
}

// Database returns the database of that name, which [Database.Create] creates.
func (s *Server) Database(name string) *Database {
	if s.redis != nil {
		u := prefixed(s.url, name)
		return &Database{server: s, name: name, url: u, URL: s.withOurs(u)}
	}
	d := &Database{server: s, name: name, url: named(s.url, name)}
	d.URL = s.withOurs(d.url)
	return d
}

func named(u *url.URL, database string) *url.URL {
	other := *u
	other.Path, other.RawPath = "/"+database, ""
	return &other
}

// withOurs puts bellman's own parameters back into a URL.
func (s *Server) withOurs(u *url.URL) string {
	query := u.Query()
	for name, value := range map[string]int{"connections": s.store.Connections, "shards": s.store.Shards} {
		if value > 0 {
			query.Set(name, strconv.Itoa(value))
		}
	}
	full := *u
	full.RawQuery = query.Encode()
	return full.String()
}

// Create creates the database at its first call. If the server's template gives it tables, it is
// dropped again and Create returns an error.
func (d *Database) Create(ctx context.Context) error {
	if d.server.redis != nil {
		return nil // there is nothing to create
	}
	d.created.Do(func() { d.err = d.create(ctx) })
	return d.err
}

func (d *Database) create(ctx context.Context) error {
	if _, err := d.server.admin.ExecContext(ctx, "CREATE DATABASE "+d.name); err != nil {
		return fmt.Errorf("create database %s: %w", d.name, err)
	}
	return d.with(func(db *sql.DB) error {
		var tables int
		err := db.QueryRowContext(ctx, d.server.kind.tables).Scan(&tables)
		if err == nil && tables > 0 {
			err = errors.Join(fmt.Errorf("database %s has %d tables although it is new: empty the server's template", d.name, tables), d.Drop(ctx))
		}
		return err
	})
}

// Drop drops the database, even if there are connections to it.
func (d *Database) Drop(ctx context.Context) error {
	if d.server.redis != nil {
		return d.server.redis.drop(ctx, d.name)
	}
	if _, err := d.server.admin.ExecContext(ctx, fmt.Sprintf(d.server.kind.drop, d.name)); err != nil {
		return fmt.Errorf("drop database %s: %w", d.name, err)
	}
	return nil
}

// Hold begins a transaction that has read a store's tasks, as a forgotten console has, and leaves
// it open until end is called. end fails if the server has ended the transaction before.
func (d *Database) Hold(ctx context.Context) (end func() error, err error) {
	if d.server.redis != nil {
		return nil, errNotInRedis
	}
	db, err := d.server.kind.open(d.url)
	if err != nil {
		return nil, err
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	read := func() error {
		var tasks int
		return tx.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT id FROM bellman_task LIMIT 1) AS one`).Scan(&tasks)
	}
	if err := read(); err != nil {
		return nil, errors.Join(err, tx.Rollback(), db.Close())
	}
	return func() error { return errors.Join(read(), tx.Rollback(), db.Close()) }, nil
}

// Bytes returns the size of the database; for Redis, all memory of the server.
func (d *Database) Bytes(ctx context.Context) (bytes int64, err error) {
	if d.server.redis != nil {
		return d.server.redis.bytes(ctx)
	}
	err = d.with(func(db *sql.DB) error {
		if d.server.kind.fresh != "" {
			if err := d.eachTable(ctx, db, d.server.kind.fresh); err != nil {
				return err
			}
		}
		return db.QueryRowContext(ctx, d.server.kind.bytes).Scan(&bytes)
	})
	return bytes, err
}

// eachTable runs a statement for each table of the database.
func (d *Database) eachTable(ctx context.Context, db *sql.DB, text string) error {
	rows, err := db.QueryContext(ctx, `SELECT table_name FROM information_schema.tables WHERE table_schema = database()`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, name := range names {
		if _, err := db.ExecContext(ctx, fmt.Sprintf(text, name)); err != nil {
			return fmt.Errorf(text+": %w", name, err)
		}
	}
	return nil
}

// Exec runs statements one after the other in one session.
func (d *Database) Exec(ctx context.Context, texts ...string) error {
	if d.server.redis != nil {
		return errNotInRedis
	}
	return d.with(func(db *sql.DB) error {
		db.SetMaxOpenConns(1)
		for _, text := range texts {
			if _, err := db.ExecContext(ctx, text); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		return nil
	})
}

// with calls f with connections to the database.
func (d *Database) with(f func(*sql.DB) error) error {
	db, err := d.server.kind.open(d.url)
	if err != nil {
		return err
	}
	return errors.Join(f(db), db.Close())
}
