package console

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/memory"
)

// fakeMerchants are one merchant, which somebody else changes all the time.
type fakeMerchants struct {
	Merchants
	one client.Merchant
}

func (f *fakeMerchants) Get(context.Context, string) (client.Merchant, error) { return f.one, nil }

func (f *fakeMerchants) Stats(context.Context, string) (client.MerchantStats, error) {
	return client.MerchantStats{}, nil
}

func (f *fakeMerchants) Put(context.Context, client.PutMerchant, bellman.By) (client.Merchant, bool, error) {
	return f.one, false, bellman.ErrConflict
}

func (f *fakeMerchants) Rotate(context.Context, string, string, time.Duration, bellman.By) (client.Merchant, error) {
	bad := new(bellman.Invalid)
	bad.Add("secret", "is too short")
	return client.Merchant{}, bad
}

func openMerchants(t *testing.T) *site {
	merchants := &fakeMerchants{one: client.Merchant{MerchantNo: "M1", Name: "Coffee House", Version: "v2",
		Sign: &client.ShownMerchantSign{Scheme: "standard_webhooks", Secrets: []string{"***MDE=", "***LaSw"}}}}
	return openWith(t, &fake{Store: memory.New()}, Options{Merchants: merchants})
}

// A field that both sides have the same is no difference, however a browser ends lines.
func TestAnOvertakenFormShowsWhatDiffers(t *testing.T) {
	s := openMerchants(t)
	got := s.post(t, "/tasks", "/merchants", "merchant_no", "M1", "version", "v1", "name", "Tea House", "scheme", "standard_webhooks", "secrets", "***MDE=\r\n***LaSw\r\n", "reason", "test")
	_, rest, found := strings.Cut(got.body, `<section class="now"`)
	differs, _, _ := strings.Cut(rest, "</section>")
	if got.StatusCode != http.StatusConflict || !found || !strings.Contains(differs, "Coffee House") || strings.Contains(differs, "***") || strings.Count(differs, "<dt>") != 1 {
		t.Errorf("%d: what differs is %s; want the name alone", got.StatusCode, differs)
	}
}

// What is wrong with a form is told where it was typed, and what was typed stays there.
func TestARefusedRotation(t *testing.T) {
	s := openMerchants(t)
	got := s.post(t, "/merchants/show?no=M1", "/merchants/show", "no", "M1", "action", "rotate", "secret", "short", "overlap", "48h", "reason", "its key leaked").body
	before, card, found := strings.Cut(got, "<h2>Rotate the secret</h2>")
	card, after, _ := strings.Cut(card, "</form>")
	if !found || !strings.Contains(card, "is too short") || !strings.Contains(card, `value="its key leaked"`) || !strings.Contains(card, `value="48h"`) {
		t.Errorf("the card of the rotation does not say what is wrong, or lost what was typed: %s", card)
	}
	if strings.Contains(before+after, "is too short") || strings.Contains(before+after, "its key leaked") {
		t.Error("another card has what was wrong with the rotation")
	}
	got = s.post(t, "/merchants/show?no=M1", "/merchants/show", "no", "M1", "action", "pause", "reason", "").body
	before, _, _ = strings.Cut(got, "<h2>Rotate the secret</h2>")
	if strings.Count(got, `role="alert"`) != 1 || !strings.Contains(before, `role="alert"`) {
		t.Error("what is wrong with a pause is not told in its card, and there alone")
	}
}

// A merchant to which nothing can be sent is said to be one in the visitor's language.
func TestAMerchantThatCannotBeSignedFor(t *testing.T) {
	m := client.Merchant{MerchantNo: "M1", Problem: "sign.secrets[0]: is sealed under master key 12345678, which is not configured"}
	s := openWith(t, &fake{Store: memory.New()}, Options{Merchants: &fakeMerchants{one: m}})
	got := s.get(t, "/merchants/show?no=M1", "Accept-Language: zh").body
	if !strings.Contains(got, "目前无法向其发送") || !strings.Contains(got, "12345678") {
		t.Error("its page does not say that nothing can be sent, and which key is missing")
	}
}
