//go:build !race

package console_test

import (
	"testing"

	"github.com/bellmanhq/bellman/client"
)

// The icon of the tab has a red dot while something on the overview is urgent, and only on the
// overview.
func TestTheIconIsAlarmed(t *testing.T) {
	t.Parallel()
	w := open(t, "ops")
	b := w.tab(t)
	b.signIn("ops")
	icon := func(which string) {
		t.Helper()
		b.until(`document.querySelector("link[rel=icon]").href === new URL(document.querySelector("link[rel=icon]").dataset.` + which + `, location.href).href`)
	}
	b.ready()
	icon("calm")
	dotted := func(address string) bool {
		return eval[bool](b, `(async () => {
			const picture = new Image(32, 32), pen = Object.assign(document.createElement("canvas"), {width: 32, height: 32}).getContext("2d");
			picture.src = document.querySelector("link[rel=icon]").`+address+`;
			await picture.decode();
			pen.drawImage(picture, 0, 0, 32, 32);
			const all = pen.getImageData(0, 0, 32, 32).data;
			for (let i = 0; i < all.length; i += 4) if (all[i] > 180 && all[i+1] < 80 && all[i+2] < 80 && all[i+3] > 200) return true;
			return false;
		})()`)
	}
	if dotted("dataset.calm") || !dotted("dataset.alarmed") {
		t.Error("the calm icon has a red dot, or the other has none")
	}

	id := w.create(t, client.CreateTask{Queue: "quick", MerchantNo: "M1", OrderNo: "icon-1", URL: w.merchant.URL + "/broken"})
	w.until(t, id, ended)
	b.says("Tasks failed in the last hour") // by itself, without a reload
	icon("alarmed")
	b.open("/tasks")
	b.ready()
	icon("calm")
	b.open("/")
	b.ready()
	icon("alarmed")
}
