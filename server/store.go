package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/api"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/mysql"
	"github.com/bellmanhq/bellman/store/pebble"
	"github.com/bellmanhq/bellman/store/postgres"
	"github.com/bellmanhq/bellman/store/redis"
)

// StoreOptions configure how a store is opened. The zero value suits most programs.
type StoreOptions struct {
	// Existing opens an existing store, and creates and changes no tables. The error says if there
	// is no store, or if it has an older layout.
	Existing bool

	// ReadOnly opens a database for reading, for a user with read access only. It has no effect on
	// an embedded store.
	ReadOnly bool

	Logger *slog.Logger // default: discards
}

// openWithin is the longest total wait for a database at the start.
const openWithin = 30 * time.Second

// connectWithin is the longest time to connect to a database, unless its URL has one.
const connectWithin = "5"

// OpenStore opens the store of a setting: a directory, or a database, which must answer before ctx
// ends. No error contains a password.
func OpenStore(ctx context.Context, text string, o StoreOptions) (store.Store, error) {
	s, err := config.ParseStore(text)
	if err != nil {
		return nil, &ConfigError{fmt.Errorf("store: %w", err)}
	}
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	switch s.Kind {
	case config.Pebble:
		cache := cacheFor(debug.SetMemoryLimit(-1))
		store, err := pebble.Open(s.Dir, pebble.Options{CacheBytes: cache, MemTableBytes: cache / 4, MustExist: o.Existing, Logger: log})
		if errors.Is(err, pebble.ErrNoStore) {
			err = fmt.Errorf("%w in %s", err, s.Dir)
		}
		return opened(store, err)
	case config.Postgres:
		return connected(ctx, s, func(ctx context.Context, url string) (store.Store, error) {
			return opened(postgres.Open(ctx, url, postgres.Options{Connections: s.Connections, Shards: s.Shards, NoMigrate: o.Existing, ReadOnly: o.ReadOnly, Logger: log}))
		})
	case config.Redis:
		return openRedis(ctx, s, redis.Options{Connections: s.Connections, Shards: s.Shards, NoMigrate: o.Existing, ReadOnly: o.ReadOnly, Logger: log})
	default:
		return connected(ctx, s, func(ctx context.Context, url string) (store.Store, error) {
			return opened(mysql.Open(ctx, url, mysql.Options{Connections: s.Connections, Shards: s.Shards, NoMigrate: o.Existing, ReadOnly: o.ReadOnly, Logger: log}))
		})
	}
}

// CheckStore returns an error if the driver of a store would reject the parameters of its address.
// It opens nothing: a file that a parameter names, and that does not exist here, is no error.
func CheckStore(s config.StoreURL) error {
	var err error
	switch s.Kind {
	case config.Postgres:
		err = postgres.CheckURL(s.URL)
	case config.MySQL:
		err = mysql.CheckURL(s.URL)
	case config.Redis:
		_, err = redis.ParseAddress(s.URL)
	}
	if _, is := errors.AsType[*fs.PathError](err); err == nil || is {
		return nil
	}
	return errors.New(oneLine(err))
}

// Missing reports whether an error of OpenStore, with Existing, means that the store does not exist
// and could be created.
func Missing(err error) bool {
	return errors.Is(err, pebble.ErrNoStore) || errors.Is(err, redis.ErrNoStore) || errors.Is(err, sqlstore.ErrNoTables)
}

// MigrateStore creates the store of a setting, or brings it to the layout of this version.
func MigrateStore(ctx context.Context, text string, log *slog.Logger) error {
	store, err := OpenStore(ctx, text, StoreOptions{Logger: log})
	if err != nil {
		return err
	}
	return store.Close()
}

