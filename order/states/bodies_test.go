package states_test

import "strings"

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
	v2Taken = `{"amount":1,"currency":"CNY","paid_at":"2014-11-11T09:00:43Z","transaction_id":"1008450740201411110005820873"}`

	v3Paid = `{
  "amount": {"currency": "CNY", "payer_currency": "CNY", "payer_total": 1, "total": 100},
  "appid": "wxdace645e0bc2cXXX", "attach": "", "bank_type": "OTHERS", "mchid": "1900006XXX",
  "out_trade_no": "44_2126281063_5504", "payer": {"openid": "o4GgauJP_mgWEWictzA15WT15XXX"},
  "promotion_detail": [], "success_time": "2021-03-22T10:29:05+08:00",
  "trade_state": "SUCCESS", "trade_state_desc": "支付成功", "trade_type": "JSAPI",
  "transaction_id": "4200000891202103228088184743"}`
	v3Taken = `{"amount":100,"currency":"CNY","paid_at":"2021-03-22T02:29:05Z","transaction_id":"4200000891202103228088184743"}`

	alipayPaid = `{"alipay_trade_query_response":{"code":"10000","msg":"Success","trade_no":"2013112011001004330000121536",
  "out_trade_no":"6823789339978248","buyer_logon_id":"159****5620","trade_status":"TRADE_SUCCESS","total_amount":"88.88",
  "trans_currency":"TWD","send_pay_date":"2014-11-27 15:45:57","receipt_amount":"15.25","buyer_user_id":"2088101117955611"},
  "sign":"ERITJKEIJKJHKKKKKKKHJEREEEEEEEEEEE"}`
	alipayTaken = `{"amount":8888,"currency":"TWD","paid_at":"2014-11-27T07:45:57Z","transaction_id":"2013112011001004330000121536"}`

	unionpayPaid = `accNo=6226********0048&accessType=0&bizType=000201&currencyCode=156&encoding=UTF-8&issuerIdentifyMode=0` +
		`&merId=777290058110048&orderId=20150901112233&origRespCode=00&origRespMsg=成功[0000000]&payCardType=01&payType=0001` +
		`&queryId=201509011122331234567&respCode=00&respMsg=成功[0000000]&reserved={cardIssueName=CCB&origRespCode=61}` +
		`&settleAmt=1000&settleCurrencyCode=156&settleDate=0901&signMethod=01&traceNo=123456&traceTime=0901112233&txnAmt=1000` +
		`&txnSubType=01&txnTime=20150901112233&txnType=01&version=5.1.0&signature=aGVsbG8+d29ybGQ/PQ==`
	unionpayTaken = `{"amount":1000,"currency":"CNY","transaction_id":"201509011122331234567"}`

	antomPaid = `{"result":{"resultCode":"SUCCESS","resultStatus":"S","resultMessage":"success"},"paymentStatus":"SUCCESS",
  "paymentRequestId":"pay_test_1106_0002","paymentId":"20190608114010800100188820200355883",
  "paymentAmount":{"value":"5000","currency":"SGD"},"paymentTime":"2019-06-08T11:40:11+08:00"}`
	antomTaken = `{"amount":5000,"currency":"SGD","paid_at":"2019-06-08T03:40:11Z","transaction_id":"20190608114010800100188820200355883"}`

	payermaxPaid = `{"code":"APPLY_SUCCESS","msg":"Success.","data":{"reference":"JOLLY","country":"TH","totalAmount":300.50,
  "outTradeNo":"TP002024051309261650130939","currency":"THB","tradeToken":"T2024051309124735760727","completeTime":"2024-05-13T09:27:36.250Z","status":"SUCCESS"}}`
	payermaxTaken = `{"amount":30050,"currency":"THB","paid_at":"2024-05-13T09:27:36.25Z","transaction_id":"T2024051309124735760727"}`

	hyperswitchPaid = `{"payment_id":"pay_mbabizu24mvu3mela5njyhpit4","merchant_id":"merchant_1668273825","status":"succeeded",
  "amount":6540,"amount_received":6540,"currency":"USD","refunds":null,"error_code":null}`
	killbillPaid = `{"accountId":"8fe697d4-2c25-482c-aa45-f6cd5a48186d","paymentId":"2c49ef6b-5e5e-4bd1-8ef5-6e7a5f8a0f7e",
  "purchasedAmount":50.00,"capturedAmount":0,"refundedAmount":0,"currency":"USD",
  "transactions":[{"transactionId":"7e0b","transactionType":"PURCHASE","amount":50.00,"currency":"USD",
  "effectiveDate":"2026-11-20T12:00:00.000Z","status":"SUCCESS","gatewayErrorCode":null}]}`
	killbillTaken = `{"amount":5000,"currency":"USD","paid_at":"2026-11-20T12:00:00Z","transaction_id":"2c49ef6b-5e5e-4bd1-8ef5-6e7a5f8a0f7e"}`

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

// antomAfter is a payment with further transactions, each a type and a status.
func antomAfter(transactions ...string) string {
	var list []string
	for _, one := range transactions {
		kind, status, _ := strings.Cut(one, " ")
		list = append(list, `{"transactionType":"`+kind+`","transactionStatus":"`+status+`","transactionAmount":{"currency":"SGD","value":"5000"}}`)
	}
	return with(antomPaid, `"paymentStatus":"SUCCESS"`, `"paymentStatus":"SUCCESS","transactions":[`+strings.Join(list, ",")+`]`)
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
