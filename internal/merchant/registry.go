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

// A Store is what the registry needs from one; every [store.Store] has it.
type Store interface {
	Commit(ctx context.Context, b *store.Batch) error
	store.DocReader
}

// Options of a registry. Store is required.
type Options struct {
	Store   Store
	Masters *Masters // nil: merchants with secrets are refused

	// CheckURL says what is wrong with an address that a merchant is to have; nil:
	// nothing is.
	CheckURL func(url string) error

	// Alone says that no other process writes to the store: then nothing has to be
	// looked for.
	Alone bool

	// Changed is told of a merchant that may have changed, of those that were asked
	// for lately, once it is known here. Tell is called when one was changed here, to
	// tell other processes, which Stir then. Both must return soon, and may be nil.
	Changed func(no string)
	Tell    func()

	Keep   int          // merchants in memory; default 8,192
	Logger *slog.Logger // default: slog.Default()
}

// A Registry keeps merchants in a store, and some of them in memory. What was
// changed by another process is seen within lookEvery. It is safe for concurrent
// use.
type Registry struct {
	store    Store
	masters  *Masters
	checkURL func(string) error
	alone    bool
	changed  func(string)
	tell     func()
	log      *slog.Logger

	writing sync.Mutex // held by whoever reads a merchant to write it

	cache   cache
	loads   singleflight.Group
	looking looking
}

const (
	lookEvery   = time.Second      // how old what is known of changes may be
	lookFor     = time.Minute      // so long after a merchant was asked for
	readTimeout = 5 * time.Second  // of one read
	trustFor    = 60 * time.Second // a merchant is read again after that, in any case, where others write
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

// Masters are the ids of the master keys that are configured, the one that seals
// first.
func (r *Registry) Masters() []string { return r.masters.IDs() }
