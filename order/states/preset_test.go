package states_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/states"
)

// A row is one answer to a query, and what it means.
type row struct {
	name   string // the preset's, with its argument
	status int
	body   string
	want   order.Reading
	more   string // " wait", " throttled", and what is taken as JSON
	why    string // what Error must say; empty: nothing
}

// The bodies are the examples of the providers' documentation (the presets say
// which), shortened where fields say nothing of the state.
const (
	v2Paid = `<xml>
   <return_code><![CDATA[SUCCESS]]></return_code>
   <return_msg><![CDATA[OK]]></return_msg>
   <appid><![CDATA[wx2421b1c4370ec43b]]></appid>
   <mch_id><![CDATA[10000100]]></mch_id>
   <device_info><![CDATA[1000]]></device_info>
   <nonce_str><![CDATA[TN55wO9Pba5yENl8]]></nonce_str>
   <sign><![CDATA[BDF0099C15FF7BC6B1585FBB110AB635]]></sign>
   <result_code><![CDATA[SUCCESS]]></result_code>
   <openid><![CDATA[oUpF8uN95-Ptaags6E_roPHg7AG0]]></openid>
   <is_subscribe><![CDATA[Y]]></is_subscribe>
   <trade_type><![CDATA[MICROPAY]]></trade_type>
   <bank_type><![CDATA[CCB_DEBIT]]></bank_type>
   <total_fee>1</total_fee>
   <fee_type><![CDATA[CNY]]></fee_type>
   <transaction_id><![CDATA[1008450740201411110005820873]]></transaction_id>
   <out_trade_no><![CDATA[1415757673]]></out_trade_no>
   <attach><![CDATA[订单额外描述]]></attach>
   <time_end><![CDATA[20141111170043]]></time_end>
   <trade_state><![CDATA[SUCCESS]]></trade_state>
</xml>`
	v2Taken = `{"amount":1,"currency":"CNY","transaction_id":"1008450740201411110005820873"}`

	v3Paid = `{
  "amount": {"currency": "CNY", "payer_currency": "CNY", "payer_total": 1, "total": 100},
  "appid": "wxdace645e0bc2cXXX", "attach": "", "bank_type": "OTHERS", "mchid": "1900006XXX",
  "out_trade_no": "44_2126281063_5504", "payer": {"openid": "o4GgauJP_mgWEWictzA15WT15XXX"},
  "promotion_detail": [], "success_time": "2021-03-22T10:29:05+08:00",
  "trade_state": "SUCCESS", "trade_state_desc": "支付成功", "trade_type": "JSAPI",
  "transaction_id": "4200000891202103228088184743"}`
	v3Taken = `{"amount":100,"currency":"CNY","transaction_id":"4200000891202103228088184743"}`

	alipayPaid = `{"alipay_trade_query_response":{"code":"10000","msg":"Success","trade_no":"2013112011001004330000121536",
  "out_trade_no":"6823789339978248","buyer_logon_id":"159****5620","trade_status":"TRADE_SUCCESS","total_amount":"88.88",
  "trans_currency":"TWD","send_pay_date":"2014-11-27 15:45:57","receipt_amount":"15.25","buyer_user_id":"2088101117955611"},
  "sign":"ERITJKEIJKJHKKKKKKKHJEREEEEEEEEEEE"}`
	alipayTaken = `{"amount":"88.88","currency":"TWD","transaction_id":"2013112011001004330000121536"}`

	unionpayPaid = `accNo=6226********0048&accessType=0&bizType=000201&currencyCode=156&encoding=UTF-8&issuerIdentifyMode=0` +
		`&merId=777290058110048&orderId=20150901112233&origRespCode=00&origRespMsg=成功[0000000]&payCardType=01&payType=0001` +
		`&queryId=201509011122331234567&respCode=00&respMsg=成功[0000000]&reserved={cardIssueName=CCB&origRespCode=61}` +
		`&settleAmt=1000&settleCurrencyCode=156&settleDate=0901&signMethod=01&traceNo=123456&traceTime=0901112233&txnAmt=1000` +
		`&txnSubType=01&txnTime=20150901112233&txnType=01&version=5.1.0&signature=aGVsbG8+d29ybGQ/PQ==`
	unionpayTaken = `{"amount":1000,"currency":"156","transaction_id":"201509011122331234567"}`

	antomPaid = `{"result":{"resultCode":"SUCCESS","resultStatus":"S","resultMessage":"success"},"paymentStatus":"SUCCESS",
  "paymentRequestId":"pay_test_1106_0002","paymentId":"20190608114010800100188820200355883",
  "paymentAmount":{"value":"5000","currency":"SGD"}}`
	payermaxPaid = `{"code":"APPLY_SUCCESS","msg":"Success.","data":{"reference":"JOLLY","country":"TH","totalAmount":300.50,
  "outTradeNo":"TP002024051309261650130939","currency":"THB","tradeToken":"T2024051309124735760727","status":"SUCCESS"}}`
	hyperswitchPaid = `{"payment_id":"pay_mbabizu24mvu3mela5njyhpit4","merchant_id":"merchant_1668273825","status":"succeeded",
  "amount":6540,"amount_received":6540,"currency":"USD","refunds":null,"error_code":null}`
	killbillPaid = `{"accountId":"8fe697d4-2c25-482c-aa45-f6cd5a48186d","paymentId":"2c49ef6b-5e5e-4bd1-8ef5-6e7a5f8a0f7e",
  "purchasedAmount":50.00,"capturedAmount":0,"refundedAmount":0,"currency":"USD",
  "transactions":[{"transactionId":"7e0b","transactionType":"PURCHASE","amount":50.00,"currency":"USD","status":"SUCCESS","gatewayErrorCode":null}]}`
	stripePaid = `{"id":"pi_3MtwBwLkdIwHu7ix28a3tqPa","object":"payment_intent","amount":2000,"amount_received":2000,"currency":"usd",
  "latest_charge":"ch_3MtwBw","last_payment_error":null,"status":"succeeded"}`
)

