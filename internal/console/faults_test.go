package console

import (
	"bufio"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"math"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cel.dev/cel-go/common/types"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/brokers"
)

// bellman's own texts about an attempt are in the language of the page. Texts of others stay as
// they are.
func TestFaultsInTheVisitorsWords(t *testing.T) {
	all, err := allLanguages()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"connect: refused":                                                                    "建立连接时：对方拒绝连接",
		"no answer in the time of one attempt":                                                "在单次尝试的时限内没有应答",
		"dns: no such host: m.example":                                                        "DNS：没有主机 m.example",
		"dns: cannot resolve m.example: server misbehaving":                                   "DNS：无法解析 m.example：server misbehaving",
		"10.0.0.1 is a private address (RFC 1918), refused by the egress guard":               "10.0.0.1 是私有地址（RFC 1918），被出口策略拦截",
		"m.example is at 127.0.0.1, which is a loopback address, refused by the egress guard": "m.example 的 IP 是 127.0.0.1，即环回地址，被出口策略拦截",
		"tls: certificate not accepted: x509: certificate signed by unknown authority":        "TLS：对方的证书不可信：证书由未知的颁发机构签发",
		"not sent: merchant: sign.secrets[0]: is sealed under master key 12345678, which is not configured: add it to master_keys":                             "未发送：商户的设置无法使用：密钥 sign.secrets[0]：密钥由主密钥 12345678 加密，而此处未配置它：请加入 master_keys",
		"not sent: url: required: the task names none, and its queue has none":                                                                                 "未发送：没有可用的地址：任务没有地址，队列也没有",
		"success: rule: no such key: code (the body has no such field)":                                                                                        "成功条件无法判断此应答：规则：没有字段 code（正文没有此字段）",
		"the answer broke off after 12 bytes: connection: closed before the answer was whole":                                                                  "应答在 12 字节处中断：连接：应答未完即被关闭",
		`the answer is not signed; it says "SYSTEM_ERROR", "{b} of theirs"`:                                                                                    `应答没有签名；对方说 "SYSTEM_ERROR"，"{b} of theirs"`,
		"another amount was paid: 87.99 CNY was paid: want 88.00 CNY":                                                                                          "支付金额不符：实付 87.99 CNY，应为 88.00 CNY",
		"the notice cannot be trusted: it is not signed: it has no header X-Sign":                                                                              "通知不可信：它没有签名：没有请求头 X-Sign",
		"wechatpay: bill of 2026-11-20: the file has the hash ab, and WeChat Pay announced cd: the file is damaged, and a new reconciliation fetches it again": "wechatpay：2026-11-20 的账单：文件的摘要为 ab，而微信支付公布的是 cd：文件已损坏，重新对账会再次下载",
		"trade bill of WeChat Pay: line 7: 交易状态 is \"X\": want SUCCESS, REFUND or REVOKED":                                                                     "微信支付的交易账单：第 7 行：交易状态为 \"X\"：应为 SUCCESS、REFUND 或 REVOKED",
		`the notice is for the merchant "1900000777": want "1900000001"`:                                                                                       `通知属于商户 "1900000777"，应为 "1900000001"`,
		`the notice cannot be trusted: it is for the mch_id "1": want "1900000109"`:                                                                            `通知不可信：它的 mch_id 为 "1"，应为 "1900000109"`,
		`the notice cannot be trusted: its livemode is true: want false, the mode of secret_key`:                                                               `通知不可信：它的 livemode 为 true，应为 false，即 secret_key 的模式`,
		`the notice cannot be trusted: it is for the connected account "acct_2": without stripe_account, want the account of secret_key alone`:                 `通知不可信：它属于关联账户 "acct_2"：没有 stripe_account 时，应为 secret_key 自己的账户`,
		`no notices are received at "/notices/tell/shop1": want a queue of orders with a built-in channel, or with notice, or a registered account`:            `"/notices/tell/shop1" 不接收通知：应为有内置渠道或 notice 的订单队列，或已登记的账户`,
		`orders of 1 of 2 accounts are not compared; the queue's own: payments and refunds of the last hour of 2026-11-20 that its bill lacks are not compared: that bill is not available: wechatpay: bill of 2026-11-20: the file has the hash ab, and WeChat Pay announced cd: the file is damaged, and a new reconciliation fetches it again`: `2 个账户中有 1 个的订单未核对；队列自身的账户：2026-11-20 最后一小时内其账单没有的支付和退款未核对：未能取得该日账单：wechatpay：2026-11-20 的账单：文件的摘要为 ab，而微信支付公布的是 cd：文件已损坏，重新对账会再次下载`,
		`account "shop2" is another one now, wechatpay:1900000003: the orders of wechatpay:1900000002 are not compared`:         `账户 "shop2" 已换成 wechatpay:1900000003：wechatpay:1900000002 的订单未核对`,
		`the queue's channel is another account now, wechatpay:1900000003: the orders of wechatpay:1900000002 are not compared`: `队列的渠道已换成账户 wechatpay:1900000003：wechatpay:1900000002 的订单未核对`,
		`account "shop9" is not registered`:                         `账户 "shop9" 未登记`,
		"its order does not exist yet":                              "对应的订单尚不存在",
		"the queue receives no notices, or this one cannot be read": "该队列不接收通知，或此通知无法读取",
		"the queue's channel is another account now, wechatpay:1900000003: it is not asked about wechatpay:1900000002/payment/A": "队列的渠道已换成账户 wechatpay:1900000003：不向它查询 wechatpay:1900000002/payment/A",
		"the channel cannot reverse orders":      "渠道不能撤销订单",
		"the channel cannot request, only query": "渠道只能查询，不能发起请求",
		"the order is PAID and stays so: only a payment, PAID or PAID_REFUNDED, can still be reported": "订单已是 PAID，不再改变：只能再报告支付，即 PAID 或 PAID_REFUNDED",
		"a payment of the order is known: want PAID or PAID_REFUNDED":                                  "已知该订单有支付：只能判定为 PAID 或 PAID_REFUNDED",
		"the answer is about the amount 90, not 100":                                                   "应答说的金额为 90，而不是 100",
		"the answer is about an amount in USD, not in CNY":                                             "应答说的金额币种为 USD，而不是 CNY",
		"busy, says somebody else":                                                                     "busy, says somebody else",
		"refused":                                                                                      "refused",
		"":                                                                                             "",
	} {
		if got := all["zh"].fault(text); got != want {
			t.Errorf("fault(%q) = %q; want %q", text, got, want)
		}
		if got := all["en"].fault(text); got != text {
			t.Errorf("fault(%q) in English = %q; want it as it is", text, got)
		}
	}
}

