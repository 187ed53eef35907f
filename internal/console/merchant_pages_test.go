//go:build !race

package console_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/bellmanhq/bellman/client"
)

// A merchant is registered, changed, tested, paused and rotated, and ended.
func TestAMerchantsLife(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.tab(t)
	b.answerYes()
	b.open("/merchants")
	b.says("No merchants are registered.")
	b.click(`a[href="/merchants/edit"]`)
	b.at("/merchants/edit")
	b.fill(`input[name=merchant_no]`, "M7")
	b.fill(`input[name=name]`, "Tea <b>House</b>")
	b.fill(`input[name=notify_url]`, w.merchant.URL+"/ok")
	b.fill(`select[name=scheme]`, "hmac_sha256_params")
	b.fill(`textarea[name=secrets]`, "a secret that ends with 4711")
	b.fill(`input[name=schedule]`, "often")
	b.fill(`input[name=reason]`, "a new contract")
	b.click(`main button.primary`)
	b.until(`document.readyState === "complete" && document.querySelector("main [role=alert]")?.innerText.includes("Schedule")`)
	if text := eval[string](b, `document.querySelector("textarea").value`); text != "" {
		t.Errorf("the secret is sent back: %q", text)
	}
	b.fill(`textarea[name=secrets]`, "a secret that ends with 4711")
	b.fill(`input[name=schedule]`, "0s, 1s")
	b.click(`main button.primary`)
	b.says("It is saved.")
	b.says("***4711")
	b.says("Tea <b>House</b>")

	b.click(`a[href="/merchants/edit?no=M7"]`)
	b.until(`document.querySelector("textarea").value === "***4711"`)
	b.fill(`input[name=rate]`, "50/s")
	b.fill(`input[name=reason]`, "it asks for less")
	b.click(`main button.primary`)
	b.says("50/s")
	b.says("***4711") // the secret stayed

	// Somebody else changes it while the form is open.
	b.open("/merchants/edit?no=M7")
	theirs := w.merchantOf(t, "M7")
	theirs.Name, theirs.Reason = "Coffee House", "they are two now"
	if _, _, err := w.api.PutMerchant(t.Context(), "M7", theirs); err != nil {
		t.Fatal(err)
	}
	b.fill(`input[name=rate]`, "70/s")
	b.fill(`input[name=reason]`, "it bears more")
	b.click(`main button.primary`)
	b.says("Somebody else changed this merchant while you did")
	b.says("Coffee House") // what stands now
	b.accessible()
	if rate := eval[string](b, `document.querySelector("input[name=rate]").value`); rate != "70/s" {
		t.Errorf("the rate that was typed is %q; want 70/s", rate)
	}
	if m := w.merchantOf(t, "M7"); m.Name != "Coffee House" || m.PerEndpoint.Rate != "50/s" {
		t.Errorf("it is %q with %q; want what somebody else made of it", m.Name, m.PerEndpoint.Rate)
	}
	b.fill(`input[name=name]`, "Coffee House")
	b.click(`main button.primary`)
	b.says("It is saved.")
	if m := w.merchantOf(t, "M7"); m.Name != "Coffee House" || m.PerEndpoint.Rate != "70/s" {
		t.Errorf("it is %q with %q; want both changes", m.Name, m.PerEndpoint.Rate)
	}
	b.open("/merchants/edit")
	b.fill(`input[name=merchant_no]`, "M7")
	b.fill(`input[name=reason]`, "once more")
	b.click(`main button.primary`)
	b.says("There is a merchant with this number")
	b.open("/merchants/show?no=M7")

	b.fill(`textarea[name=secret]`, "another that ends with 0815")
	b.fill(`form:has([value=rotate]) input[name=reason]`, "its key leaked")
	b.click(`button[value=rotate]`)
	b.says("The new secret is in use from now on.")
	b.says("***0815")

	b.fill(`form:has([value=pause]) input[name=reason]`, "its shop is shut")
	b.click(`button[value=pause]`)
	b.says("its shop is shut")
	b.fill(`form:has([value=resume]) input[name=reason]`, "it is open again")
	b.click(`button[value=resume]`)
	b.says("Resumed.")

	b.fill(`form:has([value=test]) input[name=reason]`, "does it work")
	b.fill(`select[name=queue]`, "quick")
	b.click(`button[value=test]`)
	b.says("A test is being sent.")
	b.says("HTTP 200")

	b.open("/merchants/show?no=M7")
	b.fill(`form:has([value=delete]) input[name=reason]`, "the contract ended")
	b.click(`button[value=delete]`)
	b.says("No merchants are registered.")
	for _, reason := range []string{"a new contract", "it asks for less", "its key leaked", "its shop is shut", "it is open again", "does it work", "the contract ended"} {
		b.open("/audit?target=merchant/M7")
		b.says(reason)
	}
}

