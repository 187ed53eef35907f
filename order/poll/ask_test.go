package poll

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/order"
)

func TestParseAsk(t *testing.T) {
	at := time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC)
	for body, want := range map[string]Ask{
		"": {}, " ": {}, "{}": {}, `{"notify":{"json": null }}`: {},
		`{"ref_no":"R1","account":"a","channel_order_no":"C1","vars":{"amount":"1"}}`: {RefNo: "R1", Account: "a", ChannelOrderNo: "C1", Vars: map[string]string{"amount": "1"}},
		` {"notify":{"url":"https://x","json": {"a":1} }} `:                           {Notify: order.Notify{URL: "https://x", JSON: []byte(`{"a":1}`)}},
		`{"created":"2026-11-20T23:04:05+08:00"}`:                                     {Created: at},
		`{"created":"9999-12-31T23:59:59Z"}`:                                          {Created: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
	} {
		if got, err := ParseAsk([]byte(body)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseAsk(%s) = %+v, %v; want %+v", body, got, err, want)
		}
	}
	for body, want := range map[string]string{
		"{": "body: ", "null": "body: want an object", "[]": "body: ", `{"ref_no":1}`: "body: ", `{"refno":"1"}`: "body: ",
		`{"ref_no":"1"} 2`: "body: something follows the object", `{"notify":{"json":[1]}}`: "notify.json: want an object",
		`{"vars":{"":"1"}}`: "vars: one has no name", `{"created":"9999-12-31T23:59:59-01:00"}`: "created: ", `{"created":"0000-12-31T23:59:59Z"}`: "created: ",
	} {
		if got, err := ParseAsk([]byte(body)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("ParseAsk(%s) = %+v, %v; want %s", body, got, err, want)
		}
	}
	if text, err := (&Ask{Created: at.In(time.FixedZone("", 8*60*60))}).Encode(); err != nil || string(text) != `{"created":"2026-11-20T15:04:05Z"}` {
		t.Errorf("Encode = %s, %v; want a time in UTC", text, err)
	}
}
