package states_test

import (
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/states"
)

const (
	done     = order.CloseDone
	already  = order.CloseAlready
	hint     = order.ClosePaidHint
	flight   = order.CloseInFlight
	notExist = order.CloseNotExist
	unknown  = order.CloseUnknown
)

const (
	v2Closed = `<xml>
   <return_code><![CDATA[SUCCESS]]></return_code>
   <return_msg><![CDATA[OK]]></return_msg>
   <appid><![CDATA[wx2421b1c4370ec43b]]></appid>
   <mch_id><![CDATA[10000100]]></mch_id>
   <nonce_str><![CDATA[BFK89FC6rxKCOjLX]]></nonce_str>
   <sign><![CDATA[72B321D92A7BFA0B2509F3D13C7B1631]]></sign>
   <result_code><![CDATA[SUCCESS]]></result_code>
   <result_msg><![CDATA[OK]]></result_msg>
</xml>`
	v2Reversed = `<xml><return_code><![CDATA[SUCCESS]]></return_code><result_code><![CDATA[SUCCESS]]></result_code><recall><![CDATA[N]]></recall></xml>`

	alipayClosed = `{"alipay_trade_close_response":{"code":"10000","msg":"Success","trade_no":"2013112111001004500000675971",
  "out_trade_no":"YX_001"},"sign":"ERITJKEIJKJHKKKKKKKHJEREEEEEEEEEEE"}`
	alipayCancelled = `{"alipay_trade_cancel_response":{"code":"10000","msg":"Success","out_trade_no":"6823789339978248",
  "retry_flag":"N","action":"close"},"sign":"ERITJ"}`
)

func stripeRefusal(code, status string) string {
	return `{"error":{"code":"` + code + `","message":"x","payment_intent":{"id":"pi_3","object":"payment_intent","status":"` + status + `"},"type":"invalid_request_error"}}`
}

func hyperswitchRefusal(status string) string {
	return `{"error":{"type":"invalid_request","message":"You cannot cancel this payment because it has status ` + status + `","code":"IR_16"}}`
}

