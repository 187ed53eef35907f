package registry

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
)

// A Store is the part of a [store.Store] that the registry needs.
type Store interface {
	Commit(ctx context.Context, b *store.Batch) error
	store.DocReader
}

// Options of a registry. Store is required.
type Options struct {
	Store   Store
	Masters *Masters // nil: entries with secrets are rejected

	// Alone means that no other process writes to the store, so changes need not be looked for.
	Alone bool

	// Changed is called with the ID of a cached entry that may have changed, after the new value is
	// visible here. Tell is called after a change by this process, so that it can inform other
	// processes, which call Refresh. Both must return quickly, and may be nil.
	Changed func(id string)
	Tell    func()

	// Touched is called with a function that says of a key whether its Mark has changed. It must
	// return quickly, and may be nil.
	Touched func(is func(key string) bool)

	Keep   int          // cached entries; default 8,192
	Logger *slog.Logger // default: slog.Default()
}

// A Registry keeps entries in a store, and caches some of them as K. Changes by other processes are
// visible within lookEvery. It is safe for concurrent use.
type Registry[T any, P Entry[T], K any] struct {
	kind    Kind[T, K]
	store   Store
	masters *Masters
	alone   bool
	changes func(string)
	touched func(func(string) bool)
	tell    func()
	log     *slog.Logger

	writing sync.Mutex // held from reading an entry to writing it

	cache   cache[K]
	loads   singleflight.Group
	looking looking
}

const (
	lookEvery   = time.Second      // longest age of what is known about changes
	lookFor     = time.Minute      // changes are looked for until this long after the last use of an entry
	readTimeout = 5 * time.Second  // timeout of one read
	trustFor    = 60 * time.Second // an entry is read again after this time if other processes write
	pageSize    = 500
)

// New returns a registry.
func New[T any, P Entry[T], K any](kind Kind[T, K], o Options) *Registry[T, P, K] {
	return &Registry[T, P, K]{
		kind: kind, store: o.Store, masters: o.Masters, alone: o.Alone, changes: o.Changed, touched: o.Touched, tell: o.Tell,
		log:     cmp.Or(o.Logger, slog.Default()),
		cache:   cache[K]{known: make(map[string]*held[K]), unknown: make(map[string]*held[K]), most: cmp.Or(o.Keep, 8192)},
		looking: looking{stir: sleep.NewWaker(), seen: make(map[string]string)},
	}
}

// Masters returns the configured master keys.
func (r *Registry[T, P, K]) Masters() *Masters { return r.masters }