// What libraries say of faults that are common is said in the language of the page too. The
// errors are the libraries' own, so a text that they change fails here.
func TestTheWordsOfLibraries(t *testing.T) {
	all, err := allLanguages()
	if err != nil {
		t.Fatal(err)
	}
	of := func(text string) error { var v any; return json.Unmarshal([]byte(text), &v) }
	answer := func(text string) error {
		_, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
		return err
	}
	named := &x509.Certificate{DNSNames: []string{"m.example"}}
	said := map[string][]error{
		"tls: certificate not accepted: ": {x509.UnknownAuthorityError{}, x509.HostnameError{Certificate: named, Host: "other.example"},
			x509.HostnameError{Certificate: &x509.Certificate{}, Host: "other.example"}, x509.HostnameError{Certificate: named, Host: "10.0.0.1"},
			x509.CertificateInvalidError{Cert: named, Reason: x509.Expired, Detail: "current time 2026-11-20T00:00:00Z is after 2026-11-19T00:00:00Z"},
			x509.CertificateInvalidError{Cert: named, Reason: x509.Expired, Detail: "current time 2026-11-20T00:00:00Z is before 2026-11-21T00:00:00Z"}},
		"success: rule: no such key: code (the body is not JSON: %s)": {of(`<html>`), of(`{a`), of(`{"a" 1`), of(`{"a":1 "b"`), of(`[1 2`), of(`1 2`), of("\"\n"), of(`"\q`), of(`-x`), of(`trux`), of(`{`)},
		"": {answer("hello\r\n"), answer("HTTP/1.1 abc\r\n\r\n"), answer("HTTP/x 200 OK\r\n\r\n"), answer("HTTP/1.1 200 OK\r\nno header\r\n\r\n"), errors.New("HTTP/1.x transport connection broken: malformed HTTP response \"x\"")},
		"success: rule: ": {types.Int(1).Divide(types.Int(0)).(error), types.Int(1).Modulo(types.Int(0)).(error),
			types.Int(math.MaxInt64).Add(types.Int(1)).(error), types.NewErr("no such overload").(error), types.Int(1).ConvertToType(types.ListType).(error)},
	}
	quoted := regexp.MustCompile(`"[^"]*"|'[^']*'|[a-z]+\.example|Common Name`)
	english := regexp.MustCompile(`[a-z]+ [a-z]+`)
	for form, errs := range said {
		for _, err := range errs {
			text := form + err.Error()
			if strings.Contains(form, "%s") {
				text = fmt.Sprintf(form, err)
			}
			if got := all["zh"].fault(text); english.MatchString(quoted.ReplaceAllString(got, "")) {
				t.Errorf("fault(%q) = %q; want it in Chinese", text, got)
			}
			if got := all["en"].fault(text); got != text {
				t.Errorf("fault(%q) in English = %q; want it as it is", text, got)
			}
		}
	}
}

