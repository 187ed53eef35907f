package merchant

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

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
	Masters *Masters // nil: merchants with secrets are rejected

	// CheckURL returns why an address is not allowed; nil: every address is.
	CheckURL func(url string) error

	// Alone means that no other process writes to the store, so changes need not be looked for.
	Alone bool

	// Changed is called with the number of a cached merchant that may have changed, after the new value is
	// visible here. Tell is called after a change by this process, so that it can inform other processes,
	// which call Stir. Both must return quickly, and may be nil.
	Changed func(no string)
	Tell    func()

	Keep   int          // cached entries; default 8,192
	Logger *slog.Logger // default: slog.Default()
}

// A Registry keeps merchants in a store, and caches some of them. Changes by other processes are visible
// within lookEvery. It is safe for concurrent use.
type Registry struct {
	store    Store
	masters  *Masters
	checkURL func(string) error
	alone    bool
	changed  func(string)
	tell     func()
	log      *slog.Logger

	writing sync.Mutex // held from reading a merchant to writing it

	cache   cache
	loads   singleflight.Group
	looking looking
}

const (
	lookEvery   = time.Second      // longest age of what is known about changes
	lookFor     = time.Minute      // changes are looked for until this long after the last use of a merchant
	readTimeout = 5 * time.Second  // timeout of one read
	trustFor    = 60 * time.Second // an entry is read again after this time if other processes write
	pageSize    = 500
)

// New returns a registry.
func New(o Options) *Registry {
	r := &Registry{
		store: o.Store, masters: o.Masters, checkURL: o.CheckURL, alone: o.Alone, changed: o.Changed, tell: o.Tell,
		log:     cmp.Or(o.Logger, slog.Default()),
		cache:   cache{known: make(map[string]*held), most: cmp.Or(o.Keep, 8192)},
		looking: looking{stir: make(chan struct{}, 1), seen: make(map[string]string)},
	}
	return r
}

// Masters returns the ids of the configured master keys; the first one seals.
func (r *Registry) Masters() []string { return r.masters.IDs() }
