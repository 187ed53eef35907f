package sqlstore

import (
	"context"
	"errors"
	"math/rand/v2"
)

// An AddressError says that the address of a database is wrong, or a parameter of it.
// Another try does not mend that.
type AddressError struct{ Cause error }

func (e *AddressError) Error() string { return e.Cause.Error() }

func (e *AddressError) Unwrap() error { return e.Cause }

// Reads returns the store in a database for reading alone: with the right to read, at
// a server that may only be read. What is written fails.
func Reads(ctx context.Context, d Driver) (*Store, error) { return open(ctx, d) }

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
	shards, err := s.Shards(ctx)
	if err != nil {
		return nil, err
	}
	s.shards = len(shards)
	if s.shards == 0 {
		return nil, errors.New("the schema has no shards: it was not created by bellman")
	}
	return s, nil
}
