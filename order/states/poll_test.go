package states_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/order/states"
)

// Answers as the providers' documents show them.
const (
	wechatRefund = `{"refund_id":"50000000382019052709732678859","out_refund_no":"R1","transaction_id":"4200","out_trade_no":"O1","channel":"ORIGINAL",` +
		`"user_received_account":"…","success_time":"2026-11-20T16:18:12+08:00","create_time":"2026-11-20T16:18:10+08:00","status":"SUCCESS",` +
		`"funds_account":"AVAILABLE","amount":{"total":100,"refund":88,"payer_total":90,"payer_refund":80,"currency":"CNY"}}`
	wechatTransfer = `{"mch_id":"1900001109","out_bill_no":"plfk2020042013","transfer_bill_no":"1330000071100999991182020050700019480001","appid":"wxf6","state":"SUCCESS",` +
		`"transfer_amount":400000,"transfer_remark":"…","fail_reason":"","openid":"o-","create_time":"2026-11-20T10:34:56+08:00","update_time":"2026-11-20T10:35:56+08:00"}`
	wechatRest   = `{"amount":877,"description":"解冻给分账方","type":"MERCHANT_ID","account":"1900000001","result":"SUCCESS","finish_time":"2026-11-20T11:01:00+08:00"}`
	wechatShares = `{"transaction_id":"4208450740201411110007820472","out_order_no":"P1","order_id":"3008450740201411110007820472","state":"FINISHED","receivers":[` +
		`{"amount":100,"type":"MERCHANT_ID","account":"1900000109","result":"SUCCESS","fail_reason":"","create_time":"2026-11-20T11:00:00+08:00","finish_time":"2026-11-20T11:01:00+08:00"},` +
		`{"amount":23,"type":"PERSONAL_OPENID","account":"o-","result":"SUCCESS","create_time":"2026-11-20T11:00:00+08:00","finish_time":"2026-11-20T11:02:00+08:00"}]}`
	alipayRefund = `{"alipay_trade_fastpay_refund_query_response":{"code":"10000","msg":"Success","trade_no":"2014112611001004680073956707","out_trade_no":"O1","out_request_no":"R1",` +
		`"total_amount":"100.20","refund_amount":"12.33","refund_status":"REFUND_SUCCESS","gmt_refund_pay":"2026-11-20 15:45:57"},"sign":"…"}`
	alipayTransfer = `{"alipay_fund_trans_common_query_response":{"code":"10000","msg":"Success","order_id":"20190801110070000006380000250621","pay_fund_order_id":"…","out_biz_no":"T1",` +
		`"trans_amount":"32.00","status":"SUCCESS","pay_date":"2026-11-20 10:00:00","order_fee":"0.02"},"sign":"…"}`
	wechatV2Refund = `<xml><return_code><![CDATA[SUCCESS]]></return_code><result_code>SUCCESS</result_code><refund_count>1</refund_count><out_refund_no_0>R1</out_refund_no_0>` +
		`<refund_id_0>50000000382019052709732678859</refund_id_0><refund_fee_0>88</refund_fee_0><refund_status_0>SUCCESS</refund_status_0><refund_success_time_0>2026-11-20 16:18:12</refund_success_time_0></xml>`
	unionpayRefund = `merId=777290058110048&orderId=R1&origRespCode=00&origRespMsg=ok&queryId=042611201618101234567&respCode=00&txnAmt=88&currencyCode=156&txnTime=20261120161810`
	stripeRefund   = `{"id":"re_1Nispe2eZvKYlo2Cd31jOCgZ","object":"refund","amount":1000,"currency":"usd","status":"succeeded"}`
	adyenRefund    = `{"pspReference":"8825408195409505","eventCode":"REFUND","success":"true","reason":"","eventDate":"2026-11-20T10:00:00+01:00","amount":{"value":1500,"currency":"EUR"}}`
	antomRefund    = `{"result":{"resultCode":"SUCCESS","resultStatus":"S"},"refundId":"2020010101","refundRequestId":"R1","refundStatus":"SUCCESS","refundAmount":{"currency":"USD","value":"100"},"refundTime":"2026-11-20T10:00:00-07:00"}`
)

// as replaces one value of an answer.
func as(body, from, to string) string {
	if !strings.Contains(body, from) {
		panic(from + " is not in " + body)
	}
	return strings.Replace(body, from, to, 1)
}

