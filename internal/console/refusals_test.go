//go:build !race

package console_test

import (
	"bytes"
	"encoding/json"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
)

// Forms are what somebody without a browser sends, from pages in Chinese.
type forms struct {
	*http.Client
	w *world
}

func (w *world) forms(t *testing.T) forms {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return forms{&http.Client{Jar: jar}, w}
}

func (f forms) do(t *testing.T, r *http.Request, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Language", "zh-CN")
	answer, err := f.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return html.UnescapeString(string(page))
}

var tokenOf = regexp.MustCompile(`name="token" value="([^"]*)"`)

// send sends a form of a page, with a file if there is one.
func (f forms) send(t *testing.T, page, to, file string, fields url.Values) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", f.w.URL+page, nil)
	found := tokenOf.FindStringSubmatch(f.do(t, r, err))
	if found == nil {
		t.Fatalf("%s has no form", page)
	}
	fields.Set("token", found[1])
	if file == "" {
		r, err = http.NewRequestWithContext(t.Context(), "POST", f.w.URL+to, strings.NewReader(fields.Encode()))
		if err == nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		return f.do(t, r, err)
	}
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	for name := range fields {
		if err := parts.WriteField(name, fields.Get(name)); err != nil {
			t.Fatal(err)
		}
	}
	part, err := parts.CreateFormFile("file", "merchants.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(part, file)
	parts.Close()
	if r, err = http.NewRequestWithContext(t.Context(), "POST", f.w.URL+to, &body); err == nil {
		r.Header.Set("Content-Type", parts.FormDataContentType())
	}
	return f.do(t, r, err)
}

var (
	refusal = regexp.MustCompile(`(?s)<p class="bar bad" role="alert">(.*?)</p>|<small class="err">(.*?)</small>|<section class="panel failure">\s*(.*?)\s*<p class="muted">`)

	// What is the same in every language: what was typed, names, examples, and in parentheses
	// or quotes what a library says of it.
	verbatim = regexp.MustCompile(`"[^"]*"|“[^”]*”|\([^()]*\)|（[^（）]*）|[a-z_0-9, ]*_[a-z_0-9, ]*`)
	english  = regexp.MustCompile(`[A-Za-z’']+ [a-z’']+ [a-z’']+`)
)

