package console_test

import "testing"

// On a phone the tables of operators are whole, and so is a line of attempts, from the
// first to the last that is to come.
func TestOnAPhone(t *testing.T) {
	w := open(t)
	b := w.tab(t)
	c := w.decent(t)
	b.phone()
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
			const shown = [...document.querySelectorAll(".line")].filter((el) => el.getClientRects().length);
			const drawn = [...document.querySelectorAll(".line circle, .line text")].filter((el) => el.getClientRects().length).map((el) => el.getBoundingClientRect());
			return shown.length === 1 && drawn.length > 4 && document.documentElement.scrollWidth <= innerWidth &&
				Math.min(...drawn.map((m) => m.left)) >= 0 && Math.max(...drawn.map((m) => m.right)) <= innerWidth && Math.min(...drawn.map((m) => m.height)) >= 6;
		})()`) {
			t.Errorf("%s: the line is not one whose attempts and ages are all in sight", path)
		}
	}
	b.open("/tasks/" + c.failed)
	b.ready()
	if got := eval[string](b, `getComputedStyle(document.querySelector(".log summary")).listStylePosition`); got != "outside" {
		t.Errorf("the triangle of a long answer stands %s of it; want outside, where no line is broken behind it", got)
	}
}
