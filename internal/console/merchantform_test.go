package console

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/store/memory"
)

// fakeMerchants are one merchant, which somebody else changes all the time.
type fakeMerchants struct {
	merchant.Desk
	one client.Merchant
}

func (f *fakeMerchants) Get(context.Context, string) (client.Merchant, error) { return f.one, nil }

func (f *fakeMerchants) Stats(context.Context, string) (client.MerchantStats, error) {
	return client.MerchantStats{}, nil
}

func (f *fakeMerchants) Put(context.Context, merchant.Wanted, bellman.By) (client.Merchant, bool, error) {
	return f.one, false, bellman.ErrConflict
}

func (f *fakeMerchants) Import(context.Context, []merchant.Wanted, bool, bellman.By) ([]registry.Imported, error) {
	return []registry.Imported{{}}, nil
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
	if !strings.Contains(got, `name="to" value="/merchants/show?no=M1"`) { // the form of the looks
		t.Error("a change of the language leads away from the merchant")
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

// goneMerchants are a registry from which every merchant was deleted.
type goneMerchants struct {
	merchant.Desk
	resumed []string
}

func (g *goneMerchants) Get(context.Context, string) (client.Merchant, error) {
	return client.Merchant{}, bellman.ErrNotFound
}

func (g *goneMerchants) Resume(_ context.Context, no string, _ bellman.By) error {
	g.resumed = append(g.resumed, no)
	return nil
}

// A merchant that was deleted while it was paused has a page on which it can be resumed, and
// nothing else: the list of what needs attention leads there, and its tasks wait.
func TestADeletedMerchantIsResumed(t *testing.T) {
	const no = "M/1+商户"
	gone := &goneMerchants{}
	f := &fake{Store: memory.New(), pausedMerchants: []figures.MerchantPause{{MerchantNo: no, Pause: figures.Pause{At: t0, Who: "wang", Reason: "its shop is shut"}}}}
	s := openWith(t, f, Options{Merchants: gone})
	page := merchantAddress(no)
	s.get(t, page).has(t, []string{"no longer registered", "wang · its shop is shut", `value="resume"`}, `value="test"`, `value="delete"`, "/merchants/edit")
	got := s.post(t, page, "/merchants/show", "no", no, "action", "resume", "reason", "")
	if got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Say why") || len(gone.resumed) != 0 {
		t.Errorf("without a reason: %d, resumed %q; want 422, and the form again", got.StatusCode, gone.resumed)
	}
	got = s.post(t, page, "/merchants/show", "no", no, "action", "resume", "reason", "it is open again")
	if to := got.Header.Get("Location"); got.StatusCode != http.StatusSeeOther || to != "/merchants" || !slices.Equal(gone.resumed, []string{no}) {
		t.Errorf("resumed: %d to %q, %q; want it resumed, and the list, since there is no page of it any more", got.StatusCode, to, gone.resumed)
	}
	if got := s.get(t, merchantAddress("M2")); got.StatusCode != http.StatusNotFound {
		t.Errorf("one that is neither registered nor paused: %d; want 404", got.StatusCode)
	}
}

// A private key as PEM is one secret, however a browser ends its lines.
func TestSecretsOf(t *testing.T) {
	const key = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n\nAbc=\n-----END PRIVATE KEY-----"
	for _, tt := range []struct {
		lines string
		want  []string
	}{
		{"", nil},
		{" a \r\n\r\n***LaSw\r\n", []string{"a", "***LaSw"}},
		{key, []string{key}},
		{strings.ReplaceAll(key, "\n", "\r\n") + "\r\n***\r\n" + key + "\r\n", []string{key, "***", key}},
		{"-----BEGIN PRIVATE KEY-----\nMIIEvQ", []string{"-----BEGIN PRIVATE KEY-----\nMIIEvQ"}},
	} {
		if got := secretsOf(tt.lines); !slices.Equal(got, tt.want) {
			t.Errorf("secretsOf(%q) = %q; want %q", tt.lines, got, tt.want)
		}
	}
}

// A secret that was typed is kept, or it is said that it is not.
func TestNoSecretIsLostSilently(t *testing.T) {
	s := openMerchants(t)
	form := []string{"merchant_no", "M1", "version", "v2", "name", "Coffee House", "reason", "test"}
	got := s.post(t, "/tasks", "/merchants", append(form, "scheme", "", "secrets", "whsec_new\n***LaSw")...)
	if got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, "choose") && !strings.Contains(got.body, "Choose") || !strings.Contains(got.body, "type them once more") {
		t.Errorf("secrets without a scheme: %d; want 422, that one is to be chosen, and that the secret is to be typed again\n%s", got.StatusCode, got.body)
	}
	got = s.post(t, "/tasks", "/merchants", append(form, "scheme", "", "serial", "S1")...)
	if got.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a serial number without a scheme: %d; want 422", got.StatusCode)
	}
	got = s.post(t, "/tasks", "/merchants", append(form, "scheme", "standard_webhooks", "secrets", "whsec_new\n***LaSw", "concurrency", "x")...)
	if got.StatusCode != http.StatusUnprocessableEntity || strings.Contains(got.body, "whsec_new") || !strings.Contains(got.body, "***LaSw") || !strings.Contains(got.body, "type them once more") {
		t.Errorf("another field is wrong: %d; want 422, without the new secret, and that it is to be typed again", got.StatusCode)
	}
	got = s.post(t, "/tasks", "/merchants", append(form, "scheme", "standard_webhooks", "secrets", "***MDE=\n***LaSw", "concurrency", "x")...)
	if strings.Contains(got.body, "type them once more") {
		t.Error("no secret was typed, and one is to be typed again")
	}
}

// What stands for several secrets stands for none: the form sends nothing then, which keeps them
// all.
func TestSecretsThatLookTheSame(t *testing.T) {
	for _, tt := range []struct {
		shown []string
		want  string
	}{
		{[]string{"***AAAA", "***BBBB"}, "***AAAA\n***BBBB"},
		{[]string{"***", "***"}, ""},
		{[]string{"***"}, "***"},
	} {
		m := client.Merchant{MerchantNo: "M1", Sign: &client.ShownMerchantSign{Scheme: "wechat_rsa", Secrets: tt.shown}}
		if v := formOf(&m); v.Secrets != tt.want || v.Scheme != "wechat_rsa" {
			t.Errorf("%q is shown as %q; want %q", tt.shown, v.Secrets, tt.want)
		}
	}
}
