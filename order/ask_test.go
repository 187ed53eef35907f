package order

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseAsk(t *testing.T) {
	at := time.Date(2026, 11, 20, 15, 4, 5, 123e6, time.UTC)
	first, last := time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	tests := []struct {
		body string
		want Ask
	}{
		{"", Ask{}},
		{" ", Ask{}},
		{"{}", Ask{}},
		{`{"expires":null,"vars":null,"notify":{"json":null}}`, Ask{}},
		{`{"expires":"1h30m"}`, Ask{Expires: 90 * time.Minute}},
		{`{"code_life":"15d"}`, Ask{CodeLife: 15 * 24 * time.Hour}},
		{`{"expires_at":"2026-11-20T23:04:05.123+08:00","channel_order_no":"C1","account":"shop","amount":1,"currency":"CNY"}`,
			Ask{ExpiresAt: at, ChannelOrderNo: "C1", Account: "shop", Amount: 1, Currency: "CNY"}},
		{`{"created":"9999-12-31T23:59:59Z","watch":{"of":"k","order_state":"CLOSED","decided":"0001-01-01T00:00:01Z","until":"9999-12-31T23:59:59Z"}}`,
			Ask{Created: last, Watch: &Watch{Of: "k", State: "CLOSED", Decided: first, Until: last}}},
		{`{"expires_at":"9999-12-31T23:59:59Z"}`, Ask{ExpiresAt: last}},
		{`{"vars":{"appid":"wx1"},"created":"2026-11-20T23:04:05.123+08:00"}`, Ask{Vars: map[string]string{"appid": "wx1"}, Created: at}},
		{`{"notify":{"url":"https://m.example/","json":{"a":[1]}}}`, Ask{Notify: Notify{URL: "https://m.example/", JSON: json.RawMessage(`{"a":[1]}`)}}},
		{`{"watch":{"of":"k","order_state":"CLOSED","decided":"2026-11-20T15:04:05.123Z","until":"2026-11-20T15:04:05.123Z"}}`,
			Ask{Watch: &Watch{Of: "k", State: "CLOSED", Decided: at, Until: at}}},
	}
	for _, tt := range tests {
		if got, err := ParseAsk([]byte(tt.body)); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("ParseAsk(%s) = %+v, %v; want %+v", tt.body, got, err, tt.want)
		}
	}
}

func TestParseAskRefuses(t *testing.T) {
	unknown := func(field string) string {
		return "watch." + field + ": there is no such field: want one of of, order_state, decided, until, alias, unborn; "
	}
	tests := []struct{ body, want string }{
		{"{", "body: is no JSON: unexpected end of JSON input"},
		{"null", "body: want an object"},
		{"[1]", "body: want an object"},
		{`{"expire":"30m"}`, "expire: there is no such field: want one of expires, expires_at, code_life, channel_order_no, account, amount, currency, vars, notify, created, watch, notice"},
		{`{"expires":30}`, `expires: want a duration such as "30m"`},
		{`{"expires":"30"}`, `expires: duration "30": want a duration such as 15s or 1h30m, with units ms, s, m, h, d`},
		{`{"expires":"0s"}`, "expires: is 0s: want how long the order can be paid"},
		{`{"code_life":"0s"}`, "code_life: is 0s: want how long the payer's code can be paid"},
		{`{"code_life":"2"}`, `code_life: duration "2": want a duration such as 15s or 1h30m, with units ms, s, m, h, d`},
		{`{"amount":1,"currency":"XYZ"}`, `currency: "XYZ" is no currency of ISO 4217: want a code such as CNY`},
		{`{"amount":1,"currency":"cny"}`, `currency: "cny" is no currency of ISO 4217: want a code such as CNY`},
		{`{"amount":1,"currency":"156"}`, `currency: "156" is no currency of ISO 4217: want a code such as CNY`},
		{`{"amount":1,"currency":""}`, `currency: "" is no currency of ISO 4217: want a code such as CNY`},
		{`{"amount":0,"currency":"CNY"}`, "amount: is 0: want what the order costs, in the currency's smallest unit"},
		{`{"amount":-1,"currency":"CNY"}`, "amount: is -1: want what the order costs, in the currency's smallest unit"},
		{`{"amount":1}`, "currency: is missing: an amount needs its currency, such as CNY"},
		{`{"currency":"CNY"}`, "amount: is missing: a currency needs an amount, in its smallest unit"},
		{`{"created":"9999-12-31T23:59:59-01:00"}`, "created: is not in the years 1 to 9999 of UTC"},
		{`{"created":"0000-12-31T23:59:59Z","expires_at":"0000-12-31T23:59:59Z"}`, "created: is not in the years 1 to 9999 of UTC; expires_at: is not in the years 1 to 9999 of UTC"},
		{`{"expires_at":"9999-12-31T23:59:59-01:00"}`, "expires_at: is not in the years 1 to 9999 of UTC"},
		{`{"expires_at":"2026-11-20T15:04:05Z","expires":"1h"}`, "expires_at: is given, and expires: give one of them"},
		{`{"vars":{"a":1}}`, "vars: want an object of texts"},
		{`{"vars":{"":"x"}}`, "vars: one has no name"},
		{`{"created":"today"}`, "created: want a time such as 2026-11-20T15:04:05.123Z"},
		{`{"notify":"https://m.example/"}`, "notify: want an object"},
		{`{"notify":{"uri":"https://m.example/"}}`, "notify.uri: there is no such field: want one of url, json"},
		{`{"notify":{"url":1,"json":[1]}}`, "notify.url: want a text; notify.json: want an object: the order's own fields are added to it"},
		{`{"watch":{"of":"k","order_state":"PENDING","until":"2026-11-20T15:04:05Z","decided":"2026-11-20T15:04:05Z"}}`,
			"watch.order_state: want the state of an order that is decided"},
		{`{"watch":{"c":1,"b":1,"a":1,"of":1,"order_state":"GONE"}}`, unknown("a") + unknown("b") + unknown("c") + "watch.of: want a text"},
		{`{"watch":{"of":"k","order_state":"CLOSED","decided":"9999-12-31T23:59:59-01:00","until":"2026-11-20T15:04:05Z"}}`, "watch.until: want when the watch ends"},
		{`{"watch":{"of":"k","order_state":"CLOSED","decided":"0000-12-31T23:59:59Z","until":"2026-11-20T15:04:05Z"}}`, "watch.until: want when the watch ends"},
		{`{"watch":{"order_state":"CLOSED"}}`, "watch.of: want the key of the order's task; watch.until: want when the watch ends"},
	}
	for _, tt := range tests {
		if _, err := ParseAsk([]byte(tt.body)); err == nil || err.Error() != tt.want {
			t.Errorf("ParseAsk(%s): %v; want %s", tt.body, err, tt.want)
		}
	}
}

