package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestCheckNames(t *testing.T) {
	c, err := Parse([]byte("queues:\n  pay:\n    sign: {scheme: standard_webhooks, secrets: [\"env:BELLMAN_PAY_SECRET\", \"file:/run/BELLMAN_FILE\"]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ variable, want string }{
		{"BELLMAN_LISTEN=x", ""}, // its value is another's matter
		{"BELLMAN_EGRESS_ALLOW_PRIVATE=true", ""},
		{"BELLMAN_CONFIG=c.yaml", ""},
		{"BELLMAN_PPROF=127.0.0.1:6060", ""},
		{"BELLMAN_KEY=k", ""},
		{"BELLMAN_PAY_SECRET=whsec_", ""},
		{"BELLMAN_QUEUES={a: {sign: {scheme: md5_params, secrets: [\"env:BELLMAN_OTHER\"]}}}", ""},
		{"BELLMAN_PORT=tcp://10.0.0.1:2355", ""}, // a cluster's
		{"BELLMAN_PORT_2355_TCP_ADDR=10.0.0.1", ""},
		{"BELLMAN_PAY_SERVICE_HOST=10.0.0.1", ""},
		{"BELLMAN_SERVICE_PORT_HTTP=2355", ""},
		{"MY_BELLMAN_LISTN=x", ""},

		{"BELLMAN_LISTN=x", "BELLMAN_LISTEN"},
		{"BELLMAN_LISTN=", "BELLMAN_LISTEN"},
		{"BELLMAN_ALLOW_PRIVATE=true", "BELLMAN_EGRESS_ALLOW_PRIVATE"},
		{"BELLMAN_FLOWHIGH=1", "BELLMAN_FLOW_HIGH"},
		{"BELLMAN_STOPTIMEOUT=1s", "BELLMAN_STOP_TIMEOUT"},
		{"BELLMAN_PAY_SECRETS=x", "BELLMAN_PAY_SECRET"},
	}
	for _, tt := range tests {
		err := c.CheckNames([]string{"PATH=/bin", tt.variable})
		var ps Problems
		if errors.As(err, &ps); tt.want == "" && err != nil || tt.want != "" && (len(ps) != 1 || !strings.Contains(ps[0].Text, "want "+tt.want+",")) {
			t.Errorf("%s: %v; want it refused: %t, with %s", tt.variable, err, tt.want != "", tt.want)
		}
	}
	if err := c.CheckNames([]string{"BELLMAN_B=1", "BELLMAN_A=1"}); err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.HasPrefix(err.Error(), "BELLMAN_A: ") {
		t.Errorf("two at once: %v; want both, in order", err)
	}
	if err := c.CheckNames([]string{"BELLMAN_QUEUES={a: {sign: {secrets: [env:BELLMAN_OTHER]}}}", "BELLMAN_OTHER=s"}); err != nil {
		t.Errorf("a secret that a variable names: %v", err)
	}
}

// Each setting that needs a restart is named when it has changed: all but the queues, the alarms,
// the keys and the pool.
func TestRestarts(t *testing.T) {
	other := map[string]string{
		"listen": "127.0.0.1:1", "store": "pebble:elsewhere", "advertise": "n9:2355", "console.name": "staging", "console.colour": "blue", "node": "n9", "log_level": "debug", "stop_timeout": "3s",
		"keys": "[{name: ci, role: admin, sha256: " + hashA + "}]", "queues": "{a: {}, b: {}}",
		"master_key": "env:MASTER", "master_keys": "env:NEWER, env:FORMER",
		"alarms":      "[{when: overloaded, to: default}]",
		"connections": "{main: {url: 'amqp://127.0.0.1/'}}", "sources": "[{connection: main, queue: order.paid, into: default}]",
		"pool.floor": "7", "pool.ceiling": "300",
		"flow.heap": "1GiB", "flow.high": "300000", "flow.low": "7", "retention.succeeded": "1d", "retention.failed": "1d", "retention.cancelled": "1d",
		"tracing.endpoint": "http://127.0.0.1:4318", "tracing.headers": "{a: b}", "tracing.sample": "0.5", "tracing.service": "s", "tracing.attributes": "{a: b}",
		"notices.listen": "127.0.0.1:2380", "notices.public_url": "https://notify.example",
		"trusted_proxies": "10.0.0.0/8", "public_url": "https://bellman.example",
		"http.connections": "100", "http.per_address": "10", "egress.deny": "192.0.2.0/24", "egress.https_only": "true",
		"egress.allow_private": "true", "egress.allow": "10.0.0.0/8", "egress.proxy": "http://127.0.0.1:3128",
	}
	for _, f := range configFields {
		c := Default()
		err := c.Apply(func(name string) (string, bool) {
			if name == variable(f.name) {
				return other[f.name], true
			}
			return "", false
		})
		want := []string{f.name}
		if slices.Contains([]string{"queues", "alarms", "keys", "pool.floor", "pool.ceiling"}, f.name) {
			want = nil
		}
		if got := Default().Restarts(c); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s changed: %q, %v; want %q", f.name, got, err, want)
		}
	}
}
