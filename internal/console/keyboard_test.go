//go:build !race

package console_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/console"
)

// While somebody reads an answer of a task, an attempt is made: the answer stays unfolded, and the
// focus where it is.
func TestFocusStaysWhenATaskChanges(t *testing.T) {
	t.Parallel()
	w, b, c := staffed(t)
	b.open("/tasks/" + c.failed)
	b.ready()
	rows := eval[int](b, `document.querySelectorAll(".log summary").length`)
	eval[bool](b, `(() => { const s = document.querySelectorAll(".log summary")[1]; s.focus(); s.click(); return true })()`)
	if _, err := w.api.Resend(t.Context(), client.ByID(c.failed), client.ResendTask{Mode: "once"}); err != nil {
		t.Fatal(err)
	}
	b.until(fmt.Sprintf(`document.querySelectorAll(".log summary").length === %d`, rows+1))
	b.until(`document.querySelectorAll(".log details[open]").length === 1 && document.activeElement.matches(".log details[open] > summary")`)
}

// Tab leads through every page on a phone: each stop is in sight, marked, and covered by nothing.
// On the overview what needs attention comes first.
func TestKeyboardAlone(t *testing.T) {
	t.Parallel()
	g := hang(t, console.References(t))
	g.do(chromedp.EmulateViewport(360, 800))
	for _, p := range g.pages {
		if p.Lang != "en" {
			continue
		}
		g.open("/" + p.Lang + "/" + p.Name)
		g.ready()
		eval[bool](g.tab, `(() => { window.stops = []; document.activeElement?.blur(); return true })()`)
		for range 60 {
			g.press(kb.Tab)
			if eval[bool](g.tab, stopped) {
				break
			}
		}
		for _, fault := range eval[[]string](g.tab, `window.stops.flatMap((s) => s.fault)`) {
			t.Errorf("%s: %s", p.Name, fault)
		}
	}
}

// stopped notes where the focus is, and reports whether it has left the page. A field of a date has
// several stops.
const stopped = `(() => {
	const at = document.activeElement, fault = [], before = window.stops.at(-1)?.at;
	if (!at || at === document.body) return true;
	const box = at.getBoundingClientRect(), style = getComputedStyle(at), said = at.outerHTML.slice(0, 100);
	if (box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth || !box.width || !box.height) fault.push("not in sight: " + said + JSON.stringify(box));
	if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1) fault.push("not marked: " + said);
	if (before === at) return false;
	if (document.querySelector(".needs a") && at.closest("main") && !before?.closest("main") && !at.closest(".needs")) fault.push("comes before what needs attention: " + said);
	const over = document.elementFromPoint(Math.min(Math.max(box.left + box.width / 2, 0), innerWidth - 1), Math.min(Math.max(box.top + box.height / 2, 0), innerHeight - 1));
	if (over && !at.contains(over) && !over.contains(at)) fault.push("covered by " + over.outerHTML.slice(0, 60) + ": " + said);
	window.stops.push({at, fault});
	return false;
})()`
