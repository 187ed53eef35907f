package rule

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman/internal/flatxml"
)

// A Preset is a rule with a name: the answer with which one kind of receiver accepts a
// notification.
type Preset struct {
	Name    string
	Accepts string // the accepted answers, in words
	Source  string // the document or code that says so
	Warning string // where it accepts more than one may expect; usually empty

	accepts func(*Answer) bool
}

// Presets returns all presets, in the order for display.
func Presets() []Preset { return slices.Clone(presets) }

// find returns the preset of this name; nil: there is none.
func find(name string) *Preset {
	for i := range presets {
		if presets[i].Name == name {
			return &presets[i]
		}
	}
	return nil
}

func names() []string {
	all := make([]string, len(presets))
	for i, p := range presets {
		all[i] = p.Name
	}
	return all
}

const anyStatus = "does not look at the status: an error page with this very body is accepted"

// White space is trimmed, and case ignored, only where the source does so.
var presets = []Preset{
	{
		Name:    "success_text",
		Accepts: `status 200 to 206, and the body, trimmed, cut at 600 characters and trimmed again, is "success"`,
		Source:  "roncoo-pay, merchant notification (rp_notify_record), as in the article on best-effort notification",
		accepts: func(a *Answer) bool {
			return a.Status >= 200 && a.Status <= 206 && is(trim(first(trim(a.Body), 600)), "success")
		},
	},
	{
		Name:    "alipay",
		Accepts: `status 200, and the body is "success", nothing before or after it`,
		Source:  "Alipay, asynchronous notifications (docs.open.alipay.com/270/105902): the seven characters, no space, no HTML, no redirect",
		accepts: func(a *Answer) bool { return a.Status == 200 && is(a.Body, "success") },
	},
	{
		Name:    "alipay_lenient",
		Accepts: `status 200, and the body, trimmed, is "success"`,
		Source:  "alipay, for receivers that print a line",
		accepts: func(a *Answer) bool { return a.Status == 200 && is(trim(a.Body), "success") },
	},
	{
		Name:    "alipay_intl",
		Accepts: `status 200, and the body, trimmed, is "SUCCESS"`,
		Source:  "Antom, asynchronous notifications (docs.antom.com/ac/web/async, /ac/wap_hk/asyncnotif)",
		accepts: func(a *Answer) bool { return a.Status == 200 && is(trim(a.Body), "SUCCESS") },
	},
	{
		Name:    "wechat_v2",
		Accepts: `status 200, and the body is an XML document whose return_code is "SUCCESS", in CDATA or not`,
		Source:  "WeChat Pay v2, payment result notification (pay.weixin.qq.com/doc/v2/merchant/4011937248)",
		accepts: func(a *Answer) bool { return a.Status == 200 && returnCode(a.Body) == "SUCCESS" },
	},
	{
		Name:    "wechat_v3",
		Accepts: "status 200 or 204, whatever the body",
		Source:  "WeChat Pay v3, payment notification (pay.weixin.qq.com/docs/partner/apis/partner-native-payment/payment-notice.html): the status beats the body",
		Warning: `does not look at the body: a 200 with {"code":"FAIL"} is accepted, as WeChat does`,
		accepts: func(a *Answer) bool { return a.Status == 200 || a.Status == 204 },
	},
	{
		Name:    "jeepay",
		Accepts: `any status, and the body is "SUCCESS" in whatever case, nothing before or after it`,
		Source:  "jeepay, PayOrderMchNotifyMQReceiver: \"SUCCESS\".equalsIgnoreCase(answer)",
		Warning: anyStatus,
		accepts: successInAnyCase,
	},
	{
		Name:    "xxpay",
		Accepts: `any status, and the body is "success" in whatever case, nothing before or after it`,
		Source:  "xxpay, merchant notification",
		Warning: anyStatus,
		accepts: successInAnyCase,
	},
	{
		Name:    "daxpay",
		Accepts: `any status, and the body is "SUCCESS" in whatever case, nothing before or after it`,
		Source:  "dax-pay, merchant notification",
		Warning: anyStatus,
		accepts: successInAnyCase,
	},
	{
		Name:    "unionpay",
		Accepts: "status 200, whatever the body",
		Source:  "UnionPay, BackRcvResponse of its demo: answer HTTP 200",
		accepts: func(a *Answer) bool { return a.Status == 200 },
	},
	{
		Name:    "adyen",
		Accepts: "status 200 to 299, whatever the body",
		Source:  "Adyen, webhooks (docs.adyen.com/development-resources/webhooks/troubleshoot)",
		accepts: successful,
	},
	{
		Name:    "adyen_legacy",
		Accepts: `status 200, and the body is "[accepted]", nothing before or after it`,
		Source:  "Adyen, NotificationResponse of the classic webhooks",
		accepts: func(a *Answer) bool { return a.Status == 200 && is(a.Body, "[accepted]") },
	},
	{
		Name:    "http_2xx",
		Accepts: "status 200 to 299, whatever the body",
		Source:  "Stripe, hyperswitch, killbill, PayMongo: any 2xx",
		accepts: successful,
	},
	{
		Name:    "http_200",
		Accepts: "status 200, whatever the body",
		Source:  "UseePay (useepay.gitbook.io), NMI (docs.nmi.com/reference/retry-logic), TransFi: HTTP 200",
		accepts: func(a *Answer) bool { return a.Status == 200 },
	},
	{
		Name:    "ok_exact",
		Accepts: `status 200, and the body is "OK", nothing before or after it`,
		Source:  "Baofu (docs.baofu.com): OK and nothing else",
		accepts: func(a *Answer) bool { return a.Status == 200 && is(a.Body, "OK") },
	},
	{
		Name:    "ok_upper",
		Accepts: `status 200, and the body is "OK" in upper case, nothing before or after it`,
		Source:  "gateways of the unified-collection kind (showdoc): OK in upper case",
		accepts: func(a *Answer) bool { return a.Status == 200 && is(a.Body, "OK") },
	},
	{
		Name:    "payermax",
		Accepts: `status 200, and the body is a JSON object whose code is "SUCCESS" in whatever case`,
		Source:  "PayerMax, notifications (docs.payermax.com)",
		accepts: func(a *Answer) bool { return a.Status == 200 && strings.EqualFold(jsonCode(a.Body), "SUCCESS") },
	},
}

