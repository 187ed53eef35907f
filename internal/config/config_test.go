package config

import (
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/access"
)

func TestFull(t *testing.T) {
	got, err := Read("testdata/full.yaml", environment(nil), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	slow := Queue{
		Name: "slow", Kind: "notify", URL: "https://ledger.internal/notify",
		Schedule: "0s, 1m*3, 10m; max 30m", Success: `status == 200 && body.trim() == "ok"`,
		Timeout: 90 * time.Second, PerEndpoint: PerEndpoint{Rate: 0.5},
		Sign: sign.Config{Scheme: "t_v1", Secrets: []sign.Secret{sign.NewSecret("env:LEDGER_KEY")}, Header: "X-Signature"},
	}
	slower := slow
	slower.Name, slower.Timeout = "slower", 10*time.Minute
	told := Queue{Name: "told", Kind: "notify", Schedule: "wechat_notify", Success: "success_text", Timeout: 5 * time.Second, URL: "http://ledger.internal/ends", EventJSON: `{"task": json.id}`}
	told.Sign = sign.Config{Scheme: "md5_key", Secrets: []sign.Secret{sign.NewSecret("env:LEDGER_KEY")},
		Params: sign.Params{Preset: "jeepay", Name: "hash", Order: "given", Key: "&secret=", Case: "lower", Empty: "keep", Fields: []string{"order_no", "amt"}}}
	const day = 24 * time.Hour
	want := &Config{
		Listen:         "127.0.0.1:2356",
		Store:          "pebble:/var/lib/bellman",
		Node:           "bellman-1",
		Advertise:      "10.0.0.5:2355",
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")},
		PublicURL:      "https://pay.example.com",
		Console:        Console{Name: "production", Colour: "red"},
		Notices:        Notices{Listen: "127.0.0.1:2380", PublicURL: "https://notify.pay.example.com"},
		LogLevel:       slog.LevelWarn,
		StopTimeout:    25 * time.Second,
		MasterKey:      sign.NewSecret("env:MASTER_KEY"),
		Queues: slices.Concat([]Queue{{
			Name: "merchant-notify", Kind: "notify", Schedule: "wechat_notify", Success: "success_text",
			Timeout: 5 * time.Second, MaxAge: 3 * day, Delay: 2 * time.Second, Concurrency: 500, Rate: 1000,
			PerEndpoint: PerEndpoint{Concurrency: 32, Rate: 200},
			Sign:        sign.Config{Scheme: "standard_webhooks", Secrets: []sign.Secret{sign.NewSecret("env:MERCHANT_SECRET")}},
			Connections: []string{"main"}, PropagateTrace: true, RequireMerchantURL: true, OnEnd: OnEnd{Succeeded: "told", Failed: "told", Cancelled: "told"},
		}, told, slow, slower, fullOrders(), fullWechat(), fullAlipay(), fullShops()}, fullProviders(), []Queue{fullRefunds(), fullTransfers()}),
		Connections: []Connection{
			{Name: "main", URL: sign.NewSecret("env:RABBITMQ_URL")},
			{Name: "bus", URL: sign.NewSecret("nats://bellman:geheim@10.0.0.7:4222,nats://bellman:geheim@10.0.0.8:4222"), CA: "/etc/bellman/bus.pem", Credentials: "/etc/bellman/bus.creds"},
		},
		Sources: fullSources(),
		Alarms:  []Alarm{{Name: "late", When: "overdue", Queue: "merchant-notify", Above: 120, For: 30 * time.Second, To: "told"}},
		Tracing: Tracing{Endpoint: "http://127.0.0.1:4318", Headers: map[string]sign.Secret{"Authorization": sign.NewSecret("env:OTLP_TOKEN")},
			Sample: 0.1, Service: "bellman-eu", Attributes: map[string]string{"deployment.environment.name": "production"}},
		HTTP:      HTTP{Connections: 4000, PerAddress: 500},
		Pool:      Pool{Floor: 32, Ceiling: 1000},
		Flow:      Flow{High: 20000, Low: 5000, Heap: 1 << 30},
		Retention: Retention{Succeeded: 7 * day, Failed: 180 * day, Cancelled: day / 2},
		Egress: Egress{
			AllowPrivate: true,
			Allow:        []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("192.168.7.9/32")},
			Deny:         []netip.Prefix{netip.MustParsePrefix("10.1.9.0/24")},
			HTTPSOnly:    true,
			Proxy:        "http://proxy.internal:3128",
		},
	}
	if len(got.Keys) != 3 || got.Keys[0].Name != "order-service" || got.Keys[1].Role != "operate" ||
		got.Keys[0].SHA256[0] != 0x11 || got.Keys[0].SHA256[31] != 0x11 {
		t.Errorf("keys = %+v", got.Keys)
	}
	want.Keys, want.places, want.kept = got.Keys, got.places, got.kept
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Read(full.yaml) =\n%+v\nwant\n%+v", got, want)
	}
}

