package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/rule"
)

const (
	xmlCDATA = "<xml>\n  <return_code><![CDATA[SUCCESS]]></return_code>\n  <return_msg><![CDATA[OK]]></return_msg>\n</xml>"
	xmlPlain = "<xml><return_code>SUCCESS</return_code></xml>"
	xmlFail  = "<xml><return_code><![CDATA[FAIL]]></return_code><return_msg><![CDATA[签名失败]]></return_msg></xml>"
	bom      = "\uFEFF"
)

type row struct {
	status int
	body   string
	want   bool
}

var presetRows = map[string][]row{
	"success_text": {
		{200, "success", true},
		{200, " success\n", true},
		{200, "\r\n\t success \x00", true}, // Java's trim removes these characters
		{201, "success", true},
		{202, "success", true},
		{203, "success", true},
		{204, "success", true}, // no server sends this, but the table lists the status
		{205, "success", true},
		{206, "success", true},
		{207, "success", false},
		{208, "success", false},
		{226, "success", false},
		{199, "success", false},
		{302, "success", false},
		{404, "success", false},
		{500, "success", false},
		{204, "", false},
		{205, "", false},
		{200, "", false},
		{200, "SUCCESS", false},
		{200, "Success", false},
		{200, "succes", false},
		{200, "success!", false},
		{200, "\"success\"", false},
		{200, bom + "success", false},
		{200, "\u00a0success", false}, // a no-break space, which Java's trim keeps
		{200, "<html>success</html>", false},
		{200, `{"code":"success"}`, false},
		{200, "fail", false},
		{200, "success" + strings.Repeat(" ", 10_000), true},
		{200, "success" + strings.Repeat(" ", 600) + "not", true}, // the end is cut off before the text is compared
		{200, strings.Repeat(" ", 593) + "success", true},
		{200, strings.Repeat(" ", 594) + "success", true}, // trimmed before the end is cut off
		{200, strings.Repeat("\n", 10_000) + "success\n", true},
		{200, "success" + strings.Repeat(" ", 592) + "n", false},
		{200, strings.Repeat("好", 600) + "success", false},
	},
	"alipay": {
		{200, "success", true},
		{200, " success", false},
		{200, "success\n", false},
		{200, " success\n", false},
		{200, "SUCCESS", false},
		{200, bom + "success", false},
		{200, "<html>success</html>", false},
		{200, `{"msg":"success"}`, false},
		{200, "", false},
		{201, "success", false},
		{204, "", false},
		{302, "success", false},
		{500, "success", false},
	},
	"alipay_lenient": {
		{200, "success", true},
		{200, " success\n", true},
		{200, "success\r\n", true},
		{200, "SUCCESS", false},
		{200, bom + "success", false},
		{200, "<html>success</html>", false},
		{200, "success ok", false},
		{201, "success", false},
		{204, "", false},
	},
	"alipay_intl": {
		{200, "SUCCESS", true},
		{200, " SUCCESS\n", true},
		{200, "success", false},
		{200, "Success", false},
		{200, bom + "SUCCESS", false},
		{200, "<html>SUCCESS</html>", false},
		{200, `{"result":"SUCCESS"}`, false},
		{204, "", false},
		{202, "SUCCESS", false},
		{500, "SUCCESS", false},
	},
	"wechat_v2": {
		{200, xmlCDATA, true},
		{200, xmlPlain, true},
		{200, "\n" + xmlPlain + "\n", true},
		{200, `<?xml version="1.0" encoding="UTF-8"?>` + xmlPlain, true},
		{200, `<?xml version="1.0" encoding="GBK"?><xml><return_code>SUCCESS</return_code><return_msg>` + "\xb3\xc9\xb9\xa6" + `</return_msg></xml>`, true},
		{200, "<xml><return_code>SUC<![CDATA[CESS]]></return_code></xml>", true},
		{200, "<xml><!-- ok --><return_code>SUCCESS</return_code></xml>", true},
		{200, xmlFail, false},
		{200, "<xml><return_code>success</return_code></xml>", false},
		{200, "<xml><return_code> SUCCESS </return_code></xml>", false},
		{200, "<xml><return_code></return_code></xml>", false},
		{200, "<xml><return_code>SUCCESS</return_code><return_code>FAIL</return_code></xml>", false},
		{200, "<xml><return_code>SUCCESS</return_code>", false}, // the XML is incomplete
		{200, "<xml><return_code>SUCCESS</xml></return_code>", false},
		{200, xmlPlain + xmlPlain, false},
		{200, xmlPlain + "ok", false},
		{200, bom + xmlPlain, false},
		{200, "<xml><data><return_code>SUCCESS</return_code></data></xml>", false},
		{200, "<xml><return_code><b>SUCCESS</b></return_code></xml>", false},
		{200, "<return_code>SUCCESS</return_code>", false},
		{200, "<html><body><return_code>SUCCESS</return_code></body></html>", false},
		{200, `<!DOCTYPE xml [<!ENTITY s "SUCCESS">]><xml><return_code>&s;</return_code></xml>`, false},
		{200, `<!DOCTYPE xml [<!ENTITY s SYSTEM "file:///etc/passwd">]>` + xmlPlain, false},
		{200, `<xml><return_code>&s;</return_code></xml>`, false},
		{200, `{"return_code":"SUCCESS"}`, false},
		{200, "SUCCESS", false},
		{200, "success", false},
		{200, "", false},
		{204, "", false},
		{201, xmlPlain, false},
		{500, xmlPlain, false},
	},
	"wechat_v3": {
		{200, `{"code":"SUCCESS","message":"成功"}`, true},
		{200, "", true},
		{204, "", true},
		{200, `{"code":"FAIL","message":"失败"}`, true}, // the status takes precedence over the body
		{200, "<html>success</html>", true},
		{201, `{"code":"SUCCESS"}`, false},
		{202, "", false},
		{302, "", false},
		{400, `{"code":"FAIL","message":"失败"}`, false},
		{500, `{"code":"SUCCESS"}`, false},
	},
	"jeepay": inAnyCase,
	"xxpay":  inAnyCase,
	"daxpay": inAnyCase,
	"unionpay": {
		{200, "ok", true},
		{200, "", true},
		{200, "fail", true},
		{201, "ok", false},
		{204, "", false},
		{302, "ok", false},
		{500, "ok", false},
	},
	"adyen": any2xx,
	"adyen_legacy": {
		{200, "[accepted]", true},
		{200, "accepted", false},
		{200, "[accepted]\n", false},
		{200, "[ACCEPTED]", false},
		{200, bom + "[accepted]", false},
		{200, `{"notificationResponse":"[accepted]"}`, false},
		{200, "", false},
		{202, "[accepted]", false},
		{500, "[accepted]", false},
	},
	"http_2xx": any2xx,
	"http_200": {
		{200, "", true},
		{200, "<html>error</html>", true},
		{201, "", false},
		{202, "", false},
		{204, "", false},
		{301, "", false},
		{503, "", false},
	},
	"ok_exact": okOnly,
	"ok_upper": okOnly,
	"payermax": {
		{200, `{"code":"SUCCESS","msg":"Success"}`, true},
		{200, `{"msg":"","code":"success"}`, true},
		{200, " {\"code\" : \"Success\"}\n", true},
		{200, `{"code":"SUCCESS"} trailing`, false},
		{200, `{"CODE":"SUCCESS"}`, false},
		{200, `{"code":"FAIL"}`, false},
		{200, `{"code":200}`, false},
		{200, `{"code":null}`, false},
		{200, `{"data":{"code":"SUCCESS"}}`, false},
		{200, `[{"code":"SUCCESS"}]`, false},
		{200, `"SUCCESS"`, false},
		{200, "SUCCESS", false},
		{200, bom + `{"code":"SUCCESS"}`, false},
		{200, "<html>SUCCESS</html>", false},
		{200, "", false},
		{204, "", false},
		{201, `{"code":"SUCCESS"}`, false},
		{500, `{"code":"SUCCESS"}`, false},
	},
}

