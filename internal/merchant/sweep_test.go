package merchant_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// sweeping sweeps a registry until the test ends.
func sweeping(t *testing.T, r *merchant.Registry, leads func() bool) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Sweep(ctx, leads) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Sweep: %v", err)
		}
	})
}

// endings are how the secrets end that are kept of M1, sealed or not.
func endings(t *testing.T, s registry.Store) (all []string) {
	t.Helper()
	d, err := store.ReadDoc(t.Context(), s, merchant.Kind, "M1")
	if err != nil {
		t.Fatal(err)
	}
	for field := range bytes.SplitSeq(d.Value, []byte(`"`)) {
		if bytes.HasPrefix(field, []byte("end")) && len(field) == 4 {
			all = append(all, string(field))
		}
	}
	return all
}

// An expired secret is deleted from the store, although nobody writes its merchant: not before its
// end, and by the leader.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, _ := masters(t, 1)
		db := memory.New()
		var leads atomic.Bool
		leads.Store(true)
		r := merchant.New(merchant.Options{Options: registry.Options{Store: db, Masters: keys}})
		sweeping(t, r, func() bool { return leads.Load() })
		sweeping(t, merchant.New(merchant.Options{Options: registry.Options{Store: db, Masters: keys}}), nil) // another, which believes that it leads
		put(t, r, client.PutMerchant{MerchantNo: "M1", Name: "shop", Sign: &client.MerchantSign{Scheme: "hmac_sha256_params", Secrets: []string{"the first of the secrets: end1"}}})
		put(t, r, client.PutMerchant{MerchantNo: "M2", Sign: &client.MerchantSign{Scheme: "hmac_sha256_params", Secrets: []string{"another's"}}})
		rotate := func(key string, overlap time.Duration) {
			t.Helper()
			if _, err := r.Rotate(t.Context(), "M1", key, overlap, bellman.By{}); err != nil {
				t.Fatal(err)
			}
		}
		kept := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			if got := endings(t, db); !slices.Equal(got, want) {
				t.Errorf("%s: secrets %q are kept, want %q", when, got, want)
			}
		}
		rotate("the second of the secrets: end2", time.Hour)
		rotate("the third of the secrets: end3", 2*time.Hour)
		kept("at first", "end3", "end2", "end1")
		time.Sleep(time.Hour - time.Second)
		kept("just before the first one's time is over", "end3", "end2", "end1")
		time.Sleep(time.Minute)
		kept("a minute after it is over", "end3", "end2")
		m, err := r.Read(t.Context(), "M1")
		if err != nil || m.Name != "shop" {
			t.Errorf("the merchant is %q, %v; want it as it was", m.Name, err)
		}

		// What was changed or deleted meanwhile.
		put(t, r, client.PutMerchant{MerchantNo: "M1", Name: "renamed", Sign: &client.MerchantSign{Scheme: "hmac_sha256_params"}})
		time.Sleep(time.Hour)
		kept("when the second one's time is over", "end3")
		rotate("the fourth of the secrets: end4", time.Hour)
		if err := r.Delete(t.Context(), "M1", bellman.By{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour + time.Minute)
		if docs, err := db.Docs(t.Context(), store.DocFilter{Kind: "merchant-end"}, 10); err != nil || len(docs) > 0 {
			t.Errorf("%d ends are noted, %v; want none when all are over", len(docs), err)
		}
	})
}

