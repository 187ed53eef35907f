package merchant_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/store/memory"
)

func countSignatures(t *testing.T, k deliver.Merchant) int {
	t.Helper()
	if k.Unable != nil {
		t.Fatal(k.Unable)
	}
	m := sign.Message{ID: "id", Time: time.Now(), Header: http.Header{}, Body: []byte("{}")}
	if err := k.Signer.Sign(&m); err != nil {
		t.Fatal(err)
	}
	return len(strings.Fields(m.Header.Get("Webhook-Signature")))
}

// What one key sealed, whoever has that key opens, for that merchant and field alone.
func TestSeal(t *testing.T) {
	both, keys := masters(t, 2)
	second, err := registry.NewMasters(keys[1])
	if err != nil {
		t.Fatal(err)
	}
	a, err := both.Seal("M1", "f", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := both.Seal("M1", "f", []byte("secret"))
	if a == b {
		t.Error("two seals of one text are the same: a nonce was used twice")
	}
	if id, err := registry.SealedUnder(a); err != nil || id != both.Current() {
		t.Errorf("sealed under %q, %v; want %q", id, err, both.Current())
	}
	if text, err := both.Open("M1", "f", a); err != nil || string(text) != "secret" {
		t.Errorf("Open = %q, %v", text, err)
	}
	for _, other := range [][2]string{{"M2", "f"}, {"M1", "g"}, {"M1\x00f", ""}} {
		if _, err := both.Open(other[0], other[1], a); err == nil {
			t.Errorf("opened as of %q", other)
		}
	}
	missing := new(registry.MissingMasterError)
	if _, err := second.Open("M1", "f", a); !errors.As(err, &missing) || missing.ID != both.Current() {
		t.Errorf("without the key: %v", err)
	}
	if _, err := (*registry.Masters)(nil).Seal("M1", "f", nil); !errors.Is(err, registry.ErrNoMaster) {
		t.Errorf("sealed without a key: %v", err)
	}
	if text := fmt.Sprintf("%v %+v %#v %s", both, both, both, both); strings.Contains(text, string(keys[0])) {
		t.Errorf("prints as %s", text)
	}
	for _, bad := range []string{"", "short", strings.Repeat("a", 63), string(keys[0]) + "A"} {
		if _, err := registry.NewMasters([]byte(bad)); err == nil {
			t.Errorf("%q is taken for a master key", bad)
		}
	}
	if _, err := registry.NewMasters(keys[0], keys[0]); err == nil {
		t.Error("a key stands there twice")
	}
}

// A server that lacks a master key says so, and signs nothing. After a reseal the former key is not
// needed any more.
func TestReseal(t *testing.T) {
	_, keys := masters(t, 2)
	former, _ := registry.NewMasters(keys[0])
	newer, _ := registry.NewMasters(keys[1])
	both, _ := registry.NewMasters(keys[1], keys[0])
	store := memory.New()
	put(t, merchant.New(merchant.Options{Options: registry.Options{Store: store, Masters: former}}), client.PutMerchant{MerchantNo: "M1", Sign: &client.MerchantSign{Scheme: "standard_webhooks", Secrets: []string{key("whsec_")}}})
	with := func(m *registry.Masters) *merchant.Registry {
		return merchant.New(merchant.Options{Options: registry.Options{Store: store, Masters: m}})
	}
	lacking := with(newer)
	if err := lacking.Ready(t.Context()); !registry.IsMissingMaster(err) || !strings.Contains(err.Error(), former.Current()) {
		t.Errorf("ready without the key: %v", err)
	}
	k, err := lacking.Merchant(t.Context(), "M1")
	if err != nil {
		t.Fatal(err)
	}
	if k.Signer != nil || !registry.IsMissingMaster(k.Unable) {
		t.Errorf("signed by %v, unable: %v; want nothing that signs", k.Signer, k.Unable)
	}
	if done, err := lacking.Reseal(t.Context(), bellman.By{}); err != nil || done.Unreadable != 1 || done.Resealed != 0 {
		t.Errorf("reseal without the key: %+v, %v", done, err)
	}
	if err := lacking.Ready(t.Context()); err == nil {
		t.Error("ready, although a secret cannot be opened")
	}
	if done, err := with(both).Reseal(t.Context(), bellman.By{}); err != nil || done.Resealed != 1 {
		t.Errorf("reseal: %+v, %v", done, err)
	}
	if err := with(newer).Ready(t.Context()); err != nil {
		t.Errorf("ready after the reseal: %v", err)
	}
	k, err = with(newer).Merchant(t.Context(), "M1")
	if err != nil || countSignatures(t, k) != 1 {
		t.Errorf("the secret is lost: %v", err)
	}
}

// No text opens but one that was sealed, and that one as it was.
func FuzzOpen(f *testing.F) {
	m, _ := masters(f, 1)
	sealed, err := m.Seal("M1", "f", []byte("secret"))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{sealed, sealed[:len(sealed)-1], "v1." + m.Current() + ".", "v1.0.", "", "v2" + sealed[2:], strings.ToUpper(sealed)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := m.Open("M1", "f", text)
		if (err == nil) != (text == sealed) {
			t.Fatalf("Open(%q) = %q, %v", text, got, err)
		}
	})
}