var inAnyCase = []row{
	{200, "SUCCESS", true},
	{200, "success", true},
	{200, "Success", true},
	{500, "success", true}, // with any status
	{204, "", false},
	{200, "", false},
	{200, " success", false},
	{200, " success\n", false},
	{200, "success\n", false},
	{200, bom + "SUCCESS", false},
	{200, "<html>success</html>", false},
	{200, `{"code":"SUCCESS"}`, false},
	{200, "fail", false},
}

var any2xx = []row{
	{200, "", true},
	{200, "<html>error</html>", true},
	{201, "", true},
	{202, "[accepted]", true},
	{204, "", true},
	{226, "", true},
	{299, "", true},
	{199, "", false},
	{300, "", false},
	{302, "", false},
	{404, "", false},
	{500, "success", false},
}

var okOnly = []row{
	{200, "OK", true},
	{200, "ok", false},
	{200, "Ok", false},
	{200, "OK\n", false},
	{200, " OK", false},
	{200, bom + "OK", false},
	{200, "<html>OK</html>", false},
	{200, `{"code":"OK"}`, false},
	{200, "success", false},
	{200, "", false},
	{204, "", false},
	{201, "OK", false},
	{500, "OK", false},
}

func TestPresets(t *testing.T) {
	known := map[string]bool{}
	for _, p := range rule.Presets() {
		known[p.Name] = true
		if p.Accepts == "" || p.Source == "" {
			t.Errorf("preset %s has no description or no source", p.Name)
		}
		rows := presetRows[p.Name]
		if len(rows) < 6 {
			t.Errorf("preset %s: %d rows; want at least 6", p.Name, len(rows))
		}
		r, err := rule.Compile(p.Name)
		if err != nil {
			t.Errorf("Compile(%q): %v", p.Name, err)
			continue
		}
		for _, tt := range rows {
			got, err := r.Accepts(&rule.Answer{Status: tt.status, Body: []byte(tt.body), Attempt: 1})
			if got != tt.want || err != nil {
				t.Errorf("%s.Accepts(%d, %.80q) = %t, %v; want %t", p.Name, tt.status, tt.body, got, err, tt.want)
			}
		}
	}
	for name := range presetRows {
		if !known[name] {
			t.Errorf("there are rows for %s, but no such preset", name)
		}
	}
}