// A page shows a reason in its own language, wherever an attempt stands.
func TestPagesSayFaultsInTheirLanguage(t *testing.T) {
	s := open(t)
	task := s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", OrderNo: "O1", URL: "https://m.example/"}, t0,
		bellman.Attempt{Due: t0, Started: t0, Result: bellman.Unreachable, Error: "connect: refused"})
	for _, path := range []string{"/tasks/" + task.ID.String(), "/orders?merchant_no=M1&order_no=O1"} {
		for lang, want := range map[string]string{"zh": "建立连接时：对方拒绝连接", "en": "connect: refused"} {
			if got := s.get(t, path, "Accept-Language: "+lang); !strings.Contains(got.body, ">"+want+"<") {
				t.Errorf("%s in %s does not say %q", path, lang, want)
			}
		}
	}
}

// faulters are the sources of the reasons that bellman gives of attempts.
var faulters = []string{"internal/cause/cause.go", "deliver/fault.go", "deliver/guard.go", "deliver/handler.go", "engine/announce.go",
	"order/internal/exchange/exchange.go", "order/gateway/about.go", "order/wechatpay/channel.go", "order/wechatpay/verify.go", "order/alipay/channel.go", "order/alipay/certificate.go",
	"order/alipay/envelope.go", "order/states/*.go", "deliver/broker.go", "internal/brokers/link/link.go", "internal/brokers/*/dial.go", "internal/brokers/*/publisher.go", "internal/brokers/*/sender.go", "rule/evaluate.go", "server/brokers.go", "internal/flatxml/flatxml.go",
	"order/price.go", "order/step.go", "order/poll/step.go", "deliver/sign/verify.go", "order/wechatpay/notice.go", "order/wechatpay/poll.go", "order/wechatpay/decrypt.go", "order/wechatpay/bill.go",
	"order/alipay/notice.go", "order/alipay/form.go", "order/alipay/poll.go", "order/alipay/bill.go", "order/gateway/notice.go", "order/gateway/providerpoll.go", "order/gateway/provider.go", "order/gateway/wechatv2.go",
	"order/gateway/unionpay.go", "order/gateway/stripe.go", "order/gateway/antom.go", "internal/bill/wechat.go", "internal/bill/alipay.go", "internal/bill/mapping.go", "internal/bill/text.go", "internal/bill/fundflow.go", "internal/reconcile/settle.go"}

// alsoFaulters have some among much else.
var alsoFaulters = []string{"internal/alarm/decided.go", "engine/fire.go", "engine/record.go", "order/handler.go", "deliver/client.go", "deliver/merchant.go", "internal/merchant/*.go", "internal/registry/*.go", "internal/resend/runner.go",
	"order/told.go", "order/held.go", "order/accounts.go", "order/gateway/poll.go", "order/bill.go", "order/poll/handler.go", "order/poll/accounts.go", "order/internal/exchange/open.go", "server/notices.go", "server/notice_receivers.go", "internal/bill/*.go", "internal/reconcile/*.go",
	"internal/attention/live.go", "engine/engine.go", "server/ready.go", "errors.go"}

// written calls do for each text that is written in these files, with its place. In the text, 7
// stands for each inserted value.
func written(t *testing.T, patterns []string, do func(text, where string)) {
	t.Helper()
	verb := regexp.MustCompile(`%[-+# 0]*[0-9]*(?:\.[0-9]+)?[a-zA-Z]`)
	var sum func(e ast.Expr) (text string, is bool)
	sum = func(e ast.Expr) (string, bool) {
		switch e := e.(type) {
		case *ast.BasicLit:
			if e.Kind == token.STRING {
				text, err := strconv.Unquote(e.Value)
				return strings.ReplaceAll(verb.ReplaceAllString(text, "7"), "%%", "%"), err == nil
			}
		case *ast.BinaryExpr:
			left, one := sum(e.X)
			right, other := sum(e.Y)
			return left + right, e.Op == token.ADD && (one || other)
		}
		return "7", false
	}
	eachTree(t, patterns, func(set *token.FileSet, tree *ast.File) {
		ast.Inspect(tree, func(n ast.Node) bool {
			e, is := n.(ast.Expr)
			if !is {
				return true
			}
			text, is := sum(e)
			if is {
				do(text, set.Position(e.Pos()).String())
			}
			return !is
		})
	})
}

