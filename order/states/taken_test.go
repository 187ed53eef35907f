package states_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/states"
)

// The bodies of paid orders, with an amount and currency as each provider writes them.
var paidBodies = map[string]string{
	"wechat_v2":     `{"return_code":"SUCCESS","result_code":"SUCCESS","trade_state":"SUCCESS","total_fee":%[1]s,"fee_type":"%[2]s"}`,
	"wechat_v3":     `{"trade_state":"SUCCESS","amount":{"total":%[1]s,"currency":"%[2]s"}}`,
	"alipay":        `{"code":"10000","trade_status":"TRADE_SUCCESS","total_amount":"%[1]s","trans_currency":"%[2]s"}`,
	"unionpay":      `{"respCode":"00","origRespCode":"00","txnAmt":"%[1]s","currencyCode":"%[2]s"}`,
	"unionpay_back": `{"respCode":"00","origRespCode":"00","txnAmt":"%[1]s","currencyCode":"%[2]s"}`,
	"antom":         `{"result":{"resultStatus":"S"},"paymentStatus":"SUCCESS","paymentAmount":{"value":"%[1]s","currency":"%[2]s"}}`,
	"payermax":      `{"code":"APPLY_SUCCESS","data":{"status":"SUCCESS","totalAmount":%[1]s,"currency":"%[2]s"}}`,
	"hyperswitch":   `{"status":"succeeded","amount":%[1]s,"currency":"%[2]s"}`,
	"killbill":      `{"purchasedAmount":%[1]s,"currency":"%[2]s","transactions":[{"transactionType":"PURCHASE","status":"SUCCESS"}]}`,
	"stripe":        `{"object":"payment_intent","status":"succeeded","amount_received":%[1]s,"currency":"%[2]s"}`,
}

func takenOf(t *testing.T, name, body string) order.Taken {
	t.Helper()
	q, err := states.CompileQuery(name)
	if err != nil {
		t.Fatal(err)
	}
	a := q.Read(order.Answer{Status: 200, Body: []byte(body)}, 0)
	if a.Reading != paid {
		t.Fatalf("%s of %s: %v, %q; want PAID", name, body, a.Reading, a.Error)
	}
	return a.Taken
}