func alipayPollError(of, code, sub string) string {
	return `{"alipay_` + of + `_query_response":{"code":"` + code + `","msg":"Business Failed","sub_code":"` + sub + `"},"sign":"…"}`
}

type pollRow struct {
	name   string
	status int
	body   string
	want   poll.Reading
	more   string // "throttled", "person", or what is taken as JSON
	why    string // what Error must say
}

var pollRows = []pollRow{
	{"wechat_refund", 200, wechatRefund, poll.Done, `{"amount":88,"channel_ref_no":"50000000382019052709732678859","channel_state":"SUCCESS","currency":"CNY","finished_at":"2026-11-20T08:18:12Z"}`, ""},
	{"wechat_refund", 200, as(wechatRefund, `"SUCCESS"`, `"PROCESSING"`), poll.Waiting, "", ""},
	{"wechat_refund", 200, as(wechatRefund, `"SUCCESS"`, `"CLOSED"`), poll.FailedThere, `{"amount":88,"channel_ref_no":"50000000382019052709732678859","channel_state":"CLOSED","currency":"CNY","finished_at":"2026-11-20T08:18:12Z"}`, ""},
	{"wechat_refund", 200, as(as(wechatRefund, `"SUCCESS"`, `"ABNORMAL"`), `"success_time":"2026-11-20T16:18:12+08:00",`, ""), poll.FailedThere, "person", ""},
	{"wechat_refund", 200, as(wechatRefund, `"SUCCESS"`, `"REFUNDED"`), poll.QueryError, "", `status is "REFUNDED"`},
	{"wechat_refund", 200, as(wechatRefund, `"status":"SUCCESS",`, ""), poll.QueryError, "", `status is ""`},
	{"wechat_refund", 202, wechatRefund, poll.QueryError, "", "HTTP status 202 decides nothing, though the body reads DONE"},
	{"wechat_refund", 500, wechatRefund, poll.QueryError, "", "HTTP status 500"},
	{"wechat_refund", 404, `{"code":"RESOURCE_NOT_EXISTS","message":"退款单不存在"}`, poll.NotFound, "", ""},
	{"wechat_refund", 404, `<html>`, poll.QueryError, "", "not JSON"},
	{"wechat_refund", 200, as(wechatRefund, `"status"`, `"code":"SYSTEM_ERROR","status"`), poll.QueryError, "", "contradicts itself"},
	{"wechat_refund", 429, `{"code":"FREQUENCY_LIMITED","message":"频率限制"}`, poll.QueryError, "throttled", "FREQUENCY_LIMITED"},
	{"wechat_refund", 500, `{"code":"SYSTEM_ERROR"}`, poll.QueryError, "", "SYSTEM_ERROR"},
	{"wechat_refund", 200, wechatRefund[:100], poll.QueryError, "", "not JSON"},

	{"wechat_v2_refund", 200, wechatV2Refund, poll.Done, `{"amount":88,"channel_ref_no":"50000000382019052709732678859","channel_state":"SUCCESS","currency":"CNY","finished_at":"2026-11-20T08:18:12Z"}`, ""},
	{"wechat_v2_refund", 200, as(wechatV2Refund, "<refund_status_0>SUCCESS", "<refund_status_0>PROCESSING"), poll.Waiting, "", ""},
	{"wechat_v2_refund", 200, as(wechatV2Refund, "<refund_status_0>SUCCESS", "<refund_status_0>REFUNDCLOSE"), poll.FailedThere, "any", ""},
	{"wechat_v2_refund", 200, as(wechatV2Refund, "<refund_status_0>SUCCESS", "<refund_status_0>CHANGE"), poll.FailedThere, "person", ""},
	{"wechat_v2_refund", 200, as(wechatV2Refund, "<refund_status_0>SUCCESS", "<refund_status_0>NEW"), poll.QueryError, "", `refund_status_0 is "NEW"`},
	{"wechat_v2_refund", 200, as(wechatV2Refund, "</xml>", "<refund_status_1>SUCCESS</refund_status_1></xml>"), poll.QueryError, "", "several refunds"},
	{"wechat_v2_refund", 200, as(wechatV2Refund, "</xml>", "<err_code>SYSTEMERROR</err_code></xml>"), poll.QueryError, "", "contradicts itself"},
	{"wechat_v2_refund", 200, v2Error("REFUNDNOTEXIST"), poll.NotFound, "", ""},
	{"wechat_v2_refund", 200, v2Error("SYSTEMERROR"), poll.QueryError, "", "SYSTEMERROR"},
	{"wechat_v2_refund", 200, v2Error("FREQUENCY_LIMITED"), poll.QueryError, "throttled", "FREQUENCY_LIMITED"},
	{"wechat_v2_refund", 200, "<xml><return_code>FAIL</return_code><return_msg>签名失败</return_msg></xml>", poll.QueryError, "", `return_code "FAIL"`},
	{"wechat_v2_refund", 200, wechatV2Refund[:60], poll.QueryError, "", "not XML"},

	{"wechat_transfer", 200, wechatTransfer, poll.Done, `{"amount":400000,"channel_ref_no":"1330000071100999991182020050700019480001","channel_state":"SUCCESS","currency":"CNY","finished_at":"2026-11-20T02:35:56Z"}`, ""},
	{"wechat_transfer", 200, as(as(wechatTransfer, `"SUCCESS"`, `"FAIL"`), `"fail_reason":""`, `"fail_reason":"PAYEE_ACCOUNT_ABNORMAL"`), poll.FailedThere,
		`{"amount":400000,"channel_ref_no":"1330000071100999991182020050700019480001","channel_state":"FAIL","currency":"CNY","fail_reason":"PAYEE_ACCOUNT_ABNORMAL","finished_at":"2026-11-20T02:35:56Z"}`, ""},
	{"wechat_transfer", 200, as(wechatTransfer, `"SUCCESS"`, `"CANCELLED"`), poll.FailedThere, `{"amount":400000,"channel_ref_no":"1330000071100999991182020050700019480001","channel_state":"CANCELLED","currency":"CNY","finished_at":"2026-11-20T02:35:56Z"}`, ""},
	{"wechat_transfer", 200, as(wechatTransfer, `"SUCCESS"`, `"ACCEPTED"`), poll.Waiting, "", ""},
	{"wechat_transfer", 200, as(wechatTransfer, `"SUCCESS"`, `"PROCESSING"`), poll.Waiting, "", ""},
	{"wechat_transfer", 200, as(wechatTransfer, `"SUCCESS"`, `"WAIT_USER_CONFIRM"`), poll.Waiting, "", ""},
	{"wechat_transfer", 200, as(wechatTransfer, `"SUCCESS"`, `"TRANSFERING"`), poll.Waiting, "", ""},
	{"wechat_transfer", 200, as(wechatTransfer, `"SUCCESS"`, `"CANCELING"`), poll.Waiting, "", ""},
	{"wechat_transfer", 200, as(wechatTransfer, `"SUCCESS"`, `"CLOSED"`), poll.QueryError, "", `state is "CLOSED"`},
	{"wechat_transfer", 404, `{"code":"NOT_FOUND","message":"记录不存在"}`, poll.NotFound, "", ""},

	{"wechat_profitsharing", 200, wechatShares, poll.Done, `{"amount":123,"channel_ref_no":"3008450740201411110007820472","channel_state":"FINISHED","currency":"CNY","finished_at":"2026-11-20T03:02:00Z"}`, ""},
	{"wechat_profitsharing", 200, as(as(wechatShares, `"SUCCESS"`, `"CLOSED"`), `"fail_reason":""`, `"fail_reason":"ACCOUNT_ABNORMAL"`), poll.FailedThere,
		`{"amount":23,"channel_ref_no":"3008450740201411110007820472","channel_state":"FINISHED","currency":"CNY","fail_reason":"ACCOUNT_ABNORMAL","finished_at":"2026-11-20T03:02:00Z"}`, ""},
	{"wechat_profitsharing", 200, as(wechatShares, `"receivers":[`, `"receivers":[`+wechatRest+`,`), poll.Done, `{"amount":123,"channel_ref_no":"3008450740201411110007820472","channel_state":"FINISHED","currency":"CNY","finished_at":"2026-11-20T03:02:00Z"}`, ""},
	{"wechat_profitsharing", 200, `{"out_order_no":"P1","state":"FINISHED","receivers":[` + wechatRest + `]}`, poll.Done, `{"amount":877,"channel_state":"FINISHED","currency":"CNY","finished_at":"2026-11-20T03:01:00Z"}`, ""},
	{"wechat_profitsharing", 200, as(wechatShares, `"amount":100,`, ""), poll.Done, `{"channel_ref_no":"3008450740201411110007820472","channel_state":"FINISHED","finished_at":"2026-11-20T03:02:00Z"}`, ""},
	{"wechat_profitsharing", 200, as(wechatShares, `"amount":100`, `"amount":9223372036854775807`), poll.Done, `{"channel_ref_no":"3008450740201411110007820472","channel_state":"FINISHED","finished_at":"2026-11-20T03:02:00Z"}`, ""},
	{"wechat_profitsharing", 200, as(wechatShares, `"receivers":[`, `"receivers":[`+as(wechatRest, "SUCCESS", "PENDING")+`,`), poll.QueryError, "", `the result of a receiver is "PENDING"`},
	{"wechat_profitsharing", 200, as(wechatShares, `"FINISHED"`, `"PROCESSING"`), poll.Waiting, "", ""},
	{"wechat_profitsharing", 200, as(wechatShares, `"SUCCESS"`, `"PENDING"`), poll.QueryError, "", `the result of a receiver is "PENDING"`},
	{"wechat_profitsharing", 200, `{"out_order_no":"P1","state":"FINISHED","receivers":[]}`, poll.QueryError, "", "names no receiver"},
	{"wechat_profitsharing", 200, as(wechatShares, `"FINISHED"`, `"CLOSED"`), poll.QueryError, "", `state is "CLOSED"`},
	{"wechat_profitsharing", 404, `{"code":"RESOURCE_NOT_EXISTS"}`, poll.NotFound, "", ""},

	{"alipay_refund", 200, alipayRefund, poll.Done, `{"amount":1233,"channel_ref_no":"2014112611001004680073956707","channel_state":"REFUND_SUCCESS","currency":"CNY","finished_at":"2026-11-20T07:45:57Z"}`, ""},
	{"alipay_refund", 200, as(alipayRefund, `"refund_status":"REFUND_SUCCESS",`, ""), poll.Waiting, "", ""},
	{"alipay_refund", 200, `{"alipay_trade_fastpay_refund_query_response":{"code":"10000","msg":"Success","out_trade_no":"O1"}}`, poll.NotFound, "", ""},
	{"alipay_refund", 200, as(alipayRefund, `REFUND_SUCCESS`, "REFUND_PROCESSING"), poll.QueryError, "", "refund_status is"},
	{"alipay_refund", 200, as(alipayRefund, `"10000"`, `"40004"`), poll.QueryError, "", "contradicts itself"},
	{"alipay_refund", 200, alipayPollError("trade_fastpay_refund", "40004", "ACQ.TRADE_NOT_EXIST"), poll.NotFound, "", ""},
	{"alipay_refund", 200, alipayPollError("trade_fastpay_refund", "40004", "ACQ.SYSTEM_ERROR"), poll.QueryError, "", "ACQ.SYSTEM_ERROR"},
	{"alipay_refund", 200, alipayPollError("trade_fastpay_refund", "20000", "isp.unknow-error"), poll.QueryError, "", "20000"},
	{"alipay_refund", 200, alipayPollError("trade_fastpay_refund", "40005", "isv.call-limited"), poll.QueryError, "throttled", "40005"},
	{"alipay_refund", 200, alipayTransfer, poll.QueryError, "", "want alipay_trade_fastpay_refund_query_response"},

	{"alipay_transfer", 200, alipayTransfer, poll.Done, `{"amount":3200,"channel_ref_no":"20190801110070000006380000250621","channel_state":"SUCCESS","currency":"CNY","finished_at":"2026-11-20T02:00:00Z"}`, ""},
	{"alipay_transfer", 200, as(alipayTransfer, `"status":"SUCCESS","pay_date":"2026-11-20 10:00:00"`, `"status":"FAIL","fail_reason":"单笔额度超限"`), poll.FailedThere,
		`{"amount":3200,"channel_ref_no":"20190801110070000006380000250621","channel_state":"FAIL","currency":"CNY","fail_reason":"单笔额度超限"}`, ""},
	{"alipay_transfer", 200, as(alipayTransfer, `"status":"SUCCESS"`, `"status":"CLOSED"`), poll.FailedThere, "any", ""},
	{"alipay_transfer", 200, as(alipayTransfer, `"status":"SUCCESS"`, `"status":"REFUND"`), poll.FailedThere, "any", ""},
	{"alipay_transfer", 200, as(alipayTransfer, `"status":"SUCCESS"`, `"status":"DEALING"`), poll.Waiting, "", ""},
	{"alipay_transfer", 200, as(alipayTransfer, `"status":"SUCCESS"`, `"status":"INIT"`), poll.Waiting, "", ""},
	{"alipay_transfer", 200, as(alipayTransfer, `"status":"SUCCESS"`, `"status":"UNKNOWN"`), poll.Waiting, "", ""},
	{"alipay_transfer", 200, as(alipayTransfer, `"status":"SUCCESS"`, `"status":"WAIT_PAY"`), poll.Waiting, "", ""},
	{"alipay_transfer", 200, as(alipayTransfer, `"status":"SUCCESS"`, `"status":"INVALID"`), poll.QueryError, "", `status is "INVALID"`},
	{"alipay_transfer", 200, as(alipayTransfer, `"10000"`, `"20000"`), poll.QueryError, "", "contradicts itself"},
	{"alipay_transfer", 200, alipayPollError("fund_trans_common", "40004", "ORDER_NOT_EXIST"), poll.NotFound, "", ""},
	{"alipay_transfer", 200, alipayPollError("fund_trans_common", "40004", "SYSTEM_ERROR"), poll.QueryError, "", "SYSTEM_ERROR"},
	{"alipay_transfer", 200, alipayRefund, poll.QueryError, "", "want alipay_fund_trans_common_query_response"},

	{"unionpay_refund", 200, unionpayRefund, poll.Done, `{"amount":88,"channel_ref_no":"042611201618101234567","channel_state":"00","currency":"CNY"}`, ""},
	{"unionpay_refund", 200, as(unionpayRefund, "origRespCode=00", "origRespCode=05"), poll.Waiting, "", ""},
	{"unionpay_refund", 200, as(unionpayRefund, "origRespCode=00&origRespMsg=ok", "origRespCode=51&origRespMsg=no money"), poll.FailedThere,
		`{"amount":88,"channel_ref_no":"042611201618101234567","channel_state":"51","currency":"CNY","fail_reason":"no money"}`, ""},
	{"unionpay_refund", 200, as(unionpayRefund, "origRespCode=00", "origRespCode=A6"), poll.QueryError, "", "A6"},
	{"unionpay_refund", 200, as(unionpayRefund, "origRespCode=00", "origRespCode=75"), poll.QueryError, "", "75"},
	{"unionpay_refund", 200, as(unionpayRefund, "origRespCode=00", "origRespCode=83"), poll.Waiting, "", ""},
	{"unionpay_refund", 200, as(unionpayRefund, "&respCode=00", "&respCode=34"), poll.NotFound, "", ""},
	{"unionpay_refund", 200, as(unionpayRefund, "&respCode=00", "&respCode=37"), poll.QueryError, "throttled", "respCode"},
	{"unionpay_refund", 200, as(unionpayRefund, "&respCode=00", "&respCode=03"), poll.Waiting, "", ""},
	{"unionpay_refund", 200, "<html>", poll.QueryError, "", "not a form"},

	{"stripe_refund", 200, stripeRefund, poll.Done, `{"amount":1000,"channel_ref_no":"re_1Nispe2eZvKYlo2Cd31jOCgZ","channel_state":"succeeded","currency":"USD"}`, ""},
	{"stripe_refund", 200, as(stripeRefund, `"succeeded"`, `"failed","failure_reason":"expired_or_canceled_card"`), poll.FailedThere,
		`{"amount":1000,"channel_ref_no":"re_1Nispe2eZvKYlo2Cd31jOCgZ","channel_state":"failed","currency":"USD","fail_reason":"expired_or_canceled_card"}`, ""},
	{"stripe_refund", 200, as(stripeRefund, `"usd"`, `"isk"`), poll.Done, `{"amount":10,"channel_ref_no":"re_1Nispe2eZvKYlo2Cd31jOCgZ","channel_state":"succeeded","currency":"ISK"}`, ""},
	{"stripe_refund", 200, as(stripeRefund, `"succeeded"`, `"canceled"`), poll.FailedThere, "any", ""},
	{"stripe_refund", 200, as(stripeRefund, `"succeeded"`, `"pending"`), poll.Waiting, "", ""},
	{"stripe_refund", 200, as(stripeRefund, `"succeeded"`, `"requires_action"`), poll.Waiting, "", ""},
	{"stripe_refund", 200, as(stripeRefund, `"refund"`, `"charge"`), poll.QueryError, "", "want refund"},
	{"stripe_refund", 404, `{"error":{"code":"resource_missing"}}`, poll.NotFound, "", ""},
	{"stripe_refund", 429, `{"error":{"code":"rate_limit"}}`, poll.QueryError, "throttled", "rate_limit"},

	{"adyen_refund", 200, adyenRefund, poll.Done, `{"amount":1500,"channel_ref_no":"8825408195409505","channel_state":"REFUND true","currency":"EUR","finished_at":"2026-11-20T09:00:00Z"}`, ""},
	{"adyen_refund", 200, as(adyenRefund, `1500,"currency":"EUR"`, `1500,"currency":"IDR"`), poll.Done, `{"amount":150000,"channel_ref_no":"8825408195409505","channel_state":"REFUND true","currency":"IDR","finished_at":"2026-11-20T09:00:00Z"}`, ""},
	{"adyen_refund", 200, as(adyenRefund, `1500,"currency":"EUR"`, `1500,"currency":"CVE"`), poll.Done, `{"amount":150000,"channel_ref_no":"8825408195409505","channel_state":"REFUND true","currency":"CVE","finished_at":"2026-11-20T09:00:00Z"}`, ""},
	{"adyen_refund", 200, as(adyenRefund, `1500,"currency":"EUR"`, `1500,"currency":"CLP"`), poll.Done, `{"amount":15,"channel_ref_no":"8825408195409505","channel_state":"REFUND true","currency":"CLP","finished_at":"2026-11-20T09:00:00Z"}`, ""},
	{"adyen_refund", 200, as(adyenRefund, `1500,"currency":"EUR"`, `1550,"currency":"ISK"`), poll.Done, `{"channel_ref_no":"8825408195409505","channel_state":"REFUND true","finished_at":"2026-11-20T09:00:00Z"}`, ""}, // half a króna
	{"adyen_refund", 200, as(adyenRefund, `"true"`, `false`), poll.FailedThere, "any", ""},
	{"adyen_refund", 200, as(adyenRefund, `"true"`, `true`), poll.Done, "any", ""},
	{"adyen_refund", 200, as(adyenRefund, `"REFUND"`, `"REFUND_FAILED"`), poll.FailedThere, "any", ""},
	{"adyen_refund", 200, as(adyenRefund, `"REFUND"`, `"REFUNDED_REVERSED"`), poll.FailedThere, "any", ""},
	{"adyen_refund", 200, as(adyenRefund, `"REFUND"`, `"CAPTURE"`), poll.QueryError, "", "CAPTURE"},
	{"adyen_refund", 200, as(adyenRefund, `"success":"true",`, ""), poll.QueryError, "", "REFUND "},
	{"adyen_refund", 201, `{"paymentPspReference":"WNS7","pspReference":"RXF9","status":"received"}`, poll.Waiting, "", ""},
	{"adyen_refund", 200, `{"status":"done"}`, poll.QueryError, "", "no eventCode"},

	{"antom_refund", 200, antomRefund, poll.Done, `{"amount":100,"channel_ref_no":"2020010101","channel_state":"SUCCESS","currency":"USD","finished_at":"2026-11-20T17:00:00Z"}`, ""},
	{"antom_refund", 200, as(antomRefund, `"refundTime"`, `"gmtRefundTime"`), poll.Done, `{"amount":100,"channel_ref_no":"2020010101","channel_state":"SUCCESS","currency":"USD","finished_at":"2026-11-20T17:00:00Z"}`, ""},
	{"antom_refund", 200, as(antomRefund, `"refundStatus":"SUCCESS"`, `"refundStatus":"FAIL"`), poll.FailedThere, "any", ""},
	{"antom_refund", 200, as(antomRefund, `"refundStatus":"SUCCESS"`, `"refundStatus":"PROCESSING"`), poll.Waiting, "", ""},
	{"antom_refund", 200, as(antomRefund, `"refundStatus":"SUCCESS"`, `"refundStatus":"NEW"`), poll.QueryError, "", `refundStatus is "NEW"`},
	{"antom_refund", 200, `{"result":{"resultCode":"REFUND_NOT_EXIST","resultStatus":"F"}}`, poll.NotFound, "", ""},
	{"antom_refund", 200, `{"result":{"resultCode":"UNKNOWN_EXCEPTION","resultStatus":"U"}}`, poll.QueryError, "", "UNKNOWN_EXCEPTION"},
	{"antom_refund", 200, `{"result":{"resultCode":"REQUEST_TRAFFIC_EXCEED_LIMIT","resultStatus":"F"}}`, poll.QueryError, "throttled", "REQUEST_TRAFFIC"},
}

