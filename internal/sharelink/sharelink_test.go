package sharelink_test

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sharelink"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A secret of a test, and what Refresh makes of it.
type secret struct{ value, next string }

func (s *secret) Key(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, []byte(s.value), nil, purpose, 32)
	if err != nil {
		panic(err)
	}
	return key
}

func (s *secret) Refresh(context.Context) bool {
	if s.next == "" {
		return false
	}
	s.value, s.next = s.next, ""
	return true
}

var m1 = sharelink.Link{MerchantNo: "M1", Who: "ops", Reason: "the merchant asks"}

func make1(t *testing.T, l *sharelink.Links, in sharelink.Link, life time.Duration) sharelink.Link {
	t.Helper()
	made, err := l.Make(t.Context(), in, life)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// A link is good at every node, and after a restart, until it expires.
func TestLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		made := make1(t, sharelink.New(store, &secret{value: "s"}), m1, time.Hour)
		for _, other := range []*secret{{value: "s"}, {value: "old", next: "s"}} {
			got, err := sharelink.New(store, other).Open(t.Context(), made.Token)
			if err != nil || got != made || got.MerchantNo != "M1" || got.OrderNo != "" {
				t.Errorf("Open = %+v, %v; want %+v", got, err, made)
			}
		}
		if made.Over(time.Now()) {
			t.Error("it is over before it expired")
		}
		time.Sleep(time.Hour)
		got, err := sharelink.New(store, &secret{value: "s"}).Open(t.Context(), made.Token)
		if err != nil || !got.Over(time.Now()) {
			t.Errorf("after an hour: %+v, %v; want it over", got, err)
		}
	})
}

// Nobody can change a link, or make one.
func TestALinkIsSigned(t *testing.T) {
	db := memory.New()
	l := sharelink.New(db, &secret{value: "s"})
	made := make1(t, l, sharelink.Link{MerchantNo: "M1", OrderNo: "O1", Reason: "x"}, time.Hour)
	refused := func(l *sharelink.Links, token, why string) {
		t.Helper()
		if got, err := l.Open(t.Context(), token); !errors.Is(err, bellman.ErrNotFound) {
			t.Errorf("%s: %+v, %v; want it refused", why, got, err)
		}
	}
	for i := range made.Token {
		for _, c := range "AZaz09-_" {
			if changed := made.Token[:i] + string(c) + made.Token[i+1:]; changed != made.Token {
				refused(l, changed, "changed")
			}
		}
	}
	for _, token := range []string{"", "x", made.Token + "A", made.Token[1:], made.Token + "=", strings.Repeat("A", 10_000)} {
		refused(l, token, "nonsense")
	}
	refused(sharelink.New(db, &secret{value: "another"}), made.Token, "another secret")
	refused(sharelink.New(memory.New(), &secret{value: "s"}), made.Token, "another store")

	// Whoever can write documents, and has no secret, cannot widen a link either.
	doc, err := store.ReadDoc(t.Context(), db, "link", made.ID.String())
	if err != nil {
		t.Fatal(err)
	}
	doc.Value = []byte(strings.Replace(string(doc.Value), `"O1"`, `""`, 1))
	if err := db.Commit(t.Context(), &store.Batch{Docs: []store.Doc{doc}}); err != nil {
		t.Fatal(err)
	}
	refused(l, made.Token, "what it shows was changed")
}

func TestRevoke(t *testing.T) {
	db := memory.New()
	l := sharelink.New(db, &secret{value: "s"})
	made := make1(t, l, m1, time.Hour)
	other := make1(t, l, m1, time.Hour)
	by := bellman.By{Who: "root", Reason: "sent to the wrong one"}
	for range 2 { // again changes nothing
		if got, err := l.Revoke(t.Context(), made.ID, by); err != nil || got.Revoked.IsZero() {
			t.Fatalf("Revoke = %+v, %v", got, err)
		}
	}
	if got, err := l.Open(t.Context(), made.Token); err != nil || !got.Over(time.Now()) {
		t.Errorf("revoked: %+v, %v; want it over", got, err)
	}
	if got, err := l.Open(t.Context(), other.Token); err != nil || got.Over(time.Now()) {
		t.Errorf("another link of the same merchant: %+v, %v; want it good", got, err)
	}
	if _, err := l.Revoke(t.Context(), bellman.NewID(), by); !errors.Is(err, bellman.ErrNotFound) {
		t.Errorf("Revoke of none: %v", err)
	}
	audits, err := db.Audits(t.Context(), time.Time{}, 10)
	if err != nil || len(audits) != 3 {
		t.Fatalf("audit records %+v, %v; want 3", audits, err)
	}
	for _, a := range audits {
		want := store.Audit{At: a.At, Who: "ops", Action: "link", Target: a.Target, Reason: m1.Reason}
		if a.Action == "revoke" {
			want = store.Audit{At: a.At, Who: "root", Action: "revoke", Target: "link/" + made.ID.String() + "/M1", Reason: by.Reason}
		}
		if !reflect.DeepEqual(a, want) {
			t.Errorf("audit record %+v; want %+v", a, want)
		}
	}
}