// opened converts the result of a package's Open to an interface without a typed nil.
func opened[S store.Store](s S, err error) (store.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// connected opens a database. Its errors name the database.
func connected(ctx context.Context, s config.StoreURL, open func(ctx context.Context, url string) (store.Store, error)) (store.Store, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, &ConfigError{fmt.Errorf("store: %s: is no URL", s)} // it was valid when it was parsed
	}
	query := u.Query()
	name, value := "connect_timeout", connectWithin
	if s.Kind == config.MySQL {
		name, value = "timeout", connectWithin+"s"
	}
	if !query.Has(name) {
		query.Set(name, value)
		u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20") // PostgreSQL does not decode a plus as a space
	}
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	// A client that waits for the greeting of another protocol waits long: then the probe ends the
	// wait.
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	probe := time.AfterFunc(strangeAfter, func() {
		if other := otherDatabase(s, u); other != nil {
			stop(other)
		}
	})
	store, err := open(ctx, u.String())
	switch stopped := probe.Stop(); {
	case err == nil:
		return store, nil
	case stopped:
		stop(otherDatabase(s, u))
	}
	if other, is := errors.AsType[*ConfigError](context.Cause(ctx)); is {
		return nil, other
	}
	return nil, unopened(s, err)
}

// openRedis opens a store in Redis. Its errors name the store.
func openRedis(ctx context.Context, s config.StoreURL, o redis.Options) (store.Store, error) {
	within, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	store, err := opened(redis.Open(within, s.URL, o))
	switch unfit, is := errors.AsType[*redis.UnfitError](err); {
	case err == nil:
		return store, nil
	case errors.Is(err, redis.ErrNoStore):
		return nil, &UnopenedError{fmt.Sprintf("store %s: %s: look at the database's number and at prefix, or run bellman migrate", s, err), err}
	case is:
		return nil, &UnopenedError{fmt.Sprintf("store %s: %s", s, unfit), err}
	}
	return nil, unopened(s, err)
}

// oneLine joins the lines of an error's text. A database with several addresses gives a line for
// each, some two.
func oneLine(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": ")
}

// unopened is why a database could not be opened.
func unopened(s config.StoreURL, err error) error {
	if _, is := errors.AsType[*store.AddressError](err); is {
		return &ConfigError{fmt.Errorf("store %s: %s", s, oneLine(err))}
	}
	text := fmt.Sprintf("store %s: %s", s, oneLine(err))
	_, unreached := errors.AsType[*net.OpError](err)
	_, unresolved := errors.AsType[*net.DNSError](err)
	if unreached || unresolved || errors.Is(err, context.DeadlineExceeded) {
		text += ": the database cannot be reached: look whether it runs, and at its address; bellman has stopped waiting for it, so start bellman again, as systemd or Kubernetes does"
	}
	return &UnopenedError{text, err}
}

// An UnopenedError says why a database could not be opened, and what to do.
type UnopenedError struct {
	text  string
	cause error
}

func (e *UnopenedError) Error() string { return e.text }

func (e *UnopenedError) Unwrap() error { return e.cause }

// broken waits until the store reports a permanent failure, or ctx ends.
func (s *Server) broken(ctx context.Context) error {
	health, can := store.As[store.Health](s.store)
	if !can {
		<-ctx.Done()
		return nil
	}
	select {
	case <-health.Broken():
		return health.Health()
	case <-ctx.Done():
		return nil
	}
}

// backup returns the backup function of the store; nil if this kind of store has none.
func (s *Server) backup() api.Backuper {
	copier, can := store.As[store.Backup](s.store)
	if !can {
		return nil
	}
	return recorded{copier, s.store}
}

// recorded makes backups of a store, with an audit record of each.
type recorded struct {
	copier store.Backup
	store  store.Store
}

func (r recorded) Backup(ctx context.Context, dir string, by bellman.By) error {
	if err := r.copier.Backup(dir); err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	return r.store.Commit(ctx, &store.Batch{Audits: []store.Audit{store.AuditOf(by, now, "backup", "store")}})
}

// Documents returns the kinds of all documents that a server keeps in its store. bellman move
// copies them.
func Documents() []string {
	return slices.Concat([]string{"alarm", "console-ended", "console-sent", "death", "link", "pause", "probe", "resend", "resend-cancel", secretKind},
		registry.Documents("merchant"), registry.Documents("account"), []string{"account-rate", "account-certificate", "reconciliation", "reconciliation-page"})
}