// Whatever says nothing is the default, and the default passes its own checks.
func TestNothing(t *testing.T) {
	for _, text := range []string{"", "\n\n", "# nothing\n", "---\n", "{}", "\ufeff{}", "---\n---\n"} {
		got, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
		} else if !reflect.DeepEqual(got, Default()) {
			t.Errorf("Parse(%q) = %+v; want the default", text, got)
		}
	}
	c := Default()
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	if q := c.Queues; len(q) != 1 || q[0].Name != "default" || q[0].Schedule != "wechat_notify" || q[0].Success != "success_text" {
		t.Errorf("queues = %+v", q)
	}
	// What the default says in Go is what it would have to say in YAML.
	again, err := Parse([]byte("listen: 127.0.0.1:2355\nstore: pebble:bellman-data\nlog_level: info\nstop_timeout: 8s\n" +
		"queues: {default: {kind: notify, schedule: wechat_notify, success: success_text, timeout: 5s}}\n" +
		"pool: {floor: 64, ceiling: 2048}\nflow: {high: 200000, low: 100000}\nretention: {succeeded: 30d, failed: 90d, cancelled: 30d}\negress: {allow_private: false, allow: [], proxy: \"\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	again.places = c.places
	if !reflect.DeepEqual(again, c) {
		t.Errorf("written out it is %+v; want %+v", again, c)
	}
}

func TestMistakes(t *testing.T) {
	type mistake struct{ text, want string }
	tests := []mistake{
		// Where it stands.
		{"lisen: 127.0.0.1:1", "line 1:1: lisen: unknown field: want listen? Known are listen, store, advertise, node"},
		{"\nflow:\n  hihg: 3\n", "line 3:3: flow.hihg: unknown field: want high? Known are high, low or heap"},
		{"queues:\n  a:\n    on_end: {failed: b}\n", `line 3:22: queues.a.on_end.failed: "b" is no queue: want one of a`},
		{"queues:\n  a: {on_end: {lost: b}}\n  b: {}\n", "line 2:16: queues.a.on_end.lost: unknown field: want succeeded, failed or cancelled"},
		{"queues:\n  a: {on_end: {failed: b}}\n  b: {}\n", `line 2:24: queues.a.on_end.failed: queue "b" has no url, and a result names none: give it one`},
		{"queues:\n  a: {url: \"http://h/\", on_end: {failed: a}}\n", "goes round, so that each result has a result: a → a: want"},
		{"queues:\n  a: {url: \"http://h/\", on_end: {failed: b}}\n  b: {url: \"http://h/\", on_end: {succeeded: a}}\n", "goes round, so that each result has a result: b → a → b: want"},
		{"queues:\n  a: {event_json: \"json.\"}\n", "line 2:19: queues.a.event_json: rule: "},
		{"queues:\n  a: {url: \"ftp://h/\"}\n", "line 2:12: queues.a.url: is no address of a web server: want"},
		{"store: pebble:a\nstore: pebble:b", "line 2:1: store: is set twice, first on line 1"},
		{"queues:\n  a: {}\n  b: {}\n  a: {}", "line 4:3: queues.a: is set twice, first on line 2"},
		{"listen: x\n---\nlisten: y", "line 3:1: a second document"},

		// What YAML allows and this does not.
		{"- a", "want fields, each as name: value"},
		{"just text", "want fields, each as name: value"},
		{"? a\n: b", "want a plain name before the colon"},
		{"listen:", "line 1:9: listen: is empty"},
		{"listen: [a]", "line 1:9: listen: want a single value"},
		{"listen: {a: b}", "listen: want a single value"},
		{"flow: 7", "line 1:7: flow: want fields"},
		{"keys: {a: b}", "line 1:7: keys: want a list"},
		{"queues: [a]", "line 1:9: queues: want fields"},
		{"listen: !!str 5", "line 1:9: listen: tags such as \"!!str\""},
		{"listen: *there", "line 1:9: listen: *there names nothing"},
		{"queues: {a: &a {<<: *a}}", "queues.a: << goes in a circle"},
		{"a: [", "line 1:4: not YAML: "},
		{"a: 'b", "line 1:4: not YAML: "},
		{"\tlisten: x", "line 1:7: not YAML: "},
		{"pool:\n\tfloor: 1", ": indent with spaces"},
		{"pool:\n  floor: 1\n ceiling: 2", ": indent the line exactly as those beside it"},
		{"queues：\n  a: {}", `1:1: not YAML: unexpected key name: want the colon ":" and a space, not "："`},
		{"queues:\n  a:\n    timeout：3s", `3:5: queues.a: want fields, each as name: value: want the colon ":" and a space, not "："`},
		{"queues:\n  a:\n    timeout:3s", "3:5: queues.a: want fields, each as name: value, with a space after the colon"},
		{"queues:\n  a: {url: http://x/{order_no}/close}", "2:21: not YAML: ',' or '}' must be specified: close each {, and quote a value with {, } or a comma"},
		{"queues:\n  a: {timeout: 3s", "could not find flow mapping end token '}': close each {"},

		// What belongs elsewhere.
		{"queues:\n  a: {expires: 30m}", "2:7: queues.a.expires: is for a queue of kind order, and this one is of kind notify: change kind, or leave it out"},
		{"queues:\n  a: {retention: {failed: 1d}}", "2:7: queues.a.retention: is for the whole file, not for a queue: want it at the left margin, beside queues"},

		// Values.
		{"listen: 2355", `line 1:9: listen: "2355" is no address: want HOST:PORT such as 127.0.0.1:2355`},
		{"listen: localhost", `"localhost" is no address`},
		{"listen: localhost:http", `"localhost:http" is no address`},
		{"listen: :70000", `":70000" is no address`},
		{"advertise: 0.0.0.0:2355", `advertise: "0.0.0.0:2355" is no address that others can reach: want HOST:PORT such as 10.0.0.5:2355`},
		{"advertise: 'n1'", "is no address that others can reach"},
		{"advertise: ':2355'", "is no address that others can reach"},
		{"advertise: 'http://n1:2355'", "is no address that others can reach"},
		{"advertise: 'n1:0'", "is no address that others can reach"},
		{"store: oracle://u:secret@h/db", `store: "oracle" names no store: want pebble:DIR, postgres://`},
		{"store: 'pebble:'", `store: "pebble" names no directory: want pebble:DIR`},
		{"node: a b", `node: "a b" is no name`},
		{"console: {colour: purple}", `console.colour: "purple" is no colour: want one of grey, blue, green, orange, red`},
		{"console: {name: a name that is longer than thirty letters}", `is too long for the top of a page`},
		{"log_level: loud", `log_level: "loud" is no level: want debug, info, warn or error`},
		{"log_level: INFO+3", `"INFO+3" is no level`},
		{"stop_timeout: 10", `line 1:15: stop_timeout: duration "10": want a duration such as 15s`},
		{"stop_timeout: 10 s", `stop_timeout: duration "10 s"`},
		{"stop_timeout: 1w", `stop_timeout: duration "1w"`},
		{"stop_timeout: 0s", "stop_timeout: 0s: want 1s to 1h"},
		{"flow: {high: many}", `line 1:14: flow.high: "many": want a whole number from 1 to 100000000`},
		{"flow: {high: 1e3}", `"1e3": want a whole number`},
		{"pool: {floor: 0}", `line 1:15: pool.floor: "0": want a whole number from 1 to 100000`},
		{"pool: {ceiling: 0}", `pool.ceiling: "0": want a whole number from 1 to 100000`},
		{"pool: {floor: 9, ceiling: 8}", "line 1:27: pool.ceiling: is 8 and pool.floor is 9: want a ceiling that is not below the floor"},
		{"pool: {ceiling: 8}", "line 1:17: pool.ceiling: is 8 and pool.floor is 64"},
		{"pool: {floor: 4000}", "line 1:15: pool.ceiling: is 2048 and pool.floor is 4000"},
		{"flow: {low: -1}", `"-1": want a whole number from 0`},
		{"retention: {failed: 90}", `retention.failed: duration "90"`},
		{"retention: {failed: 10ms}", "retention.failed: 10ms: want 1s or more"},
		{"egress: {allow_private: yes}", `egress.allow_private: "yes": want true or false`},
		{"egress: {allow: [10.1.0.0/33]}", `line 1:18: egress.allow[0]: "10.1.0.0/33" is no range`},
		{"egress: {allow: [10.1.2.0/16]}", `egress.allow[0]: "10.1.2.0/16" has bits beyond its length: want 10.1.0.0/16`},
		{"egress: {allow: [merchant.example]}", `"merchant.example" is no range`},
		{"egress: {allow: 10.1.0.0/16}", "egress.allow: want a list"},
		{"egress: {proxy: proxy.internal}", "egress.proxy: is no address of a proxy"},
		{"egress: {proxy: 'ftp://user:secret@h'}", "egress.proxy: is no address of a proxy"},

		// What stands before the server.
		{"trusted_proxies: [10.0.0.0/33]", `line 1:19: trusted_proxies[0]: "10.0.0.0/33" is no range`},
		{"trusted_proxies: 10.0.0.1", "trusted_proxies: want a list"},
		{"public_url: bellman.example", `public_url: "bellman.example" is not where a server is reached`},
		{"public_url: 'https://bellman.example/console'", "want https:// and a host"},
		{"public_url: 'https://user@bellman.example'", "want https:// and a host"},

		// Keys.
		{"keys: [{name: a, role: root, sha256: 00}]", `line 1:24: keys[0].role: "root" does not exist: want submit, read, operate, decide or admin`},
		{"keys: [{name: a, role: read, sha256: secret}]", "keys[0].sha256: want the SHA-256 of the key as 64 hexadecimal digits"},
		{"keys: [{name: a, role: admin, sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855}]", "keys[0].sha256: is the hash of an empty key"},
		{"keys: [{name: a, role: admin, sha256: 5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8}]", "keys[0].sha256: is the hash of password, "},
		{"keys: [{name: a}]", "keys[0]: is incomplete: want name, role and sha256"},
		{"keys: [{name: a, role: read, sha256: " + hashA + "}, {name: a, role: read, sha256: " + hashB + "}]", `keys[1].name: "a" is another key's`},
		{"keys: [{name: a, role: read, sha256: " + hashA + "}, {name: b, role: read, sha256: " + hashA + "}]", `keys[1].sha256: is the same as "a" has`},

		{"keys: [{queues: []}]", "line 1:17: keys[0].queues: is empty: want at least one element, or leave it out"},
		{"keys: [{queues: pay}]", "keys[0].queues: want a list"},
		{"keys: [{queues: [a b]}]", `keys[0].queues[0]: "a b" is no name`},
		{"keys: [{queues: [a, a]}]", `keys[0].queues[1]: "a" is in the list already`},
		{"keys: [{merchants: []}]", "keys[0].merchants: is empty"},
		{"keys: [{merchants: ['M*1']}]", `keys[0].merchants[0]: "M*1": want * at the end alone`},
		{"keys: [{merchants: ['']}]", "keys[0].merchants[0]: is empty: want a merchant's number"},
		{"keys: [{expires: soon}]", `keys[0].expires: "soon" is no date and no time: want one such as 2027-01-31`},
		{"keys: [{from: []}]", "keys[0].from: is empty"},
		{"keys: [{from: [10.0.0.0/33]}]", `keys[0].from[0]: "10.0.0.0/33" is no range of addresses`},

		// Queues.
		{"queues: {}", "line 1:9: queues: has no queue"},
		{"queues:", "queues: is empty"},
		{"queues:\n  a:", "queues.a: is empty: give it a value, {} for every default"},
		{"queues: {a b: {}}", `queues.a b: "a b" is no name`},
		{"queues: {a/b: {}}", `"a/b" is no name`},
		{"queues:\n  a:\n    sign: {scheme: standard_webhooks, secrets: [secret]}", "line 3:11: queues.a.sign: secrets[0]: "},
	}
	for _, tt := range []mistake{ // in queues.a
		{"per_endpoint: {burst: 1}", "queues.a.per_endpoint.burst: unknown field: want concurrency or rate"},
		{"kind: order", "line 1:13: queues.a.on_exhausted: is missing: want close, reverse, callback or alert"},
		{"kind: polls", `queues.a.kind: "polls" does not exist: want notify, order or poll`},
		{"schedule: wechat_notfy", "line 1:24: queues.a.schedule: "},
		{"schedule: '15'", "queues.a.schedule: "},
		{"success: sucess_text", "line 1:23: queues.a.success: rule: no preset is called \"sucess_text\""},
		{"success: 'status = 200'", "line 1:23: queues.a.success: "},
		{"success: 'statuss == 200'", "queues.a.success: "},
		{"timeout: 5", `queues.a.timeout: duration "5"`},
		{"timeout: 11m", "line 1:23: queues.a.timeout: 11m: want 1ms to 10m"},
		{"timeout: 0s", "queues.a.timeout: 0s: want 1ms to 10m"},
		{"max_age: 0s", "queues.a.max_age: 0s: want 1s or more"},
		{"concurrency: 0", "queues.a.concurrency: 0 would stop it: want 1 to 100000, or leave it out"},
		{"concurrency: 100001", `"100001": want a whole number from 1 to 100000`},
		{"per_endpoint: {rate: 200}", `queues.a.per_endpoint.rate: "200" is no rate: want a number of attempts a second, minute or hour`},
		{"per_endpoint: {rate: 200/d}", `"200/d" is no rate`},
		{"per_endpoint: {rate: inf/s}", `"inf/s" is no rate`},
		{"per_endpoint: {rate: 0/s}", `"0/s" is no rate: want a number of attempts a second, minute or hour, above 0`},
		{"url: merchant.example", "queues.a.url: is no address of a web server"},
		{"url: 'ftp://merchant.example'", "queues.a.url: is no address of a web server"},
		{"sign: {scheme: md5, secrets: [x]}", `queues.a.sign.scheme: "md5" does not exist: want standard_webhooks, wechat_rsa`},
		{"sign: {scheme: wechat_rsa}", "queues.a.sign.secrets: is missing"},
		{"sign: {secrets: [x]}", "queues.a.sign.scheme: is missing: want standard_webhooks, wechat_rsa,"},
		{"sign: {scheme: md5_params, secrets: [x, 'env:']}", "queues.a.sign.secrets[1]: names no secret"},
		{"sign: {scheme: md5_params, secrets: [x], serial: y}", "queues.a.sign.serial: is for wechat_rsa alone"},
		{"sign: {scheme: wechat_rsa, secrets: [secret]}", "queues.a.sign: secrets[0]: "},
		{"sign: {scheme: md5_params, secrets: [x, '  ']}", "queues.a.sign: secrets[1]: is empty"},
		{"sign: {scheme: md5_params, secrets: x}", "queues.a.sign.secrets: want a list"},
	} {
		tests = append(tests, mistake{"queues: {a: {" + tt.text + "}}", tt.want})
	}
	for _, tt := range tests {
		_, err := checked(tt.text)
		var ps Problems
		if !errors.As(err, &ps) {
			t.Errorf("Parse(%q) = %v; want problems", tt.text, err)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%q) says\n%v\nwant %q", tt.text, err, tt.want)
		}
		if strings.Contains(err.Error(), "secret@") || strings.Contains(err.Error(), `"secret"`) {
			t.Errorf("Parse(%q) shows a secret: %v", tt.text, err)
		}
		if strings.Contains(ps[0].String(), "\n") {
			t.Errorf("Parse(%q) says %q; want one line a problem", tt.text, ps[0])
		}
	}
}

