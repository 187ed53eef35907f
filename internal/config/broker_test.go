package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/brokers"
)

// fullSources are those of testdata/full.yaml.
func fullSources() []Source {
	return []Source{{
		Connection: "main", Queue: "order.paid", Bind: []Binding{{"orders", "paid"}, {"audit", ""}}, DeadLetter: "order.paid.lost",
		Into: "merchant-notify", Prefetch: 512,
		Map: map[string]string{
			"key": "json.event_id", "merchant_no": "json.mch", "order_no": "json.order", "event": `headers["event"]`,
			"url": "json.notify_url", "json": "json.data",
		},
	}, {
		Connection: "main", Queue: "jobs", DeadLetter: "jobs.dead", Into: "slow", AsItIs: true,
	}, {
		Connection: "bus", Stream: "ORDERS", Durable: "bellman", Subjects: []string{"orders.paid.*"}, DeadLetter: "dead.orders",
		Into: "merchant-notify",
	}}
}

// Every mistake is told where it stands, and nothing shows a password.
func TestBrokerMistakes(t *testing.T) {
	const connections = "connections: {main: {url: 'amqp://u:geheim@h/'}, bus: {url: 'nats://h'}, ref: {url: 'env:URL'}}\n"
	tests := []struct{ text, want string }{
		{"connections: {a: {}}", "line 1:15: connections.a.url: is missing: want amqp://"},
		{"connections: {a: {url: 'http://u:geheim@h/'}}", "line 1:24: connections.a.url: is no URL of a broker: want amqp://"},
		{"connections: {a: {url: 'amqp://u:geh eim@h/'}}", "line 1:24: connections.a.url: is no URL of a broker"},
		{"connections: {a: {url: 'amqp://geheim:@:1/'}}", "is no URL of a broker"},
		{"connections: {a: {url: 'amqp://h:99999/geheim'}}", "its port is not a number from 1 to 65535"},
		{"connections: {a: {url: 'amqp://geheim@h/,amqp://h/'}}", "names several servers: that is for nats:// alone"},
		{"connections: {a: {url: 'nats://geheim@h,amqp://h/'}}", "names several servers"},
		{"connections: {a: {host: h}}", "line 1:19: connections.a.host: unknown field: want url"},
		{"connections: {'a b': {url: 'nats://h'}}", `connections.a b: "a b" is no name`},

		{"sources: [{queue: q, into: default}]", "line 1:11: sources[0].connection: is missing"},
		{connections + "sources: [{connection: mian, queue: q, into: default}]", `line 2:24: sources[0].connection: "mian" is no connection: want bus, main or ref`},
		{connections + "queues: {a: {connections: [main, mian]}}", `line 2:34: queues.a.connections[1]: "mian" is no connection: want bus, main or ref`},
		{"queues: {a: {connections: [main]}}", `queues.a.connections[0]: "main" is no connection: there are none: want connections: {main: {url: …}}`},
		{"queues: {a: {connections: main}}", "queues.a.connections: want a list"},
		{"connections: {main: {url: 'amqp://h/', credentials: /k}}", "connections.main.credentials: is for NATS"},
		{"queues: {o: {kind: order, channel: {kind: wechatpay, url: 'amqp://main/orders/paid'}}}", "line 1:59: queues.o.channel.url: is no address of a web server"},
		{"queues: {o: {kind: order, channel: {kind: alipay, url: 'amqp://main/orders/paid'}}}", "queues.o.channel.url: is no address of a web server"},
		{"sources: [{connection: main, queue: q, into: default}]", `sources[0].connection: "main" is no connection: there are none: want connections: {main: {url: …}}`},
		{connections + "sources: [{connection: main, queue: q}]", "sources[0].into: is missing: want the queue"},
		{connections + "sources: [{connection: main, queue: q, into: pay}]", `line 2:46: sources[0].into: "pay" is no queue: want default`},
		{connections + "sources: [{connection: main, into: default}]", "sources[0]: names nothing to take from: want queue"},
		{connections + "sources: [{connection: main, queue: q, stream: S, into: default}]", "sources[0].stream: does not go with queue"},
		{connections + "sources: [{connection: bus, queue: q, into: default}]", `sources[0].connection: "bus" is of NATS, and the source is of RabbitMQ`},
		{connections + "sources: [{connection: main, stream: S, durable: d, into: default}]", `"main" is of RabbitMQ, and the source is of NATS`},
		{connections + "sources: [{connection: bus, stream: S, into: default}]", "sources[0].durable: is missing"},
		{connections + "sources: [{connection: bus, stream: a.b, durable: d, into: default}]", `line 2:37: sources[0].stream: "a.b" is no name of NATS's`},
		{connections + "sources: [{connection: bus, stream: S, durable: d, into: default, subjects: [a..b]}]", `sources[0].subjects[0]: "a..b" is no subject`},
		{connections + "sources: [{connection: bus, stream: S, durable: d, into: default, dead_letter: 'dead.*'}]", `sources[0].dead_letter: "dead.*" is no subject: want words with dots between, without * and >`},
		{connections + "sources: [{connection: bus, stream: S, durable: d, into: default, bind: [{exchange: x}]}]", "sources[0].bind: is for a queue of RabbitMQ"},
		{connections + "sources: [{connection: main, queue: q, durable: d, into: default}]", "sources[0].durable: is for a stream of NATS"},
		{connections + "sources: [{connection: main, queue: q, subjects: [a], into: default}]", "sources[0].subjects: are for a stream of NATS"},
		{connections + "sources: [{connection: main, queue: q, dead_letter: q, into: default}]", "sources[0].dead_letter: is the queue itself"},
		{connections + "sources: [{connection: main, queue: q, into: default, declare: no}]", `sources[0].declare: "no": want true, false, or dead_letter`},
		{connections + "sources: [{connection: main, queue: q, into: default, declare: false, bind: [{exchange: x}]}]", "sources[0].bind: declares something"},
		{connections + "sources: [{connection: main, queue: q, into: default, declare: dead_letter, bind: [{exchange: x}]}]", "sources[0].bind: declares something"},
		{connections + "sources: [{connection: main, queue: q, into: default, bind: [{key: x}]}]", "sources[0].bind[0].exchange: is missing"},
		{connections + "sources: [{connection: main, queue: q, into: default, prefetch: 0}]", `sources[0].prefetch: "0": want a whole number from 1 to 20000`},
		{connections + "sources: [{connection: main, queue: q, into: default}, {connection: main, queue: q, into: default}]", `sources[1]: "main/q" is taken from by another source`},
		{connections + "sources: [{connection: main, queue: q, into: default, map: {}}]", "sources[0].map: is empty: want fields"},
		{connections + "sources: [{connection: main, queue: q, into: default, map: {kee: json.a}}]", "line 2:61: sources[0].map.kee: is no field of a task: want account, amount, body, channel_order_no, code_life, currency, delay"},
		{connections + "sources: [{connection: main, queue: q, into: default, map: {key: jsn.a}}]", "line 2:66: sources[0].map.key: rule: "},
		{connections + "sources: [{connection: main, queue: q, into: default, map: {key: status}}]", "known are headers, json, body, message_id, subject"},
		{connections + "sources: [{connection: main, queue: q, map: {kee: json.a}}, {connection: mian, queue: q, into: default}]", `sources[1].connection: "mian" is no connection: want bus, main or ref`},
		{"sources: {}", "line 1:10: sources: want a list"},
		{"flow: {heap: 100}", `flow.heap: "100": want a size from 64MiB to 1024GiB, such as 512MiB`},
		{"flow: {heap: 63MiB}", `flow.heap: "63MiB": want a size from 64MiB`},
	}
	for _, tt := range tests {
		c, err := Parse([]byte(tt.text))
		got := fmt.Sprint(join(err, c.Check()))
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s\n got %s\nwant %s", tt.text, got, tt.want)
		}
		if strings.Contains(got, "geheim") {
			t.Errorf("%s: the error shows the password: %s", tt.text, got)
		}
	}
}