var closeRows = []struct {
	name   string
	status int
	body   string
	want   order.CloseReading
	slow   bool   // Throttled
	why    string // what Error must say; empty: nothing
}{
	{"wechat_v2", 200, v2Closed, done, false, ""},
	{"wechat_v2", 200, v2Reversed, done, false, ""},
	{"wechat_v2", 200, with(v2Reversed, "[N]", "[Y]"), flight, false, ""},
	{"wechat_v2", 200, `{"return_code":"SUCCESS","result_code":"SUCCESS"}`, done, false, ""},
	{"wechat_v2", 200, v2Error("ORDERCLOSED"), already, false, ""},
	{"wechat_v2", 200, v2Error("ORDER_CLOSED"), already, false, ""},
	{"wechat_v2", 200, v2Error("ORDERPAID"), hint, false, ""},
	{"wechat_v2", 200, v2Error("ORDERNOTEXIST"), notExist, false, ""},
	{"wechat_v2", 200, v2Error("USERPAYING"), flight, false, ""},
	{"wechat_v2", 200, v2Error("SYSTEMERROR"), flight, false, ""},
	{"wechat_v2", 200, v2Error("BANKERROR"), flight, false, ""},
	{"wechat_v2", 200, v2Error("FREQUENCY_LIMITED"), flight, true, ""},
	{"wechat_v2", 200, v2Error("SIGNERROR"), unknown, false, "SIGNERROR"},
	{"wechat_v2", 200, v2Error(""), unknown, false, "without err_code"},
	{"wechat_v2", 200, with(v2Closed, "<return_code><![CDATA[SUCCESS]]>", "<return_code><![CDATA[FAIL]]>"), unknown, false, `return_code "FAIL"`},
	{"wechat_v2", 200, with(v2Closed, "<result_code><![CDATA[SUCCESS]]></result_code>", ""), unknown, false, "no result_code"},
	{"wechat_v2", 204, "", unknown, false, "not XML"},
	{"wechat_v2", 200, "", unknown, false, "not XML"},
	{"wechat_v2", 500, v2Closed, unknown, false, "HTTP status 500 closes nothing"},

	{"wechat_v3", 204, "", done, false, ""},
	{"wechat_v3", 200, `{"code":"SUCCESS"}`, done, false, ""},
	{"wechat_v3", 200, `{"result_code":"SUCCESS"}`, done, false, ""},
	{"wechat_v3", 200, "", unknown, false, "not JSON"},
	{"wechat_v3", 200, "{}", unknown, false, "neither"},
	{"wechat_v3", 200, `{"code":0}`, unknown, false, "neither"},
	{"wechat_v3", 202, `{"code":"SUCCESS"}`, unknown, false, "HTTP status 202 closes nothing"},
	{"wechat_v3", 404, `{"code":"SUCCESS"}`, unknown, false, "HTTP status 404 closes nothing"},
	{"wechat_v3", 400, v3Error("ORDER_CLOSED"), already, false, ""},
	{"wechat_v3", 400, v3Error("ORDERCLOSED"), already, false, ""},
	{"wechat_v3", 499, v3Error("ORDER_CLOSED"), already, false, ""},
	{"wechat_v3", 500, v3Error("ORDER_CLOSED"), unknown, false, "HTTP status 500 closes nothing"},
	{"wechat_v3", 502, v3Error("ORDER_CLOSED"), unknown, false, "HTTP status 502 closes nothing"},
	{"wechat_v3", 400, v3Error("ORDERPAID"), hint, false, ""},
	{"wechat_v3", 400, v3Error("ORDER_PAID"), hint, false, ""},
	{"wechat_v3", 404, v3Error("ORDER_NOT_EXIST"), notExist, false, ""},
	{"wechat_v3", 404, v3Error("ORDERNOTEXIST"), notExist, false, ""},
	{"wechat_v3", 503, v3Error("ORDER_NOT_EXIST"), unknown, false, "HTTP status 503 closes nothing"},
	{"wechat_v3", 404, `{"error":"Not Found"}`, unknown, false, "neither"},
	{"wechat_v3", 202, v3Error("USERPAYING"), flight, false, ""},
	{"wechat_v3", 202, v3Error("USER_PAYING"), flight, false, ""},
	{"wechat_v3", 202, "", flight, false, ""},
	{"wechat_v3", 500, v3Error("SYSTEM_ERROR"), flight, false, ""},
	{"wechat_v3", 500, v3Error("SYSTEMERROR"), flight, false, ""},
	{"wechat_v3", 500, v3Error("BANK_ERROR"), flight, false, ""},
	{"wechat_v3", 429, v3Error("FREQUENCY_LIMITED"), flight, true, ""},
	{"wechat_v3", 429, v3Error("FREQUENCY_LIMIT_EXCEEDED"), flight, true, ""},
	{"wechat_v3", 403, v3Error("RULE_LIMIT"), flight, true, ""},
	{"wechat_v3", 429, "", unknown, true, "not JSON"},
	{"wechat_v3", 403, v3Error("TRADE_ERROR"), unknown, false, "TRADE_ERROR"},
	{"wechat_v3", 401, v3Error("SIGN_ERROR"), unknown, false, "SIGN_ERROR"},

	{"alipay", 200, alipayClosed, done, false, ""},
	{"alipay", 200, `{"code":"10000","msg":"Success","out_trade_no":"YX_001"}`, done, false, ""},
	{"alipay", 200, alipayCancelled, done, false, ""},
	{"alipay", 200, with(alipayCancelled, `"N"`, `"Y"`), flight, false, ""},
	{"alipay", 200, alipayError("close", "40004", "ACQ.TRADE_HAS_CLOSE"), already, false, ""},
	{"alipay", 200, alipayError("close", "40004", "ACQ.TRADE_STATUS_ERROR"), hint, false, ""},
	{"alipay", 200, alipayError("close", "40004", "ACQ.TRADE_HAS_SUCCESS"), hint, false, ""},
	{"alipay", 200, alipayError("close", "40004", "ACQ.REASON_TRADE_STATUS_INVALID"), hint, false, ""},
	{"alipay", 200, alipayError("close", "40004", "ACQ.REASON_ILLEGAL_STATUS"), hint, false, ""},
	{"alipay", 200, strings.Replace(alipayCancelled, `"action":"close"`, `"action":"refund"`, 1), order.CloseRefunded, false, ""},
	{"alipay", 200, strings.NewReplacer(`"action":"close"`, `"action":"refund"`, `"retry_flag":"N"`, `"retry_flag":"Y"`).Replace(alipayCancelled), flight, false, ""},
	{"alipay", 200, alipayError("cancel", "40004", "ACQ.TRADE_HAS_FINISHED"), hint, false, ""},
	{"alipay", 200, alipayError("close", "40004", "ACQ.TRADE_NOT_EXIST"), notExist, false, ""},
	{"alipay", 200, alipayError("close", "40004", "ACQ.SYSTEM_ERROR"), flight, false, ""},
	{"alipay", 200, alipayError("cancel", "40004", "AQC.SYSTEM_ERROR"), flight, false, ""},
	{"alipay", 200, alipayError("close", "20000", "isp.unknow-error"), flight, false, ""},
	{"alipay", 200, alipayError("close", "40005", "isv.app-call-limited"), flight, true, ""},
	{"alipay", 200, alipayError("close", "40004", "ACQ.INVALID_PARAMETER"), unknown, false, "ACQ.INVALID_PARAMETER"},
	{"alipay", 200, alipayError("close", "40002", "isv.invalid-signature"), unknown, false, "40002"},
	{"alipay", 200, alipayError("close", "10000", "ACQ.SYSTEM_ERROR"), unknown, false, "ACQ.SYSTEM_ERROR"},
	{"alipay", 200, alipayPaid, unknown, false, "want alipay_trade_close_response"},
	{"alipay", 200, `{}`, unknown, false, `code ""`},
	{"alipay", 200, "success", unknown, false, "not JSON"},
	{"alipay", 500, alipayClosed, unknown, false, "HTTP status 500 closes nothing"},

	{"unionpay", 200, "respCode=00&respMsg=成功[0000000]&queryId=2015&txnType=99", done, false, ""},
	{"unionpay_back", 200, "respCode=00&respMsg=x", done, false, ""},
	{"unionpay_back", 200, `{"respCode":"00"}`, done, false, ""},
	{"unionpay_back", 200, "respCode=03", flight, false, ""},
	{"unionpay_back", 200, "respCode=04", flight, false, ""},
	{"unionpay_back", 200, "respCode=05", flight, false, ""},
	{"unionpay_back", 200, "respCode=06", flight, false, ""},
	{"unionpay_back", 200, "respCode=37", flight, true, ""},
	{"unionpay_back", 200, "respCode=34", notExist, false, ""},
	{"unionpay_back", 200, "respCode=35", hint, false, ""},
	{"unionpay_back", 200, "respCode=11&respMsg=x", unknown, false, `respCode "11": "x"`},
	{"unionpay_back", 200, "origRespCode=00", unknown, false, `respCode ""`},
	{"unionpay_back", 200, "<html>", unknown, false, "not a form"},

	{"antom", 200, antomResult("S", "SUCCESS"), done, false, ""},
	{"antom", 200, antomResult("U", "UNKNOWN_EXCEPTION"), flight, false, ""},
	{"antom", 200, antomResult("U", "REQUEST_TRAFFIC_EXCEED_LIMIT"), flight, true, ""},
	{"antom", 200, antomResult("F", "PAYMENT_IN_PROCESS"), flight, false, ""},
	{"antom", 200, antomResult("F", "ORDER_NOT_EXIST"), notExist, false, ""},
	{"antom", 200, antomResult("F", "ORDER_IS_CLOSED"), already, false, ""},
	{"antom", 200, antomResult("F", "ORDER_STATUS_INVALID"), hint, false, ""},
	{"antom", 200, antomResult("F", "CANCEL_WINDOW_EXCEED"), hint, false, ""},
	{"antom", 200, antomResult("F", "INVALID_SIGNATURE"), unknown, false, "INVALID_SIGNATURE"},
	{"antom", 200, `{"resultStatus":"S"}`, unknown, false, `resultStatus ""`},

	{"payermax", 200, payermaxState("CLOSED"), done, false, ""},
	{"payermax", 200, payermaxState("FAILED"), already, false, ""},
	{"payermax", 200, payermaxPaid, hint, false, ""},
	{"payermax", 200, payermaxState("PENDING"), flight, false, ""},
	{"payermax", 200, `{"code":"APPLY_SUCCESS","msg":"Success."}`, unknown, false, `data.status is ""`},
	{"payermax", 200, `{"code":"ORDER_NOT_EXIST"}`, notExist, false, ""},
	{"payermax", 200, `{"code":"SYSTEM_ERROR"}`, flight, false, ""},
	{"payermax", 200, `{"code":"REQUEST_TIMEOUT"}`, flight, false, ""},
	{"payermax", 200, `{"code":"UNEXPECTED_ERROR"}`, flight, false, ""},
	{"payermax", 200, `{"code":"SIGN_VERIFY_FAILED"}`, unknown, false, "SIGN_VERIFY_FAILED"},
	{"payermax", 502, payermaxState("CLOSED"), unknown, false, "HTTP status 502 closes nothing"},

	{"hyperswitch", 200, `{"payment_id":"pay_1","status":"cancelled","amount":6540}`, done, false, ""},
	{"hyperswitch", 200, `{"status":"Voided"}`, done, false, ""},
	{"hyperswitch", 200, `{"status":"processing"}`, flight, false, ""},
	{"hyperswitch", 200, `{"status":"VoidInitiated"}`, flight, false, ""},
	{"hyperswitch", 200, hyperswitchPaid, hint, false, ""},
	{"hyperswitch", 200, hyperswitchState("requires_capture"), unknown, false, "requires_capture"},
	{"hyperswitch", 400, hyperswitchRefusal("cancelled"), already, false, ""},
	{"hyperswitch", 400, hyperswitchRefusal("processing"), flight, false, ""},
	{"hyperswitch", 400, hyperswitchRefusal("succeeded"), hint, false, ""},
	{"hyperswitch", 404, `{"error":{"type":"invalid_request","code":"HE_02"}}`, notExist, false, ""},
	{"hyperswitch", 500, `{"error":{"type":"api","code":"HE_00"}}`, unknown, false, "HE_00"},
	{"hyperswitch", 500, `{"status":"cancelled"}`, unknown, false, "HTTP status 500 closes nothing"},

	{"killbill", 204, "", done, false, ""},
	{"killbill", 202, "", flight, false, ""},
	{"killbill", 200, killbillTransactions(killbillOne("AUTHORIZE", "SUCCESS") + "," + killbillOne("VOID", "SUCCESS")), done, false, ""},
	{"killbill", 200, killbillTransactions(killbillOne("AUTHORIZE", "SUCCESS") + "," + killbillOne("VOID", "PENDING")), flight, false, ""},
	{"killbill", 200, killbillPaid, hint, false, ""},
	{"killbill", 200, killbillOne("VOID", "UNKNOWN"), unknown, false, "UNKNOWN"},
	{"killbill", 404, `{"code":7020,"message":"Payment x does not exist"}`, notExist, false, ""},
	{"killbill", 422, `{"code":7032,"message":"Invalid payment transition VOID from state PURCHASE_SUCCESS"}`, hint, false, ""},
	{"killbill", 504, `{"code":7100,"message":"Plugin timeout"}`, flight, false, ""},
	{"killbill", 400, `{"code":7031,"message":"x"}`, unknown, false, "7031"},
	{"killbill", 404, "<html>", unknown, false, "not JSON"},

	{"stripe", 200, stripeState("canceled"), done, false, ""},
	{"stripe", 200, stripePaid, hint, false, ""},
	{"stripe", 200, stripeState("processing"), flight, false, ""},
	{"stripe", 200, stripeState("requires_action"), unknown, false, "requires_action"},
	{"stripe", 400, stripeRefusal("payment_intent_unexpected_state", "canceled"), already, false, ""},
	{"stripe", 400, stripeRefusal("payment_intent_unexpected_state", "processing"), flight, false, ""},
	{"stripe", 400, stripeRefusal("payment_intent_unexpected_state", "succeeded"), hint, false, ""},
	{"stripe", 404, stripeRefusal("resource_missing", ""), notExist, false, ""},
	{"stripe", 429, stripeRefusal("rate_limit", ""), flight, true, ""},
	{"stripe", 429, stripeRefusal("lock_timeout", ""), flight, true, ""},
	{"stripe", 401, `{"error":{"type":"invalid_request_error"}}`, unknown, false, "error.code"},
	{"stripe", 200, `{"status":"canceled"}`, unknown, false, "want payment_intent"},
	{"stripe", 500, stripeState("canceled"), unknown, false, "HTTP status 500 closes nothing"},
}