func TestList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := sharelink.New(memory.New(), &secret{value: "s"})
		var all []sharelink.Link
		for i := range 500 {
			in := m1
			if i%2 == 1 {
				in.MerchantNo = "M2"
			}
			all = append(all, make1(t, l, in, time.Hour))
			time.Sleep(time.Millisecond)
		}
		got, err := l.List(t.Context(), "M2", 3)
		if err != nil || len(got) != 3 || got[0] != all[499] || got[1] != all[497] || got[2] != all[495] {
			t.Errorf("List = %+v, %v; want the three newest of M2", got, err)
		}
		if got, err := l.List(t.Context(), "", 1000); err != nil || len(got) != 500 || got[0] != all[499] {
			t.Errorf("List of all: %d, %v; want 500", len(got), err)
		}
		time.Sleep(sharelink.Keep + 2*time.Hour)
		last := make1(t, l, m1, time.Hour) // which forgets 199 others
		got, err = l.List(t.Context(), "", 1000)
		if err != nil || len(got) != 302 || got[0] != last {
			t.Errorf("%d links, %v; want those that expired long ago to go", len(got), err)
		}
	})
}

// Known says whether a task names the merchant, and the order.
func TestKnown(t *testing.T) {
	db := memory.New()
	l := sharelink.New(db, &secret{value: "s"})
	notice := func(t *bellman.Task) bool { return t.Queue == "q" }
	b := &store.Batch{Adds: []store.Add{{Task: &bellman.Task{ID: bellman.NewID(), Queue: "q", MerchantNo: "M1", OrderNo: "A1"}},
		{Task: &bellman.Task{ID: bellman.NewID(), Queue: "orders", MerchantNo: "M1", OrderNo: "A3"}}}} // asked about, and nobody is told yet
	if err := db.Commit(t.Context(), b); err != nil || b.Adds[0].Err != nil || b.Adds[1].Err != nil {
		t.Fatal(err, b.Adds[0].Err, b.Adds[1].Err)
	}
	for _, tt := range []struct {
		merchant, order string
		want            bool
	}{{"M1", "", true}, {"M1", "A1", true}, {"M1", "A2", false}, {"M1", "A3", false}, {"M2", "", false}, {"M2", "A1", false}} {
		if got, err := l.Known(t.Context(), tt.merchant, tt.order, notice, nil); err != nil || got != tt.want {
			t.Errorf("Known(%q, %q) = %t, %v; want %t", tt.merchant, tt.order, got, err, tt.want)
		}
	}
	var invalid *bellman.Invalid
	if _, err := l.Known(t.Context(), strings.Repeat("x", 513), strings.Repeat("x", 513), notice, nil); !errors.As(err, &invalid) || len(invalid.Fields) != 2 {
		t.Errorf("Known of what is too long: %v; want both numbers named", err)
	}
}

func TestMakeIsChecked(t *testing.T) {
	l := sharelink.New(memory.New(), &secret{value: "s"})
	for field, in := range map[string]struct {
		link sharelink.Link
		life time.Duration
	}{
		"merchant_no": {sharelink.Link{OrderNo: "O", Reason: "x"}, time.Hour},
		"reason":      {sharelink.Link{MerchantNo: "M"}, time.Hour},
		"order_no":    {sharelink.Link{MerchantNo: "M", OrderNo: strings.Repeat("x", 513), Reason: "x"}, time.Hour},
		"life":        {m1, 31 * 24 * time.Hour},
	} {
		_, err := l.Make(t.Context(), in.link, in.life)
		if invalid, is := errors.AsType[*bellman.Invalid](err); !is || len(invalid.Fields) != 1 || invalid.Fields[0].Field != field {
			t.Errorf("%s: %v; want it named", field, err)
		}
	}
	if _, err := l.Make(t.Context(), m1, time.Hour-1); err == nil {
		t.Error("a life of less than an hour is taken")
	}
}