func TestConnections(t *testing.T) {
	tests := []struct{ url, kind, shown string }{
		{"amqp://guest:geheim@127.0.0.1:5672/", RabbitMQ, "amqp://guest@127.0.0.1:5672/"},
		{"amqps://h/pay?cacertfile=/geheim", RabbitMQ, "amqps://h/pay"},
		{"nats://geheim@h:4222", NATS, "nats://h:4222"}, // a token
		{"tls://u:geheim@a,tls://u:geheim@b", NATS, "tls://u@a,tls://u@b"},
	}
	for _, tt := range tests {
		c := Connection{Name: "main", URL: sign.NewSecret(tt.url)}
		kind, whole, err := c.Resolve()
		if err != nil || kind != tt.kind || whole != tt.url {
			t.Errorf("%s is %s, %s, %v; want %s", tt.url, kind, whole, err, tt.kind)
		}
		for _, shown := range []string{c.String(), fmt.Sprintf("%v", c), fmt.Sprintf("%#v", c)} {
			if shown != tt.shown {
				t.Errorf("%s is shown as %s; want %s", tt.url, shown, tt.shown)
			}
		}
	}
	t.Setenv("BROKER_URL", "http://u:geheim@h/")
	c := Connection{Name: "main", URL: sign.NewSecret("env:BROKER_URL")}
	if _, _, err := c.Resolve(); err == nil || !strings.HasPrefix(err.Error(), "url: is no URL of a broker") || strings.Contains(err.Error(), "geheim") {
		t.Errorf("a URL elsewhere that is none: %v", err)
	}
	if c.String() != "env:BROKER_URL" {
		t.Errorf("a URL elsewhere is shown as %s", c)
	}
}