// One mistake is one line, without others that follow from it.
func TestOneMistakeIsSaidOnce(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"queues:\n  a: true", "2:6: queues.a: want fields"},
		{"queues:\n  a:\n  b: {}", "2:5: queues.a: is empty"},
		{"queues:\n  a: {kind: orders, query: {url: x}, states: wechat_v3}", `2:13: queues.a.kind: "orders" does not exist: want notify, order or poll`},
		{"queues:\n  a: {kind: order, on_exhausted: close, channel: {kind: wechat, mch_id: 1}}", `2:57: queues.a.channel.kind: "wechat" does not exist: want wechatpay`},
	} {
		_, err := checked(tt.text)
		if ps := Problems(nil); !errors.As(err, &ps) || len(ps) != 1 || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%q) says\n%v\nwant %q alone", tt.text, err, tt.want)
		}
	}
}

// What is right: bounds, and secrets that cannot be looked at here.
func TestAccepted(t *testing.T) {
	for _, text := range []string{
		"pool: {floor: 8, ceiling: 8}",
		"queues: {a: {timeout: 1ms}}",
		"queues: {a: {timeout: 10m}}",
		"queues: {a: {sign: {scheme: md5_params, secrets: [x]}}}",
		"queues: {a: {sign: {scheme: standard_webhooks, secrets: ['env:BELLMAN_NONE', secret]}}}",
		"queues: {a: {sign: {scheme: wechat_rsa, secrets: ['file:/none']}}}",
	} {
		if _, err := checked(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

const (
	hashA = "'0000000000000000000000000000000000000000000000000000000000000001'"
	hashB = "0000000000000000000000000000000000000000000000000000000000000002" // digits alone, not quoted
)

// Every mistake is told, in the order of the file.
func TestAllMistakes(t *testing.T) {
	_, err := Read("testdata/mistakes.yaml", environment(map[string]string{
		"BELLMAN_LOG_LEVEL": "loud",
		"BELLMAN_QUEUES":    "a:\n  timeout: 5",
	}), map[string]string{"store": "sqlite:x", "nonsense": "x"}, nil)
	want := []string{
		`testdata/mistakes.yaml:2:9: listen: "2355" is no address`,
		`testdata/mistakes.yaml:4:25: keys[0].role: "root" does not exist`,
		`testdata/mistakes.yaml:7:5: queues.pay.scedule: unknown field`,
		`testdata/mistakes.yaml:8:14: queues.pay.timeout: duration "5"`,
		`testdata/mistakes.yaml:10:13: queues.pay.per_endpoint.rate: "fast" is no rate`,
		`BELLMAN_LOG_LEVEL: "loud" is no level`,
		`BELLMAN_QUEUES:2:12: queues.a.timeout: duration "5"`,
		`--nonsense: unknown setting`,
		`--store: "sqlite" names no store`,
		`testdata/mistakes.yaml:11:23: flow.low: is 20 and flow.high is 10: want low below high, such as 5`,
	}
	var ps Problems
	if !errors.As(err, &ps) {
		t.Fatalf("Read() = %v; want problems", err)
	}
	for i := range max(len(ps), len(want)) {
		switch {
		case i >= len(ps):
			t.Errorf("missing: %s", want[i])
		case i >= len(want):
			t.Errorf("unexpected: %s", ps[i])
		case !strings.HasPrefix(ps[i].String(), want[i]):
			t.Errorf("problem %d is\n%s\nwant\n%s", i, ps[i], want[i])
		}
	}
}

func TestPrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bellman.yaml")
	write(t, file, "listen: 127.0.0.1:1\nstore: pebble:file\nflow: {high: 10, low: 5}\negress: {allow: [10.0.0.0/8]}\n")
	env := environment(map[string]string{
		"BELLMAN_CONFIG":                 file,
		"BELLMAN_LISTEN":                 "127.0.0.1:2",
		"BELLMAN_STORE":                  "pebble:variable",
		"BELLMAN_NODE":                   "n1",
		"BELLMAN_LOG_LEVEL":              "", // as if not set
		"BELLMAN_STOP_TIMEOUT":           "3s",
		"BELLMAN_FLOW_LOW":               "6",
		"BELLMAN_RETENTION_SUCCEEDED":    "1d",
		"BELLMAN_EGRESS_ALLOW_PRIVATE":   "true",
		"BELLMAN_EGRESS_ALLOW":           "192.168.0.0/16, fd00::/8",
		"BELLMAN_EGRESS_PROXY":           "socks5://127.0.0.1:1080",
		"BELLMAN_QUEUES":                 "{pay: {timeout: 9s}, tell: {}}",
		"BELLMAN_KEYS":                   "[{name: ci, role: admin, sha256: " + hashA + "}]",
		"BELLMAN_SOMETHING_ELSE_OF_MINE": "x",
	})
	c, err := Read("", env, map[string]string{"listen": "127.0.0.1:3"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		what      string
		got, want any
	}{
		{"a flag over a variable", c.Listen, "127.0.0.1:3"},
		{"a variable over the file", c.Store, "pebble:variable"},
		{"a variable over the default", c.Node, "n1"},
		{"an empty variable", c.LogLevel, slog.LevelInfo},
		{"a duration", c.StopTimeout, 3 * time.Second},
		{"the file over the default", c.Flow.High, 10},
		{"a variable beside the file", c.Flow.Low, 6},
		{"a duration in days", c.Retention.Succeeded, 24 * time.Hour},
		{"the default", c.Retention.Failed, 90 * 24 * time.Hour},
		{"a boolean", c.Egress.AllowPrivate, true},
		{"a list", c.Egress.Allow, []netip.Prefix{netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("fd00::/8")}},
		{"a URL", c.Egress.Proxy, "socks5://127.0.0.1:1080"},
		{"queues", len(c.Queues), 2},
		{"a queue", c.Queues[0].Timeout, 9 * time.Second},
		{"keys", c.Keys[0].Name, "ci"},
	}
	for _, tt := range tests {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.what, tt.got, tt.want)
		}
	}
}

// Every scalar of the file is a variable, and a flag too.
func TestEverySetting(t *testing.T) {
	seen := 0
	env := func(name string) (string, bool) {
		if name != "BELLMAN_CONFIG" {
			seen++
		}
		return "\x00", true // right for nothing
	}
	err := Default().Apply(env)
	var ps Problems
	if !errors.As(err, &ps) || len(ps) != len(configFields) || seen != len(configFields) {
		t.Errorf("%d settings, %d variables looked at, problems:\n%v", len(configFields), seen, err)
	}
	for _, f := range configFields {
		if f.set == nil {
			continue
		}
		if err := Default().Set(f.name, "\x00"); !errors.As(err, &ps) {
			t.Errorf("Set(%s, nonsense) = %v; want a problem", f.name, err)
		}
	}
}

func TestCheckListen(t *testing.T) {
	tests := []struct {
		listen string
		safe   bool
	}{
		{"127.0.0.1:2355", true},
		{"127.9.9.9:2355", true},
		{"[::1]:2355", true},
		{"[::ffff:127.0.0.1]:2355", true},
		{"localhost:2355", true},
		{":2355", false},
		{"0.0.0.0:2355", false},
		{"[::]:2355", false},
		{"10.0.0.1:2355", false},
		{"bellman.internal:2355", false},
		{"localhost.example:2355", false},
	}
	for _, tt := range tests {
		c := Default()
		c.Listen = tt.listen
		if err := c.Check(); (err == nil) != tt.safe {
			t.Errorf("Check() with listen %s and no keys = %v; want safe: %t", tt.listen, err, tt.safe)
		}
		c.Keys = []access.Key{{Name: "a"}}
		if err := c.Check(); err != nil {
			t.Errorf("Check() with listen %s and a key = %v", tt.listen, err)
		}
	}
}

// A flag and a variable are named once.
func TestNamedOnce(t *testing.T) {
	_, err := Read("", environment(map[string]string{"BELLMAN_FLOW_LOW": "20", "BELLMAN_FLOW_HIGH": "10"}), map[string]string{"listen": "0.0.0.0:1"}, nil)
	for _, want := range []string{`--listen: "0.0.0.0:1" can be reached`, "BELLMAN_FLOW_LOW: is 20 and flow.high is 10"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read() = %v; want %q", err, want)
		}
	}
}