// Whatever is typed into a form, a page in Chinese says in Chinese what is wrong with it.
func TestRefusalsInChinese(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.decent(t)
	f := w.forms(t)
	for no, in := range map[string]client.PutMerchant{
		"signed":  {NotifyURL: w.merchant.URL + "/ok", Sign: &client.MerchantSign{Scheme: "standard_webhooks", Secrets: []string{"whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0"}}},
		"nowhere": {},
	} {
		if _, _, err := w.api.PutMerchant(t.Context(), no, in); err != nil {
			t.Fatal(err)
		}
	}
	merchant := func(name, value string, more ...string) url.Values {
		v := url.Values{"merchant_no": {"M9"}, "reason": {"r"}, "new": {"1"}, name: {value}}
		for i := 0; i < len(more); i += 2 {
			v.Set(more[i], more[i+1])
		}
		return v
	}
	signed := func(scheme, secrets string) url.Values { return merchant("scheme", scheme, "secrets", secrets) }
	type sent struct {
		page, to string
		fields   url.Values
	}
	edit := func(v url.Values) sent { return sent{"/merchants/edit", "/merchants", v} }
	act := func(no, action string, more ...string) sent {
		v := url.Values{"no": {no}, "action": {action}, "reason": {"r"}}
		for i := 0; i < len(more); i += 2 {
			v.Set(more[i], more[i+1])
		}
		return sent{"/merchants/show?no=" + no, "/merchants/show", v}
	}
	all := []sent{
		edit(merchant("merchant_no", "")),
		edit(merchant("merchant_no", strings.Repeat("9", 200))),
		edit(merchant("name", "a\x01b")),
		edit(merchant("name", "\xff")),
		edit(merchant("reason", "")),
		edit(merchant("concurrency", "many")),
		edit(merchant("concurrency", "1000000")),
		edit(merchant("rate", "fast")),
		edit(merchant("rate", "10000000/s")),
		edit(merchant("timeout", "soon")),
		edit(merchant("timeout", "0s")),
		edit(merchant("timeout", "20m")),
		edit(merchant("timeout", "-1s")),
		edit(merchant("timeout", "999999d")),
		edit(merchant("merchant_no", "signed")),
		edit(signed("hmac", "k")),
		edit(signed("md5_params", "")),
		edit(signed("md5_params", "env:HOME")),
		edit(signed("md5_params", "***4711")),
		edit(signed("md5_params", strings.Repeat("x", 20_000))),
		edit(signed("md5_params", strings.Repeat("k\n", 9))),
		edit(signed("md5_params", "sealed:nonsense")),
		edit(signed("md5_params", "sealed:v1.00000000.!!")),
		edit(signed("md5_params", "sealed:v1.00000000.AAAA")),
		edit(signed("md5_params", "sealed:v1.00000000.AAAA until soon")),
		edit(merchant("scheme", "md5_params", "secrets", "k", "serial", "1")),
		edit(merchant("scheme", "wechat_rsa", "secrets", "k", "serial", "号")),
		edit(signed("wechat_rsa", "-----BEGIN PRIVATE KEY-----")),
		edit(signed("standard_webhooks", "k")),
		edit(signed("standard_webhooks", "whsec_")),
		edit(signed("standard_webhooks", "whsec_!")),
		edit(signed("standard_webhooks", "whsk_!")),
		edit(signed("standard_webhooks", "whsk_AAAA")),
		act("signed", "rotate", "secret", "", "overlap", "1h"),
		act("signed", "rotate", "secret", "k", "overlap", "1h"),
		act("signed", "rotate", "secret", "whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0", "overlap", "1h"),
		act("signed", "rotate", "secret", "whsec_!", "overlap", "400d"),
		act("signed", "rotate", "secret", "whsec_!", "overlap", "long"),
		act("nowhere", "rotate", "secret", "k", "overlap", "1h"),
		act("nowhere", "test"),
		act("nowhere", "test", "queue", "orders"),
		act("nowhere", "test", "queue", "none"),
		act("nowhere", "dance"),
		act("signed", "pause", "reason", ""),
		{"/links/new", "/links", url.Values{"merchant_no": {"M1"}, "life": {"1y"}, "reason": {"r"}}},
		{"/links/new", "/links", url.Values{"life": {"24h"}, "reason": {"r"}}},
		{"/links/new", "/links", url.Values{"merchant_no": {strings.Repeat("9", 600)}, "life": {"24h"}, "reason": {"r"}}},
		{"/resends/new?queue=quick", "/resends", url.Values{"reason": {"r"}, "rate": {"5"}}},
		{"/resends/new?queue=quick", "/resends", url.Values{"queue": {"none"}, "reason": {"r"}, "rate": {"5"}}},
		{"/resends/new?queue=quick", "/resends", url.Values{"queue": {"quick"}, "reason": {"r"}, "rate": {"1000000"}}},
		{"/resends/new?queue=quick", "/resends", url.Values{"queue": {"quick"}, "reason": {"r"}, "rate": {"5"}, "mode": {"twice"}}},
		{"/resends/new?queue=quick", "/resends", url.Values{"queue": {"quick"}, "reason": {"r"}, "rate": {"5"}, "from": {"2999-01-01"}}},
		{"/tasks/" + c.failed, "/tasks/" + c.failed, url.Values{"action": {"cancel"}, "reason": {"r"}}},
		{"/tasks/" + c.failed, "/tasks/" + c.failed, url.Values{"action": {"complete"}, "reason": {"r"}}},
		{"/tasks/" + c.failed, "/tasks/" + c.failed, url.Values{"action": {"reschedule"}, "reason": {"r"}, "when": {"1h"}}},
		{"/tasks/" + c.failed, "/tasks/" + c.failed, url.Values{"action": {"once"}}},
		{"/tasks/" + c.waiting, "/tasks/" + c.waiting, url.Values{"action": {"reschedule"}, "reason": {"r"}, "when": {"soon"}}},
		{"/orders?merchant_no=M1001&order_no=paid-1", "/orders", url.Values{"merchant_no": {"M1001"}, "order_no": {"paid-1"}, "action": {"complete"}, "outcome": {"CLOSED"}, "reason": {"r"}}},
		{"/orders?merchant_no=M1001&order_no=paid-1", "/orders", url.Values{"merchant_no": {"M1001"}, "order_no": {"paid-1"}, "action": {"complete"}, "outcome": {"WON"}, "reason": {"r"}}},
		{"/queues", "/queues", url.Values{"name": {"none"}, "action": {"pause"}, "reason": {"r"}}},
		{"/queues", "/queues", url.Values{"name": {"quick"}, "action": {"pause"}}},
		{"/queues", "/queues", url.Values{"action": {"pause"}, "reason": {"r"}}},
		{"/endpoints?name=x", "/endpoints", url.Values{"action": {"pause"}, "reason": {"r"}}},
		{"/endpoints?name=x", "/endpoints", url.Values{"name": {"banana"}, "action": {"pause"}, "reason": {"r"}}},
		{"/endpoints?name=x", "/endpoints", url.Values{"name": {"quick"}, "action": {"pause"}, "reason": {"r"}}},
		{"/endpoints?name=x", "/endpoints", url.Values{"name": {"amqp://main"}, "action": {"pause"}, "reason": {"r"}}},
		{"/endpoints?name=x", "/endpoints", url.Values{"name": {strings.Repeat("x", 600)}, "action": {"resume"}, "reason": {"r"}}},
	}
	for _, number := range []string{"0", "-1", "NaN", "1e9", "0.0000001", "1000000000"} {
		all = append(all, edit(merchant("concurrency", number)), edit(merchant("rate", number+"/s")),
			sent{"/resends/new?queue=quick", "/resends", url.Values{"queue": {"quick"}, "reason": {"r"}, "rate": {number}}})
	}
	for _, address := range []string{"ftp://a.example/", "a.example", "http://", "http://a b/", "https://u:p@a.example/", "https://a.example/#x", "https://a.example:/", "https://a.example:99999/",
		"https://[::zz]/", "https://[fe80::1%25eth0]/", "https://" + strings.Repeat("a.", 200) + "example/", "https://a..b/", "https://1.2.3/", "https://a_ä..example/", "https://a!b/",
		"http://10.0.0.1/", "http://169.254.169.254/", "https://a.example/" + strings.Repeat("a", 2100), "%zz"} {
		all = append(all, edit(merchant("notify_url", address)))
	}
	for _, schedule := range []string{"wechat", "often", "wechat_notifi", "0s,", "0s, 15x", "-1s", "5m*, 1m", "5m* until 1h, 2m", "@ 5s, 3s", "@5s*2", "@ 5s*2", "0s*", "5m* until 0s", "1s, 5m* until 1s", "0s, 5m* until 1h",
		"1s*20000", "1s*0", "3650d*2", "0s; maximum", "0s; max 1m; max 2m", "0s; max 0s", "1h; max 1m", "0s ~5% ~6%", "0s ~5", `{"1":0`, `{"x":0}`, `{"1":-1}`, `{"1":0,"1":1}`, `{"1":9999999}`,
		strings.Repeat("1s, 2s, ", 3000) + "1s"} {
		all = append(all, edit(merchant("schedule", schedule)))
	}
	for _, rule := range []string{"success_txt", "status ==", "status === 200", "stat == 200", "body.shout()", "status == body", "json.code", "status", "body == 'a'\n&& stat", "{'a': 1} == {'a': 1}", "json == json",
		"json in json", "[status] == [1]", "status in [status]", "body.matches(body)", "body.matches('(')", "body.matches('((a{900}){2})')", "body.indexOf(body) > 0", "body.replace('a', 'bb') == ''",
		"json_field(body, 'exists')", "json_field('a', 'eq')", "json_field('a', 'eq', status)", "json_field('a', 'in', 'b')", "json_field('a', 'regex', body)", "duration('1s') == duration('1s')",
		"json.a.exists(x, json.a.exists(y, json.a.exists(z, json.a.exists(u, x == y && string(z) == string(u)))))", strings.Repeat("status == 200 && ", 200) + "true", strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300)} {
		all = append(all, edit(merchant("success", rule)))
	}
	looked := func(what, page string) {
		t.Helper()
		found := refusal.FindAllStringSubmatch(page, -1)
		if len(found) == 0 || strings.Contains(page, "没有此页面") {
			t.Errorf("%s: it was not refused", what)
		}
		for _, m := range found {
			text := strings.TrimSpace(tags.ReplaceAllString(m[1]+m[2]+m[3], " "))
			if m := english.FindString(verbatim.ReplaceAllString(text, "")); m != "" {
				t.Errorf("%s: refused with %q, which says %q in English", what, text, m)
			}
		}
	}
	for _, s := range all {
		what, _ := json.Marshal(s.fields)
		looked(s.to+" "+string(what[:min(len(what), 200)]), f.send(t, s.page, s.to, "", s.fields))
	}
	for _, file := range []string{
		`{"merchant_no":"M1","schedule":"often"}`, `{"merchant_no":"M1","sign":{"scheme":"md5_params","secrets":["sealed:x"]}}`, `{"merchant_no":"M1","sign":{"secrets":["x"]}}`,
		`{"merchant_no":`, `[]`, `{"merchant_no":"M1","colour":"red"}`, `{"merchant_no":7}`, "{\"merchant_no\":\"M1\"}\n{\"merchant_no\":\"M1\"}", `{"merchant_no":"signed","version":"old"}`, `{"merchant_no":"gone","version":"old"}`,
	} {
		looked(file, f.send(t, "/merchants/import", "/merchants/import", file, url.Values{"reason": {"r"}, "dry": {"1"}}))
	}
}