// A negative duration, such as the time until a moment that has passed, is no request for the
// queue's rule.
func TestEncodeNegative(t *testing.T) {
	want := "expires: -1s is negative: want a duration, or 0 for the queue's rule; code_life: -1m0s is negative: want a duration, or 0 for the queue's rule"
	if body, err := (&Ask{Expires: -time.Second, CodeLife: -time.Minute}).Encode(); err == nil || err.Error() != want {
		t.Errorf("Encode = %s, %v; want %s", body, err, want)
	}
}

func FuzzAsk(f *testing.F) {
	f.Add([]byte(`{"expires":"30m","vars":{"a":"b"},"notify":{"url":"https://m.example/","json":{"a":"<"}},"created":"2026-11-20T23:04:05.123+08:00"}`))
	f.Add([]byte(`{"watch":{"of":"k","order_state":"CLOSED","decided":"2026-11-20T15:04:05Z","until":"9999-12-31T23:59:59+01:00"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := ParseAsk(body)
		if err != nil {
			return
		}
		first, err := a.Encode()
		if err != nil {
			t.Fatalf("%s: Encode: %v", body, err)
		}
		again, err := ParseAsk(first)
		if err != nil {
			t.Fatalf("%s, written %s: %v", body, first, err)
		}
		if quick, err := accepted(first); err != nil || !reflect.DeepEqual(quick, again) {
			t.Errorf("%s is %+v; accepted returns %+v, %v", first, again, quick, err)
		}
		if second, err := again.Encode(); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s, written %s, and again %s, %v", body, first, second, err)
		}
	})
}

func FuzzLife(f *testing.F) {
	l := Life{Stage: Decided, State: "CLOSED", Late: "PAID", Taken: json.RawMessage(`{"a":1}`), Began: 1}
	f.Add(l.encode())
	f.Add([]byte(`{"stage":"watching","order_state":"CLOSED","polls":3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLife(data)
		if err != nil {
			return
		}
		again, err := ParseLife(l.encode())
		if err != nil || !bytes.Equal(l.encode(), again.encode()) {
			t.Errorf("%s is %+v, reads back as %+v, %v", data, l, again, err)
		}
	})
}

func TestParseLife(t *testing.T) {
	if l, err := ParseLife(nil); err != nil || l.Stage != Polling || l.State != StatePending {
		t.Errorf("no data: %+v, %v", l, err)
	}
	for _, data := range []string{`{`, `{"stage":"dancing"}`, `{"order_state":"GONE"}`, `{"stage":"decided"}`, `{"order_state":"PAID"}`,
		`{"stage":"watching"}`, `{"polls":-1}`, `{"late_payment":"CLOSED"}`, `{"taken":[1]}`} {
		if l, err := ParseLife([]byte(data)); err == nil {
			t.Errorf("%s is %+v; want an error", data, l)
		}
	}
}

// encoding/json writes and reads an Ask as Encode and ParseAsk do.
func TestAskAsJSON(t *testing.T) {
	at := time.Date(2026, 11, 20, 23, 4, 5, 0, time.FixedZone("", 8*60*60))
	for _, given := range []Ask{
		{},
		{Expires: 90 * time.Minute, CodeLife: time.Hour, Amount: 1, Currency: "CNY", Vars: map[string]string{"a": "b"}, Notify: Notify{URL: "https://m.example/"}},
		{Notify: Notify{JSON: json.RawMessage(`{"a":1}`)}, ExpiresAt: at, Created: at, Watch: &Watch{Of: "k", State: "CLOSED", Decided: at, Until: at}},
	} {
		want := given
		want.Created, want.ExpiresAt = given.Created.UTC(), given.ExpiresAt.UTC()
		if given.Watch != nil {
			want.Watch = &Watch{Of: "k", State: "CLOSED", Decided: at.UTC(), Until: at.UTC()}
		}
		body, err := json.Marshal(given)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(body), "+08:00") {
			t.Errorf("%s was written; want times in UTC", body)
		}
		if got, err := ParseAsk(body); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseAsk(%s) = %+v, %v; want %+v", body, got, err, want)
		}
		var got Ask
		if err := json.Unmarshal(body, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s was read as %+v, %v; want %+v", body, got, err, want)
		}
	}
	var got Ask
	for _, wrong := range []string{`{"expires":"30"}`, `{"code_life":5}`, `{"code_life":"5"}`, `{"expires":"30m","code_life":"2h","amount":"1"}`} {
		if err := json.Unmarshal([]byte(wrong), &got); err == nil {
			t.Errorf("%s was read as %+v; want an error", wrong, got)
		}
	}
}
