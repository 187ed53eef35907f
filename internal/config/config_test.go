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
	ps, is := errors.AsType[Problems](err)
	if !is || len(ps) != len(configFields) || seen != len(configFields) {
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
	if _, err := load(file); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("load(too long) = %v; want it refused", err)
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
