//go:build !race

package console_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
)

func TestResendIsSeenWithoutLoadingAnew(t *testing.T) {
	t.Parallel()
	w, b, c := staffed(t)
	b.open("/tasks/" + c.accepted)
	b.says("3 of 3")
	b.click(`button[value=once]`) // without a reason the browser itself asks for one
	if eval[bool](b, `"sent" in document.querySelector("form.act").dataset`) {
		t.Fatal("sent without a reason")
	}
	b.act("once", "the merchant asks")
	b.says("One attempt is being made now.")
	b.says("Manual")
	b.says("the merchant asks")
	b.until(`document.querySelector("table.log").tBodies[0].rows.length === 4`)

	// While it is open, somebody else does something.
	eval[bool](b, `window.same = true`)
	if _, err := w.api.Resend(t.Context(), client.ByID(c.accepted), client.ResendTask{Mode: "once"}); err != nil {
		t.Fatal(err)
	}
	b.until(`document.querySelector("table.log").tBodies[0].rows.length === 5`)
	if !eval[bool](b, `window.same === true`) {
		t.Error("the page was loaded anew")
	}
}

func TestATaskIsMovedAndCancelled(t *testing.T) {
	t.Parallel()
	w, b, c := staffed(t)
	b.open("/tasks/" + c.waiting)
	b.fill(`input[name=reason]`, "later")
	b.fill(`input[name=when]`, "soon")
	b.click(`button[value=reschedule]`)
	b.says("Want a duration such as 10m")
	b.fill(`input[name=when]`, "2h")
	b.click(`button[value=reschedule]`)
	b.says("The next attempt was moved.")
	shanghai, err := time.LoadLocation("Asia/Shanghai") // where the browser is
	if err != nil {
		t.Fatal(err)
	}
	tomorrow := time.Now().Add(24 * time.Hour).Truncate(time.Minute).In(shanghai)
	b.fill(`input[name=reason]`, "tomorrow")
	b.fill(`input[name=when]`, tomorrow.Format("2006-01-02 15:04"))
	b.click(`button[value=reschedule]`)
	w.until(t, c.waiting, func(task *client.TaskDetail) bool { return task.Due != nil && task.Due.Equal(tomorrow) })
	b.says("tomorrow")
	b.answerYes()
	b.act("cancel", "not wanted any more")
	b.says("Cancelled: no further attempt is made.")
	if task := w.until(t, c.waiting, ended); task.State != "cancelled" {
		t.Errorf("the task is %s", task.State)
	}
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	w, b, _ := staffed(t)
	b.open("/queues?name=quick")
	b.act("pause", "the merchant moves house")
	b.says("Paused.")
	b.says("the merchant moves house")
	b.fill(`select[name=name]`, "quick")
	b.act("resume", "it has moved")
	b.says("Resumed.")
	b.open("/audit?action=resume")
	b.says("it has moved")
	b.open("/endpoints?name=" + url.QueryEscape(w.merchant.URL))
	b.act("pause", "quiet")
	b.says("Paused.")
}

func TestBulkResend(t *testing.T) {
	t.Parallel()
	_, b, _ := staffed(t)
	b.open("/tasks?merchant_no=M1004")
	b.click(`a[href^="/resends/new"]`)
	b.says("What it would send again")
	if n := eval[string](b, `document.querySelector(".tile dd").textContent`); n != "12" {
		t.Errorf("it would touch %s tasks; want 12", n)
	}
	b.answerYes()
	b.fill(`input[name=reason]`, "the merchant lost them")
	b.fill(`input[name=rate]`, "12/m") // a slow machine stops it before its end
	b.click(`main form button.primary`)
	b.says("The bulk resend has begun.")
	b.until(`+document.querySelectorAll(".tile dd")[1].firstChild.textContent > 1`) // it goes on by itself
	b.fill(`input[name=reason]`, "enough")
	b.click(`main form button.danger`)
	b.says("The bulk resend was stopped.")
	b.says("Stopped")
}

func TestSettle(t *testing.T) {
	t.Parallel()
	_, b, _ := staffed(t)
	b.open("/orders?merchant_no=M1001&order_no=paid-1")
	b.says("The channel says that it is paid.")
	before := eval[int](b, `document.querySelector("table.log").tBodies[0].rows.length`)
	b.act("settle", "the merchant asks")
	b.says("The channel was asked just now.")
	b.until(fmt.Sprintf(`document.querySelector("table.log").tBodies[0].rows.length > %d`, before))
	b.open("/audit?action=settle")
	b.says("the merchant asks")
}

func TestAnOrderIsCompleted(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.tab(t)
	w.create(t, client.CreateTask{Queue: "orders", MerchantNo: "M1001", OrderNo: "by-callback", Expires: "1h",
		Notify: &client.Notify{URL: w.merchant.URL + "/ok"}})
	b.answerYes()
	b.open("/orders?merchant_no=M1001&order_no=by-callback")
	b.act("complete", "the channel's notice came")
	b.says("Choose what an order ended as")
	b.fill(`select[name=outcome]`, "PAID")
	b.click(`button[value=complete]`)
	b.says("no sign-in decided manually: the channel's notice came: PAID")
	b.open("/audit?action=decide")
	b.says("the channel's notice came: PAID")
}