// Every kind of broker is known by its name, and an option that it does not use is a mistake.
func TestKindsOfBrokers(t *testing.T) {
	options := new(Connection).options()
	for _, f := range connectionFields {
		if _, is := options[f.name]; !is && f.name != "url" {
			t.Errorf("connections.%s is no option: no broker can refuse it", f.name)
		}
	}
	mistakes := func(text string) string {
		c, err := Parse([]byte(text))
		return fmt.Sprint(join(err, c.Check()))
	}
	for _, kind := range brokers.Kinds {
		connection := "connections: {q: {url: '" + kind.Server + "'"
		for _, name := range kind.Fields {
			if options[name] == nil {
				t.Errorf("%s uses %s, which is no option of a connection", kind.Name, name)
			}
		}
		for name := range options {
			got := mistakes(connection + ", " + name + ": /f}}")
			if used := slices.Contains(kind.Fields, name); used != (got == "<nil>") || !used && !strings.Contains(got, "connections.q."+name+": is for ") {
				t.Errorf("%s of %s, which uses it: %t: %s", name, kind.Name, used, got)
			}
		}
		for _, other := range brokers.Kinds {
			if other.Scheme == kind.Scheme {
				continue
			}
			got := mistakes(connection + "}}\nqueues: {a: {url: '" + strings.Replace(other.Scheme.Form, "CONNECTION", "q", 1) + "'}}")
			if want := fmt.Sprintf(`"q" is of %s: want %s://q/…`, kind.Name, kind.Scheme.Name); !strings.Contains(got, want) {
				t.Errorf("a queue's address at a connection to %s: %s; want %s", kind.Name, got, want)
			}
		}
		for field, source := range map[string]string{RabbitMQ: "queue: q", NATS: "stream: s, durable: d"} {
			if got, want := mistakes(connection+"}}\nsources: [{connection: q, into: default, "+source+"}]"), `"q" is of `+kind.Name+`, and the source is of `; strings.Contains(got, want) == (field == kind.Scheme.Name) {
				t.Errorf("a source of %s at a connection to %s: %s", field, kind.Name, got)
			}
		}
	}
}

// Declare says what a source makes: all, nothing, or what takes its dead letters.
func TestDeclare(t *testing.T) {
	for text, want := range map[string]Source{"true": {}, "false": {AsItIs: true}, "dead_letter": {AsItIs: true, MakeDead: true}} {
		c, err := Parse([]byte("connections: {main: {url: 'amqp://h/'}}\nsources: [{connection: main, queue: q, into: default, declare: " + text + "}]"))
		if err != nil {
			t.Fatal(err)
		}
		if s := c.Sources[0]; s.AsItIs != want.AsItIs || s.MakeDead != want.MakeDead {
			t.Errorf("declare: %s: %+v; want AsItIs %t, MakeDead %t", text, s, want.AsItIs, want.MakeDead)
		}
	}
}
