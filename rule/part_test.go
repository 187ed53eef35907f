package rule_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/rule"
)

var toldPaid = &rule.Notification{
	JSON: []byte(`{"order_no":"O1","merchant_no":"M1","order_state":"PAID","amount":8888,"currency":"CNY","transaction_id":"4200","paid_at":"2026-11-20T15:04:05Z",
		"decided_at":"2026-11-20T15:04:06.123Z","shop":{"id":12}}`),
	Event: "order.paid", ChannelOrderNo: "C1", Created: "2026-11-20T15:00:00.500Z", Vars: map[string]string{"subject": "tea"}, OrderAmount: 9000,
}

func TestParts(t *testing.T) {
	for text, want := range map[string]string{
		`order_no`:       `"O1"`,
		`string(amount)`: `"8888"`,
		`amount`:         `8888`,
		`has(json.fee) ? json.fee : order_amount`: `9000`,
		`major(amount, currency)`:                 `"88.88"`,
		`major(5, "CNY")`:                         `"0.05"`,
		`major(500, "JPY")`:                       `"500"`,
		`major(1, "KWD")`:                         `"0.001"`,
		`unix_ms(decided_at)`:                     `1795187046123`,
		`unix_ms(paid_at)`:                        `1795187045000`,
		`local_time(paid_at, "Asia/Shanghai", "yyyyMMddHHmmss")`:          `"20261120230405"`,
		`local_time(created_at, "UTC", "yyyy-MM-dd'T'HH:mm:ss.SSS")`:      `"2026-11-20T15:00:00.500"`,
		`local_time(created_at, "Asia/Shanghai", "yyyyMMddHHmmssSSS")`:    `"20261120230000500"`,
		`local_time(paid_at, "UTC", "HHmmssSSS")`:                         `"150405000"`,
		`order_state == "PAID" ? 2 : 3`:                                   `2`,
		`vars.subject`:                                                    `"tea"`,
		`local_time(paid_at, "UTC", "yyyy-MM-dd").replace("-", "") + "x"`: `"20261120x"`,
		`json.shop.id`:                            `12`,
		`event + "/" + channel_order_no`:          `"order.paid/C1"`,
		`has(json.refunded) ? "yes" : "no"`:       `"no"`,
		`currency.lowerAscii()`:                   `"cny"`,
		`{"no": order_no, "in": {"amt": amount}}`: `{"in":{"amt":8888},"no":"O1"}`,
	} {
		p, err := rule.CompilePart(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		value, err := p.Evaluate(rule.Tell(toldPaid))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, _ := json.Marshal(value); string(got) != want {
			t.Errorf("%s = %s; want %s", text, got, want)
		}
	}
}

// What a notification lacks is missing, and nothing else is.
func TestPartsFail(t *testing.T) {
	for text, missing := range map[string]bool{
		`fail_reason`: true, `order_currency`: true, `string(refunded)`: true, `json.none`: true, `vars.none`: true, `unix_ms(found_at)`: true, `fail_reason + "x"`: true,
		`unix_ms(order_no)`: false, `major(amount, order_no)`: false, `major(-1, "CNY")`: false, `local_time(paid_at, order_no, "yyyy")`: false, `amount + "x"`: false,
	} {
		p, err := rule.CompilePart(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if _, err = p.Evaluate(rule.Tell(toldPaid)); err == nil || errors.Is(err, rule.ErrMissing) != missing {
			t.Errorf("%s: %v; want an error, missing: %t", text, err, missing)
		}
	}
	for text, want := range map[string]string{
		``: "no text", `orderno`: "known are json, event", `status`: "undeclared reference", `major(amount)`: "major", `local_time(paid_at, "Mars/Base", "yyyy")`: "no time zone", `major(amount, "XYZ")`: "no currency", `order_no +`: "column",
	} {
		if _, err := rule.CompilePart(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("CompilePart(%q): %v; want %q", text, err, want)
		}
	}
	if _, err := rule.Compile(`unix_ms("x") == 1`); err == nil {
		t.Error("a rule may call unix_ms")
	}
}