// merchantOf is a merchant as a change of it says all of it.
func (w *world) merchantOf(t *testing.T, no string) client.PutMerchant {
	t.Helper()
	m, err := w.api.Merchant(t.Context(), no)
	if err != nil {
		t.Fatal(err)
	}
	limits := m.PerEndpoint
	return client.PutMerchant{
		Name: m.Name, NotifyURL: m.NotifyURL, Schedule: m.Schedule, PerEndpoint: &limits,
		Sign: &client.MerchantSign{Scheme: m.Sign.Scheme, Secrets: m.Sign.Secrets},
	}
}

// What was exported can be imported, after looking what that would do.
func TestMerchantsAreImported(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.tab(t)
	w.registered(t)
	answer, err := http.Get(w.URL + "/merchants/export")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || strings.Contains(string(text), "4711") || strings.Count(string(text), "\n") != 3 {
		t.Fatalf("exported: %s, %v", text, err)
	}
	if err := w.api.DeleteMerchant(t.Context(), "M1001", "to import it again"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "merchants.ndjson")
	if err := os.WriteFile(file, append(text, "\n{\"merchant_no\":\"M9\",\"notify_url\":\"ftp://m.example/\"}\n{no JSON\n{\"merchant_no\":\"M9\"}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	upload := func(dry bool) {
		b.open("/merchants/import")
		b.ready()
		input := call(b, runtime.Evaluate, runtime.EvaluateParams{Expression: `document.querySelector("input[type=file]")`}).Result
		call(b, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{file}, ObjectID: input.ObjectID})
		eval[bool](b, fmt.Sprintf(`document.querySelector("input[name=dry]").checked = %t`, dry))
		b.fill(`input[name=reason]`, "moved from another server")
		b.click(`main button.primary`)
	}
	upload(true)
	b.says("What it would do")
	b.says("M9")
	refused := eval[[]string](b, `[...document.querySelectorAll("tr:has(.err)")].map(row => row.cells[0].textContent + " " + row.querySelector(".err").textContent)`)
	for i, want := range []string{"5 notify_url", "6 This line is no JSON object", "7 The same one is already in line 5"} {
		if len(refused) != 3 || !strings.HasPrefix(refused[i], want) {
			t.Errorf("refused are %q; want lines 5, 6 and 7, each with what is wrong with it", refused)
			break
		}
	}
	if _, err := w.api.Merchant(t.Context(), "M1001"); client.StatusOf(err) != 404 {
		t.Errorf("looking what it would do did it: %v", err)
	}
	upload(false)
	b.says("What it did")
	m, err := w.api.Merchant(t.Context(), "M1001")
	if err != nil || m.Sign == nil || len(m.Sign.Secrets) != 1 || m.Sign.Secrets[0] != "***4711" {
		t.Errorf("imported: %+v, %v; want it with its secret", m, err)
	}
}

// Somebody without an account looks at a link that somebody with one made.
func TestALinkInTheBrowser(t *testing.T) {
	t.Parallel()
	w := open(t, "ops")
	b := w.tab(t)
	w.people(t)
	b.signIn("ops")
	b.open("/orders?merchant_no=M1001&order_no=never-1")
	b.click(`a[href^="/links/new"]`)
	b.fill(`input[name=reason]`, "asks whether we sent it")
	b.click(`main button.primary`)
	b.says("The link is made.")
	address := eval[string](b, `document.querySelector("#address").textContent`)
	page := b.path()

	stranger := w.tab(t)
	stranger.do(chromedp.Navigate(address))
	stranger.says("Notices of order never-1")
	stranger.says("Confirmed") // and not what answered: it is at an address of ours
	if text := stranger.text(); strings.Contains(text, "NOTPAY") || strings.Contains(text, "127.0.0.1") || strings.Contains(text, "HTTP 200") {
		t.Errorf("a link shows what is inside: %s", text)
	}
	stranger.click(`a[lang="zh-CN"]`)
	stranger.says("订单 never-1 的通知")
	stranger.open("/tasks")
	stranger.at("/signin")

	b.open(strings.Split(page, "?")[0])
	b.fill(`input[name=reason]`, "sent to the wrong one")
	b.click(`main button.danger`)
	b.says("The link was revoked.")
	stranger.do(chromedp.Navigate(address))
	stranger.says("This link was withdrawn.")
	stranger.accessible()
}
