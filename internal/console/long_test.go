//go:build !race

package console_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/bellmanhq/bellman/client"
)

// The longest values that the API takes, of letters without a blank and of Chinese, stick out of no
// page on a phone: what does not fit is wrapped, or is scrolled in its own place.
func TestLongValues(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.tab(t)
	letters := func(n int) string { return strings.Repeat("M0123456789abcdef", n/17+1)[:n] }
	chinese := func(n int) string { return strings.Repeat("茶馆商户订单", n/6+1)[:3*n] }
	why := letters(500)
	address := w.merchant.URL + "/broken/" + letters(900)
	address += "?q=" + letters(2000-3-len(address))
	var merchants, tasks, links []string
	for i, text := range []func(int) string{letters, chinese} {
		no := text(128)
		if _, _, err := w.api.PutMerchant(t.Context(), no, client.PutMerchant{Name: text(100), NotifyURL: address, Schedule: "0s, 1s, 2s", Reason: why}); err != nil {
			t.Fatal(err)
		}
		id := w.create(t, client.CreateTask{Queue: "quick", MerchantNo: no, OrderNo: text(128), Key: fmt.Sprint(i, letters(250)), Event: text(128), URL: address, Body: text(1000), Headers: map[string]string{letters(100): letters(1000)}})
		w.until(t, id, ended)
		order := w.create(t, client.CreateTask{Queue: "orders", Key: fmt.Sprint("order", i), MerchantNo: no, OrderNo: "less" + text(120), ChannelOrderNo: fmt.Sprint(i, letters(100)), Amount: 990, Currency: "CNY", Notify: &client.Notify{URL: address}})
		w.until(t, order, ended)
		if _, err := w.api.Resend(t.Context(), client.ByID(id), client.ResendTask{Reason: why}); err != nil {
			t.Fatal(err)
		}
		link, err := w.api.MakeLink(t.Context(), client.MakeLink{MerchantNo: no, Reason: why})
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, "/links/"+link.ID, link.Path)
		if err := w.api.PauseMerchant(t.Context(), no, client.Because{Reason: why}); err != nil {
			t.Fatal(err)
		}
		merchants, tasks = append(merchants, no), append(tasks, id, order)
	}
	if err := w.api.PauseQueue(t.Context(), "quick", client.Because{Reason: why}); err != nil {
		t.Fatal(err)
	}
	host := strings.Repeat(letters(60)+".", 4) + "example"
	if _, err := w.api.PauseEndpoint(t.Context(), "https://"+host+":443", client.Because{Reason: why}); err != nil {
		t.Fatal(err)
	}
	job, err := w.api.StartResend(t.Context(), client.BulkResend{Rate: "1/s", Reason: why, Filter: client.Filter{MerchantNo: merchants[0], OrderNo: letters(128)}})
	if err != nil {
		t.Fatal(err)
	}
	paths := append(links, "/", "/tasks", "/orders", "/queues", "/endpoints", "/endpoints?name="+url.QueryEscape("https://"+host+":443"), "/merchants", "/links", "/resends", "/resends/"+job.ID, "/audit", "/search?q=M0123", "/reconciliations", "/reconciliations/new", "/accounts")
	for i, no := range merchants {
		of := url.QueryEscape(no)
		paths = append(paths, "/merchants/show?no="+of, "/merchants/edit?no="+of, "/tasks?merchant_no="+of, "/links/new?merchant_no="+of, "/resends/new?merchant_no="+of, "/orders?merchant_no="+of+"&order_no="+url.QueryEscape("less"+[]func(int) string{letters, chinese}[i](120)))
	}
	for _, id := range tasks {
		paths = append(paths, "/tasks/"+id, "/tasks/"+id+"/attempts/1", "/tasks/picked?id="+id)
	}
	for _, lang := range []string{"en", "zh-CN"} {
		b.language(lang)
		for _, path := range paths {
			b.open(path)
			b.ready()
			for _, width := range []int64{360, 1280} {
				b.do(chromedp.EmulateViewport(width, 900))
				for _, fault := range eval[[]string](b, sticksOut) {
					t.Errorf("%.60s in %s, %d pixels wide: %s", path, lang, width, fault)
				}
			}
		}
	}
}

// sticksOut says what is wider than its page.
var sticksOut = fmt.Sprintf(`(() => {
	if (document.scrollingElement.scrollWidth <= innerWidth) return [];
	const out = [...document.querySelectorAll("main *, header *, nav *")].filter((el) => el.getBoundingClientRect().right > innerWidth + 1 && !el.closest(%q) && ![...el.children].some((in_) => in_.getBoundingClientRect().right > innerWidth + 1));
	return ["the page is " + document.scrollingElement.scrollWidth + " pixels wide", ...out.slice(0, 4).map((el) => "of " + el.parentElement.outerHTML.slice(0, 120))];
})()`, ".scroll, .tabs, svg, .hidden, .skip")