func TestClosePresets(t *testing.T) {
	seen := map[string]map[order.CloseReading]bool{}
	for _, tt := range closeRows {
		c, err := states.CompileClose(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		a := c.Read(order.Answer{Status: tt.status, Body: []byte(tt.body)})
		if a.Reading != tt.want || a.Throttled != tt.slow || (tt.why == "") != (a.Error == "") || !strings.Contains(a.Error, tt.why) {
			t.Errorf("%s of %d %.120q\n  = %v, throttled %t, %q\nwant %v, throttled %t, %q",
				tt.name, tt.status, tt.body, a.Reading, a.Throttled, a.Error, tt.want, tt.slow, tt.why)
		}
		if readable := a.Result == bellman.Accepted; readable != (tt.want != unknown) {
			t.Errorf("%s of %d %.120q: result %v", tt.name, tt.status, tt.body, a.Result)
		}
		if seen[tt.name] == nil {
			seen[tt.name] = map[order.CloseReading]bool{}
		}
		seen[tt.name][tt.want] = true
	}
	for _, p := range states.Presets() {
		for _, r := range []order.CloseReading{done, hint, flight, notExist, unknown} {
			if !seen[p.Name][r] && p.Name != "unionpay" { // closes as unionpay_back does
				t.Errorf("preset %s has no row that reads %v", p.Name, r)
			}
		}
	}
}
