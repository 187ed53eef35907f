package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// refusals are the reasons of the refused notices of a page, each with its account, without
// repeats.
func refusals(t *testing.T, api *client.Client) (all []string) {
	t.Helper()
	page, err := api.ListNotices(t.Context(), client.NoticeFilter{Queue: "orders", Result: "refused", Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range page.Notices {
		if n.Task == "" || n.Came.IsZero() || n.Content != "" {
			t.Errorf("a refused notice is listed as %+v; want its task and time, and no content", n)
		}
		all = append(all, strings.TrimSpace(n.Account+": "+n.ChannelOrderNo+": "+n.Why))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Notices that are about no order here leave a record that says why they were refused: of another
// account, not signed, to an account that is not registered, too large.
func TestRefusedNoticesAreListed(t *testing.T) {
	d := newDesk(t)
	api, s, _ := d.serveAccounts(t, t.TempDir(), "1h*")
	shop := newSeller(t, "1900000002", "1900000109")
	other := *shop // of the same service provider
	other.sub = "1900000110"
	register(t, api, "shop2", shop.put())
	if status, _ := other.tell(t, s, "/notices/orders/shop2", "NOBODY"); status != 500 {
		t.Errorf("a notice of another account: %d", status)
	}
	if status, _ := newSeller(t, "1900000002", "1900000109").tell(t, s, "/notices/orders/shop2", "NOBODY"); status != 500 {
		t.Errorf("a notice that somebody else signed: %d", status)
	}
	if status, _ := shop.tell(t, s, "/notices/orders/shop9", "NOBODY"); status != 404 {
		t.Errorf("a notice to an account that is not registered: %d", status)
	}
	if status, _ := shop.tell(t, s, "/notices/tell/shop2", "NOBODY"); status != 404 {
		t.Errorf("a notice to a queue of notifications: %d", status)
	}
	if status, _ := shop.tell(t, s, "/notices/nowhere", "NOBODY"); status != 404 {
		t.Errorf("a notice to a queue that does not exist: %d", status)
	}
	for _, want := range []string{`queue=tell err="no notices are received at \"/notices/tell/shop2\": want`, `queue=nowhere err="no notices are received at \"/notices/nowhere\": want`} {
		if log := d.log.String(); !strings.Contains(log, want) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
	if got := callNotice(t, s, "orders/shop2", strings.Repeat(" ", 256<<10+1), nil); !strings.HasPrefix(got, fmt.Sprint(http.StatusRequestEntityTooLarge)) {
		t.Errorf("a notice that is too large: %s", got)
	}
	const account = "wechatpay:1900000002:1900000109: "
	want := []string{
		`queue:orders: : account "shop9" is not registered`,
		account + ": the notice cannot be read, or is larger than 262144 bytes",
		account + `: the notice is for the merchant "1900000002/1900000110": want "1900000002/1900000109"`,
		account + "NOBODY: the notice's signature is wrong",
	}
	if got := refusals(t, api); !slices.Equal(got, want) {
		t.Errorf("refused notices:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	page, err := api.ListNotices(t.Context(), client.NoticeFilter{OrderNo: "NOBODY"})
	if err != nil || len(page.Notices) != 1 || page.Notices[0].MerchantNo != "" {
		t.Errorf("the notice that names an order: %+v, %v", page, err)
	}
}

// However many notices of another account come, they leave ten records in a minute.
func TestRefusedNoticesAreBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	api, s, _ := d.serveAccounts(t, t.TempDir(), "1h*")
	shop := newSeller(t, "1900000002", "1900000109")
	register(t, api, "shop2", shop.put())
	began, sent := time.Now(), 0
	passes(t, "more than 20 are noted in the log", func() bool {
		for range 10 {
			sent++
			other := *shop
			other.sub = fmt.Sprint(1900000110 + sent)
			other.tell(t, s, "/notices/orders/shop2", "NOBODY")
		}
		return strings.Count(d.log.String(), `msg="a notice was refused"`) > 20
	})
	if rows, most := len(refusals(t, api)), 10*(1+int(time.Since(began)/time.Minute)); rows == 0 || rows > most {
		t.Errorf("%d records of %d notices in %v; want 1 to %d", rows, sent, time.Since(began), most)
	}
}

// A reason is one line, whatever it quotes of what a stranger sent: it fills neither the store nor
// the log.
func TestReasonsAreCut(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	api, s := d.serveProviders(t, `
queues:
  tell: {url: "MERCHANT/notify"}
  orders: {kind: order, schedule: 1h*, on_exhausted: close, then: tell, channel: {kind: wechatpay_v2, url: CHANNEL, mch_id: "1900000109", app_id: wx1, api_key: 192006250b4c09247ec02edce69f6a2d}}
`)
	if got := callNotice(t, s, "orders", "<xml><a>&"+strings.Repeat("x", 50<<10)+";</a></xml>", nil); !strings.Contains(got, "FAIL") {
		t.Errorf("a notice that is no XML: %s", got)
	}
	why := refusals(t, api)
	if len(why) != 1 || !strings.Contains(why[0], "invalid character entity &xxx") || len(why[0]) > 400 {
		t.Errorf("refused notices %.1000q; want one, and the beginning of its text", why)
	}
	if n := len(d.log.String()); n > 10_000 {
		t.Errorf("the log has %d bytes; want a few lines", n)
	}
}

// A queue that reads a gateway's notices, of which nothing listens for them, is told of at the
// start.
func TestNoticesWithoutListener(t *testing.T) {
	d := newDesk(t)
	d.serve(t, d.settings(t, noticed...))
	if log := d.log.String(); !strings.Contains(log, "a setting has no effect") || !strings.Contains(log, "queues.orders.notice: notices.listen is not set") {
		t.Errorf("the start says %s", log)
	}
	heard := newDesk(t)
	if heard.serveNoticed(t); strings.Contains(heard.log.String(), "a setting has no effect") {
		t.Error("the start of a server with a listener says that a setting has no effect")
	}
}
