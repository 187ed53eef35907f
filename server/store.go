package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/api"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/migrate"
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

// refuseMoved returns an error if the store's tasks were moved to another store, or are being
// moved.
func (s *Server) refuseMoved(ctx context.Context) error {
	err := migrate.Refuse(ctx, s.store)
	if refused, is := errors.AsType[*migrate.RefusedError](err); is {
		if err = fmt.Errorf("store: %w", err); refused.Moved {
			return &ConfigError{err} // another start fails in the same way
		}
	}
	return err
}

// An unmoved store is one to which a server writes only as long as its tasks are not being moved to
// another store. A move takes a server for dead that was silent for long, for example cut off from
// the database. When that server is back, it must not claim shards, because every task would be
// attempted twice. It must also not accept anything, because a move copies nothing later.
type unmoved struct {
	store.Store
	refuse func(context.Context) error
	heard  atomic.Pointer[time.Time] // when the last answered heartbeat was sent
}

func (u *unmoved) Unwrap() store.Store { return u.Store }

// Join registers a node. A move marks the store before it looks for nodes, so it sees this node, or
// Join sees the mark. Then the error wraps bellman.ErrClosed, and the engine stops.
func (u *unmoved) Join(ctx context.Context, n store.Node, ttl time.Duration) error {
	sent := time.Now()
	if err := u.Store.Join(ctx, n, ttl); err != nil {
		return err
	}
	err := u.refuse(ctx)
	if err == nil {
		u.heard.Store(&sent)
		return nil
	}
	if _, is := errors.AsType[*migrate.RefusedError](err); is {
		err = fmt.Errorf("%w: %w", bellman.ErrClosed, err)
	}
	if left := u.Store.Leave(ctx, n.Name); left != nil {
		err = fmt.Errorf("%w; %w", err, left)
	}
	return err
}

// Beat keeps a node registered.
func (u *unmoved) Beat(ctx context.Context, node string) error {
	sent := time.Now()
	err := u.Store.Beat(ctx, node)
	if err == nil {
		u.heard.Store(&sent)
	}
	return err
}

// Commit writes a batch. A move claims all shards, so the store rejects every batch with a lease.
// It would accept one without a lease, such as a new task of a node that has just lost its shards.
// A move waits for the nodes whose heartbeats it sees. So after a silence Commit looks for the mark
// of a move once the batch is written: if there is none, a later move copies the batch.
func (u *unmoved) Commit(ctx context.Context, b *store.Batch) error {
	err := u.Store.Commit(ctx, b)
	if err != nil || len(b.Leases) > 0 || !u.silent() {
		return err
	}
	if err := u.refuse(ctx); err != nil {
		return fmt.Errorf("%w: %v", bellman.ErrUnknown, err) // ErrUnreachable would say that nothing was written
	}
	return nil
}

// silent reports whether the last answered heartbeat was sent so long ago that others may have
// taken this node for dead. The monotonic clock stands still while a virtual machine is paused.
func (u *unmoved) silent() bool {
	heard := u.heard.Load()
	if heard == nil {
		return true
	}
	now := time.Now()
	return max(now.Sub(*heard), now.Round(0).Sub(heard.Round(0))) >= store.LeaseTTL
}

const (
	strangeAfter  = 2 * time.Second // how long a database may be silent before it is probed
	strangeWithin = time.Second     // longest time of each step of that probe
)

// otherDatabase returns an error if the database at an address speaks another protocol than the
// URL's. The drivers report an unreadable answer, or wait until their time is over.
func otherDatabase(s config.StoreURL, u *url.URL) error {
	who := strangerAt(u)
	if who == "" {
		return nil
	}
	return &ConfigError{fmt.Errorf("store %s: what answers at %s is %s: name the other port, or begin the address with that one's name", s, u.Host, who)}
}

// strangerAt names the database at the address of a URL if it is not of the URL's scheme; empty if
// it is, or if that is unknown.
func strangerAt(u *url.URL) string {
	postgres := strings.HasPrefix(u.Scheme, "postgres")
	host, port := u.Hostname(), u.Port()
	switch {
	case strings.Contains(u.Host, ",") || host == "":
		return ""
	case port == "" && postgres:
		port = "5432"
	case port == "":
		port = "3306"
	}
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, port), strangeWithin)
	if err != nil {
		return ""
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(strangeWithin)); err != nil {
		return ""
	}
	if postgres { // a MySQL server sends the first packet: length, number, and protocol version 10
		var hello [5]byte
		if _, err := io.ReadFull(conn, hello[:]); err == nil && hello[3] == 0 && (hello[4] == 10 || hello[4] == 0xff) {
			return "MySQL or MariaDB (mysql://)"
		}
		return ""
	}
	// A PostgreSQL server waits for the client, and answers a request for TLS with one letter.
	var yes [1]byte
	conn.SetReadDeadline(time.Now().Add(strangeWithin / 4)) // SetDeadline has just succeeded, so this does too
	if _, err := io.ReadFull(conn, yes[:]); err == nil {
		return ""
	}
	conn.SetReadDeadline(time.Now().Add(strangeWithin))
	if _, err := conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err != nil {
		return ""
	}
	if _, err := io.ReadFull(conn, yes[:]); err == nil && (yes[0] == 'S' || yes[0] == 'N') {
		return "PostgreSQL (postgres://)"
	}
	return ""
}
