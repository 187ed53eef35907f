package api

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/sharelink"
	"github.com/bellmanhq/bellman/store/memory"
)

type fakeLinks struct {
	made    sharelink.Link
	life    time.Duration
	revoked bellman.By
	fail    error
}

func (f *fakeLinks) Known(context.Context, string, string, func(*bellman.Task) bool, sharelink.Merchants) (bool, error) {
	return true, nil
}

// noSecret is the secret of links that nobody opens.
type noSecret struct{}

func (noSecret) Key(string) []byte            { return make([]byte, 32) }
func (noSecret) Refresh(context.Context) bool { return false }

func (f *fakeLinks) Make(_ context.Context, in sharelink.Link, life time.Duration) (sharelink.Link, error) {
	f.made, f.life = in, life
	in.ID, in.Token, in.Made, in.Expires = resendID, "T0ken", t0, t0.Add(life)
	return in, f.fail
}

func (f *fakeLinks) Revoke(_ context.Context, id bellman.ID, by bellman.By) (sharelink.Link, error) {
	if id != resendID {
		return sharelink.Link{}, bellman.ErrNotFound
	}
	f.revoked = by
	return sharelink.Link{ID: id, MerchantNo: "M1", Token: "T0ken", Made: t0, Expires: t0, Revoked: t0}, nil
}

func (f *fakeLinks) List(_ context.Context, merchantNo string, limit int) ([]sharelink.Link, error) {
	return []sharelink.Link{{ID: resendID, MerchantNo: merchantNo, Token: "T0ken", Made: t0, Expires: t0}}, nil
}

// registered knows whether a merchant is, and keeps none.
type registered struct {
	merchant.Desk
	is bool
}

func (r registered) Get(context.Context, string) (client.Merchant, error) {
	if !r.is {
		return client.Merchant{}, bellman.ErrNotFound
	}
	return client.Merchant{}, nil
}

// Put refuses what could not be read.
func (r registered) Put(_ context.Context, in merchant.Wanted, _ bellman.By) (client.Merchant, bool, error) {
	return client.Merchant{}, false, (&bellman.Invalid{Fields: in.Wrong}).Err()
}

func TestLinks(t *testing.T) {
	f := &fakeLinks{}
	m := make1(t, Options{Links: f, PublicURL: "https://bellman.example"})
	w := m.do("POST", "/v1/links", `{"merchant_no":"M1","order_no":"O1","life":"6h","reason":"asks"}`)
	var made client.Link
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != 201 || made.URL != "https://bellman.example/shared/T0ken" || made.Path != "/shared/T0ken" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if want := (sharelink.Link{MerchantNo: "M1", OrderNo: "O1", Reason: "asks", From: "192.0.2.1"}); f.made != want || f.life != 6*time.Hour {
		t.Errorf("made %+v for %v", f.made, f.life)
	}
	if w := m.do("POST", "/v1/links", `{"merchant_no":"M1","reason":"asks"}`); w.Code != 201 || f.life != 24*time.Hour {
		t.Errorf("without a life: %d, %v; want a day", w.Code, f.life)
	}
	for _, tt := range []struct {
		merchant, order, want string
		registered            bool
	}{
		{merchant: "M1", want: "no notices and no registration of this merchant number are known: the link shows nothing until there are"},
		{merchant: "M1", order: "A1", want: "no notices of this order are known: the link shows nothing until there are"},
		{merchant: "M1", registered: true},
		{merchant: "M1", order: "A1", registered: true, want: "no notices of this order are known: the link shows nothing until there are"},
	} {
		m := make1(t, Options{Links: sharelink.New(memory.New(), noSecret{}), Merchants: registered{is: tt.registered}})
		w := m.do("POST", "/v1/links", fmt.Sprintf(`{"merchant_no":%q,"order_no":%q,"reason":"asks"}`, tt.merchant, tt.order))
		var made client.Link
		if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != 201 || made.Path == "" || made.Warning != tt.want {
			t.Errorf("%+v: %d %s; want it made, and that warning", tt, w.Code, w.Body)
		}
	}
	for _, body := range []string{`{"merchant_no":"M1"}`, `{"reason":"x"}`, `{"merchant_no":"","reason":"x"}`, `{"merchant_no":"M1","reason":"x","life":"soon"}`} {
		if w := m.do("POST", "/v1/links", body); w.Code != 422 {
			t.Errorf("%s: %d; want 422", body, w.Code)
		}
	}
	w = m.do("GET", "/v1/links?merchant_no=M7", "")
	var all client.Links
	if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil || len(all.Links) != 1 || all.Links[0].MerchantNo != "M7" || all.Links[0].Path != "" {
		t.Errorf("list: %d %s; want one, without its address", w.Code, w.Body)
	}
	if w := m.do("POST", "/v1/links/"+resendID.String()+"/revoke", `{"reason":"wrong one"}`); w.Code != 200 || f.revoked.Reason != "wrong one" {
		t.Errorf("revoke: %d %s, by %+v", w.Code, w.Body, f.revoked)
	}
	if w := m.do("POST", "/v1/links/"+bellman.NewID().String()+"/revoke", ""); w.Code != 404 {
		t.Errorf("revoking none: %d; want 404", w.Code)
	}
	none := make1(t, Options{})
	for _, call := range [][3]string{{"POST", "/v1/links", `{"merchant_no":"M1","reason":"x"}`}, {"GET", "/v1/links", ""}, {"POST", "/v1/links/" + resendID.String() + "/revoke", ""}} {
		if w := none.do(call[0], call[1], call[2]); w.Code != 501 {
			t.Errorf("%s %s without links: %d; want 501", call[0], call[1], w.Code)
		}
	}
}
