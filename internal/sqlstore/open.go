package sqlstore

import (
	"context"
	"errors"
)

// ErrNoTables is wrapped by a driver's Open if tables are missing and Open may not create them.
var ErrNoTables = errors.New("there are no tables of bellman here, or not all: run bellman migrate")

// Options configure Open.
type Options struct {
	Shards    int  // used only when the schema is created; default 64
	NoMigrate bool // never change the schema; it must be current
	ReadOnly  bool // NoMigrate without probes: for a read-only user or server
}

// Open creates or updates the schema and returns the store. Open owns d and closes d on error.
func Open(ctx context.Context, d Driver, o Options) (*Store, error) {
	s, err := o.open(ctx, d)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return s, nil
}

func (o Options) open(ctx context.Context, d Driver) (*Store, error) {
	if o.ReadOnly {
		return open(ctx, d)
	}
	if !o.NoMigrate {
		if err := Migrate(ctx, d, o.Shards); err != nil {
			return nil, err
		}
	}
	return New(ctx, d)
}

// New returns the store in a database whose schema is current. New rejects a database that would
// break a store's promises. New owns d.
func New(ctx context.Context, d Driver) (*Store, error) {
	s, err := open(ctx, d)
	if err != nil {
		return nil, err
	}
	return s, s.probe(ctx)
}

func newStore(d Driver) *Store {
	s := &Store{d: reserve(d), beats: d}
	s.slots.init(d.KeepsVersions())
	return s
}

func open(ctx context.Context, d Driver) (*Store, error) {
	s := newStore(d)
	version, err := schemaVersion(ctx, d)
	if err != nil {
		return nil, err
	}
	if version < len(migrations) {
		return nil, older(version)
	}
	var l layout
	if err := s.read(ctx, func() []*Statement { return []*Statement{l.read()} }); err != nil {
		return nil, err
	}
	s.shards = int(l.shards)
	if _, err := s.State(ctx, ""); err != nil { // rows of shards may be missing
		return nil, err
	}
	return s, nil
}