// with returns a body with something in the place of something else.
func with(body, old, by string) string {
	if !strings.Contains(body, old) {
		panic("no " + old + " in " + body)
	}
	return strings.Replace(body, old, by, 1)
}

func v2State(state string) string {
	return with(v2Paid, "<trade_state><![CDATA[SUCCESS]]>", "<trade_state><![CDATA["+state+"]]>")
}

func v2Error(code string) string {
	return `<xml><return_code><![CDATA[SUCCESS]]></return_code><return_msg><![CDATA[OK]]></return_msg>
<result_code><![CDATA[FAIL]]></result_code><err_code><![CDATA[` + code + `]]></err_code><err_code_des><![CDATA[x]]></err_code_des></xml>`
}

func v3State(state string) string {
	return with(v3Paid, `"trade_state": "SUCCESS"`, `"trade_state": "`+state+`"`)
}

func v3Error(code string) string { return `{"code":"` + code + `","message":"x"}` }

func alipayState(status string) string { return with(alipayPaid, "TRADE_SUCCESS", status) }

func alipayError(method, code, sub string) string {
	return `{"alipay_trade_` + method + `_response":{"code":"` + code + `","msg":"Business Failed","sub_code":"` + sub + `","sub_msg":"x"},"sign":"ERITJ"}`
}

func unionpayCodes(code, original string) string {
	return with(with(unionpayPaid, "origRespCode=00", "origRespCode="+original), "respCode=00", "respCode="+code)
}

func antomState(status string) string {
	return with(antomPaid, `"paymentStatus":"SUCCESS"`, `"paymentStatus":"`+status+`"`)
}

func antomResult(status, code string) string {
	return `{"result":{"resultCode":"` + code + `","resultStatus":"` + status + `","resultMessage":"x"}}`
}

func payermaxState(status string) string { return with(payermaxPaid, `"SUCCESS"`, `"`+status+`"`) }

func hyperswitchState(status string) string {
	return with(hyperswitchPaid, "succeeded", status)
}

func killbillTransactions(list string) string {
	return `{"paymentId":"2c49","purchasedAmount":0,"capturedAmount":12.50,"currency":"USD","transactions":[` + list + `]}`
}

func killbillOne(kind, status string) string {
	return `{"transactionType":"` + kind + `","status":"` + status + `"}`
}

func stripeState(status string) string { return with(stripePaid, "succeeded", status) }

const (
	noise = "" // no more than the reading
	paid  = order.Paid
	back  = order.PaidRefunded
	open  = order.Pending
	none  = order.NotFound
	qerr  = order.QueryError
)

