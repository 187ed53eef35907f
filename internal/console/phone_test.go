//go:build !race

package console_test

import "testing"

// On a phone the tables of operators are complete, and so is a line of attempts, from the first to
// the last future one.
func TestOnAPhone(t *testing.T) {
	t.Parallel()
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
	for _, lang := range []string{"en", "zh-CN"} {
		b.language(lang)
		b.open("/tasks")
		b.ready()
		if over := eval[float64](b, `(() => {
			const box = document.querySelector(".search input"), style = getComputedStyle(box), pen = document.createElement("canvas").getContext("2d");
			pen.font = getComputedStyle(box, "::placeholder").font;
			return pen.measureText(box.placeholder).width - (box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
		})()`); over > 0 {
			t.Errorf("in %s what can be searched for is %v pixels wider than the box", lang, over)
		}
		if broken := eval[[]string](b, `[...document.querySelectorAll(".last small span")].filter((el) => el.getClientRects().length !== 1).map((el) => el.textContent)`); len(broken) > 0 {
			t.Errorf("in %s these are broken into lines: %q", lang, broken)
		}
	}
	b.open("/tasks/" + c.failed)
	b.ready()
	if got := eval[string](b, `getComputedStyle(document.querySelector(".log summary")).listStylePosition`); got != "outside" {
		t.Errorf("the triangle of a long answer stands %s of it; want outside, where no line is broken behind it", got)
	}
}