// An amount is a whole number of the smallest unit, whatever the provider writes. One that cannot
// be written so is absent.
func TestAmounts(t *testing.T) {
	const absent = `null`
	tests := []struct{ name, amount, currency, want string }{
		// In whole units.
		{"alipay", "88.88", "", `{"amount":8888,"currency":"CNY"}`},
		{"alipay", "88.88", "CNY", `{"amount":8888,"currency":"CNY"}`},
		{"alipay", "0.01", "", `{"amount":1,"currency":"CNY"}`},
		{"alipay", "100", "", `{"amount":10000,"currency":"CNY"}`},
		{"alipay", "500", "JPY", `{"amount":500,"currency":"JPY"}`},
		{"alipay", "500.00", "JPY", `{"amount":500,"currency":"JPY"}`},
		{"alipay", "5.124", "KWD", `{"amount":5124,"currency":"KWD"}`},
		{"alipay", "88.885", "", absent},
		{"alipay", "500.5", "JPY", absent},
		{"alipay", "-1.00", "", absent},
		{"alipay", "92233720368547758.08", "", absent},
		{"alipay", "", "", absent},
		{"alipay", "1.00", "RMB", absent},
		{"payermax", "300.50", "THB", `{"amount":30050,"currency":"THB"}`},
		{"payermax", "2000", "IDR", `{"amount":200000,"currency":"IDR"}`}, // of which CLDR says no decimals
		{"payermax", "3005e-1", "THB", absent},
		{"payermax", "-1", "THB", absent},
		{"payermax", "1.005", "THB", absent},
		{"killbill", "50.000000000", "USD", `{"amount":5000,"currency":"USD"}`},
		{"killbill", "50.001", "USD", absent},
		{"killbill", "50", "BTC", absent},

		// In the smallest unit.
		{"wechat_v2", "100", "", `{"amount":100,"currency":"CNY"}`},
		{"wechat_v2", "100", "HKD", `{"amount":100,"currency":"HKD"}`},
		{"wechat_v2", "9223372036854775808", "", absent},
		{"wechat_v3", "9223372036854775807", "", `{"amount":9223372036854775807,"currency":"CNY"}`},
		{"wechat_v3", "9223372036854775808", "", absent},
		{"wechat_v3", "-100", "CNY", absent},
		{"wechat_v3", "990.0", "CNY", `{"amount":990,"currency":"CNY"}`},
		{"wechat_v3", "990.00", "CNY", absent}, // whole units?
		{"wechat_v3", "1.5", "CNY", absent},
		{"wechat_v2", "990.0", "", `{"amount":990,"currency":"CNY"}`},
		{"unionpay", "990.0", "156", `{"amount":990,"currency":"CNY"}`},
		{"hyperswitch", "990.0", "USD", `{"amount":990,"currency":"USD"}`},
		{"stripe", "-500", "ugx", absent},
		{"stripe", "500.0", "ugx", `{"amount":5,"currency":"UGX"}`},
		{"wechat_v3", "1e2", "CNY", absent},
		{"wechat_v3", "0", "CNY", `{"amount":0,"currency":"CNY"}`},
		{"unionpay", "1000", "156", `{"amount":1000,"currency":"CNY"}`},
		{"unionpay", "1000", "344", `{"amount":1000,"currency":"HKD"}`},
		{"unionpay", "1000", "999", `{"amount":1000}`},
		{"unionpay_back", "1000", "840", `{"amount":1000,"currency":"USD"}`},
		{"antom", "5000", "SGD", `{"amount":5000,"currency":"SGD"}`},
		{"antom", "50.00", "SGD", absent},
		{"hyperswitch", "6540", "USD", `{"amount":6540,"currency":"USD"}`},
		{"hyperswitch", "50000", "IRR", `{"amount":5000000,"currency":"IRR"}`},
		{"hyperswitch", "5", "MGA", `{"amount":500,"currency":"MGA"}`},
		{"hyperswitch", "500", "ISK", `{"amount":5,"currency":"ISK"}`},
		{"stripe", "2000", "usd", `{"amount":2000,"currency":"USD"}`},
		{"stripe", "500", "jpy", `{"amount":500,"currency":"JPY"}`},
		{"stripe", "5120", "kwd", `{"amount":5120,"currency":"KWD"}`},
		{"stripe", "500", "ugx", `{"amount":5,"currency":"UGX"}`},
		{"stripe", "0", "isk", `{"amount":0,"currency":"ISK"}`},
		{"stripe", "5", "isk", absent}, // a twentieth of the smallest unit
		{"stripe", "92233720368547759", "mga", absent},
		{"stripe", "2000", "xyz", `{"amount":2000}`},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		seen[tt.name] = true
		got := takenOf(t, tt.name, fmt.Sprintf(paidBodies[tt.name], tt.amount, tt.currency))
		if text, _ := json.Marshal(got); string(text) != tt.want {
			t.Errorf("%s, %s %q: %s; want %s", tt.name, tt.amount, tt.currency, text, tt.want)
		}
		if n, ok := got["amount"]; ok {
			if _, ok := n.(int64); !ok {
				t.Errorf("%s: the amount is %T; want int64", tt.name, n)
			}
		}
	}
	for _, p := range states.Presets() {
		if !seen[p.Name] {
			t.Errorf("preset %s has no amount here", p.Name)
		}
	}
}

// The time of a payment is RFC 3339 in UTC. WeChat Pay v2 and Alipay write the time of UTC+8
// without a zone.
func TestPaidAt(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"wechat_v2", `{"return_code":"SUCCESS","result_code":"SUCCESS","trade_state":"SUCCESS","time_end":"20261121000000"}`, "2026-11-20T16:00:00Z"},
		{"wechat_v3", `{"trade_state":"SUCCESS","success_time":"2026-11-20T19:59:00+08:00"}`, "2026-11-20T11:59:00Z"},
		{"wechat_v3", `{"trade_state":"SUCCESS","success_time":"2015-05-20T13:29:35.120+08:00"}`, "2015-05-20T05:29:35.12Z"},
		{"wechat_v3", `{"trade_state":"SUCCESS","success_time":"20261120195900"}`, ""},
		{"wechat_v3", `{"trade_state":"SUCCESS","success_time":"0001-01-01T00:00:00Z"}`, ""},
		{"wechat_v3", `{"trade_state":"SUCCESS","success_time":"9999-12-31T23:59:59-08:00"}`, ""},
		{"alipay", `{"code":"10000","trade_status":"TRADE_SUCCESS","send_pay_date":"2026-11-20 07:59:00"}`, "2026-11-19T23:59:00Z"},
		{"alipay", `{"code":"10000","trade_status":"TRADE_SUCCESS","send_pay_date":"2026-11-31 07:59:00"}`, ""},
		{"alipay", `{"code":"10000","trade_status":"TRADE_SUCCESS"}`, ""},
	}
	for _, tt := range tests {
		if got, _ := takenOf(t, tt.name, tt.body)["paid_at"].(string); got != tt.want {
			t.Errorf("%s of %s: paid_at %q; want %q", tt.name, tt.body, got, tt.want)
		}
	}
}