// A merchant that cannot be read does not keep the expired secrets of the others in the store.
func TestSweepBesideUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, _ := masters(t, 1)
		db := memory.New()
		r := merchant.New(merchant.Options{Options: registry.Options{Store: db, Masters: keys, Logger: slog.New(slog.DiscardHandler)}})
		sweeping(t, r, nil)
		for i, no := range []string{"M0", "M1"} { // M0's secret ends first
			put(t, r, client.PutMerchant{MerchantNo: no, Sign: &client.MerchantSign{Scheme: "hmac_sha256_params", Secrets: []string{"the first of the secrets: end1"}}})
			if _, err := r.Rotate(t.Context(), no, "the second of the secrets: end2", time.Duration(i+1)*time.Hour, bellman.By{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Commit(t.Context(), &store.Batch{Docs: []store.Doc{{Kind: merchant.Kind, Name: "M0", Value: []byte("[]")}}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Hour + time.Minute)
		synctest.Wait()
		if got := endings(t, db); !slices.Equal(got, []string{"end2"}) {
			t.Errorf("secrets %q of M1 are kept a minute after the first ended, want end2 alone", got)
		}
		docs, err := db.Docs(t.Context(), store.DocFilter{Kind: "merchant-end"}, 10)
		if err != nil || len(docs) != 1 {
			t.Errorf("%d ends are noted, %v; want that of M0 for when it can be read", len(docs), err)
		}
	})
}

// A node that does not lead sweeps nothing. When it leads, it finds secrets that an older version
// kept without a note of their end.
func TestSweepAfterTakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, _ := masters(t, 1)
		db := memory.New()
		var leads atomic.Bool
		r := merchant.New(merchant.Options{Options: registry.Options{Store: db, Masters: keys}})
		sweeping(t, r, func() bool { return leads.Load() })
		put(t, r, client.PutMerchant{MerchantNo: "M1", Sign: &client.MerchantSign{Scheme: "hmac_sha256_params", Secrets: []string{"the first of the secrets: end1"}}})
		if _, err := r.Rotate(t.Context(), "M1", "the second of the secrets: end2", time.Hour, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		docs, err := db.Docs(t.Context(), store.DocFilter{Kind: "merchant-end"}, 10)
		if err != nil || len(docs) != 1 {
			t.Fatalf("%d ends are noted, %v; want one", len(docs), err)
		}
		if err := db.Commit(t.Context(), &store.Batch{Docs: []store.Doc{{Kind: docs[0].Kind, Name: docs[0].Name}}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got := endings(t, db); len(got) != 2 {
			t.Errorf("one that does not lead left %q, want both", got)
		}
		leads.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := endings(t, db); !slices.Equal(got, []string{"end2"}) {
			t.Errorf("secrets %q are kept a minute after it leads, want end2 alone", got)
		}
	})
}

// A shared store is a meddled one that others use at the time.
type shared struct {
	registry.Store
	first atomic.Pointer[func()]
}

func (s *shared) Commit(ctx context.Context, b *store.Batch) error {
	if do := s.first.Swap(nil); do != nil {
		(*do)()
	}
	return s.Store.Commit(ctx, b)
}

// What somebody writes while a secret is swept is not lost.
func TestSweepBesideAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, _ := masters(t, 1)
		store := memory.New()
		here := &shared{Store: store}
		other := merchant.New(merchant.Options{Options: registry.Options{Store: store, Masters: keys}})
		put(t, other, client.PutMerchant{MerchantNo: "M1", Name: "shop", Sign: &client.MerchantSign{Scheme: "hmac_sha256_params", Secrets: []string{"the first of the secrets: end1"}}})
		if _, err := other.Rotate(t.Context(), "M1", "the second of the secrets: end2", time.Hour, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		sweeping(t, merchant.New(merchant.Options{Options: registry.Options{Store: here, Masters: keys}}), nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		rename := func() {
			put(t, other, client.PutMerchant{MerchantNo: "M1", Name: "renamed", Sign: &client.MerchantSign{Scheme: "hmac_sha256_params"}})
		}
		here.first.Store(&rename)
		time.Sleep(time.Minute)
		synctest.Wait()
		m, err := other.Read(t.Context(), "M1")
		if got := endings(t, store); err != nil || m.Name != "renamed" || !slices.Equal(got, []string{"end2"}) {
			t.Errorf("M1 is %q with secrets %q, %v; want it renamed, with end2 alone", m.Name, got, err)
		}
	})
}