// What is accepted survives being kept and read back, and the same again is no change.
func FuzzPut(f *testing.F) {
	f.Add("M1", "Zhang", "https://a.example/", "0s, 5s", "status == 200", "md5_params", "secret", "1s", 5, "1.5/s")
	f.Add("a/b\x1f", "n\x1f", "", "", "", "", "", "", 0, "")
	f.Fuzz(func(t *testing.T, no, name, url, schedule, success, scheme, secret, timeout string, concurrency int, rate string) {
		m, _ := masters(t, 1)
		r := merchant.New(merchant.Options{Options: registry.Options{Store: memory.New(), Masters: m, Alone: true}})
		in := client.PutMerchant{MerchantNo: no, Name: name, NotifyURL: url, Schedule: schedule, Success: success,
			Timeout: timeout, PerEndpoint: &client.MerchantLimits{Concurrency: concurrency, Rate: rate}}
		if scheme != "" || secret != "" {
			in.Sign = &client.MerchantSign{Scheme: scheme}
		}
		if secret != "" {
			in.Sign.Secrets = []string{secret}
		}
		w := merchant.Wanted{PutMerchant: in}
		first, created, err := r.Put(t.Context(), w, bellman.By{})
		if err != nil {
			return
		}
		if !created {
			t.Fatal("it was there before")
		}
		got, err := r.Read(t.Context(), no)
		if err != nil || got.Name != name || got.NotifyURL != url || got.Schedule != schedule || got.Concurrency != concurrency {
			t.Fatalf("read %+v, %v; put %+v", got, err, w)
		}
		again, created, err := r.Put(t.Context(), w, bellman.By{})
		if err != nil || created || !again.Updated.Equal(first.Updated.Time) {
			t.Fatalf("the same again: %+v, %t, %v", again, created, err)
		}
		if name != "" {
			if page, _, err := r.List(t.Context(), client.MerchantSearch{Name: name, Limit: 10}, ""); err != nil || len(page) != 1 {
				t.Fatalf("not found by its name %q: %v, %v", name, page, err)
			}
		}
	})
}

func BenchmarkMerchant(b *testing.B) {
	r := merchant.New(merchant.Options{Options: registry.Options{Store: memory.New()}})
	put(b, r, client.PutMerchant{MerchantNo: "M1", NotifyURL: "https://a.example/"})
	b.ReportAllocs()
	for b.Loop() {
		if k, err := r.Merchant(b.Context(), "M1"); !k.Known || err != nil {
			b.Fatal(k, err)
		}
	}
}
