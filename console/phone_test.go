package console_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// On a phone the tables of operators are whole, and of a line that is wider the attempts
// and what comes next are in sight.
func TestOnAPhone(t *testing.T) {
	w := open(t)
	b := w.tab(t)
	c := w.decent(t)
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2)))
	for _, lang := range []string{"en", "zh-CN"} {
		b.language(lang)
		for _, path := range []string{"/queues", "/endpoints", "/orders"} {
			b.open(path)
			b.ready()
			if wide := eval[[]int](b, `[...document.querySelectorAll(".scroll")].map((el) => el.scrollWidth - el.clientWidth)`); len(wide) == 0 || wide[0] > 0 {
				t.Errorf("%s in %s: what is scrolled is wider than its place by %v; want that it fits", path, lang, wide)
			}
		}
	}
	for _, path := range []string{"/tasks/" + c.waiting, "/tasks/" + c.failed, "/orders?merchant_no=M1001&order_no=never-1"} {
		b.open(path)
		b.ready()
		if !eval[bool](b, `(() => {
			const box = document.querySelector(".line-scroll").getBoundingClientRect();
			const marks = [...document.querySelectorAll(".mark:not(.plan) circle")].map((el) => el.getBoundingClientRect());
			return marks.length > 0 && Math.max(...marks.map((m) => m.right)) <= box.right;
		})()`) {
			t.Errorf("%s: the last attempt, the next or the decision is out of sight", path)
		}
	}
	b.open("/tasks/" + c.failed)
	b.ready()
	if got := eval[string](b, `getComputedStyle(document.querySelector(".log summary")).listStylePosition`); got != "outside" {
		t.Errorf("the triangle of a long answer stands %s of it; want outside, where no line is broken behind it", got)
	}
}
