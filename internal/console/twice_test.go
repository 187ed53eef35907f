//go:build !race

package console_test

import (
	"slices"
	"testing"

	"github.com/bellmanhq/bellman/client"
)

// Whoever clicks twice means it once; whoever comes back may mean it again.
func TestADoubleClickIsOne(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.tab(t)
	id := w.create(t, client.CreateTask{Queue: "quick", MerchantNo: "M1", URL: w.merchant.URL + "/ok"})
	w.until(t, id, ended)
	b.open("/tasks/" + id)
	b.ready()
	b.fill(`form.act input[name=reason]`, "asked to")
	// Nothing is sent: each submission is kept as whether it would have been.
	got := eval[[]bool](b, `(() => {
		const sent = [], button = document.querySelector("form.act button[value=once]");
		addEventListener("submit", (e) => { sent.push(!e.defaultPrevented); e.preventDefault(); });
		button.click(); button.click();
		dispatchEvent(new PageTransitionEvent("pageshow"));
		button.click(); button.click();
		return sent;
	})()`)
	if !slices.Equal(got, []bool{true, false, true, false}) {
		t.Errorf("two clicks, and two after coming back, are sent as %v; want the first of each", got)
	}
	if again := eval[string](b, `document.querySelector("form.act").elements.again.value`); again != "1" {
		t.Errorf("after coming back the form says %q; want it another one than was sent", again)
	}

	// A form that was refused can be sent again.
	b.open("/tasks/" + id)
	b.ready()
	b.fill(`form.act input[name=reason]`, " ")
	b.click(`form.act button[value=once]`)
	b.until(`document.querySelector(".bar.bad")`)
	b.fill(`form.act input[name=reason]`, "asked to")
	b.click(`form.act button[value=once]`)
	b.until(`document.querySelector(".bar.ok") && document.readyState === "complete"`)
	again := w.until(t, id, func(task *client.TaskDetail) bool { return task.State != "pending" && task.Attempts == 2 })
	if again.Attempts != 2 {
		t.Errorf("%d attempts; want one more", again.Attempts)
	}
}
