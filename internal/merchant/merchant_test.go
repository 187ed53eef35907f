package merchant_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/invalidtest"
	"github.com/bellmanhq/bellman/internal/mask"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A counted store counts the reads of one document.
type counted struct {
	*memory.Store
	reads atomic.Int64
	lost  atomic.Bool // nothing can be read
}

var errLost = errors.New("no connection")

func (c *counted) Docs(ctx context.Context, f store.DocFilter, limit int) ([]store.Doc, error) {
	if f.Name != "" {
		c.reads.Add(1)
	}
	if c.lost.Load() {
		return nil, errLost
	}
	return c.Store.Docs(ctx, f, limit)
}

func masters(t testing.TB, n int) (*registry.Masters, [][]byte) {
	t.Helper()
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = []byte(key(""))
	}
	m, err := registry.NewMasters(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return m, keys
}

func key(prefix string) string {
	b := make([]byte, 32)
	rand.Read(b)
	return prefix + base64.StdEncoding.EncodeToString(b)
}

func put(t testing.TB, r *merchant.Registry, in client.PutMerchant) merchant.Merchant {
	t.Helper()
	m, _, err := r.Put(t.Context(), merchant.Wanted{PutMerchant: in}, bellman.By{Who: "ann"})
	if err != nil {
		t.Fatalf("put %s: %v", in.MerchantNo, err)
	}
	return m
}

// wants are merchants as somebody wants them to be.
func wants(all ...client.PutMerchant) []merchant.Wanted {
	wanted := make([]merchant.Wanted, len(all))
	for i := range all {
		wanted[i].PutMerchant = all[i]
	}
	return wanted
}

// A merchant is read once and then used from memory. A change by the same process is seen at once,
// a change by another process within a second. An unknown number is cached too.
func TestGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counted{Store: memory.New()}
		var changed []string
		here := merchant.New(merchant.Options{Options: registry.Options{Store: store, Changed: func(no string) { changed = append(changed, no) }}})
		there := merchant.New(merchant.Options{Options: registry.Options{Store: store}})
		address := func() string {
			k, err := here.Merchant(t.Context(), "M1")
			if err != nil {
				t.Fatal(err)
			}
			return k.URL
		}
		address()
		address() // the first look at what changed is behind it
		before := store.reads.Load()
		for range 100 {
			if got := address(); got != "" {
				t.Fatalf("a merchant that is not registered has the address %q", got)
			}
		}
		if n := store.reads.Load() - before; n != 0 {
			t.Errorf("%d reads for a number that is known to be none", n)
		}
		put(t, here, client.PutMerchant{MerchantNo: "M1", NotifyURL: "https://a.example/"})
		if got := address(); got != "https://a.example/" {
			t.Errorf("%q just after it was put here", got)
		}
		put(t, there, client.PutMerchant{MerchantNo: "M1", NotifyURL: "https://b.example/"})
		time.Sleep(1001 * time.Millisecond)
		changed = nil
		if got := address(); got != "https://b.example/" {
			t.Errorf("%q a second after it was put elsewhere", got)
		}
		if fmt.Sprint(changed) != "[M1]" {
			t.Errorf("told of changes of %v, want M1", changed)
		}
		before = store.reads.Load()
		for range 1000 {
			address()
		}
		if n := store.reads.Load() - before; n > 1 {
			t.Errorf("%d reads for a thousand uses", n)
		}
		store.lost.Store(true)
		time.Sleep(5 * time.Second)
		if got := address(); got != "https://b.example/" {
			t.Errorf("%q while the store cannot be reached: want what was known", got)
		}
	})
}

