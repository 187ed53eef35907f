package store_test

import (
	"testing"

	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

type able struct{ store.Store }

func (able) Use() store.Use      { return store.Use{Exclusive: true, BatchSize: 7} }
func (able) Backup(string) error { return nil }

type wrapper struct{ store.Store }

func (w wrapper) Unwrap() store.Store { return w.Store }

type own struct{ wrapper }

func (own) Use() store.Use { return store.Use{BatchSize: 1} }

// A wrapper with Unwrap forwards all abilities of the wrapped store, except those that it has
// itself. A wrapper without Unwrap forwards none.
func TestAs(t *testing.T) {
	s := able{memory.New()}
	tests := []struct {
		name   string
		s      any
		use    store.Use
		backup bool
	}{
		{"a store without abilities", memory.New(), store.Use{}, false},
		{"itself", s, store.Use{Exclusive: true, BatchSize: 7}, true},
		{"wrapped twice", wrapper{wrapper{s}}, store.Use{Exclusive: true, BatchSize: 7}, true},
		{"one ability replaced", wrapper{own{wrapper{s}}}, store.Use{BatchSize: 1}, true},
		{"a wrapper that does not unwrap", struct{ store.Store }{s}, store.Use{}, false},
		{"a wrapper around nothing", wrapper{}, store.Use{}, false},
		{"nothing", nil, store.Use{}, false},
	}
	for _, tt := range tests {
		if use := store.UseOf(tt.s); use != tt.use {
			t.Errorf("%s: UseOf() = %+v, want %+v", tt.name, use, tt.use)
		}
		if _, has := store.As[store.Backup](tt.s); has != tt.backup {
			t.Errorf("%s: As[Backup]() = %t, want %t", tt.name, has, tt.backup)
		}
	}
}
