//go:build !race

package console_test

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"

	"github.com/bellmanhq/bellman/internal/console"
)

// TestScreenshots writes a picture of each page of the scene into the directory that
// BELLMAN_SCREENSHOTS names, wide and narrow, in both themes and languages, and those of the
// README: make screenshots. For people to look at; without the variable it does nothing.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("BELLMAN_SCREENSHOTS")
	if dir == "" {
		t.Skip("BELLMAN_SCREENSHOTS names no directory")
	}
	g := hang(t, console.References(t))
	for _, p := range []struct{ name, page, theme string }{{"overview", "overview", "light"}, {"task", "task-waiting", "dark"}, {"order", "order-closed", "light"}} {
		g.colours(p.theme)
		g.open("/en/" + p.page)
		g.ready()
		g.picture(filepath.Join(dir, "readme-"+p.name+".png"), page.CaptureScreenshotParams{Clip: &page.Viewport{Width: 1280, Height: 860, Scale: 1}})
	}
	for _, look := range []struct {
		name, lang, theme string
		size              func()
	}{
		{"light", "en", "light", g.wide},
		{"dark", "zh-CN", "dark", g.wide},
		{"phone", "zh-CN", "light", g.phone},
	} {
		g.colours(look.theme)
		look.size()
		for _, p := range g.pages {
			if p.Lang == look.lang {
				g.open("/" + p.Lang + "/" + p.Name)
				g.ready()
				size := eval[[]float64](g.tab, `[document.documentElement.scrollWidth, document.documentElement.scrollHeight]`)
				g.picture(filepath.Join(dir, p.Name+"-"+look.name+".png"), page.CaptureScreenshotParams{CaptureBeyondViewport: new(true), Clip: &page.Viewport{Width: size[0], Height: size[1], Scale: 1}})
			}
		}
	}
}

// picture writes what the page looks like.
func (g *gallery) picture(file string, as page.CaptureScreenshotParams) {
	g.t.Helper()
	eval[bool](g.tab, `document.fonts.ready.then(() => { document.activeElement?.blur(); return true })`)
	picture, err := png.Decode(bytes.NewReader(call(g.tab, page.CaptureScreenshot, as).Data))
	if err != nil {
		g.t.Fatal(err)
	}
	keepPicture(g.t, file, picture)
}