func successful(a *Answer) bool { return a.Status >= 200 && a.Status <= 299 }

func successInAnyCase(a *Answer) bool { return bytes.EqualFold(a.Body, []byte("SUCCESS")) }

func is(body []byte, want string) bool { return string(body) == want }

// trim removes the characters that Java's String.trim removes, as those platforms do: all up to the
// space. A byte order mark stays.
func trim(b []byte) []byte {
	return bytes.TrimFunc(b, func(r rune) bool { return r <= ' ' })
}

// first returns the first n characters of b.
func first(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	seen := 0
	for i := range string(b) {
		if seen == n {
			return b[:i]
		}
		seen++
	}
	return b
}

// returnCode returns the text of /xml/return_code of a WeChat Pay v2 answer. It returns nothing if
// body is not one whole document of that form, or has the field twice.
func returnCode(body []byte) (code string) {
	codes := 0
	err := flatxml.Read(body, func(name, text string, nested bool) error {
		if name == "return_code" {
			codes++
			if code = text; nested {
				return errors.New("return_code has no text")
			}
		}
		return nil
	})
	if err != nil || codes != 1 {
		return ""
	}
	return code
}

// jsonCode returns the text of the field code, empty when there is none.
func jsonCode(body []byte) string {
	var fields map[string]json.RawMessage // a struct would take CODE and Code too
	var code string
	if json.Unmarshal(body, &fields) != nil || json.Unmarshal(fields["code"], &code) != nil {
		return ""
	}
	return code
}