var tags = regexp.MustCompile(`<[^>]*>`)

// What a library says of a rule stands in quotes behind a sentence of the page's own.
func TestTheWordsOfLibrariesAreQuoted(t *testing.T) {
	t.Parallel()
	f := open(t).forms(t)
	for rule, want := range map[string]string{
		"status ==":         "语法有误，解析器的原文：“",
		"stat == 200":       "没有此变量，原文：“undeclared reference to 'stat'",
		"body.shout()":      "没有此函数，原文：“undeclared reference to 'shout'”",
		"body.matches('(')": "正则表达式有误，原文：“error parsing regexp: missing closing ): `(`”",
	} {
		got := f.send(t, "/merchants/edit", "/merchants", "", url.Values{"merchant_no": {"Q1"}, "new": {"1"}, "success": {rule}, "reason": {"r"}})
		if !strings.Contains(got, want) {
			t.Errorf("the rule %q is refused with %q; want %q in it", rule, refusal.FindString(got), want)
		}
	}
}

// Editors write a byte order mark first, or the encoding of their system. The mark is skipped.
// Nothing is imported from a file in another encoding.
func TestImportOfOtherEncodings(t *testing.T) {
	t.Parallel()
	f := open(t).forms(t)
	send := func(file string) string {
		return f.send(t, "/merchants/import", "/merchants/import", file, url.Values{"reason": {"r"}, "dry": {"1"}})
	}
	const refused = `<small class="err">`
	if got := send("\ufeff{\"merchant_no\":\"B1\"}\r\n{\"merchant_no\":\"B2\"}\r\n"); strings.Contains(got, refused) || strings.Count(got, "新增") < 2 {
		t.Errorf("a file that begins with a byte order mark: %s", got)
	}
	if got := send("{\"merchant_no\":\"G1\",\"name\":\"\xd5\xc5\xc8\xfd\"}\n"); !strings.Contains(got, refused+"不是 UTF-8 文本。") {
		t.Errorf("a file in GBK: %s", got)
	}
}