// Memory holds a bounded number of merchants; the others cost a read each.
func TestCacheIsBounded(t *testing.T) {
	store := &counted{Store: memory.New()}
	r := merchant.New(merchant.Options{Options: registry.Options{Store: store, Alone: true, Keep: 100}})
	for i := range 1000 {
		if _, err := r.Merchant(t.Context(), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.Known(); n > 100 {
		t.Errorf("%d merchants in memory, want 100 at most", n)
	}
}

// Names that nobody registered do not displace the merchants that are in use.
func TestUnknownNamesKeepTheCache(t *testing.T) {
	store := &counted{Store: memory.New()}
	r := merchant.New(merchant.Options{Options: registry.Options{Store: store, Alone: true, Keep: 100}})
	use := func(name string) {
		t.Helper()
		if _, err := r.Merchant(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	const merchants = 80
	for i := range merchants {
		put(t, r, client.PutMerchant{MerchantNo: fmt.Sprint("M", i), NotifyURL: "https://a.example/"})
	}
	for i := range merchants {
		use(fmt.Sprint("M", i))
	}
	for i := range 10_000 {
		use(fmt.Sprint("nobody", i))
	}
	before := store.reads.Load()
	for i := range merchants {
		use(fmt.Sprint("M", i))
	}
	if n := store.reads.Load() - before; n > 0 || r.Known() > 100 {
		t.Errorf("%d of %d merchants were read again, %d names are kept; want 0, and 100 at most", n, merchants, r.Known())
	}
}

// Two secrets sign during the overlap. After it the former is gone, even if nothing was written
// since.
func TestRotateOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := masters(t, 1)
		r := merchant.New(merchant.Options{Options: registry.Options{Store: memory.New(), Masters: m, Alone: true}})
		former, newer := key("whsec_"), key("whsec_")
		put(t, r, client.PutMerchant{MerchantNo: "M1", Sign: &client.MerchantSign{Scheme: "standard_webhooks", Secrets: []string{former}}})
		if _, err := r.Rotate(t.Context(), "M1", newer, time.Hour, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		signatures := func() int {
			k, err := r.Merchant(t.Context(), "M1")
			if err != nil {
				t.Fatal(err)
			}
			return countSignatures(t, k)
		}
		if n := signatures(); n != 2 {
			t.Errorf("%d signatures within the overlap, want 2", n)
		}
		time.Sleep(time.Hour)
		if n := signatures(); n != 1 {
			t.Errorf("%d signatures after the overlap, want 1", n)
		}
		kept, err := r.Read(t.Context(), "M1")
		if keys := r.Shown(&kept, false).Sign.Keys; err != nil || len(keys) != 1 || !strings.HasSuffix(newer, keys[0].LastFour) {
			t.Errorf("kept %+v, %v; want the newer one alone", kept.Sign, err)
		}
		if _, err := r.Rotate(t.Context(), "M1", newer, 0, bellman.By{}); err == nil {
			t.Error("the secret that there is was taken as a new one")
		}
		if _, err := r.Rotate(t.Context(), "M1", " "+newer+"\n", 0, bellman.By{}); err == nil {
			t.Error("the secret that it has already is taken with blanks around it")
		}
		if _, err := r.Rotate(t.Context(), "M1", "env:HOME", 0, bellman.By{}); err == nil || !strings.Contains(err.Error(), "names a place") {
			t.Errorf("a secret that names a place: %v", err)
		}
	})
}

// A rotation without an overlap leaves the newer secret alone. A former one that is put again is
// valid without an end.
func TestFormerSecret(t *testing.T) {
	m, _ := masters(t, 1)
	r := merchant.New(merchant.Options{Options: registry.Options{Store: memory.New(), Masters: m, Alone: true}})
	former, newer := key("whsec_"), key("whsec_")
	in := client.PutMerchant{MerchantNo: "M1", Sign: &client.MerchantSign{Scheme: "standard_webhooks", Secrets: []string{former}}}
	put(t, r, in)
	if _, err := r.Rotate(t.Context(), "M1", newer, time.Hour, bellman.By{}); err != nil {
		t.Fatal(err)
	}
	again := put(t, r, in)
	if len(again.Secrets) != 1 || !again.Secrets[0].Until.IsZero() {
		t.Errorf("put again: %+v; want the former one alone, without an end", again.Secrets)
	}
	rotated, err := r.Rotate(t.Context(), "M1", newer, 0, bellman.By{})
	if err != nil || len(rotated.Secrets) != 1 || !rotated.Secrets[0].Until.IsZero() {
		t.Errorf("rotated without an overlap: %+v, %v; want the newer one alone", rotated.Secrets, err)
	}
}

// What is wrong is told all at once, and nothing of a secret with it.
func TestPutNamesEveryField(t *testing.T) {
	m, _ := masters(t, 1)
	r := merchant.New(merchant.Options{Options: registry.Options{Store: memory.New(), Masters: m}, CheckURL: func(string) error { return errors.New("bad address") }})
	secret := "not-a-webhook-secret-1234"
	_, _, err := r.Put(t.Context(), merchant.Wanted{PutMerchant: client.PutMerchant{MerchantNo: "M1", Name: "a\nb", NotifyURL: "x", Schedule: "nope", Success: "status ==",
		Timeout: "1h", PerEndpoint: &client.MerchantLimits{Concurrency: -1, Rate: "-1/s"}, Sign: &client.MerchantSign{Scheme: "standard_webhooks", Secrets: []string{secret}}}}, bellman.By{})
	const want = "[name notify_url sign.secrets[0] schedule success timeout per_endpoint.concurrency per_endpoint.rate]"
	if fields := fmt.Sprint(invalidtest.Fields(err)); fields != want {
		t.Fatalf("wrong fields %v of %v, want %s", fields, err, want)
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("the error shows the secret: %v", err)
	}
	if _, err := r.Read(t.Context(), "M1"); !errors.Is(err, bellman.ErrNotFound) {
		t.Errorf("something was kept: %v", err)
	}
}

// An address as a key without the role admin reads it, or exports it, does not replace the whole
// one.
func TestPutOfAMaskedAddress(t *testing.T) {
	m, _ := masters(t, 1)
	r := merchant.New(merchant.Options{Options: registry.Options{Store: memory.New(), Masters: m}})
	for _, address := range []string{"https://m.example/n?token=abc&a=1", "https://user:abc@m.example/n"} {
		put := func(address string) error {
			_, _, err := r.Put(t.Context(), merchant.Wanted{PutMerchant: client.PutMerchant{MerchantNo: "M1", NotifyURL: address}}, bellman.By{})
			return err
		}
		if err := put(address); err != nil {
			t.Fatal(err)
		}
		if err := put(mask.URL(address)); !slices.Equal(invalidtest.Fields(err), []string{"notify_url"}) {
			t.Errorf("%s: %v; want notify_url refused", mask.URL(address), err)
		}
		if kept, err := r.Read(t.Context(), "M1"); err != nil || kept.NotifyURL != address {
			t.Errorf("kept %q, %v; want %q", kept.NotifyURL, err, address)
		}
	}
}

// The same request again writes nothing. A secret that is sent back as it was shown stays. A secret
// that was sealed for another merchant is refused.
func TestPutAgain(t *testing.T) {
	m, _ := masters(t, 1)
	r := merchant.New(merchant.Options{Options: registry.Options{Store: memory.New(), Masters: m, Alone: true}})
	secret := key("whsec_")
	w := client.PutMerchant{MerchantNo: "M1", Name: "Zhang", NotifyURL: "https://a.example/", Sign: &client.MerchantSign{Scheme: "standard_webhooks", Secrets: []string{secret}}}
	first := put(t, r, w)
	for _, again := range [][]string{{secret}, {first.Secrets[0].Shown()}, {first.Secrets[0].Exported()}, nil} {
		w.Sign.Secrets = again
		if got := put(t, r, w); !got.Updated.Equal(first.Updated.Time) || got.Secrets[0].Sealed != first.Secrets[0].Sealed {
			t.Errorf("put with secrets %.12q changed something", again)
		}
	}
	w.MerchantNo, w.Sign.Secrets = "M2", []string{first.Secrets[0].Exported()}
	if _, _, err := r.Put(t.Context(), merchant.Wanted{PutMerchant: w}, bellman.By{}); err == nil || !strings.Contains(err.Error(), "sign.secrets[0]") {
		t.Errorf("a secret sealed for another merchant: %v", err)
	}
	w.Sign.Secrets = []string{"***zzzz"}
	if _, _, err := r.Put(t.Context(), merchant.Wanted{PutMerchant: w}, bellman.By{}); err == nil {
		t.Error("a secret was kept that there is not")
	}
}

// Merchants are found by the beginning of their number or name, in pages. A former name does not
// find them.
func TestList(t *testing.T) {
	r := merchant.New(merchant.Options{Options: registry.Options{Store: memory.New(), Alone: true}})
	for _, m := range [][2]string{{"A1", "Zhang San"}, {"A2", "zhang wei"}, {"A", "Li"}, {"B1", "张三"}, {"AB", ""}} {
		put(t, r, client.PutMerchant{MerchantNo: m[0], Name: m[1]})
	}
	put(t, r, client.PutMerchant{MerchantNo: "B2", Name: "Zhao"})
	put(t, r, client.PutMerchant{MerchantNo: "B2", Name: "Qian"})
	if err := r.Delete(t.Context(), "A2", bellman.By{}); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		search client.MerchantSearch
		want   string
	}{
		{client.MerchantSearch{}, "[A A1 AB B1 B2]"},
		{client.MerchantSearch{MerchantNo: "A"}, "[A A1 AB]"},
		{client.MerchantSearch{MerchantNo: "A1"}, "[A1]"},
		{client.MerchantSearch{MerchantNo: "C"}, "[]"},
		{client.MerchantSearch{Name: "ZHANG"}, "[A1]"},
		{client.MerchantSearch{Name: "张"}, "[B1]"},
		{client.MerchantSearch{Name: "zha"}, "[A1]"},
		{client.MerchantSearch{Name: "q"}, "[B2]"},
		{client.MerchantSearch{Name: "l", MerchantNo: "B"}, "[]"},
	}
	for _, tt := range tests {
		for _, limit := range []int{1, 2, 100} {
			tt.search.Limit = limit
			var got []string
			for after := ""; ; {
				page, next, err := r.List(t.Context(), tt.search, after)
				if err != nil || len(page) > limit {
					t.Fatalf("List(%+v) = %d, %v", tt.search, len(page), err)
				}
				for _, m := range page {
					got = append(got, m.ID)
				}
				if after = next; next == "" {
					break
				}
			}
			if fmt.Sprint(got) != tt.want {
				t.Errorf("List(%+v) in pages of %d = %v, want %s", tt.search, limit, got, tt.want)
			}
		}
	}
}

// A batch takes what is right, tells what is wrong, and with dry does nothing.
func TestImport(t *testing.T) {
	store := memory.New()
	r := merchant.New(merchant.Options{Options: registry.Options{Store: store, Alone: true}})
	wanted := wants(client.PutMerchant{MerchantNo: "A"}, client.PutMerchant{MerchantNo: "B", Schedule: "nope"}, client.PutMerchant{}, client.PutMerchant{MerchantNo: "A"}, client.PutMerchant{MerchantNo: "C"})
	for _, round := range []struct {
		dry  bool
		want string
	}{{true, "new wrong wrong wrong new"}, {false, "new wrong wrong wrong new"}, {false, "same wrong wrong wrong same"}} {
		results, err := r.Import(t.Context(), wanted, round.dry, bellman.By{Who: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range results {
			switch {
			case r.Err != nil:
				got = append(got, "wrong")
			case r.Created:
				got = append(got, "new")
			case r.Changed:
				got = append(got, "changed")
			default:
				got = append(got, "same")
			}
		}
		if strings.Join(got, " ") != round.want {
			t.Errorf("import, dry %t: %v, want %s", round.dry, got, round.want)
		}
	}
	if audits, err := store.Audits(t.Context(), time.Time{}, 10); err != nil || len(audits) != 2 || audits[0].Action != "import" || audits[0].Job != audits[1].Job {
		t.Errorf("audits %+v, %v; want one for each that the import created", audits, err)
	}
}
