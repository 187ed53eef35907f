package source_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/rule"
)

func TestMapping(t *testing.T) {
	message := rule.Message{
		ID: "m1", Subject: "orders.paid", Header: map[string]string{"shop": "12", "x-delay": "5000"},
		Body: []byte(`{"id":"E1","order":9007199254740993,"big":12345678901234567890,"huge":18446744073709551616,"rate":1.10,"none":null,"placed":"2026-11-20T15:04:05Z","data":{"b": 1.10,"a":[9007199254740993]},"url":"https://m/n?a=1&b=2"}`),
	}
	tests := []struct {
		fields map[string]string
		want   string // the task, or the error
	}{
		{map[string]string{"key": "json.id", "order_no": "json.order"}, `{"key":"E1","order_no":"9007199254740993"}`},
		{map[string]string{"order_no": "json.big"}, `{"order_no":"12345678901234567890"}`},
		{map[string]string{"order_no": `has(json.big) ? json.big : ""`, "key": `"o" + string(json.big)`}, `{"key":"o12345678901234567890","order_no":"12345678901234567890"}`},
		{map[string]string{"json": `{"n": json.big}`}, `{"json":{"n":12345678901234567890}}`},
		{map[string]string{"key": "message_id", "event": "subject"}, `{"event":"orders.paid","key":"m1"}`},
		{map[string]string{"order_created": "json.placed", "order_no": "json.id"}, `{"order_created":"2026-11-20T15:04:05Z","order_no":"E1"}`},
		{map[string]string{"json": "json.data"}, `{"json":{"b": 1.10,"a":[9007199254740993]}}`},
		{map[string]string{"json": "json"}, `{"json":` + string(message.Body) + `}`},
		{map[string]string{"json": "json.none"}, `{"json":null}`},
		{map[string]string{"json": `{"n": json.order}`}, `{"json":{"n":9007199254740993}}`},
		{map[string]string{"headers": `{"Shop": headers.shop}`}, `{"headers":{"Shop":"12"}}`},
		{map[string]string{"delay": `headers["x-delay"] + "ms"`}, `{"delay":"5000ms"}`},
		{map[string]string{"key": `has(json.key) ? json.key : null`, "url": "json.url"}, `{"url":"https://m/n?a=1&b=2"}`},
		{map[string]string{"key": "json.none"}, `{}`},
		{map[string]string{"delay": `has(headers.delay) ? headers.delay : null`, "key": "message_id"}, `{"key":"m1"}`},
		{map[string]string{"delay": `"x-delay" in headers ? headers["x-delay"] + "ms" : null`}, `{"delay":"5000ms"}`},
		{map[string]string{"delay": `"x-wait" in headers ? headers["x-wait"] + "ms" : null`}, `{}`},

		{map[string]string{"key": "json.gone"}, "map.key: the message lacks what json.gone names"},
		{map[string]string{"json": "json.data.gone"}, "map.json: the message lacks what json.data.gone names"},
		{map[string]string{"key": "json.rate"}, "map.key: yields a number that is not whole: want text, or a whole number"},
		{map[string]string{"key": "json.huge"}, "map.key: yields a number beyond 64 bits, whose digits are not kept: want text, or a whole number"},
		{map[string]string{"key": "json.data"}, "map.key: yields an object: want text"},
		{map[string]string{"url": `headers["gone"]`}, "map.url: the message lacks what headers[\"gone\"] names"},
	}
	for _, tt := range tests {
		m, err := source.CompileMapping(tt.fields)
		if err != nil {
			t.Errorf("%v: %v", tt.fields, err)
			continue
		}
		text, err := m.Task(&message)
		got := string(text)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != tt.want || err != nil && !strings.HasPrefix(got, tt.want) {
			t.Errorf("%v maps to %s; want %s", tt.fields, got, tt.want)
		}
	}
	m, err := source.CompileMapping(map[string]string{"key": "json.id"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Task(&rule.Message{Body: []byte("{")}); err == nil || !strings.Contains(err.Error(), "the body is not JSON") {
		t.Errorf("a body that is not JSON: %v", err)
	}
	for name, text := range map[string]string{"kee": "json.id", "key": "json..id"} {
		if _, err := source.CompileMapping(map[string]string{name: text}); err == nil || !strings.HasPrefix(err.Error(), "map."+name+": ") || errors.Is(err, source.ErrNoField) != (name == "kee") {
			t.Errorf("%s: %s: %v", name, text, err)
		}
	}
}

// For every body a mapping returns valid JSON or an error.
func FuzzMapping(f *testing.F) {
	m, err := source.CompileMapping(map[string]string{"key": "json.id", "json": "json.data", "body": "body", "headers": "headers"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"id":"1","data":{"a":[1.10,null]}}`), "v")
	f.Add([]byte(`{"id":"\ud800","data":"`+"\xff"+`"}`), "\x00")
	f.Fuzz(func(t *testing.T, body []byte, value string) {
		text, err := m.Task(&rule.Message{ID: "m", Header: map[string]string{"h": value}, Body: body})
		if err == nil && !json.Valid(text) {
			t.Errorf("%q maps to %q, which is not JSON", body, text)
		}
	})
}

// The fast path for plain lookups gives the same result as CEL, for every message.
func FuzzPlain(f *testing.F) {
	fields := map[string]string{
		"key": "json.id", "order_no": "json.data.order", "json": "json.data", "event": "subject", "headers": "json.data.headers",
		"url": `headers["to"]`, "merchant_no": `"M1"`, "body": "message_id", "method": "headers.how", "vars": "json.vars",
	}
	var mappings, byCEL []*source.Mapping
	for _, these := range append([]map[string]string{fields}, alone(fields)...) {
		m, err := source.CompileMapping(these)
		if err != nil {
			f.Fatal(err)
		}
		mappings, byCEL = append(mappings, m), append(byCEL, m.WithoutPlain())
	}
	for _, body := range []string{
		`{"id":"1","data":{"order":7,"headers":{}},"vars":{"a":"b"}}`,
		` {"id" : -0 , "id":18446744073709551615, "data":{"order":"\u00e4\/\ud83d\ude00","headers":null}, "vars":[1.5e3,true,false,null] } `,
		`{"id":"a","data":{"order":"x"},"d\u0061ta":{},"vars":1}`, `{"id":1.0,"data":{"order":"` + "\xff" + `"}}`,
		`{"id":"\ud800","data":[]}`, `{"id":1e999}`, `null`, `[`, "", `{"id":01}`, `{"id":"a",}`, `{"id":true}`, "\uFEFF{}", `{"id":"a"}x`, "{\"id\":\"a\x01\"}",
		strings.Repeat(`{"data":`, 101) + "1" + strings.Repeat("}", 101),
	} {
		f.Add([]byte(body), "s", "v")
	}
	f.Fuzz(func(t *testing.T, body []byte, subject, value string) {
		message := rule.Message{ID: value, Subject: subject, Header: map[string]string{"to": value}, Body: body}
		if len(subject) > 2 {
			message.Header["how"] = subject
		}
		for i, m := range mappings {
			got, err := m.Task(&message)
			want, wantErr := byCEL[i].Task(&message)
			if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
				t.Fatalf("%q: error %v; CEL returns %v", body, err, wantErr)
			}
			if err != nil {
				continue
			}
			var is, should any
			if err := json.Unmarshal(got, &is); err != nil {
				t.Fatalf("%q maps to %q: %v", body, got, err)
			}
			if err := json.Unmarshal(want, &should); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(is, should) {
				t.Errorf("%q maps to %s; with CEL to %s", body, got, want)
			}
		}
	})
}

// alone returns one mapping for each field, so that the error of one does not hide that of another.
func alone(fields map[string]string) (one []map[string]string) {
	for name, text := range fields {
		one = append(one, map[string]string{name: text})
	}
	return one
}

func BenchmarkMapping(b *testing.B) {
	m, err := source.CompileMapping(map[string]string{
		"key": "json.id", "merchant_no": `"M1001"`, "order_no": "json.data.order_no", "url": "json.url", "delay": `"24h"`, "json": "json.data",
	})
	if err != nil {
		b.Fatal(err)
	}
	message := rule.Message{ID: "m1", Body: []byte(`{"id":"e12345","url":"https://merchant.example/notify","data":{"order_no":"12345","state":"SUCCESS"}}`)}
	for name, m := range map[string]*source.Mapping{"plain": m, "cel": m.WithoutPlain()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Task(&message); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
