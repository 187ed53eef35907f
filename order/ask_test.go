package order

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

func TestParseAsk(t *testing.T) {
	at := time.Date(2026, 11, 20, 15, 4, 5, 123e6, time.UTC)
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
		{`{"vars":{"a":1}}`, "vars: want an object of texts"},
		{`{"vars":{"":"x"}}`, "vars: one has no name"},
		{`{"created":"today"}`, "created: want a time such as 2026-11-20T15:04:05.123Z"},
		{`{"notify":"https://m.example/"}`, "notify: want an object"},
		{`{"notify":{"uri":"https://m.example/"}}`, "notify.uri: there is no such field: want one of url, json"},
		{`{"notify":{"url":1,"json":[1]}}`, "notify.url: want a text; notify.json: want an object: the order's own fields are added to it"},
		{`{"watch":{"of":"k","order_state":"PENDING","until":"2026-11-20T15:04:05Z","decided":"2026-11-20T15:04:05Z"}}`,
			"watch.order_state: want the state of an order that is decided"},
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
	f.Add([]byte(`{"watch":{"of":"k","order_state":"CLOSED","decided":"2026-11-20T15:04:05Z","until":"9999-12-31T23:59:59-01:00"}}`))
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
	want := Ask{Expires: 90 * time.Minute, CodeLife: time.Hour, Amount: 1, Currency: "CNY", Vars: map[string]string{"a": "b"}, Notify: Notify{URL: "https://m.example/"}}
	body, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseAsk(body); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("ParseAsk(%s) = %+v, %v; want %+v", body, got, err, want)
	}
	var got Ask
	if err := json.Unmarshal(body, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s was read as %+v, %v; want %+v", body, got, err, want)
	}
	for _, wrong := range []string{`{"expires":"30"}`, `{"code_life":5}`} {
		if err := json.Unmarshal([]byte(wrong), &got); err == nil {
			t.Errorf("%s was read as %+v; want an error", wrong, got)
		}
	}
}