// An entity bomb is rejected before any of it is expanded.
func TestEntityBomb(t *testing.T) {
	bomb := `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "SUCCESS">`
	for i, c := range "bcdefghij" {
		previous := "abcdefghij"[i]
		bomb += fmt.Sprintf("<!ENTITY %c %q>", c, strings.Repeat(fmt.Sprintf("&%c;", previous), 10))
	}
	bomb += "]><xml><return_code>&j;</return_code></xml>"
	r, err := rule.Compile("wechat_v2")
	if err != nil {
		t.Fatal(err)
	}
	answer := &rule.Answer{Status: 200, Body: []byte(bomb)}
	if allocs := testing.AllocsPerRun(10, func() { r.Accepts(answer) }); allocs > 100 {
		t.Errorf("Accepts allocates %.0f times for an entity bomb; want at most 100", allocs)
	}
	if got, _ := r.Accepts(answer); got {
		t.Error("Accepts(entity bomb) = true; want false")
	}
}

// Presets that follow published rules can also be written as expressions, which give the same
// result for every row.
func TestPresetsAsExpressions(t *testing.T) {
	same := map[string]string{
		"alipay":       `status == 200 && body == "success"`,
		"wechat_v3":    `status in [200, 204]`,
		"jeepay":       `body.lowerAscii() == "success"`,
		"http_2xx":     `status >= 200 && status < 300`,
		"adyen_legacy": `status == 200 && body == "[accepted]"`,
		"payermax":     `status == 200 && json_field("code", "regex", "^(?i:success)$")`,
	}
	for name, text := range same {
		r, err := rule.Compile(text)
		if err != nil {
			t.Errorf("Compile(%q): %v", text, err)
			continue
		}
		for _, tt := range presetRows[name] {
			got, err := r.Accepts(&rule.Answer{Status: tt.status, Body: []byte(tt.body)})
			if got != tt.want || err != nil {
				t.Errorf("%s: %s of (%d, %.80q) = %t, %v; want %t", name, text, tt.status, tt.body, got, err, tt.want)
			}
		}
	}
}
