//go:build !race

package console_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/bellmanhq/bellman/internal/eventually"
)

// A tab is a window of a browser of its own, so it shares no cookies. Errors in the tab fail the
// test.
type tab struct {
	context.Context
	t testing.TB
	w *world

	mu       sync.Mutex
	faults   []string // errors of scripts, of the policy, and dialogs
	confirms bool     // dialogs are answered with yes, and are no fault
}

// chromium returns the browser program: the one that BELLMAN_TEST_CHROMIUM names, or that of this
// machine.
func chromium() string {
	if name := os.Getenv("BELLMAN_TEST_CHROMIUM"); name != "" {
		return name
	}
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// browser starts the one browser of all tests; nil if there is none here.
var browser = sync.OnceValues(func() (context.Context, func()) {
	program := chromium()
	if program == "" {
		return nil, func() {}
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("lang", "en-US"),
		chromedp.Flag("font-render-hinting", "slight")) // as a desktop does; Chromium's headless shell has another default
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "the browser could not be started:", err)
		cancel()
		stop()
		return nil, func() {}
	}
	return ctx, func() { cancel(); stop() }
})

var started atomic.Bool // a test has asked for the browser

func TestMain(m *testing.M) {
	code := m.Run()
	if started.Load() {
		_, stop := browser()
		stop()
	}
	os.Exit(code)
}

// tab opens a window on a world. Its time zone is Shanghai's.
func (w *world) tab(t testing.TB) *tab {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser is not for short tests")
	}
	started.Store(true)
	parent, _ := browser()
	if parent == nil {
		t.Skip("no chromium here: install it, or name it in BELLMAN_TEST_CHROMIUM; make test does")
	}
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithNewBrowserContext())
	b := &tab{Context: ctx, t: t, w: w}
	if err := chromedp.Listen(ctx, b.heard); err != nil {
		t.Fatal(err)
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	call(b, page.Enable, page.EnableParams{})
	call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Shanghai"})
	b.wide()
	t.Cleanup(func() {
		cancel()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, f := range b.faults {
			t.Errorf("in the browser: %s", f)
		}
	})
	return b
}

// call asks the browser for something.
func call[P, R any](b *tab, command cdp.Command[P, R], in P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b, eventually.Limit)
	defer cancel()
	out, err := chromedp.Call(ctx, command, in)
	if err != nil {
		b.t.Fatalf("%s: %v", command.Method, err)
	}
	return out
}

// heard notes what goes wrong in a page.
func (b *tab) heard(event any) {
	fault := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		fault = "a script failed: " + said(e.ExceptionDetails)
	case *log.EventEntryAdded:
		// An answer that is meant to be 4xx is told as an error of the network.
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			fault = fmt.Sprintf("%s: %s", e.Entry.Source, e.Entry.Text)
		}
	case *page.EventJavascriptDialogOpening:
		b.mu.Lock()
		yes := b.confirms
		b.mu.Unlock()
		if !yes {
			fault = "a dialog: " + e.Message
		}
		go chromedp.Call(b, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: yes}) // the page waits for it
	}
	if fault != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.faults = append(b.faults, fault)
	}
}

// answerYes makes the dialogs that follow be answered with yes.
func (b *tab) answerYes() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.confirms = true
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b, eventually.Limit)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%v, on a page that says: %s", err, b.text())
	}
}

// try evaluates JavaScript once.
func try[T any](b *tab, script string) (T, error) {
	ctx, cancel := context.WithTimeout(b, eventually.Limit)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// eval evaluates JavaScript and returns its value.
func eval[T any](b *tab, script string) T {
	b.t.Helper()
	value, err := try[T](b, script)
	if err != nil {
		b.t.Fatalf("%s: %v, on a page that says: %s", script, err, b.text())
	}
	return value
}

// text is what the page says.
func (b *tab) text() string {
	text, err := try[string](b, `document.body ? document.title + " | " + document.body.innerText : ""`)
	if err != nil {
		return "(it cannot be read: " + err.Error() + ")"
	}
	return text
}

// open goes to a page.
func (b *tab) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.w.URL + path))
}

