package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Options configure a store. The zero value suits most deployments.
type Options struct {
	Connections int          // most connections to a server; default 8, at least 2
	Shards      int          // used only when the store is created; default 64
	NoMigrate   bool         // create no store: Open returns ErrNoStore if there is none
	ReadOnly    bool         // for reading only: the durability of writes is not checked
	Logger      *slog.Logger // default: discards

	hook client.Hook // sees all commands, in tests
}

// ErrNoStore is returned by Open if there is no store and Options forbid creating one.
var ErrNoStore = errors.New("there is no store")

// answer is how long a server may take to answer, and connect how long to be connected to.
const (
	answer  = 15 * time.Second
	connect = 5 * time.Second
)

// A Store keeps tasks in Redis. It is safe for concurrent use.
type Store struct {
	prefix  string // of all keys, with the hash tag
	single  *client.Client
	cluster *client.ClusterClient // nil: one server, or one primary
	shards  int
	wait    waits        // for each write
	syncs   atomic.Bool  // a server writes to disk after it answers, so each write waits for the disk too
	size    int          // of the pool
	mended  atomic.Value // settings.run of the last server that has rewritten its append-only file, or need not
	log     *slog.Logger

	life   sync.RWMutex // held for reading by each call
	closed bool

	mu    sync.Mutex
	filed string // settings.run of the last server that had a complete append-only file

	count struct{ commits, unknown, broken, fenced atomic.Int64 }
}

var _ store.Store = (*Store)(nil)

// Open opens the store at an address such as redis://USER:PASSWORD@HOST:PORT/0, which [Address]
// describes, and creates the store if there is none. It fails if the server would not keep the
// promises of a store; the error names the settings to change.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	a, err := ParseAddress(address)
	if err != nil {
		return nil, &store.AddressError{Cause: err}
	}
	if o.Shards < 0 || o.Shards > store.MaxShards {
		return nil, fmt.Errorf("%d shards: want 1 to %d", o.Shards, store.MaxShards)
	}
	s := &Store{prefix: "{" + a.Prefix + "}", log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler))}
	if err := s.connect(a, o); err != nil {
		return nil, &store.AddressError{Cause: err}
	}
	if err := s.begin(ctx, a, o); err != nil {
		return nil, errors.Join(a.advice(err), s.Close())
	}
	return s, nil
}

// quiet keeps the client from writing to standard error. The errors of the calls say the same.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

var hush = sync.OnceFunc(func() { client.SetLogger(quiet{}) })

// connect makes the client, which connects when it is used.
func (s *Store) connect(a Address, o Options) error {
	hush()
	tls, err := a.tls()
	if err != nil {
		return err
	}
	s.size = max(cmp.Or(o.Connections, 8), 2)
	options := client.UniversalOptions{
		Addrs: a.Hosts, MasterName: a.Master, SentinelUsername: a.SentinelUser, SentinelPassword: a.sentinelPassword,
		Username: a.User, Password: a.password, DB: a.DB, TLSConfig: tls, PoolSize: s.size,
		OnConnect: func(ctx context.Context, conn *client.Conn) error {
			if err := s.fits(ctx, conn, a, o.ReadOnly); err != nil {
				return fmt.Errorf("connect: %w", &unsent{err}) // the client removes one wrapping
			}
			return nil
		},
		MaxRetries: -1, DialTimeout: connect, DialerRetries: 1, ReadTimeout: answer, WriteTimeout: answer, PoolTimeout: answer, ContextTimeoutEnabled: true,
		ConnMaxLifetime: lifetime, DisableIdentity: true,
	}
	hooked := func(c *client.Client) *client.Client {
		c.AddHook(dialing{})
		if o.hook != nil {
			c.AddHook(o.hook)
		}
		return c
	}
	switch a.Kind {
	case Cluster:
		nodes := options.Cluster()
		nodes.NewClient = func(node *client.Options) *client.Client { return hooked(client.NewClient(node)) }
		s.cluster = client.NewClusterClient(nodes)
	case Sentinel:
		s.single = hooked(client.NewFailoverClient(options.Failover()))
	default:
		s.single = hooked(client.NewClient(options.Simple()))
	}
	return nil
}

