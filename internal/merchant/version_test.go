package merchant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// Who names a version changes that one, or nothing.
func TestVersions(t *testing.T) {
	m, _ := masters(t, 1)
	r := merchant.New(merchant.Options{Options: registry.Options{Store: memory.New(), Masters: m}})
	change := func(version, name string) (merchant.Merchant, error) {
		got, _, err := r.Put(t.Context(), wants(client.PutMerchant{MerchantNo: "M1", Name: name, Version: version})[0], bellman.By{})
		return got, err
	}
	refused := func(version, name, now string) {
		t.Helper()
		_, err := change(version, name)
		changed := new(registry.ChangedError)
		if !errors.As(err, &changed) || !errors.Is(err, bellman.ErrConflict) || changed.Version != now {
			t.Fatalf("version %q: %v; want it refused, and told that it is %q now", version, err, now)
		}
	}
	refused("0123456789abcdef", "of nobody", "")
	first, err := change(registry.None, "first")
	if err != nil {
		t.Fatalf("a merchant that there is not: %v", err)
	}
	refused(registry.None, "again", first.Version())
	second, err := change(first.Version(), "second")
	if err != nil || second.Version() == first.Version() {
		t.Fatalf("the version that it has: %v, %s after %s", err, second.Version(), first.Version())
	}
	refused(first.Version(), "late", second.Version())
	read, err := r.Read(t.Context(), "M1")
	if err != nil || read.Name != "second" || read.Version() != second.Version() {
		t.Fatalf("it is %q of version %s, %v; want the second, %s", read.Name, read.Version(), err, second.Version())
	}
	same, err := change(second.Version(), "second")
	if err != nil || same.Version() != second.Version() {
		t.Errorf("the same again: %v, version %s; want %s still", err, same.Version(), second.Version())
	}
	results, err := r.Import(t.Context(), wants(client.PutMerchant{MerchantNo: "M1", Name: "imported", Version: first.Version()}, client.PutMerchant{MerchantNo: "M2", Version: registry.None}), false, bellman.By{})
	if err != nil || !errors.Is(results[0].Err, bellman.ErrConflict) || results[1].Err != nil {
		t.Errorf("an import of an old version and of a new merchant: %+v, %v; want the one refused alone", results, err)
	}
	if _, err := change("", "whatever there is"); err != nil {
		t.Errorf("without a version: %v", err)
	}
	// What is wrong besides is told with it, by a put and by an import.
	bad := wants(client.PutMerchant{MerchantNo: "M1", Version: registry.None, Schedule: "often", PerEndpoint: &client.MerchantLimits{Rate: "-1/s"}, Sign: &client.MerchantSign{Scheme: "none"}})
	_, _, err = r.Put(t.Context(), bad[0], bellman.By{})
	results, failed := r.Import(t.Context(), bad, true, bellman.By{})
	if failed != nil {
		t.Fatal(failed)
	}
	for what, err := range map[string]error{"Put": err, "Import": results[0].Err} {
		changed := new(registry.ChangedError)
		if !errors.As(err, &changed) || len(changed.Also) != 3 {
			t.Errorf("%s of what is there, with three wrong fields: %v, besides %+v", what, err, changed.Also)
		}
	}
	if err := r.Delete(t.Context(), "M1", bellman.By{}); err != nil {
		t.Fatal(err)
	}
	refused(second.Version(), "gone", "")
}

// A meddled store does something else before it commits.
type meddled struct {
	registry.Store
	first func()
}

func (m *meddled) Commit(ctx context.Context, b *store.Batch) error {
	if do := m.first; do != nil {
		m.first = nil
		do()
	}
	return m.Store.Commit(ctx, b)
}

// What another process writes between a look and a write is not lost.
func TestTwoProcessesChangeOneMerchant(t *testing.T) {
	keys, _ := masters(t, 1)
	store := memory.New()
	here := &meddled{Store: store}
	r := merchant.New(merchant.Options{Options: registry.Options{Store: here, Masters: keys}})
	other := merchant.New(merchant.Options{Options: registry.Options{Store: store, Masters: keys}})
	one, two := key("whsec_"), key("whsec_")
	by := bellman.By{Who: "ann"}
	begin := func() {
		t.Helper()
		put(t, other, client.PutMerchant{MerchantNo: "M1", Name: "shop", Sign: &client.MerchantSign{Scheme: "standard_webhooks", Secrets: []string{one}}})
	}
	secrets := func(want int, name string) {
		t.Helper()
		m, err := other.Read(t.Context(), "M1")
		if err != nil || len(m.Secrets) != want || m.Name != name {
			t.Errorf("%d secrets of %q, %v; want %d of %q", len(m.Secrets), m.Name, err, want, name)
		}
	}
	rotate := func() {
		t.Helper()
		if _, err := other.Rotate(t.Context(), "M1", two, time.Hour, by); err != nil {
			t.Errorf("rotate: %v", err)
		}
	}
	rename := func() {
		put(t, other, client.PutMerchant{MerchantNo: "M1", Name: "renamed", Sign: &client.MerchantSign{Scheme: "standard_webhooks"}})
	}

	begin()
	here.first = rotate
	put(t, r, client.PutMerchant{MerchantNo: "M1", Name: "mine", Sign: &client.MerchantSign{Scheme: "standard_webhooks"}}) // keeps whatever secrets there are
	secrets(2, "mine")

	begin()
	here.first = rename
	if _, err := r.Rotate(t.Context(), "M1", key("whsec_"), time.Hour, by); err != nil {
		t.Fatal(err)
	}
	secrets(2, "renamed")

	begin()
	here.first = rotate
	if _, err := r.Import(t.Context(), wants(client.PutMerchant{MerchantNo: "M1", Name: "imported", Sign: &client.MerchantSign{Scheme: "standard_webhooks"}}), false, by); err != nil {
		t.Fatal(err)
	}
	secrets(2, "imported")

	// Where somebody said what it must still be, the later one is told.
	begin()
	m, err := r.Read(t.Context(), "M1")
	if err != nil {
		t.Fatal(err)
	}
	here.first = rename
	_, _, err = r.Put(t.Context(), wants(client.PutMerchant{MerchantNo: "M1", Name: "late", Sign: &client.MerchantSign{Scheme: "standard_webhooks"}, Version: m.Version()})[0], by)
	if _, is := errors.AsType[*registry.ChangedError](err); !is {
		t.Errorf("a version that is old when it is written: %v; want it refused", err)
	}
	secrets(1, "renamed")

	// One that another registers just then is not registered twice.
	here.first = func() { put(t, other, client.PutMerchant{MerchantNo: "M9", Name: "theirs"}) }
	if _, _, err := r.Put(t.Context(), wants(client.PutMerchant{MerchantNo: "M9", Name: "mine", Version: registry.None})[0], by); !errors.Is(err, bellman.ErrConflict) {
		t.Errorf("a merchant that another registers just then: %v; want a conflict", err)
	}
}