// ready waits for the scripts of a page to have begun.
func (b *tab) ready() {
	b.t.Helper()
	b.until(`document.readyState === "complete" && document.documentElement.classList.contains("js")`)
}

// until waits for JavaScript to be true, on whatever page there is by then.
func (b *tab) until(script string) {
	b.t.Helper()
	var last error
	if eventually.Within(eventually.Limit, func() bool {
		yes, err := try[bool](b, "!!("+script+")")
		last = err // the page may be on its way to another
		return yes
	}) {
		return
	}
	b.t.Fatalf("it is not so that %s (%v), at %s which says: %s", script, last, eval[string](b, "location.href"), b.text())
}

// says waits for the page to say something.
func (b *tab) says(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`document.body && document.body.innerText.includes(%q)`, text))
}

// found returns a script that does something with the element of a selector, if the element exists
// and its page has loaded, and returns whether it did. It is one script, because the page may be
// about to change.
func found(selector, do string) string {
	return fmt.Sprintf(`(() => {
		const found = document.readyState === "complete" && document.querySelector(%q);
		if (!found || !found.offsetParent) return false;
		%s;
		return true;
	})()`, selector, do)
}

// click clicks the element of a selector, once. After a click on a link it waits until the page is
// left: the next action is meant for the next page, which may have the same fields.
func (b *tab) click(selector string) {
	b.t.Helper()
	for clicked := false; !clicked; {
		b.until(found(selector, ""))
		var err error
		if clicked, err = try[bool](b, found(selector, "document.followed = found.matches('a[href]'); found.click()")); err != nil {
			b.t.Fatal(err)
		}
	}
	b.until(`!document.followed`)
}

// fill types a value into a field.
func (b *tab) fill(selector, value string) {
	b.t.Helper()
	b.until(found(selector, fmt.Sprintf(`found.value = %q`, value)))
}

// act gives a reason, and clicks the button of an action.
func (b *tab) act(action, reason string) {
	b.t.Helper()
	b.fill(`input[name=reason]`, reason)
	b.click(fmt.Sprintf(`button[value=%s]`, action))
}

// press presses a key.
func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.do(chromedp.KeyEvent(k))
	}
}

// path is where the browser is.
func (b *tab) path() string { return eval[string](b, `location.pathname + location.search`) }

// at waits for the browser to be at an address.
func (b *tab) at(path string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`(location.pathname + location.search).startsWith(%q) && document.readyState === "complete"`, path))
}

// signIn signs in with a key of the world.
func (b *tab) signIn(name string) {
	b.t.Helper()
	b.open("/signin")
	b.fill(`input[name=name]`, name)
	b.fill(`input[name=key]`, name+"-key")
	b.click(`main button.primary`)
	b.until(`location.pathname === "/" && document.readyState === "complete"`)
}

// signOut signs out.
func (b *tab) signOut() {
	b.t.Helper()
	b.click(`form[action="/signout"] button`)
	b.at("/signin")
}

// wide makes the window as wide as a laptop, phone as wide as a phone.
func (b *tab) wide()  { b.do(chromedp.EmulateViewport(1280, 900)) }
func (b *tab) phone() { b.do(chromedp.EmulateViewport(375, 812, chromedp.EmulateScale(2))) }

// colours makes the system light or dark.
func (b *tab) colours(scheme string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// language makes the browser ask for pages in a language.
func (b *tab) language(tag string) {
	b.t.Helper()
	call(b, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": tag}})
}

// accessible fails the test where axe finds a fault of WCAG 2, levels A and AA.
func (b *tab) accessible() {
	b.t.Helper()
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := try[chromedp.Void](b, string(axe)); err != nil {
		b.t.Fatal(err)
	}
	for _, fault := range eval[[]string](b, `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}).then(r =>
		r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + n.html.slice(0, 200) + " " + n.failureSummary)))`) {
		b.t.Errorf("%s: %s", b.path(), strings.Join(strings.Fields(fault), " "))
	}
}

func said(e *runtime.ExceptionDetails) string {
	if e.Exception != nil && e.Exception.Description != "" {
		return e.Exception.Description
	}
	return e.Text
}
