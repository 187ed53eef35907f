package attention

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/store"
)

// An Engine has the figures of all nodes.
type Engine interface {
	Figures(ctx context.Context, ask figures.Ask) (figures.Figures, error)
	PausedMerchants() []figures.MerchantPause
	Route(t *bellman.Task) bellman.Route
}

// A Store is the part of a [store.Store] that the list reads.
type Store interface {
	store.Finder
	Task(ctx context.Context, id bellman.ID) (*bellman.Task, error)
	Load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error)
	List(ctx context.Context, f store.Filter, before bellman.ID, limit int) ([]*bellman.Task, bellman.ID, error)
	Due(ctx context.Context, shards []uint16, from store.Position, to int64, limit int, buf []store.Entry) ([]store.Entry, error)
	State(ctx context.Context, kind string) (store.State, error)
}

// Alarms are the rules and the alarms of the server.
type Alarms interface {
	Rules() []alarm.Rule
	List(ctx context.Context) ([]alarm.Alarm, error)
}

// Reconciliations are the comparisons with the channels' bills.
type Reconciliations interface {
	List(ctx context.Context, limit int) ([]reconcile.Run, error)
	Differences(ctx context.Context, id string, of bill.DifferenceKind, after, limit int) (items []reconcile.Item, next int, err error)
}

// Options of a Desk. Engine and Store are required; without one of the others the list lacks what
// it says.
type Options struct {
	Engine          Engine
	Store           Store
	Alarms          Alarms
	Nodes           func(context.Context) (nodes []engine.NodeInfo, unowned []store.Lease, err error)
	Reconciliations Reconciliations
	Credentials     func() []alarm.Credential
	Sources         func() []source.Info
	Ready           func(context.Context) (since time.Time, err error) // why this node is not ready; ErrFull: it only rejects new tasks
	StoreName       string                                             // the store's address without a password
	Queues          func() []string                                    // the configured queues
	Kind            func(queue string) string                          // of a queue: notify, order or poll
}

// A Desk makes the list. It is safe for concurrent use.
type Desk struct {
	o Options

	mu   sync.Mutex
	rows *rows
	read time.Time
}

// rowsAge is how long rows of the store are reused. Figures in memory are always present ones.
const rowsAge = 10 * time.Second

// New returns a desk.
func New(o Options) *Desk { return &Desk{o: o} }

// A List is what needs a person at one moment.
type List struct {
	At     time.Time
	Items  []Item // what affects most first, at most MostItems
	More   int    // items that are left out
	Nodes  int    // nodes whose figures it has
	Silent []string
}

// MostItems is the length of a list.
const MostItems = 100

// Rules returns the rules of the alarms, whose thresholds hold for the list.
func (d *Desk) Rules() []alarm.Rule {
	if d.o.Alarms == nil {
		return nil
	}
	return d.o.Alarms.Rules()
}

// List returns what needs a person. While the database cannot be reached, that is the only item.
// An error is the store's.
func (d *Desk) List(ctx context.Context) (List, error) {
	trouble, away := d.trouble(ctx)
	if away {
		return List{At: time.Now(), Items: trouble, Nodes: 1}, nil
	}
	f, err := d.o.Engine.Figures(ctx, figures.Ask{Queues: true, Endpoints: true, Gauges: true})
	if err != nil {
		return List{}, err
	}
	r, err := d.rowsFor(ctx, &f)
	if err != nil {
		return List{}, err
	}
	m := &maker{Desk: d, f: &f, rows: r, now: time.Now(), rules: d.Rules(), items: trouble}
	m.server()
	if err := m.nodes(ctx); err != nil {
		return List{}, err
	}
	m.endpoints()
	m.merchants()
	m.queues()
	m.refused()
	m.credentials()
	m.items = append(m.items, r.orders...)
	m.items = append(m.items, r.bills...)
	if err := m.alarms(ctx); err != nil {
		return List{}, err
	}
	rank(m.items)
	list := List{At: m.now, Nodes: f.Nodes, Silent: f.Silent, More: max(len(m.items)-MostItems, 0)}
	list.Items = m.items[:min(len(m.items), MostItems)]
	return list, nil
}

// Late returns the merchants with a notification that is overdue by more than the alarms allow,
// among the tasks that are overdue the longest.
func (d *Desk) Late(ctx context.Context) (merchants []string, err error) {
	f, err := d.o.Engine.Figures(ctx, figures.Ask{Queues: true, Gauges: true})
	if err != nil {
		return nil, err
	}
	r, err := d.rowsFor(ctx, &f)
	if err != nil {
		return nil, err
	}
	rules, now := d.Rules(), time.Now()
	for of, due := range r.late {
		if now.Sub(due).Seconds() > alarm.Above(rules, alarm.Overdue, of.queue) && !slices.Contains(merchants, of.merchant) {
			merchants = append(merchants, of.merchant)
		}
	}
	slices.Sort(merchants)
	return merchants, nil
}

// rowsFor returns rows of the store, read within rowsAge.
func (d *Desk) rowsFor(ctx context.Context, f *figures.Figures) (*rows, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rows != nil && time.Since(d.read) < rowsAge && slices.Equal(d.rows.paused, d.o.Engine.PausedMerchants()) {
		return d.rows, nil
	}
	r, err := d.readRows(ctx, f)
	if err != nil {
		return nil, err
	}
	d.rows, d.read = r, time.Now()
	return r, nil
}
