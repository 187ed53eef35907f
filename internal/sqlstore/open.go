package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
)

// ErrNoTables is in what an Open of a driver returns where it may make no tables and
// some are missing.
var ErrNoTables = errors.New("there are no tables of bellman here, or not all: run bellman migrate")

// An AddressError says that the address of a database is wrong, or a parameter of it.
// Another try does not mend that.
type AddressError struct{ Cause error }

func (e *AddressError) Error() string { return e.Cause.Error() }

func (e *AddressError) Unwrap() error { return e.Cause }

// DefaultShards is how many shards a schema is created with.
const DefaultShards = 64

// Options are how Open opens a store.
type Options struct {
	Shards    int  // of a schema that is created; default DefaultShards
	NoMigrate bool // the schema stays as it is, and must be the present one
	ReadOnly  bool // NoMigrate, and nothing is probed: with the right to read, at a server that may only be read
}

// Open returns the store in a database whose schema it creates or updates first. It
// owns d, and closes it where it fails.
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
		if err := Migrate(ctx, d, cmp.Or(o.Shards, DefaultShards)); err != nil {
			return nil, err
		}
	}
	return New(ctx, d)
}

// New returns the store in a database whose schema is the present one. It
// refuses a database that would not hold what a store promises. It owns d.
func New(ctx context.Context, d Driver) (*Store, error) {
	s, err := open(ctx, d)
	if err != nil {
		return nil, err
	}
	return s, s.probe(ctx)
}

func open(ctx context.Context, d Driver) (*Store, error) {
	s := &Store{d: d}
	for _, slot := range rand.Perm(slots) {
		s.slots = append(s.slots, int64(slot))
	}
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
	state, err := s.State(ctx, "")
	if err != nil {
		return nil, err
	}
	s.shards = len(state.Shards)
	if s.shards == 0 {
		return nil, errors.New("the schema has no shards: it was not created by bellman")
	}
	return s, nil
}