func TestPollPresets(t *testing.T) {
	seen := map[string]bool{}
	for _, tt := range pollRows {
		seen[tt.name] = true
		p, err := states.CompilePoll(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		got := p.Read(order.Answer{Result: resultOf(tt.status), Status: tt.status, Body: []byte(tt.body)})
		if got.Reading != tt.want || !strings.Contains(got.Error, tt.why) || (tt.why == "") != (got.Error == "") {
			t.Errorf("%s %d %s\nreads %v, %q; want %v, %q", tt.name, tt.status, tt.body, got.Reading, got.Error, tt.want, tt.why)
		}
		if (got.Result == bellman.Accepted) != (got.Reading != poll.QueryError) || got.Throttled != (tt.more == "throttled") || (got.Person != "") != (tt.more == "person") {
			t.Errorf("%s %s: %+v; want %s", tt.name, tt.body, got, tt.more)
		}
		taken, err := json.Marshal(got.Taken)
		if err != nil {
			t.Fatal(err)
		}
		if want := tt.more; strings.HasPrefix(want, "{") && string(taken) != want {
			t.Errorf("%s %s\ntakes %s; want %s", tt.name, tt.body, taken, want)
		}
		if decides := got.Reading.Decides(); decides != (got.Taken != nil) {
			t.Errorf("%s %s takes %s of %v", tt.name, tt.body, taken, got.Reading)
		}
	}
	for _, p := range states.PollPresets() {
		if !seen[p.Name] || p.Source == "" {
			t.Errorf("preset %s has no row here, or no source", p.Name)
		}
	}
	if _, err := states.CompilePoll("wechat_v3"); err == nil || !strings.Contains(err.Error(), "want one of wechat_refund") {
		t.Errorf("CompilePoll(wechat_v3) = %v", err)
	}
}

func resultOf(status int) bellman.Result {
	if status >= 300 {
		return bellman.ErrorStatus
	}
	return bellman.Accepted
}

func TestPollNoAnswer(t *testing.T) {
	p, err := states.CompilePoll("wechat_refund")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []order.Answer{{Result: bellman.TimedOut, Error: "timeout"}, {Result: bellman.Refused, Status: 200, Body: []byte(wechatRefund), Error: "too long"}, {}} {
		if got := p.Read(a); got.Reading != poll.QueryError || got.Error == "" {
			t.Errorf("%+v reads %+v", a, got)
		}
	}
}

func TestPollRules(t *testing.T) {
	rules := map[string]string{"done": `json.s == "ok"`, "failed": `json.s == "bad" || json.both`, "waiting": `json.s in ["new", "ok"]`, "not_found": `status == 404`}
	p, err := states.CompilePollRules(rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		status int
		body   string
		want   poll.Reading
		why    string
	}{
		{200, `{"s":"ok"}`, poll.Done, ""},
		{200, `{"s":"bad"}`, poll.FailedThere, ""},
		{200, `{"s":"new"}`, poll.Waiting, ""},
		{404, `{"s":""}`, poll.NotFound, ""},
		{404, `{"s":"ok"}`, poll.QueryError, "HTTP status 404"},
		{200, `{"s":"ok","both":true}`, poll.QueryError, "contradict"},
		{200, `{"s":"?"}`, poll.QueryError, "no rule matches"},
		{200, `{"s":`, poll.QueryError, "DONE"},
	} {
		got := p.Read(order.Answer{Result: resultOf(tt.status), Status: tt.status, Body: []byte(tt.body)})
		if got.Reading != tt.want || !strings.Contains(got.Error, tt.why) {
			t.Errorf("%d %s reads %v, %q; want %v, %q", tt.status, tt.body, got.Reading, got.Error, tt.want, tt.why)
		}
	}
	for name, want := range map[string]string{"PAID": "want done, failed, waiting or not_found", "done": "states: done: "} {
		if _, err := states.CompilePollRules(map[string]string{name: "json."}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", name, err, want)
		}
	}
	if _, err := states.CompilePollRules(nil); err == nil {
		t.Error("no rules compile")
	}
}
