package bellman_test

import (
	"go/build"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/bellmanhq/bellman"

// layers says what each package may import of this module, itself written as
// "": cmd → server → everything else → root. A package that is not listed fails
// the test, so that a new one states its layer here. Tests may import anything.
var layers = map[string][]string{
	"": {},

	// What is wrong, in English and as a code, for all that refuse something.
	"internal/coded": {},

	// The encodings of XML, for those who read some.
	"internal/ascii": {},

	// Leaves: their one dependency and the standard library.
	"schedule":     {"internal/coded"},
	"rule":         {"internal/coded", "internal/ascii"},
	"wheel":        {},
	"dispatch":     {},
	"deliver/sign": {"internal/coded"},

	// Who makes a request, for all that answer some.
	"internal/caller": {},

	// Files of merchants, for all that import them.
	"internal/lines": {"client"},

	// How a store reads and writes its rows.
	"internal/pack": {},

	// What all that send requests say of a fault, and which headers they can have.
	"deliver/cause": {""},
	"deliver/field": {""},

	// Stores, and the suite that they pass.
	"storetest": {""},
	"memory":    {""},
	"pebble":    {"", "internal/pack"},

	// Databases: all SQL is in one package, a database's own is in its package.
	"internal/sqlstore":         {"", "internal/pack"},
	"internal/sqlstore/sqltest": {"", "internal/sqlstore", "storetest", "engine"},
	"postgres":                  {"", "internal/sqlstore"},
	"mysql":                     {"", "internal/sqlstore"},
	"redis":                     {"", "internal/pack"},

	// Everything else stands side by side on the root and the leaves.
	"engine":   {"", "internal/coded", "schedule", "wheel", "dispatch"},
	"merchant": {"", "internal/coded", "schedule", "rule", "deliver/sign"},
	"deliver":  {"", "internal/coded", "rule", "deliver/sign", "deliver/cause", "deliver/field"},
	"outcome":  {"", "rule"},
	"alarm":    {"", "schedule", "outcome"},
	"adopt":    {"client", "schedule"},
	"resend":   {"", "internal/coded"},
	"link":     {"", "internal/coded"},
	"move":     {""},
	"order":    {"", "internal/coded", "schedule"},
	"client":   {""},
	"api":      {"", "client", "schedule", "rule", "internal/caller"},
	"console":  {"", "internal/coded", "client", "schedule", "internal/caller", "internal/lines"},
	"config":   {"schedule", "rule", "alarm", "deliver/sign", "order/states", "order/gateway", "source", "sender"},
	"metrics":  {""},
	"traces":   {""},

	// Brokers: where tasks come from, and where they go.
	"source":            {"", "rule"},
	"source/sourcetest": {},
	"sender":            {"", "deliver/sign", "deliver/field"},
	"rabbitmq":          {"", "rule", "source", "sender"},
	"nats":              {"", "rule", "source", "sender"},

	// Channels: what an order's watch asks.
	"order/states":    {"", "order", "rule", "internal/ascii"},
	"order/exchange":  {"", "order", "deliver/cause"},
	"order/gateway":   {"", "order", "order/states", "order/exchange", "deliver/sign", "deliver/field", "rule"},
	"order/wechatpay": {"", "order", "order/states", "order/exchange", "deliver/sign"},
	"order/alipay":    {"", "order", "order/states", "order/exchange", "deliver/sign"},

	// Where the parts meet. Only these see more than their own part.
	"server": {"", "internal/coded", "schedule", "rule", "engine", "deliver", "deliver/sign", "deliver/field", "resend", "link", "move", "pebble", "postgres", "mysql", "redis", "internal/sqlstore", "api", "console", "client", "config", "metrics", "traces",
		"order", "order/states", "order/gateway", "order/wechatpay", "order/alipay", "outcome", "alarm", "merchant", "source", "sender", "rabbitmq", "nats"},
	"demo":                     {"", "schedule", "client", "config", "server", "order"},
	"bench":                    {"", "schedule", "client", "config", "server", "engine", "deliver", "pebble", "bench/scratch"},
	"bench/scratch":            {"config"},
	"bench/peers":              {"bench", "bench/scratch"},
	"examples/order-service":   {"", "deliver", "engine", "postgres"},
	"examples/rabbitmq-notify": {"config", "server"},
	"examples/table-scan":      {"", "engine", "postgres"},
	"examples/wallet-channel":  {"", "engine", "order", "pebble"},
	"deploy/sbom":              {},
	"clients/java/generate":    {},
	"cmd/bellman": {"", "schedule", "deliver/sign", "api", "client", "config", "server", "demo", "bench", "adopt", "move", "internal/lines",
		"pebble"}, // export and check open a store that no server has open
}

// standardOnly are the packages without any dependency.
var standardOnly = []string{"", "wheel", "dispatch", "deliver/sign", "deliver/cause", "deliver/field", "client", "memory", "internal/sqlstore", "internal/caller", "internal/pack", "internal/coded"}

// homes says who may import a library. All others reach it through these, so
// that replacing one touches one package.
var homes = map[string]string{
	"cel.dev/cel-go":               "rule",
	"github.com/adhocore/gronx":    "schedule",
	"github.com/chromedp":          "a test",
	"github.com/cockroachdb":       "pebble",
	"github.com/danielgtaylor":     "api",
	"github.com/goccy":             "config",
	"github.com/go-sql-driver":     "mysql",
	"github.com/jackc":             "postgres",
	"github.com/nats-io":           "nats",
	"github.com/prometheus":        "metrics",
	"github.com/rabbitmq":          "rabbitmq",
	"github.com/redis":             "redis",
	"github.com/hibiken":           "bench/peers",
	"github.com/riverqueue":        "bench/peers",
	"github.com/spf13":             "cmd/bellman",
	"go.opentelemetry.io":          "traces",
	"github.com/HdrHistogram":      "bench",
	"github.com/standard-webhooks": "a test",
	"pgregory.net/rapid":           "a test",
	"go.uber.org/goleak":           "a test",
}

// guests may import a library beside its home: they look at what it does from
// outside.
var guests = map[string][]string{
	"bench/scratch": {"github.com/jackc", "github.com/go-sql-driver", "github.com/redis"},
	"bench/peers":   {"github.com/redis", "github.com/jackc"},
	"adopt":         {"github.com/go-sql-driver"},

	"examples/order-service":   {"github.com/jackc"},
	"examples/rabbitmq-notify": {"github.com/rabbitmq"},
	"examples/table-scan":      {"github.com/jackc"},
}

func TestLayers(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(dir string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			return nil
		case dir != "." && strings.ContainsAny(entry.Name()[:1], "._"), entry.Name() == "testdata":
			return fs.SkipDir
		}
		p, err := build.ImportDir(dir, 0)
		if p == nil || len(p.GoFiles) == 0 {
			return nil // no code here, or tests alone
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(dir), ".")
		if _, known := layers[name]; !known {
			t.Errorf("package %s states no layer: add it to layers, with what it may import", name)
			return nil
		}
		seen++
		for _, path := range p.Imports {
			if why := forbidden(name, path); why != "" {
				t.Errorf("package %q imports %s: %s", name, path, why)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen == 0 {
		t.Error("no package was looked at")
	}
}

// forbidden says why a package of ours may not import a path; empty: it may.
func forbidden(name, path string) string {
	if path == module || strings.HasPrefix(path, module+"/") {
		other := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
		if !slices.Contains(layers[name], other) {
			return "its layer may not"
		}
		return ""
	}
	if host, _, _ := strings.Cut(path, "/"); !strings.Contains(host, ".") {
		return "" // the standard library
	}
	if slices.Contains(standardOnly, name) {
		return "it has the standard library only"
	}
	for library, home := range homes {
		if strings.HasPrefix(path+"/", library+"/") && home != name && !slices.Contains(guests[name], library) {
			return "only " + home + " may"
		}
	}
	return ""
}

func TestForbidden(t *testing.T) {
	tests := []struct {
		name, path string
		may        bool
	}{
		{"", "time", true},
		{"", "golang.org/x/sync/errgroup", false},
		{"", module + "/engine", false},
		{"wheel", "math/bits", true},
		{"wheel", module, false},
		{"wheel", "github.com/google/uuid", false},
		{"rule", "cel.dev/cel-go/cel", true},
		{"schedule", "cel.dev/cel-go/cel", false},
		{"pebble", module, true},
		{"pebble", module + "/engine", false},
		{"pebble", module + "/memory", false},
		{"postgres", module + "/internal/sqlstore", true},
		{"postgres", "github.com/jackc/pgx/v5", true},
		{"internal/sqlstore", "github.com/jackc/pgx/v5", false},
		{"postgres", "github.com/go-sql-driver/mysql", false},
		{"engine", module + "/postgres", false},
		{"mysql", module + "/postgres", false},
		{"api", module + "/client", true},
		{"api", module + "/engine", false},
		{"api", module + "/pebble", false},
		{"client", module + "/api", false},
		{"engine", module + "/deliver", false},
		{"engine", "github.com/cockroachdb/pebble/v2", false},
		{"engine", "golang.org/x/sync/errgroup", true},
		{"deliver", module + "/server", false},
		{"deliver", "pgregory.net/rapid", false},
		{"bench/scratch", "github.com/jackc/pgx/v5/stdlib", true},
		{"bench", "github.com/jackc/pgx/v5/stdlib", false},
		{"demo", module + "/server", true},
		{"cmd/bellman", module + "/server", true},
	}
	for _, tt := range tests {
		if why := forbidden(tt.name, tt.path); (why == "") != tt.may {
			t.Errorf("forbidden(%q, %q) = %q; want allowed: %t", tt.name, tt.path, why, tt.may)
		}
	}
}
