//go:build !race

package console_test

import (
	"crypto/x509"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/keytest"
)

// An account is registered, shown, changed, rotated and deleted on pages, which say what is wrong
// and never show a key.
func TestAccountPages(t *testing.T) {
	t.Parallel()
	w := open(t)
	f := w.forms(t)
	key := keytest.RSA()
	v3 := "0123456789abcdef0123456789abWXYZ"
	form := func(change ...string) url.Values {
		in := url.Values{"account": {"shop1"}, "name": {"第一家店"}, "channel": {"wechatpay"}, "mch_id": {"1900000001"}, "serial": {"AB"}, "rate": {"300/s"}, "reason": {"新店"},
			"private_key": {keytest.PEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))}, "api_v3_key": {v3}, "platform_id": {"PUB_KEY_ID_01"}, "platform_key": {keytest.PublicPEM(key)}, "new": {"1"}}
		for i := 0; i < len(change); i += 2 {
			in.Set(change[i], change[i+1])
		}
		return in
	}
	says := func(page string, wants ...string) {
		t.Helper()
		page = strings.ReplaceAll(page, "<wbr>", "")
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q: %s", want, refusal.FindString(page))
			}
		}
		if strings.Contains(page, v3) || strings.Contains(page, "RSA PRIVATE KEY-----\n") {
			t.Error("the page shows a key")
		}
	}
	get := func(path string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", w.URL+path, nil)
		return f.do(t, r, err)
	}
	says(get("/accounts"), "尚未登记渠道账户", "/accounts/edit")
	says(f.send(t, "/accounts/edit", "/accounts", "", form("private_key", "none", "reason", "")), "请重新填写", `value="第一家店"`)
	says(f.send(t, "/accounts/edit", "/accounts", "", form("rate", "much")), "速率: 应为 300/s")
	says(f.send(t, "/accounts/edit", "/accounts", "", form("channel", "alipay")), "不属于渠道 alipay")
	says(f.send(t, "/accounts/edit", "/accounts", "", form()), "wechatpay:1900000001", "第一家店", "***WXYZ", "platform_keys.PUB_KEY_ID_01")
	says(f.send(t, "/accounts/edit", "/accounts", "", form()), "已有同名渠道账户")
	show := "/accounts/show?account=shop1"
	says(get("/accounts?account=sh"), "shop1", "wechatpay:1900000001", "300/s")
	says(f.send(t, show, "/accounts/show", "", url.Values{"account": {"shop1"}, "action": {"rotate"}, "overlap": {"1h"}, "reason": {"r"}}), "请填写要更换的密钥")
	says(f.send(t, show, "/accounts/show", "", url.Values{"account": {"shop1"}, "action": {"rotate"}, "overlap": {"91d"}, "reason": {"r"}, "api_v3_key": {v3}}), "重叠期: 应为 0s 至 90d")
	says(f.send(t, show, "/accounts/show", "", url.Values{"account": {"shop1"}, "action": {"rotate"}, "overlap": {"91d"}, "reason": {"r"}, "private_key": {"none"}, "serial": {"CD"}}), `name="serial" value="CD"`, "请重新填写", `name="to" value="/accounts/show?account=shop1"`)
	next := strings.Repeat("n", 28) + "next"
	says(f.send(t, show, "/accounts/show", "", url.Values{"account": {"shop1"}, "action": {"rotate"}, "overlap": {"1h"}, "reason": {"r"}, "api_v3_key": {next}}), "***next", "***WXYZ")
	edit := "/accounts/edit?account=shop1"
	a, err := w.api.Account(t.Context(), "shop1")
	if err != nil {
		t.Fatal(err)
	}
	says(f.send(t, edit, "/accounts", "", url.Values{"account": {"shop1"}, "name": {"改名"}, "channel": {"wechatpay"}, "mch_id": {"1900000002"}, "serial": {"AB"}, "reason": {"r"}, "version": {a.Version}}), "不能修改：该账户的订单以 wechatpay:1900000001 识别")
	says(f.send(t, edit, "/accounts", "", url.Values{"account": {"shop1"}, "name": {"改名"}, "channel": {"wechatpay"}, "mch_id": {"1900000001"}, "serial": {"AB"}, "reason": {"r"}, "version": {a.Version}}), "改名", "***next", "***WXYZ", "private_key")
	says(get("/audit"), show)
	says(f.send(t, show, "/accounts/show", "", url.Values{"account": {"shop1"}, "action": {"delete"}, "reason": {"关店"}}), "尚未登记渠道账户")
}

// Accounts are exported with sealed keys, and such a file is imported again: first as a preview.
func TestAccountsAreExportedAndImported(t *testing.T) {
	t.Parallel()
	w := open(t)
	f := w.forms(t)
	key := "0123456789abcdef0123456789abWXYZ"
	private := keytest.RSA()
	if _, _, err := w.api.PutAccount(t.Context(), "shop1", client.PutAccount{Channel: "wechatpay", MchID: "1900000001", Serial: "AB", Name: "第一家店", AccountKeys: client.AccountKeys{
		PrivateKey: keytest.PEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(private)), APIv3Key: key, PlatformKeys: map[string]string{"PUB_KEY_ID_01": keytest.PublicPEM(private)}}}); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", w.URL+"/accounts/export", nil)
	file := f.do(t, r, err)
	if !strings.Contains(file, `"account":"shop1"`) || !strings.Contains(file, "sealed:") || strings.Contains(file, key) || strings.Count(file, "\n") != 1 {
		t.Fatalf("exported: %s; want one line with a sealed key", file)
	}
	renamed := strings.ReplaceAll(file, "第一家店", "改名")
	for _, tt := range []struct{ file, dry, want string }{
		{renamed + `{"account":"bad","channel":"paypal"}` + "\n" + "no json\n", "1", "预览结果"},
		{renamed, "", "导入结果"},
	} {
		page := f.send(t, "/accounts/import", "/accounts/import", tt.file, url.Values{"dry": {tt.dry}, "reason": {"搬家"}})
		if !strings.Contains(page, tt.want) || !strings.Contains(page, "/accounts/show?account=shop1") {
			t.Errorf("imported: %s", page)
		}
		a, err := w.api.Account(t.Context(), "shop1")
		if want := map[string]string{"1": "第一家店", "": "改名"}[tt.dry]; err != nil || a.Name != want {
			t.Errorf("the account is called %q, %v; want %q", a.Name, err, want)
		}
	}
}