var rows = []row{
	// WeChat v2: every trade_state, every error code.
	{"wechat_v2", 200, v2Paid, paid, v2Taken, ""},
	{"wechat_v2", 200, strings.ReplaceAll(strings.ReplaceAll(v2Paid, "<![CDATA[", ""), "]]>", ""), paid, v2Taken, ""},
	{"wechat_v2", 200, `<?xml version="1.0" encoding="UTF-8"?>` + v2Paid, paid, v2Taken, ""},
	{"wechat_v2", 200, v2State("REFUND"), back, v2Taken, ""},
	{"wechat_v2", 200, v2State("NOTPAY"), open, noise, ""},
	{"wechat_v2", 200, v2State("USERPAYING"), open, "wait", ""},
	{"wechat_v2", 200, v2State("ACCEPT"), open, noise, ""},
	{"wechat_v2", 200, v2State("CLOSED"), order.Closed, noise, ""},
	{"wechat_v2", 200, v2State("REVOKED"), order.Revoked, noise, ""},
	{"wechat_v2", 200, v2State("PAYERROR"), order.Failed, noise, ""},
	{"wechat_v2", 200, v2State("success"), qerr, noise, `trade_state is "success"`},
	{"wechat_v2", 200, v2State(""), qerr, noise, `trade_state is ""`},
	{"wechat_v2", 200, v2State("NEW"), qerr, noise, `trade_state is "NEW"`},
	{"wechat_v2", 200, v2Error("ORDERNOTEXIST"), none, noise, ""},
	{"wechat_v2", 200, v2Error("ORDER_NOT_EXIST"), none, noise, ""},
	{"wechat_v2", 200, v2Error("SYSTEMERROR"), qerr, noise, "SYSTEMERROR"},
	{"wechat_v2", 200, v2Error("BANKERROR"), qerr, noise, "BANKERROR"},
	{"wechat_v2", 200, v2Error("USERPAYING"), open, "wait", ""},
	{"wechat_v2", 200, v2Error("FREQUENCY_LIMITED"), qerr, "throttled", "FREQUENCY_LIMITED"},
	{"wechat_v2", 200, v2Error("SIGNERROR"), qerr, noise, "SIGNERROR"},
	{"wechat_v2", 200, v2Error(""), qerr, noise, "result_code \"FAIL\" without err_code"},
	{"wechat_v2", 200, with(v2Paid, "<result_code><![CDATA[SUCCESS]]>", "<result_code><![CDATA[FAIL]]>"), qerr, noise, "without err_code"},
	{"wechat_v2", 200, with(v2Paid, "<result_code><![CDATA[SUCCESS]]></result_code>", ""), qerr, noise, "no result_code"},
	{"wechat_v2", 200, with(v2Paid, "<return_code><![CDATA[SUCCESS]]></return_code>", ""), qerr, noise, "no return_code"},
	{"wechat_v2", 200, with(v2Paid, "<return_code><![CDATA[SUCCESS]]>", "<return_code><![CDATA[FAIL]]>"), qerr, noise, `return_code "FAIL"`},
	{"wechat_v2", 200, with(v2Paid, "</xml>", "<err_code>SYSTEMERROR</err_code></xml>"), qerr, noise, "contradicts itself"},
	{"wechat_v2", 200, with(v2Paid, "</xml>", "<trade_state>NOTPAY</trade_state></xml>"), qerr, noise, `field "trade_state" is there twice`},
	{"wechat_v2", 200, with(v2Paid, "<![CDATA[SUCCESS]]></trade_state>", "<a>SUCCESS</a></trade_state>"), qerr, noise, `trade_state is ""`},
	{"wechat_v2", 200, `<!DOCTYPE x [<!ENTITY s "SUCCESS">]>` + v2Paid, qerr, noise, "document type"},
	{"wechat_v2", 200, v2Paid + v2Paid, qerr, noise, "not one document"},
	{"wechat_v2", 200, v2Paid[:len(v2Paid)-3], qerr, noise, "not XML"},
	{"wechat_v2", 200, "<html><body>SUCCESS</body></html>", qerr, noise, "not one document <xml>"},
	{"wechat_v2", 200, "", qerr, noise, "ends too early"},
	{"wechat_v2", 500, v2Paid, qerr, noise, "HTTP status 500 decides nothing, though the body reads PAID"},
	{"wechat_v2", 200, `{"return_code":"SUCCESS","result_code":"SUCCESS","trade_state":"SUCCESS","total_fee":"1","transaction_id":"42"}`, paid, `{"amount":1,"transaction_id":"42"}`, ""},
	{"wechat_v2", 200, `{"trade_state":"SUCCESS"}`, qerr, noise, "no return_code"},

	// WeChat v3.
	{"wechat_v3", 200, v3Paid, paid, v3Taken, ""},
	{"wechat_v3", 200, v3State("REFUND"), back, v3Taken, ""},
	{"wechat_v3", 200, v3State("NOTPAY"), open, noise, ""},
	{"wechat_v3", 200, v3State("USERPAYING"), open, "wait", ""},
	{"wechat_v3", 202, v3State("USERPAYING"), open, "wait", ""},
	{"wechat_v3", 200, v3State("ACCEPT"), open, noise, ""},
	{"wechat_v3", 200, v3State("CLOSED"), order.Closed, noise, ""},
	{"wechat_v3", 200, v3State("REVOKED"), order.Revoked, noise, ""},
	{"wechat_v3", 200, v3State("PAYERROR"), order.Failed, noise, ""},
	{"wechat_v3", 200, v3State("Success"), qerr, noise, `trade_state is "Success"`},
	{"wechat_v3", 200, v3State(" SUCCESS"), qerr, noise, "trade_state is"},
	{"wechat_v3", 404, v3Error("ORDER_NOT_EXIST"), none, noise, ""},
	{"wechat_v3", 404, v3Error("ORDERNOTEXIST"), none, noise, ""},
	{"wechat_v3", 404, `{"error":"Not Found","path":"/v3/pay"}`, qerr, noise, `trade_state is ""`},
	{"wechat_v3", 404, "404 page not found", qerr, noise, "not JSON"},
	{"wechat_v3", 500, v3Error("SYSTEM_ERROR"), qerr, noise, "SYSTEM_ERROR"},
	{"wechat_v3", 500, v3Error("SYSTEMERROR"), qerr, noise, "SYSTEMERROR"},
	{"wechat_v3", 500, v3Error("BANK_ERROR"), qerr, noise, "BANK_ERROR"},
	{"wechat_v3", 429, v3Error("FREQUENCY_LIMITED"), qerr, "throttled", "FREQUENCY_LIMITED"},
	{"wechat_v3", 429, v3Error("FREQUENCY_LIMIT_EXCEEDED"), qerr, "throttled", "FREQUENCY_LIMIT_EXCEEDED"},
	{"wechat_v3", 200, v3Error("FREQUENCY_LIMIT_EXCEED"), qerr, "throttled", "FREQUENCY_LIMIT_EXCEED"},
	{"wechat_v3", 403, v3Error("RATELIMIT_EXCEEDED"), qerr, "throttled", "RATELIMIT_EXCEEDED"},
	{"wechat_v3", 403, v3Error("RULE_LIMIT"), qerr, "throttled", "RULE_LIMIT"},
	{"wechat_v3", 403, v3Error("RULELIMIT"), qerr, "throttled", "RULELIMIT"},
	{"wechat_v3", 403, v3Error("RATELIMIT_EXCEED"), qerr, "throttled", "RATELIMIT_EXCEED"},
	{"wechat_v3", 499, v3Error("ORDER_NOT_EXIST"), none, noise, ""},
	{"wechat_v3", 500, v3Error("ORDER_NOT_EXIST"), qerr, noise, "HTTP status 500 decides nothing"},
	{"wechat_v3", 300, v3Paid, qerr, noise, "HTTP status 300 decides nothing"},
	{"wechat_v3", 399, v3Error("ORDER_NOT_EXIST"), qerr, noise, "HTTP status 399 decides nothing"},
	{"wechat_v3", 400, v3Error("ORDER_NOT_EXIST"), none, noise, ""},
	{"wechat_v3", 299, v3Paid, paid, v3Taken, ""},
	{"wechat_v3", 199, v3Paid, qerr, noise, "HTTP status 199 decides nothing"},
	{"wechat_v3", 429, "slow down", qerr, "throttled", "not JSON"},
	{"wechat_v3", 429, v3Paid, qerr, "throttled", "HTTP status 429 decides nothing"},
	{"wechat_v3", 202, v3Error("USERPAYING"), open, "wait", ""},
	{"wechat_v3", 202, v3Error("USER_PAYING"), open, "wait", ""},
	{"wechat_v3", 202, "", qerr, "wait", "202"},
	{"wechat_v3", 202, v3Paid, qerr, noise, "HTTP status 202 decides nothing"},
	{"wechat_v3", 400, v3Error("USERPAYING"), qerr, "wait", "USERPAYING"},
	{"wechat_v3", 401, v3Error("SIGN_ERROR"), qerr, noise, "SIGN_ERROR"},
	{"wechat_v3", 400, v3Error("PARAM_ERROR"), qerr, noise, "PARAM_ERROR"},
	{"wechat_v3", 500, v3Paid, qerr, noise, "HTTP status 500 decides nothing"},
	{"wechat_v3", 503, v3Error("ORDER_NOT_EXIST"), qerr, noise, "HTTP status 503 decides nothing"},
	{"wechat_v3", 404, v3State("CLOSED"), qerr, noise, "HTTP status 404 decides nothing"},
	{"wechat_v3", 302, v3Paid, qerr, noise, "HTTP status 302 decides nothing"},
	{"wechat_v3", 204, "", qerr, noise, "ends too early"},
	{"wechat_v3", 200, "{}", qerr, noise, `trade_state is ""`},
	{"wechat_v3", 200, "[]", qerr, noise, "not a JSON object"},
	{"wechat_v3", 200, "null", qerr, noise, "not a JSON object"},
	{"wechat_v3", 200, `"SUCCESS"`, qerr, noise, "not a JSON object"},
	{"wechat_v3", 200, v3Paid + "x", qerr, noise, "follows the value"},
	{"wechat_v3", 200, v3Paid[:200], qerr, noise, "not JSON"},
	{"wechat_v3", 200, `{"trade_state":"NOTPAY","trade_state":"SUCCESS"}`, qerr, noise, "there twice"},
	{"wechat_v3", 200, `{"trade_state":{"a":"SUCCESS"}}`, qerr, noise, `trade_state is ""`},
	{"wechat_v3", 200, `{"data":{"trade_state":"SUCCESS"}}`, qerr, noise, `trade_state is ""`},
	{"wechat_v3", 200, `{"code":0,"trade_state":"SUCCESS"}`, paid, noise, ""}, // a gateway's envelope
	{"wechat_v3", 200, `{"code":"FAIL","trade_state":"SUCCESS"}`, qerr, noise, "contradicts itself"},
	{"wechat_v3", 200, `{"code":"ORDER_NOT_EXIST","trade_state":"SUCCESS"}`, qerr, noise, "contradicts itself"},
	{"wechat_v3", 200, `{"return_code":"FAIL","trade_state":"SUCCESS"}`, qerr, noise, `return_code "FAIL"`},
	{"wechat_v3", 200, `{"trade_state":"SUCCESS","total_fee":7,"fee_type":"CNY"}`, paid, `{"amount":7,"currency":"CNY"}`, ""},
	{"wechat_v3", 200, `{"trade_state":"SUCCESS","amount":{"total":-7}}`, paid, noise, ""},
	{"wechat_v3", 200, strings.Repeat(" ", 65537), qerr, noise, "longer than 64 KiB"},
	{"wechat_v3", 200, strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200), qerr, noise, "nests deeper"},

	// Alipay: wrapped and bare.
	{"alipay", 200, alipayPaid, paid, alipayTaken, ""},
	{"alipay", 200, alipayState("TRADE_FINISHED"), paid, alipayTaken, ""},
	{"alipay", 200, alipayState("WAIT_BUYER_PAY"), open, noise, ""},
	{"alipay", 200, alipayState("TRADE_CLOSED"), back, alipayTaken, ""},
	{"alipay", 200, with(alipayState("TRADE_CLOSED"), `"send_pay_date":"2014-11-27 15:45:57",`, ""), order.Closed, noise, ""},
	{"alipay", 200, with(alipayState("TRADE_CLOSED"), "2014-11-27 15:45:57", ""), order.Closed, noise, ""},
	{"alipay", 200, alipayState("TRADE_PENDING"), qerr, noise, `trade_status is "TRADE_PENDING"`},
	{"alipay", 200, alipayState(""), qerr, noise, `trade_status is ""`},
	{"alipay", 200, alipayError("query", "40004", "ACQ.TRADE_NOT_EXIST"), none, noise, ""},
	{"alipay", 200, alipayError("query", "40004", "ACQ.SYSTEM_ERROR"), qerr, noise, "ACQ.SYSTEM_ERROR"},
	{"alipay", 200, alipayError("query", "40004", "ACQ.INVALID_PARAMETER"), qerr, noise, "ACQ.INVALID_PARAMETER"},
	{"alipay", 200, alipayError("query", "20000", "isp.unknow-error"), qerr, noise, "20000"},
	{"alipay", 200, alipayError("query", "20000", "ACQ.TRADE_NOT_EXIST"), qerr, noise, "20000"},
	{"alipay", 200, alipayError("query", "40005", "isv.app-call-limited"), qerr, "throttled", "40005"},
	{"alipay", 200, `{"error_response":{"code":"40002","msg":"Invalid Arguments","sub_code":"isv.invalid-signature","sub_msg":"x"}}`, qerr, noise, "isv.invalid-signature"},
	{"alipay", 200, `{"code":"10000","msg":"Success","trade_status":"TRADE_SUCCESS","trade_no":"2013","total_amount":"0.01"}`, paid, `{"amount":"0.01","transaction_id":"2013"}`, ""},
	{"alipay", 200, `{"code":"40004","sub_code":"ACQ.TRADE_NOT_EXIST"}`, none, noise, ""},
	{"alipay", 200, `{"trade_status":"TRADE_SUCCESS"}`, qerr, noise, "contradicts itself"},
	{"alipay", 200, `{"code":"40004","sub_code":"ACQ.TRADE_NOT_EXIST","trade_status":"TRADE_SUCCESS"}`, qerr, noise, "contradicts itself"},
	{"alipay", 200, `{"code":"10000","sub_code":"ACQ.SYSTEM_ERROR","trade_status":"TRADE_SUCCESS"}`, qerr, noise, "contradicts itself"},
	{"alipay", 200, with(alipayPaid, `"sign"`, `"trade_status":"TRADE_CLOSED","sign"`), qerr, noise, "there twice"},
	{"alipay", 200, with(alipayPaid, `"sign"`, `"error_response":{},"sign"`), qerr, noise, "there twice"},
	{"alipay", 200, with(alipayPaid, "trade_query", "trade_close"), qerr, noise, "want alipay_trade_query_response"},
	{"alipay", 200, `{"alipay_trade_query_response":"TRADE_SUCCESS"}`, qerr, noise, "is not an object"},
	{"alipay", 200, `{"code":"10000","trade_status":"TRADE_SUCCESS","raw_response":"x","alipay_user":"y"}`, paid, noise, ""},
	{"alipay", 502, alipayPaid, qerr, noise, "HTTP status 502"},
	{"alipay", 200, "success", qerr, noise, "not JSON"},

	// UnionPay, front: the age of the order is 10 minutes, see the argument.
	{"unionpay 30m", 200, unionpayPaid, paid, unionpayTaken, ""},
	{"unionpay 5m", 200, unionpayPaid, paid, unionpayTaken, ""},
	{"unionpay", 200, `{"respCode":"00","origRespCode":"00","queryId":"2015","txnAmt":"1000"}`, paid, `{"amount":1000,"transaction_id":"2015"}`, ""},
	{"unionpay", 200, unionpayCodes("00", "03"), open, noise, ""},
	{"unionpay", 200, unionpayCodes("00", "04"), open, noise, ""},
	{"unionpay 5m", 200, unionpayCodes("00", "05"), open, noise, ""},
	{"unionpay", 200, "respCode=03&respMsg=x", open, noise, ""},
	{"unionpay", 200, "respCode=04&respMsg=x", open, noise, ""},
	{"unionpay 5m", 200, "respCode=05&respMsg=x", open, noise, ""},
	{"unionpay 30m", 200, unionpayCodes("00", "61"), open, noise, ""},
	{"unionpay 10m", 200, unionpayCodes("00", "61"), order.Failed, noise, ""},
	{"unionpay", 200, unionpayCodes("00", "01"), open, noise, ""}, // the timeout assumed is longer
	{"unionpay 30m", 200, "respCode=34&respMsg=查无此交易", open, noise, ""},
	{"unionpay 5m", 200, "respCode=34&respMsg=查无此交易", order.Closed, noise, ""},
	{"unionpay 5m", 200, unionpayCodes("00", "A6"), qerr, noise, "A6"},
	{"unionpay 5m", 200, unionpayCodes("00", ""), qerr, noise, `origRespCode is ""`},
	{"unionpay 5m", 200, unionpayCodes("00", "000"), qerr, noise, `origRespCode is "000"`},
	{"unionpay 5m", 200, unionpayCodes("00", "0 "), qerr, noise, "origRespCode is"},
	{"unionpay 5m", 200, "respCode=00&respMsg=x", qerr, noise, `origRespCode is ""`},
	{"unionpay 5m", 200, unionpayCodes("06", "00"), qerr, noise, `respCode "06"`},
	{"unionpay 5m", 200, "respCode=11&respMsg=验签失败", qerr, noise, `respCode "11"`},
	{"unionpay 5m", 200, "respCode=37&respMsg=x", qerr, "throttled", `respCode "37"`},
	{"unionpay 5m", 200, "origRespCode=00", qerr, noise, `respCode ""`},
	{"unionpay 5m", 200, "respCode=00&origRespCode=00&origRespCode=61", qerr, noise, "there twice"},
	{"unionpay 5m", 200, "respCode=00&reserved={a=b&origRespCode=00&c=d}", qerr, noise, `origRespCode is ""`},
	{"unionpay 5m", 200, "respCode=00&reserved={a=b&origRespCode=00", qerr, noise, "brace"},
	{"unionpay 5m", 200, "<html><a href='?respCode=00&origRespCode=00'>", qerr, noise, "not a form"},
	{"unionpay 5m", 200, "", qerr, noise, "empty"},
	{"unionpay 5m", 200, "00", qerr, noise, "not a form"},
	{"unionpay 5m", 500, unionpayPaid, qerr, noise, "HTTP status 500"},
	{"unionpay 5m", 200, unionpayPaid + "&x=" + strings.Repeat("y", 65536-len(unionpayPaid)-3), qerr, noise, "64 KiB"},

	// UnionPay, back: no pay timeout.
	{"unionpay_back", 200, unionpayPaid, paid, unionpayTaken, ""},
	{"unionpay_back", 200, unionpayCodes("00", "03"), open, noise, ""},
	{"unionpay_back", 200, unionpayCodes("00", "04"), open, noise, ""},
	{"unionpay_back", 200, unionpayCodes("00", "05"), open, noise, ""},
	{"unionpay_back", 200, unionpayCodes("05", "00"), open, noise, ""},
	{"unionpay_back", 200, unionpayCodes("00", "61"), order.Failed, noise, ""},
	{"unionpay_back", 200, unionpayCodes("00", "A6"), qerr, noise, "A6"},
	{"unionpay_back", 200, "respCode=34", none, noise, ""},
	{"unionpay_back", 200, "respCode=02", qerr, noise, `respCode "02"`},

	// Antom.
	{"antom", 200, antomPaid, paid, `{"amount":5000,"currency":"SGD","transaction_id":"20190608114010800100188820200355883"}`, ""},
	{"antom", 200, antomState("Success"), paid, `{"amount":5000,"currency":"SGD","transaction_id":"20190608114010800100188820200355883"}`, ""},
	{"antom", 200, antomState("FAIL"), order.Failed, noise, ""},
	{"antom", 200, antomState("CANCELLED"), order.Closed, noise, ""},
	{"antom", 200, antomState("PROCESSING"), open, noise, ""},
	{"antom", 200, antomState("PENDING"), open, noise, ""},
	{"antom", 200, antomState("AUTH_SUCCESS"), qerr, noise, "AUTH_SUCCESS"},
	{"antom", 200, with(antomPaid, `"S"`, `"U"`), qerr, noise, `resultStatus "U"`},
	{"antom", 200, antomResult("F", "ORDER_NOT_EXIST"), none, noise, ""},
	{"antom", 200, antomResult("U", "UNKNOWN_EXCEPTION"), qerr, noise, "UNKNOWN_EXCEPTION"},
	{"antom", 200, antomResult("U", "REQUEST_TRAFFIC_EXCEED_LIMIT"), qerr, "throttled", "REQUEST_TRAFFIC_EXCEED_LIMIT"},
	{"antom", 200, antomResult("F", "INVALID_SIGNATURE"), qerr, noise, "INVALID_SIGNATURE"},
	{"antom", 200, `{"paymentStatus":"SUCCESS"}`, qerr, noise, `resultStatus ""`},
	{"antom", 500, antomPaid, qerr, noise, "HTTP status 500"},

	// PayerMax.
	{"payermax", 200, payermaxPaid, paid, `{"amount":"300.50","currency":"THB","transaction_id":"T2024051309124735760727"}`, ""},
	{"payermax", 200, payermaxState("FAILED"), order.Failed, noise, ""},
	{"payermax", 200, payermaxState("CLOSED"), order.Closed, noise, ""},
	{"payermax", 200, payermaxState("PENDING"), open, noise, ""},
	{"payermax", 200, payermaxState("BOUNCEBACK"), qerr, noise, "BOUNCEBACK"},
	{"payermax", 200, `{"code":"APPLY_SUCCESS","msg":"Success."}`, qerr, noise, `data.status is ""`},
	{"payermax", 200, with(payermaxState("CLOSED"), "APPLY_SUCCESS", "PAYMENT_FAILED"), qerr, noise, "PAYMENT_FAILED"},
	{"payermax", 200, with(payermaxPaid, "APPLY_SUCCESS", "ORDER_NOT_EXIST"), qerr, noise, "ORDER_NOT_EXIST"},
	{"payermax", 200, `{"code":"ORDER_NOT_EXIST","msg":"x"}`, none, noise, ""},
	{"payermax", 200, `{"code":"SYSTEM_ERROR","msg":"System is busy, please try again later."}`, qerr, noise, "SYSTEM_ERROR"},
	{"payermax", 502, payermaxPaid, qerr, noise, "HTTP status 502"},

	// hyperswitch: the terminal ones of an attempt, in both spellings, and of an intent.
	{"hyperswitch", 200, hyperswitchPaid, paid, `{"amount":6540,"currency":"USD","transaction_id":"pay_mbabizu24mvu3mela5njyhpit4"}`, ""},
	{"hyperswitch", 200, `{"status":"Charged"}`, paid, noise, ""},
	{"hyperswitch", 200, `{"status":"charged"}`, paid, noise, ""},
	{"hyperswitch", 200, `{"status":"RouterDeclined"}`, order.Failed, noise, ""},
	{"hyperswitch", 200, `{"status":"router_declined"}`, order.Failed, noise, ""},
	{"hyperswitch", 200, `{"status":"AutoRefunded"}`, back, noise, ""},
	{"hyperswitch", 200, `{"status":"auto_refunded"}`, back, noise, ""},
	{"hyperswitch", 200, `{"status":"Voided"}`, order.Revoked, noise, ""},
	{"hyperswitch", 200, `{"status":"VoidFailed"}`, order.Failed, noise, ""},
	{"hyperswitch", 200, `{"status":"CaptureFailed"}`, order.Failed, noise, ""},
	{"hyperswitch", 200, `{"status":"Failure"}`, order.Failed, noise, ""},
	{"hyperswitch", 200, hyperswitchState("failed"), order.Failed, noise, ""},
	{"hyperswitch", 200, hyperswitchState("cancelled"), order.Closed, noise, ""},
	{"hyperswitch", 200, hyperswitchState("expired"), order.Closed, noise, ""},
	{"hyperswitch", 200, hyperswitchState("processing"), open, noise, ""},
	{"hyperswitch", 200, hyperswitchState("requires_payment_method"), open, noise, ""},
	{"hyperswitch", 200, hyperswitchState("requires_confirmation"), open, noise, ""},
	{"hyperswitch", 200, hyperswitchState("requires_customer_action"), open, noise, ""},
	{"hyperswitch", 200, hyperswitchState("requires_merchant_action"), open, noise, ""},
	{"hyperswitch", 200, hyperswitchState("requires_capture"), open, noise, ""},
	{"hyperswitch", 200, `{"status":"AuthenticationFailed"}`, open, noise, ""},
	{"hyperswitch", 200, `{"status":"Authorized"}`, open, noise, ""},
	{"hyperswitch", 200, `{"status":"Started"}`, open, noise, ""},
	{"hyperswitch", 200, `{"status":"AuthenticationPending"}`, open, noise, ""},
	{"hyperswitch", 200, `{"status":"AuthenticationSuccessful"}`, open, noise, ""},
	{"hyperswitch", 200, `{"status":"AuthorizationFailed"}`, open, noise, ""},
	{"hyperswitch", 200, `{"status":"Authorizing"}`, open, noise, ""},
	{"hyperswitch", 200, `{"status":"CodInitiated"}`, open, noise, ""},
	{"hyperswitch", 200, `{"status":"VoidInitiated"}`, open, noise, ""},
	{"hyperswitch", 200, `{"status":"CaptureInitiated"}`, open, noise, ""},
	{"hyperswitch", 200, `{"status":"Pending"}`, open, noise, ""},
	{"hyperswitch", 200, `{"status":"PaymentMethodAwaited"}`, open, noise, ""},
	{"hyperswitch", 200, `{"status":"ConfirmationAwaited"}`, open, noise, ""},
	{"hyperswitch", 200, `{"status":"DeviceDataCollectionPending"}`, open, noise, ""},
	{"hyperswitch", 200, `{"status":"Unresolved"}`, qerr, noise, "Unresolved"},
	{"hyperswitch", 200, hyperswitchState("partially_captured"), qerr, noise, "partially_captured"},
	{"hyperswitch", 200, `{"status":"PartialCharged"}`, qerr, noise, "PartialCharged"},
	{"hyperswitch", 200, `{"status":"CHARGED"}`, qerr, noise, "CHARGED"},
	{"hyperswitch", 200, with(hyperswitchPaid, `"refunds":null`, `"refunds":[{"status":"failed"},{"status":"succeeded"}]`), back,
		`{"amount":6540,"currency":"USD","transaction_id":"pay_mbabizu24mvu3mela5njyhpit4"}`, ""},
	{"hyperswitch", 404, `{"error":{"type":"invalid_request","message":"Payment does not exist in our records","code":"HE_02"}}`, none, noise, ""},
	{"hyperswitch", 401, `{"error":{"type":"invalid_request","message":"API key not provided","code":"IR_01"}}`, qerr, noise, "IR_01"},
	{"hyperswitch", 500, `{"error":{"type":"api","message":"Something went wrong","code":"HE_00"}}`, qerr, noise, "HE_00"},
	{"hyperswitch", 500, hyperswitchPaid, qerr, noise, "HTTP status 500"},

	// Kill Bill.
	{"killbill", 200, killbillPaid, paid, `{"amount":"50.00","currency":"USD","transaction_id":"2c49ef6b-5e5e-4bd1-8ef5-6e7a5f8a0f7e"}`, ""},
	{"killbill", 200, with(killbillPaid, "SUCCESS", "PAYMENT_FAILURE"), order.Failed, noise, ""},
	{"killbill", 200, with(killbillPaid, "SUCCESS", "PLUGIN_FAILURE"), order.Failed, noise, ""},
	{"killbill", 200, with(killbillPaid, "SUCCESS", "PENDING"), open, noise, ""},
	{"killbill", 200, with(killbillPaid, "SUCCESS", "UNKNOWN"), qerr, noise, "UNKNOWN"},
	{"killbill", 200, with(killbillPaid, "SUCCESS", "PAYMENT_SYSTEM_OFF"), qerr, noise, "PAYMENT_SYSTEM_OFF"},
	{"killbill", 200, with(killbillPaid, "PURCHASE", "CREDIT"), qerr, noise, "CREDIT"},
	{"killbill", 200, killbillOne("PURCHASE", "SUCCESS"), paid, noise, ""},
	{"killbill", 200, killbillTransactions(killbillOne("AUTHORIZE", "SUCCESS")), open, noise, ""},
	{"killbill", 200, killbillTransactions(killbillOne("AUTHORIZE", "PAYMENT_FAILURE")), order.Failed, noise, ""},
	{"killbill", 200, killbillTransactions(killbillOne("AUTHORIZE", "SUCCESS") + "," + killbillOne("CAPTURE", "SUCCESS")), paid, `{"amount":"12.50","currency":"USD","transaction_id":"2c49"}`, ""},
	{"killbill", 200, killbillTransactions(killbillOne("AUTHORIZE", "SUCCESS") + "," + killbillOne("CAPTURE", "PLUGIN_FAILURE")), open, noise, ""},
	{"killbill", 200, killbillTransactions(killbillOne("AUTHORIZE", "SUCCESS") + "," + killbillOne("VOID", "SUCCESS")), order.Revoked, noise, ""},
	{"killbill", 200, killbillTransactions(killbillOne("PURCHASE", "SUCCESS") + "," + killbillOne("REFUND", "SUCCESS")), back, `{"amount":"12.50","currency":"USD","transaction_id":"2c49"}`, ""},
	{"killbill", 200, killbillTransactions(killbillOne("PURCHASE", "SUCCESS") + "," + killbillOne("CHARGEBACK", "SUCCESS")), back, `{"amount":"12.50","currency":"USD","transaction_id":"2c49"}`, ""},
	{"killbill", 200, killbillTransactions(killbillOne("PURCHASE", "SUCCESS") + "," + killbillOne("REFUND", "UNKNOWN")), paid, `{"amount":"12.50","currency":"USD","transaction_id":"2c49"}`, ""},
	{"killbill", 200, killbillTransactions(killbillOne("PURCHASE", "PAYMENT_FAILURE") + "," + killbillOne("PURCHASE", "PENDING")), open, noise, ""},
	{"killbill", 200, killbillTransactions(killbillOne("CAPTURE", "SUCCESS") + "," + killbillOne("VOID", "SUCCESS")), qerr, noise, "voided"},
	{"killbill", 200, killbillTransactions(killbillOne("CAPTURE", "PENDING") + "," + killbillOne("VOID", "SUCCESS")), qerr, noise, "voided"},
	{"killbill", 200, killbillTransactions(killbillOne("REFUND", "SUCCESS")), qerr, noise, "never made"},
	{"killbill", 200, killbillTransactions(""), qerr, noise, "no transactions"},
	{"killbill", 200, killbillTransactions(`"SUCCESS"`), qerr, noise, "transactionType"},
	{"killbill", 404, `{"className":"org.killbill.billing.payment.api.PaymentApiException","code":7020,"message":"Payment 2c49 does not exist"}`, none, noise, ""},
	{"killbill", 400, `{"code":7019,"message":"Internal payment error"}`, qerr, noise, "7019"},
	{"killbill", 500, killbillPaid, qerr, noise, "HTTP status 500"},

	// Stripe.
	{"stripe", 200, stripePaid, paid, `{"amount":2000,"currency":"usd","transaction_id":"pi_3MtwBwLkdIwHu7ix28a3tqPa"}`, ""},
	{"stripe", 200, with(stripePaid, `"ch_3MtwBw"`, `{"id":"ch_3MtwBw","amount_refunded":0}`), paid, `{"amount":2000,"currency":"usd","transaction_id":"pi_3MtwBwLkdIwHu7ix28a3tqPa"}`, ""},
	{"stripe", 200, with(stripePaid, `"ch_3MtwBw"`, `{"id":"ch_3MtwBw","amount_refunded":500}`), back, `{"amount":2000,"currency":"usd","transaction_id":"pi_3MtwBwLkdIwHu7ix28a3tqPa"}`, ""},
	{"stripe", 200, stripeState("canceled"), order.Closed, noise, ""},
	{"stripe", 200, stripeState("requires_payment_method"), open, noise, ""},
	{"stripe", 200, stripeState("requires_confirmation"), open, noise, ""},
	{"stripe", 200, stripeState("requires_action"), open, noise, ""},
	{"stripe", 200, stripeState("requires_capture"), open, noise, ""},
	{"stripe", 200, stripeState("processing"), open, noise, ""},
	{"stripe", 200, stripeState("cancelled"), qerr, noise, "cancelled"},
	{"stripe", 200, with(stripePaid, "payment_intent", "charge"), qerr, noise, "want payment_intent"},
	{"stripe", 404, `{"error":{"code":"resource_missing","message":"No such payment_intent: 'pi_x'","param":"intent","type":"invalid_request_error"}}`, none, noise, ""},
	{"stripe", 429, `{"error":{"code":"rate_limit","type":"invalid_request_error"}}`, qerr, "throttled", "rate_limit"},
	{"stripe", 429, `{"error":{"code":"lock_timeout","type":"invalid_request_error"}}`, qerr, "throttled", "lock_timeout"},
	{"stripe", 500, `{"error":{"type":"api_error"}}`, qerr, noise, "error.code"},
	{"stripe", 200, with(stripePaid, `"status"`, `"error":{},"status"`), qerr, noise, "error.code"},
	{"stripe", 503, stripePaid, qerr, noise, "HTTP status 503"},
}

