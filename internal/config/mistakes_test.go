package config

import (
	"errors"
	"strings"
	"testing"
)

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
		{"per_endpoint: {rate: 0/s}", `"0/s" is no rate: want a number of attempts a second, minute or hour, 1/h to`},
		{"per_endpoint: {rate: 0.5/h}", `"0.5/h" is no rate: want`},
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
		ps, is := errors.AsType[Problems](err)
		if !is {
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
		if ps, is := errors.AsType[Problems](err); !is || len(ps) != 1 || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%q) says\n%v\nwant %q alone", tt.text, err, tt.want)
		}
	}
}

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
	ps, is := errors.AsType[Problems](err)
	if !is {
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
