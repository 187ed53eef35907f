package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"
)

// reference is Join by encoding/json alone.
func reference(t *testing.T, fields map[string]any, raw ...json.RawMessage) []byte {
	all := make(map[string]any)
	for _, one := range raw {
		var more map[string]json.RawMessage
		if err := json.Unmarshal(one, &more); err != nil {
			t.Fatal(err)
		}
		for name, value := range more {
			all[name] = value
		}
	}
	maps.Copy(all, fields)
	body, err := Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// Join writes the bytes that encoding/json writes of the same fields.
func FuzzJoin(f *testing.F) {
	f.Add("order_no", "单 <1>\u2028\\", []byte(` { "a" : [ 1 , {"b":"}\\\""} ] , "order_no":null, "a\u0062": -1.5e3,"":{} } `), []byte(`{"a":true}`))
	f.Add("\x7f", "\xff", []byte(`{}`), []byte(`{"x":"\u003c","x":2}`))
	f.Fuzz(func(t *testing.T, name, text string, first, second []byte) {
		for _, raw := range [][]byte{first, second} {
			if !json.Valid(raw) || bytes.TrimSpace(raw)[0] != '{' {
				return
			}
		}
		fields := map[string]any{name: text, "refunded": true, "amount": int64(-8800)}
		if got, want := Join(fields, first, second), reference(t, fields, first, second); !bytes.Equal(got, want) {
			t.Errorf("Join of %q, %s and %s:\n%s; want\n%s", fields, first, second, got, want)
		}
	})
}

// Object writes what Marshal writes, and refuses what it refuses: a channel of the program may take
// any value.
func TestObject(t *testing.T) {
	for _, fields := range []map[string]any{
		{}, {"amount": int64(1<<63 - 1), "note": "<单>", "a b": nil, "nested": map[string]any{"b": 1.5, "a": json.Number("12")}, "raw": json.RawMessage(` [1, 2] `)},
		{"raw": json.RawMessage(`{`)}, {"number": json.Number("1x")}, {"never": make(chan int)},
	} {
		got, err := Object(fields)
		want, refused := Marshal(fields)
		if !bytes.Equal(got, want) || (err == nil) != (refused == nil) {
			t.Errorf("Object(%v) = %s, %v; want %s, %v", fields, got, err, want, refused)
		}
	}
}

func BenchmarkJoin(b *testing.B) {
	fields := map[string]any{"merchant_no": "M1", "order_no": "A000000001", "order_state": "PAID", "decided_at": "2026-11-20T15:04:05.000Z"}
	taken := json.RawMessage(`{"amount":1299,"currency":"CNY","paid_at":"2026-11-20T15:04:05Z","transaction_id":"42000020261"}`)
	b.ReportAllocs()
	for b.Loop() {
		Join(fields, nil, taken)
	}
}