// begin checks the server, logs its durability, and creates a missing store.
func (s *Store) begin(ctx context.Context, a Address, o Options) error {
	seen, err := s.survey(ctx)
	if err != nil {
		return err
	}
	if s.wait, err = seen.waits(a); err != nil && !o.ReadOnly {
		return err
	}
	shards := cmp.Or(o.Shards, 64)
	if o.NoMigrate || o.ReadOnly {
		shards = 0
	}
	var have []any
	if shards == 0 {
		have, err = s.about(ctx)
	} else {
		reply, failed := s.run(ctx, nodes, "open", strconv.Itoa(format), shards)
		have, _ = reply.([]any)
		err = failed
	}
	if err != nil {
		return err
	}
	version, count := text(have, 0), text(have, 1)
	if version == "" {
		return fmt.Errorf("%w named %s here", ErrNoStore, s.prefix)
	}
	if version != strconv.Itoa(format) {
		return fmt.Errorf("the store %s is of format %s, and this program knows format %d: use the program that created it, or another prefix", s.prefix, version, format)
	}
	if s.shards, err = strconv.Atoi(count); err != nil || s.shards < 1 {
		return fmt.Errorf("the store %s says that it has %q shards", s.prefix, count)
	}
	if !o.ReadOnly {
		seen.say(s.log, a, s.wait)
	}
	return s.clock(ctx)
}

// about reads the store's metadata and changes no key.
func (s *Store) about(ctx context.Context) ([]any, error) {
	reply, err := s.do(ctx, false, func(c *client.Client) (any, error) { return c.HMGet(ctx, s.prefix+"S", "format", "shards").Result() })
	have, _ := reply.([]any)
	return have, err
}

// clock rejects clocks that differ too much.
func (s *Store) clock(ctx context.Context) error {
	skew, err := s.skew(ctx)
	if err == nil && skew > store.MaxSkew {
		err = fmt.Errorf("%s: want at most %v; set both by NTP", apart(skew), store.MaxSkew)
	}
	return err
}

func apart(skew time.Duration) string {
	return fmt.Sprintf("the clocks of this machine and of Redis are %v apart", skew.Round(time.Millisecond))
}

// skew compares the clocks. The round-trip time does not count as skew.
func (s *Store) skew(ctx context.Context) (time.Duration, error) {
	best := time.Duration(math.MaxInt64)
	for range 3 {
		sent := time.Now()
		reply, err := s.do(ctx, false, func(c *client.Client) (any, error) {
			sent = time.Now()
			return c.Time(ctx).Result()
		})
		if err != nil {
			return 0, err
		}
		at := reply.(time.Time)
		if best = min(best, max(sent.Sub(at)-time.Millisecond, time.Until(at), 0)); best == 0 {
			break
		}
	}
	return best, nil
}

// master is the server that has the store now.
func (s *Store) master(ctx context.Context) (*client.Client, error) {
	if s.cluster == nil {
		return s.single, nil
	}
	return s.cluster.MasterForKey(ctx, s.prefix)
}

// Close ends all connections after the calls in progress have ended. Later calls return ErrClosed.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.cluster != nil {
		return s.cluster.Close()
	}
	return s.single.Close()
}

// enter begins a call, which leave ends.
func (s *Store) enter() error {
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return bellman.ErrClosed
	}
	return nil
}

func (s *Store) leave() { s.life.RUnlock() }

// text returns an element of a reply as text; empty if it is nil.
func text(reply []any, i int) string {
	if i >= len(reply) {
		return ""
	}
	t, _ := reply[i].(string)
	return t
}