// The console knows every reason that the sources have; otherwise a page in Chinese would show it
// in English. It knows no other reasons.
func TestEveryFaultIsKnown(t *testing.T) {
	// What is no reason of an attempt: of the configuration, of tasks that are refused, of
	// other libraries, what is the same in every language, and what a broker's answer is kept as.
	others := regexp.MustCompile(`^(deliver: |wechatpay: |alipay: |states: |queue 7: |url: 7$|sign: 7$|sources\[7\]: |server closed idle|response headers|header list|TLS handshake|` +
		`(WeChat Pay v\d|Alipay|UnionPay|Antom|PayerMax|hyperswitch|Kill Bill|Stripe), |` +
		`(error\.)?code 7|REFUND (true|false)$|\[(off|comm|unconfirmed)\] |7 is no state: want |7 is 7$|respCode 7|resultStatus 7|status (cancelled|processing)$|stream 7 has it|7 (7|sends)$|bellman 7$|` +
		`a message to a broker has none|not a header's name|names that begin with Bellman-|would tell the broker|its value has a control|cannot be signed: |` +
		`7 7, refused by the egress guard|its (name|value) is |longer than 7 bytes|not a URL: want 7|want 7$|names (an address|no connection): |has a query or a fragment|` +
		`WeChat Pay is queried at its other address|want alipayRootCert|` +
		`gateway: |order: 7$|want |7: want |7 is not one of |is missing: |is a public key: |belongs to another key|has (7 (bytes|characters): want|a block that)|cannot be used$|is empty$|is the sender's private key|is more than vars|` +
		`(WeChat Pay|Alipay|UnionPay|Antom|Stripe) (takes|asks for|knows)|a transfer is of the merchant|(scheme|secrets|tolerance|header|secrets\[7\]): |text/|; charset=|application/|Bearer 7$|7; charset=|keep |ask about orders: |temporary file: |bill: |` +
		`the certificate's issuer|too much to match|no such attribute|[^a-z]*$)`)
	english, err := readTexts("en")
	if err != nil {
		t.Fatal(err)
	}
	senders, err := filepath.Glob("../brokers/*/sender.go")
	if err != nil || len(senders) != len(brokers.Kinds) {
		t.Errorf("%d brokers send in a file sender.go, which is read here, and there are %d brokers: %v", len(senders), len(brokers.Kinds), err)
	}
	all := faultTexts(english, true)
	seen, everything := 0, ""
	written(t, faulters, func(text, where string) {
		text = strings.Replace(text, "the 7", "the answer", 1) // verify of wechatpay says it of answers and notices
		everything += text + "\n" + strings.Replace(text, "the answer", "the notice", 1) + "\n"
		if !strings.Contains(strings.TrimSpace(text), " ") || others.MatchString(text) {
			return
		}
		seen++
		for _, sample := range []string{text, strings.Replace(text, "the answer", "the notice", 1), text + "x", "x" + text, strings.Trim(text, "7"), "not sent: " + text} {
			for i := range all {
				if all[i].look.MatchString(sample) && (all[i].name != "fault.unsent" || sample == text) { // it fits all that was not sent
					return
				}
			}
		}
		t.Errorf("%s: no text of the catalogues says %q", where, text)
	})
	if seen < 100 {
		t.Errorf("only %d reasons were found", seen)
	}
	written(t, alsoFaulters, func(text, _ string) { everything += text + "\n" })
	for i := range all {
		if strings.HasPrefix(all[i].name, "library.") { // TestTheWordsOfLibraries
			continue
		}
		for _, piece := range hole.Split(english[all[i].name], -1) {
			for part := range strings.SplitSeq(piece, ": ") { // of which each may have its own source
				if !strings.Contains(everything, strings.Trim(part, " ,[]()<>/")) {
					t.Errorf("no source says %q of %s: %q", part, all[i].name, english[all[i].name])
				}
			}
		}
	}
}
