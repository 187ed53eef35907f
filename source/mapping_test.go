package source_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/rule"
	"github.com/bellmanhq/bellman/source"
)

func TestMapping(t *testing.T) {
	message := rule.Message{
		ID: "m1", Subject: "orders.paid", Header: map[string]string{"shop": "12", "x-delay": "5000"},
		Body: []byte(`{"id":"E1","order":9007199254740993,"rate":1.10,"none":null,"data":{"b": 1.10,"a":[9007199254740993]},"url":"https://m/n?a=1&b=2"}`),
	}
	tests := []struct {
		fields map[string]string
		want   string // the task, or else the error
	}{
		{map[string]string{"key": "json.id", "order_no": "json.order"}, `{"key":"E1","order_no":"9007199254740993"}`},
		{map[string]string{"key": "message_id", "event": "subject"}, `{"event":"orders.paid","key":"m1"}`},
		{map[string]string{"json": "json.data"}, `{"json":{"b": 1.10,"a":[9007199254740993]}}`},
		{map[string]string{"json": "json"}, `{"json":` + string(message.Body) + `}`},
		{map[string]string{"json": "json.none"}, `{"json":null}`},
		{map[string]string{"json": `{"n": json.order}`}, `{"json":{"n":9007199254740993}}`},
		{map[string]string{"headers": `{"Shop": headers.shop}`}, `{"headers":{"Shop":"12"}}`},
		{map[string]string{"delay": `headers["x-delay"] + "ms"`}, `{"delay":"5000ms"}`},
		{map[string]string{"key": `has(json.key) ? json.key : null`, "url": "json.url"}, `{"url":"https://m/n?a=1\u0026b=2"}`},
		{map[string]string{"key": "json.none"}, `{}`},

		{map[string]string{"key": "json.gone"}, "map.key: the message lacks what json.gone names"},
		{map[string]string{"json": "json.data.gone"}, "map.json: the message lacks what json.data.gone names"},
		{map[string]string{"key": "json.rate"}, "map.key: yields a number that is not whole: want text, or a whole number"},
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
			t.Errorf("%v makes %s; want %s", tt.fields, got, tt.want)
		}
	}
	m, err := source.CompileMapping(map[string]string{"key": "json.id"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Task(&rule.Message{Body: []byte("{")}); err == nil || !strings.Contains(err.Error(), "the body is not JSON") {
		t.Errorf("no JSON: %v", err)
	}
	for name, text := range map[string]string{"kee": "json.id", "key": "json..id"} {
		if _, err := source.CompileMapping(map[string]string{name: text}); err == nil || !strings.HasPrefix(err.Error(), "map."+name+": ") || errors.Is(err, source.ErrNoField) != (name == "kee") {
			t.Errorf("%s: %s: %v", name, text, err)
		}
	}
}

// What a mapping makes of a body is JSON, or it is an error: never half of it.
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
			t.Errorf("%q makes %q, which is no JSON", body, text)
		}
	})
}
