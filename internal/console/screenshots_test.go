package console_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/bellmanhq/bellman/client"
)

// TestScreenshots writes a picture of each page, wide and narrow, in both themes
// and languages, into the directory that BELLMAN_SCREENSHOTS names: make
// screenshots. For people to look at; without the variable it does nothing.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("BELLMAN_SCREENSHOTS")
	if dir == "" {
		t.Skip("BELLMAN_SCREENSHOTS names no directory")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := open(t)
	b := w.tab(t)
	c := w.decent(t)
	w.busy(t)
	b.ofREADME(dir, c)
	w.villains(t, c)
	pages := w.pages(t, c)
	if err := w.api.PauseQueue(t.Context(), "merchant-notify", client.Because{Reason: "the merchants' bank has maintenance until 6"}); err != nil {
		t.Fatal(err)
	}
	for _, look := range []struct {
		name, lang, scheme string
		size               func()
	}{
		{"light", "en", "light", b.wide},
		{"dark", "zh-CN", "dark", b.wide},
		{"phone", "zh-CN", "light", b.phone},
	} {
		b.language(look.lang)
		b.colours(look.scheme)
		look.size()
		for _, p := range pages {
			b.open(p.path)
			b.ready()
			b.picture(filepath.Join(dir, p.name+"-"+look.name+".png"))
		}
	}
	signs := open(t, "reader")
	b = signs.tab(t)
	b.open("/signin")
	b.ready()
	b.picture(filepath.Join(dir, "signin-light.png"))
}

// ofREADME makes the pictures that the README has, which are no longer than a
// window.
func (b *tab) ofREADME(dir string, c *cast) {
	b.t.Helper()
	b.language("en")
	for _, p := range []struct{ name, path, scheme string }{
		{"overview", "/", "light"}, {"task", "/tasks/" + c.waiting, "dark"}, {"order", "/orders?merchant_no=M1001&order_no=never-1", "light"},
	} {
		b.colours(p.scheme)
		b.open(p.path)
		b.ready()
		ctx, cancel := context.WithTimeout(b, patience)
		png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		cancel()
		if err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "readme-"+p.name+".png"), png, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
}

// busy lets some minutes' figures be there: a chart needs two minutes that are over.
func (w *world) busy(t testing.TB) {
	t.Helper()
	for end := time.Now().Truncate(time.Minute).Add(121 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		w.create(t, client.CreateTask{Queue: "quick", URL: w.merchant.URL + "/ok", MerchantNo: "M1004", Event: "payment.succeeded"})
	}
}

// picture writes what the whole page looks like.
func (b *tab) picture(file string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
