package sender

import (
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
)

func TestParse(t *testing.T) {
	tests := []struct {
		text string
		want Address
		err  string
	}{
		{"amqp://main/orders/paid.wx", Address{AMQP, "main", "orders", "paid.wx"}, ""},
		{"amqp://main/orders/a/b", Address{AMQP, "main", "orders", "a/b"}, ""},
		{"amqp://main/or%2Fders/a%20b", Address{AMQP, "main", "or/ders", "a b"}, ""},
		{"amqp://main//order.close", Address{AMQP, "main", "", "order.close"}, ""},
		{"amqp://main/fan/", Address{AMQP, "main", "fan", ""}, ""},
		{"nats://bus/orders.paid", Address{NATS, "bus", "", "orders.paid"}, ""},

		{"amqp://main", Address{}, "names no routing key"},
		{"amqp://main/orders", Address{}, "names no routing key"},
		{"amqp://main//", Address{}, "names neither an exchange nor a queue"},
		{"amqp:///orders/paid", Address{}, "names no connection"},
		{"amqp://guest:geheim@main/orders/paid", Address{}, "names an address: want the name of a connection"},
		{"amqp://127.0.0.1:5672/orders/paid", Address{}, "names an address"},
		{"amqp://main/orders/paid?x=1", Address{}, "has a query or a fragment"},
		{"amqp://main/orders/paid#x", Address{}, "has a query or a fragment"},
		{"amqp://main/orders/" + strings.Repeat("x", 256), Address{}, "longer than 255 bytes"},
		{"amqps://main/orders/paid", Address{}, "want amqp://"},
		{"nats://bus/", Address{}, "names no subject"},
		{"nats://bus/orders.*", Address{}, "names no subject"},
		{"nats://bus/orders..paid", Address{}, "names no subject"},
		{"nats://bus/orders%20paid", Address{}, "names no subject"},
		{"nats://bus:4222/orders", Address{}, "names an address"},
		{"nats://bus/orders.$paid", Address{NATS, "bus", "", "orders.$paid"}, ""},
		{"nats://bus/$JS.API.STREAM.DELETE.ORDERS", Address{}, "the server's own"},
		{"nats://bus/%24SYS.REQ.SERVER.PING", Address{}, "the server's own"},
		{"nats://bus/_INBOX.abc.1", Address{}, "the server's own"},
	}
	for _, tt := range tests {
		got, err := Parse(tt.text)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && (!strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "geheim")) {
			t.Errorf("Parse(%q) = %+v, %v; want %+v, %q", tt.text, got, err, tt.want, tt.err)
		}
	}
}

// What is read is written so that it is read the same again.
func FuzzParse(f *testing.F) {
	f.Add("amqp://main/or%2Fders/a/b")
	f.Add("nats://bus/orders.paid")
	f.Add("amqp://main//q")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text)
		if err != nil {
			return
		}
		if !Is(text) {
			t.Errorf("%q is read, and is no broker's", text)
		}
		if again, err := Parse(a.String()); len(a.String()) <= bellman.MaxURL && (err != nil || again != a) {
			t.Errorf("%q is %+v, and %q is %+v, %v", text, a, a.String(), again, err)
		}
	})
}