func TestNoSuchFile(t *testing.T) {
	c, err := Read(filepath.Join(t.TempDir(), "none.yaml"), environment(nil), nil, nil)
	if c != nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Read(no such file) = %v, %v; want it named", c, err)
	}
}

func TestTooLong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bellman.yaml")
	write(t, file, strings.Repeat("# padding\n", maxFile/10+1))
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("Load(too long) = %v; want it refused", err)
	}
}

func environment(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The README says that full.yaml shows every setting.
func TestFullIsFull(t *testing.T) {
	text, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat(namesOf(configFields), namesOf(keyFields), namesOf(queueFields), namesOf(signFields), namesOf(onEndFields), namesOf(orderFields), namesOf(pollFields), namesOf(pollChannelFields),
		namesOf(requestFields), namesOf(thenFields), namesOf(decisionFields([]string{"CLOSED", "UNKNOWN", "late_payment", "duplicate_payment", "failed"})), namesOf(toldFields), namesOf(templateFields), namesOf(paramsFields), namesOf(wechatFields), namesOf(alipayFields), namesOf(slices.Concat(slices.Collect(maps.Values(providerFields))...)), namesOf(alarmFields), namesOf(connectionFields), namesOf(sourceFields), namesOf(bindFields)) {
		for part := range strings.SplitSeq(name, ".") {
			if !regexp.MustCompile(`(?m)(^|[ {])` + regexp.QuoteMeta(part) + `:`).Match(text) {
				t.Errorf("full.yaml does not show %s", name)
			}
		}
	}
}

func namesOf[T any](fields []field[T]) (names []string) {
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}
