//go:build !race

package console_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/bellmanhq/bellman/client"
)

// types puts the text into the search box as somebody types it.
func (b *tab) types(text string) {
	b.t.Helper()
	b.until(found(`[data-search]`, fmt.Sprintf(`found.focus(); found.value = %q; found.dispatchEvent(new Event("input", {bubbles: true}))`, text)))
}

// The search box is a combobox: results come as one types, by type; arrows choose, Enter opens,
// Escape closes, a click opens, and Enter alone searches.
func TestTypedResultsAreChosen(t *testing.T) {
	t.Parallel()
	w := open(t)
	for i := range 3 {
		w.create(t, client.CreateTask{Queue: "merchant-notify", MerchantNo: "M1", OrderNo: fmt.Sprint("typed-", i), URL: w.merchant.URL + "/busy", Delay: "1h"})
	}
	const options, chosen = `#finds [role=option]`, `document.querySelector('#finds [aria-selected=true] span')?.textContent`
	for _, look := range []struct {
		lang, scheme, group, said string
		size                      func(*tab)
	}{
		{"en", "light", "Tasks", "Results: 3", (*tab).wide},
		{"zh-CN", "dark", "任务", "结果：3 条", (*tab).phone},
	} {
		b := w.tab(t)
		b.language(look.lang)
		b.colours(look.scheme)
		look.size(b)
		b.open("/queues")
		b.ready()
		b.types("typed-")
		b.until(`document.querySelectorAll("` + options + `").length === 3 && !finds.hidden`)
		b.until(fmt.Sprintf(`document.querySelector("#finds .of").textContent === %q && document.getElementById("finds-said").textContent === %q`, look.group, look.said))
		b.accessible()
		b.press(kb.ArrowDown)
		b.until(chosen + ` === "typed-2"`)
		b.until(`document.querySelector("[data-search]").getAttribute("aria-activedescendant") === document.querySelector('#finds [aria-selected=true]').id`)
		b.accessible()
		b.press(kb.ArrowUp)
		b.until(chosen + ` === undefined`)
		b.press(kb.ArrowUp)
		b.until(chosen + ` === "typed-0"`)
		b.press(kb.Escape)
		b.until(`finds.hidden && document.querySelector("[data-search]").getAttribute("aria-expanded") === "false" && document.activeElement.matches("[data-search]")`)
		if over := eval[int](b, `document.scrollingElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("the results stick out by %d pixels", over)
		}
		b.press(kb.ArrowDown, kb.ArrowDown, kb.Enter)
		b.at("/tasks/")
		b.says("typed-1")
		b.types("typed-0")
		b.until(`!finds.hidden && document.querySelectorAll("` + options + `").length === 1`)
		b.click(options)
		b.at("/tasks/")
		b.says("typed-0")
		b.types("typed-")
		b.until(`document.querySelectorAll("` + options + `").length === 3`)
		b.press(kb.Enter)
		b.at("/search?q=typed-")
		b.until(`document.querySelector("[data-search]").value === "typed-"`)
		b.open("/queues")
		b.ready()
		b.types("")
		b.until(`document.querySelector("` + options + ` span")?.textContent === "typed-"`) // a recent search
	}
}