// All that is wrong with a form is told at once, a number that is taken among it.
func TestAllThatIsWrongAtOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.decent(t)
	f := w.forms(t)
	for no, in := range map[string]client.PutMerchant{
		"M1": {Name: "Tea"},
		"M3": {Sign: &client.MerchantSign{Scheme: "standard_webhooks", Secrets: []string{"whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0"}}},
	} {
		if _, _, err := w.api.PutMerchant(t.Context(), no, in); err != nil {
			t.Fatal(err)
		}
	}
	w.create(t, client.CreateTask{Queue: "orders", MerchantNo: "M1001", OrderNo: "watched", Vars: map[string]string{"appid": "wx1"}, Schedule: "1h*", Expires: "1d", Notify: &client.Notify{URL: w.merchant.URL + "/ok"}})
	m, err := w.api.Merchant(t.Context(), "M1")
	if err != nil {
		t.Fatal(err)
	}
	bad := func(more ...string) url.Values {
		v := url.Values{"merchant_no": {"M1"}, "notify_url": {"ftp://a.example/"}, "schedule": {"often"}, "rate": {"fast"}, "timeout": {"soon"}, "reason": {"r"}}
		for i := 0; i < len(more); i += 2 {
			v.Set(more[i], more[i+1])
		}
		return v
	}
	fields := []string{"通知地址: ", "时间表: ", "超时: ", "速率: "}
	for _, tt := range []struct {
		page, to string
		form     url.Values
		want     []string
	}{
		{"/merchants/edit", "/merchants", bad("new", "1"), append(fields, "此商户号已登记")},
		{"/merchants/edit", "/merchants", bad("new", "1", "reason", "", "concurrency", "0", "secrets", "k"), append(fields, "此商户号已登记", "请填写原因", "并发上限请填写", "请选择签名方式")},
		{"/merchants/edit", "/merchants", bad("new", "1", "reason", "", "merchant_no", "M2"), append(fields, "请填写原因")},
		{"/merchants/edit", "/merchants", bad("new", "1", "merchant_no", ""), append(fields, "商户号: 必填")},
		{"/merchants/edit?no=M1", "/merchants", bad("version", "old"), append(fields, "Tea")},
		{"/merchants/edit?no=M1", "/merchants", bad("version", m.Version, "reason", ""), append(fields, "请填写原因")},
		{"/links/new", "/links", url.Values{"life": {"1y"}}, []string{"请填写商户号", "请选择有效期", "请填写原因"}},
		{"/resends/new?queue=quick", "/resends", url.Values{"queue": {"quick"}, "rate": {"-1"}}, []string{"请输入每秒任务数", "请填写原因"}},
		{"/merchants/show?no=M3", "/merchants/show", url.Values{"no": {"M3"}, "action": {"rotate"}, "secret": {"whsec_!"}, "overlap": {"long"}}, []string{"请填写原因", "新密钥: ", "重叠期: "}},
		{"/tasks/" + c.waiting, "/tasks/" + c.waiting, url.Values{"action": {"reschedule"}, "when": {"2020-01-01T00:00:00Z"}}, []string{"请填写原因", "2020-01-01T00:00:00Z 已经过去"}},
		{"/tasks/" + c.waiting, "/tasks/" + c.waiting, url.Values{"action": {"complete"}, "outcome": {"PAID"}}, []string{"请填写原因", "请选择"}},
		{"/orders?merchant_no=M1001&order_no=paid-1", "/orders", url.Values{"merchant_no": {"M1001"}, "order_no": {"paid-1"}, "action": {"complete"}, "outcome": {"WON"}}, []string{"请填写原因", "请选择"}},
		{"/tasks/" + c.failed, "/tasks/" + c.failed, url.Values{"action": {"cancel"}}, []string{"请填写原因", "任务已经结束"}},
		{"/orders?merchant_no=M1001&order_no=paid-1", "/orders", url.Values{"merchant_no": {"M1001"}, "order_no": {"paid-1"}, "action": {"complete"}, "outcome": {"FAILED"}}, []string{"请填写原因", "订单已是 PAID，不再改变"}},
		{"/links/new", "/links", url.Values{"merchant_no": {"M1001"}, "order_no": {"watched"}, "life": {"24h"}}, []string{"请填写原因", "这个订单没有通知"}},
		{"/endpoints?name=x", "/endpoints", url.Values{"action": {"pause"}}, []string{"请填写原因", "请填写端点"}},
		{"/links/new", "/links", url.Values{"merchant_no": {"M1001"}, "order_no": {"watched"}, "life": {"24h"}, "reason": {"r"}}, []string{"这个订单没有通知"}},
	} {
		got := f.send(t, tt.page, tt.to, "", tt.form)
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s %v: it is not told that %s", tt.to, tt.form, want)
			}
		}
	}
	if m, err := w.api.Merchant(t.Context(), "M1"); err != nil || m.Name != "Tea" {
		t.Errorf("what was refused changed the merchant: %+v, %v", m, err)
	}
	if _, err := w.api.Merchant(t.Context(), "M2"); err == nil {
		t.Error("what was refused registered a merchant")
	}
}

