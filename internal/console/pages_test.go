//go:build !race

package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp/kb"

	"github.com/bellmanhq/bellman/client"
)

// pages are all pages of a world with a cast, by a short name.
func (w *world) pages(t testing.TB, c *cast) []struct{ name, path string } {
	t.Helper()
	job, err := w.api.StartResend(t.Context(), client.BulkResend{Filter: client.Filter{MerchantNo: "M1004"}, Mode: "once", Reason: "the merchant lost them", Rate: "1000/s"})
	if err != nil {
		t.Fatal(err)
	}
	w.registered(t)
	again := w.create(t, client.CreateTask{Queue: "quick", MerchantNo: "M1005", OrderNo: "20261120000005", URL: w.merchant.URL + "/broken"})
	nobody := w.create(t, client.CreateTask{Queue: "quick", MerchantNo: "M1005", OrderNo: "20261120000006", URL: "http://127.0.0.1:1/notify"})
	for _, id := range []string{again, nobody} {
		w.until(t, id, ended)
	}
	if _, err := w.api.Resend(t.Context(), client.ByID(again), client.ResendTask{Mode: "restart", Reason: "the merchant has mended its side"}); err != nil {
		t.Fatal(err)
	}
	w.until(t, again, attempted(6))
	made, err := w.api.MakeLink(t.Context(), client.MakeLink{MerchantNo: "M1001", Life: "6h", Reason: "asks whether we sent it"})
	if err != nil {
		t.Fatal(err)
	}
	ended, err := w.api.MakeLink(t.Context(), client.MakeLink{MerchantNo: "M1002", OrderNo: "20261120000003", Reason: "asks"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.api.RevokeLink(t.Context(), ended.ID, client.Because{Reason: "sent to the wrong one"}); err != nil {
		t.Fatal(err)
	}
	bad, err := w.api.MakeLink(t.Context(), client.MakeLink{MerchantNo: emoji, Reason: hostile})
	if err != nil {
		t.Fatal(err)
	}
	return []struct{ name, path string }{
		{"task-rounds", "/tasks/" + again},
		{"task-unreachable", "/tasks/" + nobody},
		{"filter-wrong", "/tasks?status=abc&zone=Shangai&from=2026-11-20T15:04&merchant_no=M1001"},
		{"search", "/search?q=M1001"},
		{"merchants", "/merchants"},
		{"merchant", "/merchants/show?no=M1001"},
		{"merchant-paused", "/merchants/show?no=M1002"},
		{"merchant-hostile", "/merchants/show?no=" + url.QueryEscape(emoji)},
		{"merchant-edit", "/merchants/edit?no=M1001"},
		{"merchant-import", "/merchants/import"},
		{"links", "/links"},
		{"link", "/links/" + made.ID},
		{"link-new", "/links/new?merchant_no=M1001&order_no=20261120000001"},
		{"shared", made.Path},
		{"shared-hostile", bad.Path},
		{"shared-revoked", ended.Path},
		{"overview", "/"},
		{"tasks", "/tasks"},
		{"filter", "/tasks?state=succeeded&status=200&kind=notify"},
		{"task", "/tasks/" + c.accepted},
		{"task-waiting", "/tasks/" + c.waiting},
		{"task-failed", "/tasks/" + c.failed},
		{"task-hostile", "/tasks/" + c.hostile},
		{"attempt", "/tasks/" + c.failed + "/attempts/1"},
		{"attempt-hostile", "/tasks/" + c.hostile + "/attempts/1"},
		{"attempt-secret", "/tasks/" + c.secret + "/attempts/1"},
		{"picked", "/tasks/picked?id=" + c.failed + "&id=" + c.waiting},
		{"task-long", "/tasks/" + c.long},
		{"order", "/orders?merchant_no=M1001&order_no=never-1"},
		{"order-paid", "/orders?merchant_no=M1001&order_no=paid-1"},
		{"orders", "/orders"},
		{"orders-filter", "/orders?order_state=CLOSED&least=1&from=2026-01-01T00:00"},
		{"search-begins", "/search?q=2026112"},
		{"account-import", "/accounts/import"},
		{"queues", "/queues"},
		{"endpoints", "/endpoints?name=" + url.QueryEscape(w.merchant.URL)},
		{"resends", "/resends"},
		{"resend", "/resends/" + job.ID},
		{"resend-new", "/resends/new?merchant_no=M1004"},
		{"audit", "/audit"},
		{"nodes", "/nodes"},
		{"design", "/design"},
		{"search-none", "/search?q=nothing-like-this"},
		{"missing", "/tasks/0192f3a4-5b6c-7d8e-9f01-23456789abcd"},
	}
}

// TestEveryPage checks every page in both languages, wide and narrow: nothing fails, nothing
// overflows, and everything can be read.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	w := open(t)
	pages := w.pages(t, w.people(t))
	for _, look := range []struct {
		lang, scheme string
		size         func(*tab)
		axe          bool
	}{
		{"en", "light", (*tab).wide, true},
		{"en", "dark", (*tab).phone, false},
		{"zh-CN", "dark", (*tab).phone, true},
	} {
		t.Run(look.lang+"-"+look.scheme, func(t *testing.T) {
			t.Parallel()
			b := w.tab(t)
			b.language(look.lang)
			b.colours(look.scheme)
			look.size(b)
			for _, p := range pages {
				b.open(p.path)
				b.ready()
				if got := eval[string](b, `document.documentElement.lang`); got != look.lang {
					t.Errorf("%s is in %q; want %q", p.name, got, look.lang)
				}
				if over := eval[int](b, `document.scrollingElement.scrollWidth - innerWidth`); over > 0 {
					t.Errorf("%s in %s: sticks out by %d pixels: %s", p.name, look.lang, over,
						eval[string](b, `[...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > innerWidth && !e.closest(".scroll")).slice(0, 3).map(e => e.outerHTML.slice(0, 160)).join("\n")`))
				}
				if look.axe {
					b.accessible()
				}
			}
		})
	}
}

func TestHostileContentIsOnlyShown(t *testing.T) {
	t.Parallel()
	_, b, c := staffed(t)
	b.open("/tasks/" + c.hostile)
	b.says(`<script>window.hacked=1</script>`)
	if eval[bool](b, `"hacked" in window`) {
		t.Error("a script of a merchant ran")
	}
	if n := eval[int](b, `document.querySelectorAll("img").length`); n > 0 {
		t.Errorf("%d pictures of a merchant are shown", n)
	}
	b.says("evil⟨U+202E⟩gnp.exe")
	b.open("/tasks/" + c.secret)
	b.says("***")
	html := eval[string](b, `document.documentElement.outerHTML`)
	if i := strings.Index(html, "s3cr3t"); i >= 0 {
		t.Errorf("a secret is on the page: %s", html[max(i-80, 0):min(i+80, len(html))])
	}
	b.open("/tasks/" + c.failed)
	b.says("系统繁忙")
	if strings.Contains(b.text(), "abcdef") {
		t.Error("a token that a merchant answered is shown")
	}
}

// Enter in a field of a form with several buttons presses none of them: it would be the first,
// whichever was meant.
func TestEnterPressesNoButton(t *testing.T) {
	t.Parallel()
	w, b, c := staffed(t)
	for _, page := range []string{"/tasks/" + c.waiting, "/tasks/picked?id=" + c.waiting + "&id=" + c.failed, "/orders?merchant_no=M1001&order_no=paid-1",
		"/queues?name=quick", "/endpoints?name=" + url.QueryEscape(w.merchant.URL)} {
		for _, field := range []string{"when", "reason"} {
			b.open(page)
			b.ready()
			if !eval[bool](b, fmt.Sprintf(`!!document.querySelector("main form[method=post] input[name=%s]")`, field)) {
				continue
			}
			b.fill(`main form[method=post] input[name=reason]`, "the merchant asks")
			b.fill(fmt.Sprintf(`main form[method=post] input[name=%s]`, field), "10m")
			b.until(found(fmt.Sprintf(`main form[method=post] input[name=%s]`, field), `found.focus(); addEventListener("submit", (e) => { window.sent = true; e.preventDefault() })`))
			b.press(kb.Enter)
			if eval[bool](b, `!!window.sent`) {
				t.Errorf("%s: Enter in %s sends the form", page, field)
			}
		}
	}
}

// The charts of the overview are drawn anew each minute. What a person types into the range above
// them stays.
func TestARangeIsTypedWhileTheChartsChange(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.tab(t)
	b.open("/")
	b.ready()
	b.fill(`input[name=from]`, "2026-11-20T15:04")
	eval[bool](b, `(() => {
		const was = document.getElementById("charts");
		document.was = was;
		htmx.ajax("GET", was.getAttribute("hx-get"), {source: was, target: "#charts", select: "#charts", swap: "outerHTML"}); // as each minute
		return true;
	})()`)
	b.until(`document.getElementById("charts") && document.getElementById("charts") !== document.was`)
	if typed := eval[string](b, `document.querySelector("input[name=from]").value`); typed != "2026-11-20T15:04" {
		t.Errorf("after the charts were drawn anew the range is from %q; want what was typed", typed)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	w, b, c := staffed(t)
	host := strings.TrimPrefix(w.merchant.URL, "http://")
	for _, tt := range []struct{ text, at string }{
		{c.accepted, "/tasks/" + c.accepted},
		{strings.ToUpper(c.accepted), "/tasks/" + c.accepted},
		{"M1001/20261120000001/paid", "/tasks/" + c.accepted},
		{" 20261120000001 ", "/tasks/" + c.accepted},
		{"M1004", "/tasks?merchant_no=M1004"},
		{"never-1", "/orders?merchant_no=M1001&order_no=never-1"},
		{emoji, "/tasks/" + c.hostile},
		{host, "/tasks?url_host=" + url.QueryEscape(host)},
		{w.merchant.URL + "/busy?x=1", "/tasks?url_host=" + url.QueryEscape(host)},
		{"nothing-like-this", "/search?q=nothing-like-this"},
	} {
		b.open("/nodes")
		b.ready()
		b.press("/")
		b.until(`document.activeElement.name === "q"`)
		b.fill(`input[name=q]`, tt.text)
		b.press(kb.Enter)
		b.until(`location.pathname !== "/nodes" && document.readyState === "complete"`)
		if got := b.path(); !strings.HasPrefix(got, tt.at) {
			t.Errorf("searching for %q leads to %s; want %s", tt.text, got, tt.at)
		}
	}
}

func TestKeysMove(t *testing.T) {
	t.Parallel()
	_, b, _ := staffed(t)
	b.open("/tasks")
	b.ready()
	b.press("j", "j", "j", "k")
	want := eval[string](b, `document.querySelectorAll("[data-rows] tbody tr")[1].querySelector("a").getAttribute("href")`)
	if at := eval[int](b, `[...document.querySelectorAll("[data-rows] tbody tr")].findIndex(r => r.classList.contains("at"))`); at != 1 {
		t.Fatalf("after j j j k row %d is marked; want 1", at)
	}
	b.press(kb.Enter)
	b.at(want)
}

func TestTimesAreTheViewers(t *testing.T) {
	t.Parallel()
	w, b, c := staffed(t)
	task := w.until(t, c.accepted, ended)
	b.open("/tasks/" + c.accepted)
	b.ready()
	got := eval[[]string](b, `[...document.querySelectorAll(".facts time")].slice(0, 1).flatMap(e => [e.textContent, e.title.split("\n")[0]])`)
	at := task.Created.Time
	want := []string{at.Add(8 * 3600e9).Format("2006-01-02 15:04:05"), at.Format("2006-01-02 15:04:05.000") + " UTC"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("created is shown as %q; want %q", got, want)
	}
	// A filter by time is typed as the viewer's clock shows it.
	b.open("/tasks")
	b.ready()
	eval[bool](b, `document.querySelector("details.more").open = true`)
	b.fill(`input[name=from]`, time.Now().UTC().Add(9*time.Hour).Format("2006-01-02T15:04"))
	b.click(`form.filter button.primary`)
	b.until(`location.search.includes("zone=Asia%2FShanghai")`)
	if n := eval[int](b, `document.querySelectorAll("[data-rows] tbody tr").length`); n != 0 {
		t.Errorf("%d tasks created after the hour to come", n)
	}
}

func TestItReadsWithoutScripts(t *testing.T) {
	t.Parallel()
	w, b, c := staffed(t)
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	for path, want := range map[string]string{
		"/":                   "Backlog",
		"/tasks":              "M1003", // the newest: a slow machine may not look further back
		"/tasks/" + c.failed:  "HTTP 500",
		"/queues":             "wechat_notify",
		"/search?q=M1004":     "payment.succeeded",
		"/resends/new?key=k1": "No task fits",
	} {
		answer, err := http.Get(w.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		b.open(path)
		if text := b.text(); !strings.Contains(text, want) {
			t.Errorf("%s without scripts does not say %q: %s", path, want, text)
		}
		if shown := eval[int](b, `[...document.querySelectorAll(".needs-js")].filter(e => e.offsetParent).length`); shown > 0 {
			t.Errorf("%s shows %d things that need scripts", path, shown)
		}
	}
}

func TestOverviewIsLive(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.tab(t)
	b.open("/")
	b.says("no data")
	eval[bool](b, `window.same = true`)
	// All at once: the number is that of a minute.
	if _, err := w.api.CreateBatch(t.Context(), slices.Repeat([]client.CreateTask{{Queue: "quick", URL: w.merchant.URL + "/ok"}}, 5)); err != nil {
		t.Fatal(err)
	}
	b.until(`document.querySelectorAll(".tile dd")[2].textContent.startsWith("5")`)
	if !eval[bool](b, `window.same === true`) {
		t.Error("the page was loaded anew")
	}
}

// The range of the first page is chosen by a click and is in the viewer's zone. Other pages keep
// it.
func TestTheRangeIsKept(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.tab(t)
	sameDay()
	b.open("/")
	b.click(`button[value=today]`)
	b.until(`location.search.includes("range=today") && location.search.includes("zone=Asia%2FShanghai")`)
	b.click(`.tabs a[href^="/tasks"]`)
	midnight := time.Now().UTC().Add(8 * time.Hour).Format("2006-01-02T00:00")
	b.until(fmt.Sprintf(`location.pathname === "/tasks" && document.querySelector("input[name=from]")?.value.startsWith(%q)`, midnight))
	b.click(`.tabs a[href^="/?"]`)
	b.until(`location.pathname === "/" && document.querySelector("button[value=today]")?.ariaPressed === "true"`)
}

func TestRolesInTheBrowser(t *testing.T) {
	t.Parallel()
	w := open(t, "reader", "ops")
	b := w.tab(t)
	id := w.create(t, client.CreateTask{Queue: "quick", URL: w.merchant.URL + "/ok"})
	b.open("/tasks/" + id)
	b.at("/signin?to=")
	b.fill(`input[name=name]`, "reader")
	b.fill(`input[name=key]`, "wrong")
	b.click(`main button.primary`)
	b.says("do not belong together")
	b.accessible()
	b.fill(`input[name=key]`, "reader-key")
	b.click(`main button.primary`)
	b.at("/tasks/" + id)
	if eval[bool](b, `!!document.querySelector("button[value=once]")`) {
		t.Error("somebody who may only read is shown the actions")
	}
	post := func(token string) int {
		return eval[int](b, fmt.Sprintf(`fetch(location.pathname, {method: "POST", body: new URLSearchParams({token: %s, action: "once", reason: "x"}), redirect: "manual"}).then(r => r.status)`, token))
	}
	if got := post(`document.querySelector("input[name=token]").value`); got != http.StatusForbidden {
		t.Errorf("a role that lacks the right: %d; want 403", got)
	}
	b.signOut()
	b.signIn("ops")
	b.open("/tasks/" + id)
	if got := post(`"nothing"`); got != http.StatusForbidden {
		t.Errorf("a form without its token: %d; want 403", got)
	}
	b.signOut()
}

func TestASessionThatIsOver(t *testing.T) {
	t.Parallel()
	w := open(t, "ops")
	b := w.tab(t)
	id := w.create(t, client.CreateTask{Queue: "merchant-notify", URL: w.merchant.URL + "/busy"})
	b.signIn("ops")
	b.open("/tasks/" + id)
	// The same session is ended elsewhere; the browser keeps its cookie.
	token := eval[string](b, `document.querySelector("input[name=token]").value`)
	cookies := call(b, network.GetCookies, network.GetCookiesParams{}).Cookies
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+"/signout", strings.NewReader(url.Values{"token": {token}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range cookies {
		if !c.HTTPOnly {
			t.Errorf("scripts can read the cookie %s", c.Name)
		}
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	b.at("/signin?to=%2Ftasks%2F" + id) // the page notices by itself
}

func TestLookIsKept(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.tab(t)
	b.open("/tasks?state=failed")
	b.click(`button[value=zh]`)
	b.says("发送第一条通知")
	if got := b.path(); got != "/tasks?state=failed" {
		t.Errorf("after the language was chosen the page is %s", got)
	}
	b.click(`button[name=theme]`) // light
	b.until(`document.documentElement.dataset.theme === "light"`)
	b.click(`button[name=theme]`)
	b.until(`document.documentElement.dataset.theme === "dark"`)
	if got := eval[string](b, `getComputedStyle(document.body).backgroundColor`); got != "rgb(12, 15, 20)" {
		t.Errorf("the ground is %s in the dark", got)
	}
	b.click(`button[name=theme]`)
	b.until(`!document.documentElement.dataset.theme`)
	b.open("/nodes")
	b.says("最近心跳")
}
