package brokers

import (
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
)

func TestParse(t *testing.T) {
	tests := []struct {
		text string
		want string // scheme, connection and path
		err  string
	}{
		{"amqp://main/orders/paid.wx", "amqp main orders/paid.wx", ""},
		{"amqp://main/orders/a/b", "amqp main orders/a/b", ""},
		{"amqp://main/or%2Fders/a%20b", "amqp main or%2Fders/a%20b", ""},
		{"amqp://main//order.close", "amqp main /order.close", ""},
		{"amqp://main/fan/", "amqp main fan/", ""},
		{"nats://bus/orders.paid", "nats bus orders.paid", ""},

		{"amqp://main", "", "names no routing key"},
		{"amqp://main/orders", "", "names no routing key"},
		{"amqp://main//", "", "names neither an exchange nor a queue"},
		{"amqp:///orders/paid", "", "names no connection"},
		{"amqp://guest:geheim@main/orders/paid", "", "names an address: want the name of a connection"},
		{"amqp://127.0.0.1:5672/orders/paid", "", "names an address"},
		{"amqp://main/orders/paid?x=1", "", "has a query or a fragment"},
		{"amqp://main/orders/paid#x", "", "has a query or a fragment"},
		{"amqp://main/orders/" + strings.Repeat("x", 256), "", "longer than 255 bytes"},
		{"amqps://main/orders/paid", "", "want amqp://"},
		{"nats://bus/", "", "names no subject"},
		{"nats://bus/orders.*", "", "names no subject"},
		{"nats://bus/orders..paid", "", "names no subject"},
		{"nats://bus/orders%20paid", "", "names no subject"},
		{"nats://bus:4222/orders", "", "names an address"},
		{"nats://bus/orders.$paid", "nats bus orders.$paid", ""},
		{"nats://bus/$JS.API.STREAM.DELETE.ORDERS", "", "the server's own"},
		{"nats://bus/%24SYS.REQ.SERVER.PING", "", "the server's own"},
		{"nats://bus/_INBOX.abc.1", "", "the server's own"},
	}
	for _, tt := range tests {
		to, err := Schemes.Parse(tt.text)
		got := ""
		if err == nil {
			got = to.Scheme.Name + " " + to.Connection + " " + to.Path
		}
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && (!strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "geheim")) {
			t.Errorf("Parse(%q) = %q, %v; want %q, %q", tt.text, got, err, tt.want, tt.err)
		}
	}
}

// Every kind has the names that texts and traces need.
func TestKinds(t *testing.T) {
	for _, k := range Kinds {
		if k.Name == "" || k.System == "" {
			t.Errorf("%s: Name is %q, System %q; want both", k.Scheme.Name, k.Name, k.System)
		}
		if !strings.HasPrefix(k.Scheme.Form, k.Scheme.Name+"://CONNECTION/") {
			t.Errorf("the form of an address of %s is %q; want %s://CONNECTION/…", k.Name, k.Scheme.Form, k.Scheme.Name)
		}
		of, _, _ := strings.Cut(k.Server, "://")
		if got := KindOfServer(of); got == nil || got.Scheme != k.Scheme {
			t.Errorf("the URL of a server of %s, %s, belongs to %+v", k.Name, k.Server, got)
		}
		for _, url := range k.URLs {
			if got := KindOfServer(url); got == nil || got.Scheme != k.Scheme {
				t.Errorf("%s:// belongs to %+v; want %s", url, got, k.Name)
			}
		}
		if got := KindOf(k.Scheme.Name); got == nil || got.Scheme != k.Scheme {
			t.Errorf("KindOf(%q) = %+v; want no other kind", k.Scheme.Name, got)
		}
	}
}

// An accepted address belongs to a broker, and is accepted again in the form in which it was read.
func FuzzParse(f *testing.F) {
	f.Add("amqp://main/or%2Fders/a/b")
	f.Add("nats://bus/orders.paid")
	f.Add("amqp://main//q")
	f.Fuzz(func(t *testing.T, text string) {
		to, err := Schemes.Parse(text)
		if err != nil {
			return
		}
		if !Schemes.Has(text) {
			t.Errorf("%q was accepted, but belongs to no broker", text)
		}
		again := to.Scheme.Name + "://" + to.Connection + "/" + to.Path
		if same, err := Schemes.Parse(again); len(again) <= bellman.MaxURL && (err != nil || same != to) {
			t.Errorf("%q is read as %+v, and its normal form %q as %+v, %v; want the same", text, to, again, same, err)
		}
	})
}