func TestQueryPresets(t *testing.T) {
	for _, tt := range rows {
		q, err := states.CompileQuery(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		a := q.Read(order.Answer{Status: tt.status, Body: []byte(tt.body)}, 10*time.Minute)
		if got := described(a); a.Reading != tt.want || got != tt.more || (tt.why == "") != (a.Error == "") || !strings.Contains(a.Error, tt.why) {
			t.Errorf("%s of %d %.120q\n  = %v %s, %q\nwant %v %s, %q", tt.name, tt.status, tt.body, a.Reading, got, a.Error, tt.want, tt.more, tt.why)
		}
		result := bellman.Accepted
		if tt.want == qerr {
			result = bellman.Refused
			if tt.status >= 300 {
				result = bellman.ErrorStatus
			}
		}
		if a.Result != result || strings.Contains(a.Error, "\n") {
			t.Errorf("%s of %d %.120q: result %v, error %q; want %v, and one line", tt.name, tt.status, tt.body, a.Result, a.Error, result)
		}
	}
}

func described(a order.QueryAnswer) string {
	var parts []string
	if a.Wait == 5*time.Second {
		parts = append(parts, "wait")
	} else if a.Wait != 0 {
		parts = append(parts, a.Wait.String())
	}
	if a.Throttled {
		parts = append(parts, "throttled")
	}
	if a.Taken != nil {
		text, _ := json.Marshal(a.Taken)
		parts = append(parts, string(text))
	}
	return strings.Join(parts, " ")
}

// Every preset has a row for each reading that section 4 gives it, and one that
// says nothing.
func TestRowsAreComplete(t *testing.T) {
	seen := map[string]map[order.Reading]bool{}
	for _, tt := range rows {
		name, _, _ := strings.Cut(tt.name, " ")
		if seen[name] == nil {
			seen[name] = map[order.Reading]bool{}
		}
		seen[name][tt.want] = true
	}
	for _, p := range states.Presets() {
		for _, r := range []order.Reading{qerr, open, paid} {
			if !seen[p.Name][r] {
				t.Errorf("preset %s has no row that reads %v", p.Name, r)
			}
		}
		if len(seen[p.Name]) < 4 || p.Source == "" {
			t.Errorf("preset %s: readings %v, source %q", p.Name, seen[p.Name], p.Source)
		}
	}
}
