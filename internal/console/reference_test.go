//go:build !race

// Comparing pictures has no goroutines to check, and make test does it in a step of its own.

package console_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/png"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/bellmanhq/bellman/internal/console"
)

// references are the reference pictures: a directory for each look, a file for each page, made
// smaller.
const references = "testdata/pictures"

// A gallery is a window on the pages of the scene. The clock of its browser stands still.
type gallery struct {
	*tab
	pages []console.Reference
}

// hang opens a window on pages.
func hang(t *testing.T, pages []console.Reference) *gallery {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/assets/") {
			console.ServeAsset(rw, r)
			return
		}
		for _, p := range pages {
			if "/"+p.Lang+"/"+p.Name == r.URL.Path {
				rw.Header().Set("Content-Type", "text/html; charset=utf-8")
				rw.Write(bytes.ReplaceAll(p.Body, []byte(" autofocus"), nil)) // the browser may focus the field after the test has blurred it
				return
			}
		}
		http.NotFound(rw, r)
	}))
	t.Cleanup(server.Close)
	g := &gallery{(&world{URL: server.URL}).tab(t), pages}
	call(g.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: fmt.Sprintf("Date.now = () => %d", console.SceneNow.UnixMilli())})
	return g
}

// TestReferencePictures compares each page, in both languages and themes, wide and on a phone, with
// its reference picture. With -update it makes the pictures anew: look at what changed before you
// accept it. It opens one window at a time, beside no other test: with several, on a very busy
// machine, the browser once did not answer a request for a picture.
func TestReferencePictures(t *testing.T) {
	pages := console.References(t)
	if g := hang(t, pages); !updating() {
		g.hasFonts()
	} else {
		g.keepFonts()
	}
	for _, lang := range []string{"en", "zh-CN"} {
		for _, width := range []string{"wide", "phone"} {
			t.Run(lang+"-"+width, func(t *testing.T) {
				g := hang(t, pages)
				scale := 0.5
				if width == "phone" {
					scale = 0.68
					g.do(chromedp.EmulateViewport(375, 812))
				}
				for _, p := range pages {
					if p.Lang != lang {
						continue
					}
					g.open("/" + p.Lang + "/" + p.Name)
					g.ready()
					eval[bool](g.tab, `document.fonts.ready.then(() => { document.activeElement?.blur(); return true })`) // a caret blinks
					for _, theme := range []string{"light", "dark"} {
						g.colours(theme)
						g.compare(filepath.Join(p.Lang+"-"+theme+"-"+width, p.Name+".png"), scale)
					}
				}
			})
		}
	}
}

func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// compare compares the page, made smaller, with a reference picture.
func (g *gallery) compare(name string, scale float64) {
	g.t.Helper()
	size := eval[[]float64](g.tab, `[document.documentElement.scrollWidth, document.documentElement.scrollHeight]`)
	shot := call(g.tab, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: new(true), OptimizeForSpeed: new(true), Clip: &page.Viewport{Width: size[0], Height: size[1], Scale: scale}})
	got, err := png.Decode(bytes.NewReader(shot.Data))
	if err != nil {
		g.t.Fatal(err)
	}
	file := filepath.Join(references, name)
	if updating() {
		keepPicture(g.t, file, fewColours(got))
		return
	}
	data, err := os.ReadFile(file)
	if err != nil {
		g.t.Errorf("%v (go test -run TestReferencePictures -update ./internal/console makes it)", err)
		return
	}
	want, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		g.t.Fatal(err)
	}
	if few, is := want.(*image.Paletted); is {
		got = inColours(got, few.Palette)
	}
	if blocks := differing(got, want); len(blocks) > most {
		out := filepath.Join(os.TempDir(), "bellman-pictures", name)
		keepPicture(g.t, out, marked(got, blocks))
		g.t.Errorf("%s differs in %d places, the first at %v of %v (was %v): see %s (go test -run TestReferencePictures -update ./internal/console accepts it)", name, len(blocks), blocks[0].Min, got.Bounds().Max, want.Bounds().Max, out)
	}
}

// keepPicture writes a picture.
func keepPicture(t testing.TB, file string, picture image.Image) {
	t.Helper()
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ink draws text in the fonts of the pages, and returns how much of the canvas each covers. The
// Chinese characters have few strokes: where a font lacks them, boxes cover much more.
const ink = `(() => {
	const style = getComputedStyle(document.documentElement), out = {};
	for (const [name, font, text] of [["latin", "--sans", "Order 20261120 accepted"], ["chinese", "--sans", "一十人工订单"], ["mono", "--mono", "POST /notify 0123"]]) {
		const pen = Object.assign(document.createElement("canvas"), {width: 600, height: 60}).getContext("2d");
		pen.font = "32px " + style.getPropertyValue(font);
		pen.fillText(text, 0, 40);
		out[name] = pen.getImageData(0, 0, 600, 60).data.reduce((sum, v, i) => i % 4 == 3 ? sum + v : sum, 0) / 255;
	}
	return out;
})()`

var fontsFile = filepath.Join(references, "fonts.json")

// fonts is how much the texts of ink cover here.
func (g *gallery) fonts() map[string]float64 {
	g.t.Helper()
	g.open("/zh-CN/overview")
	g.ready()
	eval[bool](g.tab, `document.fonts.ready.then(() => true)`)
	return eval[map[string]float64](g.tab, ink)
}

// hasFonts skips the test where the browser draws letters that are not those of the pictures: on a
// machine without the fonts that scripts/chromium installs, every picture would differ.
func (g *gallery) hasFonts() {
	g.t.Helper()
	data, err := os.ReadFile(fontsFile)
	if err != nil {
		g.t.Fatal(err)
	}
	var want map[string]float64
	if err := json.Unmarshal(data, &want); err != nil {
		g.t.Fatal(err)
	}
	for name, got := range g.fonts() {
		if math.Abs(got-want[name]) > 0.02*want[name] {
			g.t.Skipf("the %s letters here are not those of the reference pictures (ink %.0f, there %.0f): install DejaVu Sans Mono and Noto Sans CJK, as scripts/chromium does on Debian", name, got, want[name])
		}
	}
}

func (g *gallery) keepFonts() {
	g.t.Helper()
	data, err := json.MarshalIndent(g.fonts(), "", "  ")
	if err != nil {
		g.t.Fatal(err)
	}
	if err := os.MkdirAll(references, 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(fontsFile, append(data, '\n'), 0o644); err != nil {
		g.t.Fatal(err)
	}
}