// The errors of a file say how to correct it: it has no merchants or too many, or which line has
// which wrong field, and what the field should have.
func TestWhatAFileHasWrong(t *testing.T) {
	t.Parallel()
	f := open(t).forms(t)
	for file, want := range map[string]string{
		"\n \n":                                                                "文件中没有可导入的内容：应为每行一个 JSON 对象。",
		strings.Repeat("{}\n", 1001):                                           "文件超过 1,000 行：请拆分后分次导入。",
		strings.Repeat("x", 8<<20+100<<10):                                     "提交的内容超过 8 MiB",
		`{"merchant_no":7}`:                                                    `字段 merchant_no 的值是数字：应为带引号的文本，如 "M1001"。`,
		`{"merchant_no":"M1","name":["a"]}`:                                    `字段 name 的值是列表：应为带引号的文本`,
		`{"merchant_no":"M1","sign":"md5"}`:                                    `字段 sign 的值是文本：应为对象`,
		`{"merchant_no":"M1","sign":{"secrets":"k"}}`:                          `字段 sign.secrets 的值是文本：应为文本列表，如 ["…"]。`,
		`{"merchant_no":"M1","per_endpoint":{"concurrency":"16"}}`:             `字段 per_endpoint.concurrency 的值是文本：应为不带引号的整数，如 16。`,
		`{"merchant_no":"M1","per_endpoint":{"concurrency":1.5}}`:              `字段 per_endpoint.concurrency 的值是数字：应为不带引号的整数`,
		`{"merchant_no":"M1","name":"a","name":"b"}`:                           `字段 name 出现了两次：只能有一次。`,
		`{"merchant_no":"M1","name":"a","Name":"b"}`:                           `字段 Name 出现了两次：只能有一次。`,
		`{"merchant_no":"M1","sign":{"scheme":"a","serial":"b","scheme":"a"}}`: `字段 sign.scheme 出现了两次：只能有一次。`,
	} {
		got := f.send(t, "/merchants/import", "/merchants/import", file, url.Values{"reason": {"r"}, "dry": {"1"}})
		if !strings.Contains(got, want) {
			t.Errorf("%.80s: %q; want it to say %q", file, refusal.FindString(got), want)
		}
		if strings.Contains(file, "merchant_no") && !strings.Contains(got, `<td class="num">1</td>`) {
			t.Errorf("%.80s: the line is not named", file)
		}
	}
	got := f.send(t, "/merchants/import", "/merchants/import", `{"merchant_no":"N1","name":"a","sign":null}`, url.Values{"reason": {"r"}, "dry": {"1"}})
	if !strings.Contains(got, "新增") || strings.Contains(got, "show?no=N1") {
		t.Errorf("a new merchant, only looked at: it is refused, or leads to a page that there is not yet: %s", got)
	}
}

// What is wrong with an overlap is said by the name that its field has, whatever is wrong.
func TestTheOverlapHasOneName(t *testing.T) {
	t.Parallel()
	w := open(t)
	f := w.forms(t)
	in := client.PutMerchant{Sign: &client.MerchantSign{Scheme: "md5_params", Secrets: []string{"k1k1k1k1k1"}}}
	if _, _, err := w.api.PutMerchant(t.Context(), "signed", in); err != nil {
		t.Fatal(err)
	}
	page := "/merchants/show?no=signed"
	for _, overlap := range []string{"long", "91d"} {
		got := f.send(t, page, "/merchants/show", "", url.Values{"no": {"signed"}, "action": {"rotate"}, "reason": {"r"}, "secret": {"k2k2k2k2k2"}, "overlap": {overlap}})
		label := regexp.MustCompile(`<label>([^<]+)<input name="overlap"`).FindStringSubmatch(got)
		if label == nil || !strings.Contains(got, "输入有误。 "+label[1]+": 应为 0s 至 90d 的时长，如 24h。") {
			t.Errorf("%s: refused with %q; want it by its label %q", overlap, refusal.FindString(got), label)
		}
	}
}
