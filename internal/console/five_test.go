//go:build !race

package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/bellmanhq/bellman/client"
)

// A hand counts what a person does: a paste with Enter, a click, a text typed into a field, an
// answered dialog.
type hand struct {
	*tab
	did []string
}

func (h *hand) paste(text string) {
	h.t.Helper()
	h.fill(`[data-search]`, text)
	h.until(found(`[data-search]`, "found.focus()"))
	h.press(kb.Enter)
	h.did = append(h.did, "paste "+text)
}

func (h *hand) push(selector string) {
	h.t.Helper()
	h.click(selector)
	h.did = append(h.did, "click "+selector)
}

func (h *hand) typed(selector, text string, keys ...string) {
	h.t.Helper()
	h.fill(selector, text)
	h.until(found(selector, "found.focus()"))
	h.press(keys...)
	h.did = append(h.did, "type "+text)
}

// within fails the test if the person needed more actions than wanted, and begins to count anew.
func (h *hand) within(most int, what string) {
	h.t.Helper()
	if len(h.did) > most {
		h.t.Errorf("%s takes %d actions: %s; want %d", what, len(h.did), strings.Join(h.did, ", "), most)
	}
	h.t.Logf("%s: %d actions: %s", what, len(h.did), strings.Join(h.did, ", "))
	h.did = nil
}

// The five tasks of somebody on call, counted in actions, in both languages.
func TestFiveTasks(t *testing.T) {
	t.Parallel()
	w := open(t, "ops")
	sameDay()
	for _, in := range []struct {
		lang, once, scheduled string
		phone                 bool
	}{
		{"en", "One attempt is being made now.", "10/s", false},
		{"zh-CN", "正在立即尝试一次", "10/s", true},
	} {
		b := w.tab(t)
		b.language(in.lang)
		if in.phone {
			b.phone()
		}
		b.answerYes()
		if err := w.api.PauseQueue(t.Context(), "merchant-notify", client.Because{Reason: "the bank has maintenance"}); err != nil {
			t.Fatal(err)
		}
		merchant, late := "M-"+in.lang, "L-"+in.lang
		var ids []string
		for i := range 3 {
			ids = append(ids, w.create(t, client.CreateTask{Queue: "quick", MerchantNo: merchant, OrderNo: fmt.Sprintf("%s-%d", in.lang, i), URL: w.merchant.URL + "/broken"}))
			w.create(t, client.CreateTask{Queue: "merchant-notify", MerchantNo: late, OrderNo: fmt.Sprintf("late-%s-%d", in.lang, i), URL: w.merchant.URL + "/ok", Delay: "1s"})
		}
		for _, id := range ids {
			w.until(t, id, ended)
		}
		b.signIn("ops")
		h := &hand{tab: b}

		h.paste(in.lang + "-0")
		h.at("/tasks/" + ids[0])
		h.says("HTTP 500")
		h.says("系统繁忙")
		h.within(1, "did you send it, what did we answer")

		h.typed(`input[name=reason]`, "the merchant asks")
		h.push(`button[value=once]`)
		h.says(in.once)
		h.within(2, "resend it")
		w.until(t, ids[0], attempted(4))

		h.paste(merchant)
		h.at("/tasks?merchant_no=" + merchant)
		h.push(`button[value=failed_today]`)
		h.until(`location.search.includes("state=failed") && location.search.includes("Shanghai") && document.readyState === "complete"`)
		h.push(`.actions a[href^="/resends/new"]`)
		h.typed(`input[name=reason]`, "its server was down")
		h.typed(`input[name=rate]`, "10", kb.Enter)
		h.did = append(h.did, "answer the dialog")
		h.at("/resends/")
		h.says(in.scheduled)
		h.within(6, "resend all that failed for a merchant today, at 10/s")
		for _, id := range ids[1:] {
			w.until(t, id, attempted(4))
		}

		h.paste(late)
		h.at("/tasks?merchant_no=" + late)
		h.push(`[data-rows] .what a`)
		h.at("/tasks/")
		h.says("the bank has maintenance")
		h.within(2, "why is this merchant late")

		h.paste("late-" + in.lang + "-0")
		h.at("/tasks/")
		h.says("root")
		h.says("the bank has maintenance")
		h.within(2, "who paused this, and why")
	}
}

