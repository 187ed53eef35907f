//go:build !race

package console_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/bellmanhq/bellman/internal/console"
)

// Each page of the scene fits on a phone, and in small and large windows, in both languages:
// nothing is cut, no text covers another. No line ends within a word.
func TestPagesFit(t *testing.T) {
	t.Parallel()
	pages := console.References(t)
	for _, lang := range []string{"en", "zh-CN"} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			g := hang(t, pages)
			for _, p := range g.pages {
				if p.Lang != lang {
					continue
				}
				g.open("/" + p.Lang + "/" + p.Name)
				g.ready()
				eval[bool](g.tab, `document.fonts.ready.then(() => true)`)
				for _, width := range []int64{360, 1280, 1600} {
					g.do(chromedp.EmulateViewport(width, 900))
					for _, fault := range eval[[]string](g.tab, unfit) {
						t.Errorf("%s, %d pixels wide: %s", p.Name, width, fault)
					}
				}
			}
		})
	}
}

// The name of a node is short wherever it stands, in one line; its tooltip is the whole name, and
// so is its copy.
func TestNodeNames(t *testing.T) {
	t.Parallel()
	g := hang(t, console.References(t))
	const long = "bellman-9c3b5a52-7f0e-4d0b-8a61-0c2f6f1e7d94"
	for _, page := range []string{"overview", "nodes", "attempt", "task-waiting"} {
		g.open("/en/" + page)
		g.ready()
		eval[bool](g.tab, `document.fonts.ready.then(() => true)`)
		names := eval[[]map[string]any](g.tab, `[...document.querySelectorAll(".node[title]")].map((el) => {
			getSelection().selectAllChildren(el);
			return {title: el.title, copied: String(getSelection()), small: el.getClientRects().length === 1 && el.offsetWidth < 200};
		})`)
		if len(names) == 0 {
			t.Errorf("%s: no name of a node has a tooltip", page)
		}
		for _, n := range names {
			if n["title"] != long || n["copied"] != long || n["small"] != true {
				t.Errorf("%s: a name of a node is %v; want that it is small, and the whole name %s otherwise", page, n, long)
			}
		}
	}
}

// unfit says what does not fit on a page. A line of tabs can be scrolled, and a long host is cut on
// purpose.
const unfit = `(() => {
	const faults = [];
	const seen = (el) => el.checkVisibility() && el.getClientRects().length && !el.closest(".hidden, .skip, .tabs, .host, svg, pre");
	const said = (el) => el.tagName.toLowerCase() + " " + JSON.stringify((el.textContent || el.value).trim().slice(0, 60));
	const room = (el) => el.clientWidth - parseFloat(getComputedStyle(el).paddingLeft) - parseFloat(getComputedStyle(el).paddingRight);
	const pen = document.createElement("canvas").getContext("2d");
	const wide = (text, style) => { pen.font = style.font; return pen.measureText(text).width; };

	if (document.scrollingElement.scrollWidth > innerWidth) faults.push("the page sticks out");
	for (const el of [...document.querySelectorAll("body *")].filter(seen)) {
		if (el.matches("select, input")) {
			const text = el.matches("select") ? el.selectedOptions[0]?.text : !el.value && el.placeholder;
			if (text && wide(text, getComputedStyle(el)) > room(el)) faults.push("cut: " + text);
		} else if (getComputedStyle(el).overflowX !== "visible" && el.scrollWidth > el.clientWidth + 1) {
			faults.push("cut by " + (el.scrollWidth - el.clientWidth) + " pixels: " + said(el));
		}
	}

	const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node; (node = walker.nextNode()); ) {
		if (!node.data.trim() || !seen(node.parentElement)) continue;
		const range = document.createRange();
		for (const word of node.data.matchAll(/[\p{Script=Latin}\p{N}]+/gu)) {
			range.setStart(node, word.index);
			range.setEnd(node, word.index + word[0].length);
			if (new Set([...range.getClientRects()].filter((r) => r.width).map((r) => Math.round(r.top))).size > 1) faults.push("a line ends within " + word[0] + ": " + said(node.parentElement));
		}
		range.selectNodeContents(node);
		texts.push(...[...range.getClientRects()].map((at) => ({node, at})));
	}
	for (const [i, one] of texts.entries()) for (const other of texts.slice(i + 1)) {
		const across = Math.min(one.at.right, other.at.right) - Math.max(one.at.left, other.at.left), down = Math.min(one.at.bottom, other.at.bottom) - Math.max(one.at.top, other.at.top);
		if (one.node !== other.node && across > 2 && down > 5) faults.push("one covers the other: " + said(one.node.parentElement) + ", " + said(other.node.parentElement));
	}
	return faults;
})()`
