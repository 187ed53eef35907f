package console_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// An account is registered, shown, changed, rotated and deleted on pages, which say what is wrong and never show
// a key.
func TestAccountPages(t *testing.T) {
	w := open(t)
	f := w.forms(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	v3 := "0123456789abcdef0123456789abWXYZ"
	form := func(change ...string) url.Values {
		in := url.Values{"account": {"shop1"}, "name": {"第一家店"}, "channel": {"wechatpay"}, "mch_id": {"1900000001"}, "serial": {"AB"}, "rate": {"300/s"}, "reason": {"新店"},
			"private_key": {text("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))}, "api_v3_key": {v3}, "platform_id": {"PUB_KEY_ID_01"}, "platform_key": {text("PUBLIC KEY", public)}, "new": {"1"}}
		for i := 0; i < len(change); i += 2 {
			in.Set(change[i], change[i+1])
		}
		return in
	}
	says := func(page string, wants ...string) {
		t.Helper()
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