// Somebody on call sees which order needs a person, decides it, and finds who decided, counted in
// actions, in both languages.
func TestMoneyTasks(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, in := range []struct {
		lang, wrong, decided string
		phone                bool
	}{
		{"en", "8.80 CNY was paid: want 9.90 CNY", "decided manually: refunded the difference", false},
		{"zh-CN", "实付 8.80 CNY，应为 9.90 CNY", "人工定案: refunded the difference", true},
	} {
		b := w.tab(t)
		b.language(in.lang)
		if in.phone {
			b.phone()
		}
		b.answerYes()
		no := "less-" + in.lang
		id := w.create(t, client.CreateTask{Queue: "orders", MerchantNo: "M-less", OrderNo: no, Amount: 990, Currency: "CNY", Notify: &client.Notify{URL: w.merchant.URL + "/ok"}})
		w.until(t, id, ended)
		b.open("/")
		b.ready()
		h := &hand{tab: b}
		need := `.needs a[href*="order_no=` + no + `"]`
		h.until(found(need, "")) // the list is read at most every ten seconds
		h.says(in.wrong)
		h.push(need)
		h.at("/orders?")
		h.says(in.wrong)
		h.typed(`form[action="/orders"] input[name=reason]`, "refunded the difference")
		h.until(found(`select[name=outcome]`, `found.value = "PAID"`))
		h.did = append(h.did, "choose Paid")
		h.push(`button[value=complete]`)
		h.did = append(h.did, "answer the dialog")
		h.says(in.decided)
		h.within(5, "decide the order that needs a person")

		b.open("/")
		h.paste(no)
		h.at("/orders?")
		h.says(in.decided)
		h.within(1, "was it paid, and who decided")
		b.accessible()
		if over := eval[int](b, `document.scrollingElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("%s: the order's page sticks out by %d pixels", in.lang, over)
		}
	}
}

// Ticked rows are acted on together.
func TestSomeAreTicked(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.tab(t)
	b.answerYes()
	var ids []string
	for i := range 3 {
		ids = append(ids, w.create(t, client.CreateTask{Queue: "merchant-notify", MerchantNo: "M1", OrderNo: fmt.Sprintf("tick-%d", i), URL: w.merchant.URL + "/busy", Delay: "1h"}))
	}
	b.open("/tasks")
	b.click(`input[value="` + ids[0] + `"]`)
	b.click(`input[value="` + ids[2] + `"]`)
	b.click(`#pick button`)
	b.at("/tasks/picked")
	b.says("Act on these 2")
	b.accessible()
	b.fill(`aside input[name=reason]`, "of no use")
	b.click(`button[value=cancel]`)
	b.says("Done for all 2.")
	for i, want := range []string{"cancelled", "pending", "cancelled"} {
		if got := w.until(t, ids[i], func(*client.TaskDetail) bool { return true }); got.State != want {
			t.Errorf("task %d is %s; want %s", i, got.State, want)
		}
	}
}

// The pages of a server without tasks can be read, in both themes and languages, and on a phone.
func TestFirstRunIsRead(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.tab(t)
	for _, look := range []struct {
		lang, scheme, says string
		size               func()
	}{{"en", "light", "Send the first notification", b.wide}, {"zh-CN", "dark", "发送第一条通知", b.phone}} {
		b.language(look.lang)
		b.colours(look.scheme)
		look.size()
		for _, path := range []string{"/", "/tasks"} {
			b.open(path)
			b.ready()
			b.says(look.says)
			b.says(w.URL + "/v1/tasks")
			b.accessible()
			if over := eval[int](b, `document.scrollingElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("%s in %s sticks out by %d pixels", path, look.lang, over)
			}
		}
	}
}

// The name of the environment can be read in each of its colours, in both themes, and fits a phone.
func TestEnvironmentIsRead(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.tab(t)
	b.phone()
	b.open("/audit")
	b.ready()
	for _, tone := range []string{"", "wait", "ok", "warn", "bad"} {
		for _, scheme := range []string{"light", "dark"} {
			b.colours(scheme)
			eval[bool](b, fmt.Sprintf(`(() => {
				const top = document.querySelector(".top"), brand = document.querySelector(".brand");
				top.className = "top env %[1]s";
				brand.querySelector(".chip")?.remove();
				brand.insertAdjacentHTML("beforeend", ' <span class="chip %[2]s">a name with thirty letters, yes</span>');
				return true;
			})()`, tone, map[bool]string{true: "tone-" + tone}[tone != ""]))
			b.accessible()
			if over := eval[int](b, `document.scrollingElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("a long name in %q sticks out by %d pixels", tone, over)
			}
		}
	}
}
