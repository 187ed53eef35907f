package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// served builds the site of this repository and serves it.
func served(t *testing.T) *httptest.Server {
	t.Helper()
	out := t.TempDir()
	if err := build("../..", out); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(out)))
	t.Cleanup(server.Close)
	return server
}

var linked = regexp.MustCompile(`(?:href|src)="([^"]*)"`)

// Every page is reached from the first, every link leads to something that is there, and nothing is
// asked of another host.
func TestLinks(t *testing.T) {
	server := served(t)
	texts := map[string]string{} // by address without fragment
	get := func(address string) string {
		if text, ok := texts[address]; ok {
			return text
		}
		resp, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", address, resp.Status)
		}
		texts[address] = string(b)
		return texts[address]
	}
	pages, done := 0, map[string]bool{}
	for todo := []string{server.URL + "/index.html"}; len(todo) > 0; todo = todo[1:] {
		page := todo[0]
		text := get(page)
		pages++
		base, err := url.Parse(page)
		if err != nil {
			t.Fatal(err)
		}
		article, _, _ := strings.Cut(text, "<article>")
		for _, m := range linked.FindAllStringSubmatch(article, -1) {
			if strings.Contains(m[1], "://") {
				t.Errorf("%s asks another host for %s", page, m[1])
			}
		}
		for _, m := range linked.FindAllStringSubmatch(text, -1) {
			u, err := base.Parse(m[1])
			if err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if u.Host != base.Host || u.Scheme != "http" {
				continue
			}
			fragment := u.Fragment
			u.Fragment = ""
			if there := get(u.String()); fragment != "" && !strings.Contains(there, ` id="`+fragment+`"`) {
				t.Errorf("%s links %s, which has no such heading", page, m[1])
			}
			if strings.HasSuffix(u.Path, ".html") && !done[u.String()] {
				done[u.String()] = true
				todo = append(todo, u.String())
			}
		}
	}
	if pages < 80 {
		t.Errorf("%d pages are reached from the first; want all", pages)
	}
}

// The search finds a word of a page, and leads there, in both languages.
func TestSearch(t *testing.T) {
	program := os.Getenv("BELLMAN_TEST_CHROMIUM")
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if program == "" {
			program, _ = exec.LookPath(name)
		}
	}
	if program == "" || testing.Short() {
		t.Skip("there is no Chromium here, or the tests are to be short")
	}
	server := served(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	defer stop()
	ctx, cancel := chromedp.NewContext(allocator)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for _, tt := range []struct{ first, word, page, title string }{
		{"/index.html", "late_watch", "/docs/tutorial.html", "Tutorial"},
		{"/zh.html", "min_close_age", "/docs/zh/tutorial.html", "教程"},
	} {
		hit := `#found a[href*="` + strings.TrimPrefix(tt.page, "/") + `"]`
		err := chromedp.Do(ctx, chromedp.Navigate(server.URL+tt.first), chromedp.SendKeys("input[type=search]", tt.word),
			chromedp.WaitVisible(hit), chromedp.Click(hit), chromedp.WaitVisible("article h1"))
		if err != nil {
			t.Fatalf("%s: %v", tt.word, err)
		}
		address, title := ask(t, ctx, chromedp.Location()), ask(t, ctx, chromedp.Text("article h1"))
		if !strings.Contains(address, tt.page) || title != tt.title {
			t.Errorf("%q leads to %s, %q; want %s, %q", tt.word, address, title, tt.page, tt.title)
		}
	}
	if err := chromedp.Do(ctx, chromedp.SendKeys("input[type=search]", "zzyzx")); err != nil {
		t.Fatal(err)
	}
	if none := ask(t, ctx, chromedp.Text("#found")); none != "没有找到" {
		t.Errorf("a word that no page has: %q", none)
	}
}

// ask returns what the browser says.
func ask(t *testing.T, ctx context.Context, a chromedp.Action[string]) string {
	t.Helper()
	text, err := chromedp.Run(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
