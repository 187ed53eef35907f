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

// A layer is a group of packages. A pattern that ends in /... stands for a folder and everything
// below it. A package belongs to the first layer with a matching pattern. It may import packages of
// the layers in imports, and those of its own layer only if imports names it.
type layer struct {
	name     string
	packages []string
	imports  []string
}

// Three rules: leaves and stores import no other part; the engine imports the stores' contract, the
// schedules and the root; features do not import faces. Tests may import anything.
var layers = []layer{
	{"root", []string{""}, nil},
	{"leaf", []string{"schedule", "rule", "deliver/sign", "engine/internal/clock", "engine/internal/dispatch", "engine/internal/locks",
		"internal/coded", "internal/flatxml", "internal/memo", "internal/money", "internal/sleep", "internal/nearest", "internal/access"}, []string{"leaf"}},
	{"contract", []string{"store", "client", "engine/figures", "internal/pack"}, []string{"root", "leaf", "contract"}},
	{"sql", []string{"internal/sqlstore"}, []string{"root", "leaf", "contract", "sql"}},
	{"suite", []string{"internal/eventually", "internal/freeport", "internal/invalidtest", "internal/keytest", "internal/sqlstore/sqltest", "internal/brokers/source/sourcetest", "store/storetest"},
		[]string{"root", "leaf", "contract", "sql", "engine", "suite"}},
	{"store", []string{"store/..."}, []string{"root", "leaf", "contract", "sql"}},
	{"engine", []string{"engine", "engine/internal/cluster", "engine/internal/commit", "internal/agendacheck"}, []string{"root", "leaf", "contract", "engine"}},
	{"handler", []string{"deliver/...", "order/...", "internal/cause", "internal/field"}, []string{"root", "leaf", "contract", "handler"}},
	{"face", []string{"internal/api", "internal/console"},
		[]string{"root", "leaf", "contract", "engine", "handler", "feature"}},
	{"server", []string{"server"},
		[]string{"root", "leaf", "contract", "sql", "store", "engine", "handler", "feature", "face"}},
	{"program", []string{"cmd/...", "examples/...", "clients/...", "deploy/...", "internal/bench/...", "internal/demo", "internal/site"},
		[]string{"root", "leaf", "contract", "store", "engine", "handler", "feature", "face", "server", "program"}},
	{"feature", []string{"internal/..."}, []string{"root", "leaf", "contract", "engine", "handler", "feature"}},
}

// layerOf returns the layer of a package, or nil.
func layerOf(name string) *layer {
	for i := range layers {
		for _, p := range layers[i].packages {
			folder, below := strings.CutSuffix(p, "/...")
			if name == folder || below && strings.HasPrefix(name, folder+"/") {
				return &layers[i]
			}
		}
	}
	return nil
}

// standardOnly are the packages without any dependency.
var standardOnly = []string{"", "engine/internal/dispatch", "deliver/sign", "internal/cause", "internal/field", "client", "store/memory", "internal/sqlstore", "internal/access", "internal/pack", "internal/coded", "internal/memo", "internal/money", "internal/sleep", "internal/nearest"}

// homes says which packages may import a library. All others use it through these, so that
// replacing a library touches one package.
var homes = map[string]string{
	"cel.dev/cel-go":               "rule",
	"github.com/adhocore/gronx":    "schedule",
	"github.com/chromedp":          "a test",
	"github.com/cockroachdb":       "store/pebble",
	"github.com/danielgtaylor":     "internal/api",
	"github.com/goccy":             "internal/config",
	"github.com/go-sql-driver":     "store/mysql",
	"github.com/jackc":             "store/postgres",
	"github.com/nats-io":           "internal/brokers/nats",
	"github.com/prometheus":        "internal/metrics",
	"github.com/yuin":              "internal/site",
	"github.com/rabbitmq":          "internal/brokers/rabbitmq",
	"github.com/redis":             "store/redis",
	"github.com/hibiken":           "internal/bench/peers",
	"github.com/riverqueue":        "internal/bench/peers",
	"github.com/spf13":             "cmd/bellman",
	"go.opentelemetry.io":          "internal/tracing",
	"golang.org/x/text":            "internal/bill",
	"github.com/HdrHistogram":      "internal/bench",
	"github.com/standard-webhooks": "a test",
	"pgregory.net/rapid":           "a test",
	"go.uber.org/goleak":           "a test",

	"github.com/go-json-experiment": "internal/api",
}

// guests may import a library besides its home, because they observe from outside what it does.
var guests = map[string][]string{
	"internal/bench/scratch":  {"github.com/jackc", "github.com/go-sql-driver", "github.com/redis", "github.com/prometheus"},
	"internal/bench/peers":    {"github.com/redis", "github.com/jackc"},
	"internal/importer":       {"github.com/go-sql-driver"},
	"cmd/bellman":             {"golang.org/x/text"},
	"internal/bench":          {"github.com/prometheus"},
	"internal/brokers/source": {"github.com/go-json-experiment"},
	"order/internal/wire":     {"github.com/go-json-experiment"},

	"examples/order-service":   {"github.com/jackc"},
	"order/alipay":             {"golang.org/x/text"},
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
			return nil // only tests, or no code
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(dir), ".")
		if layerOf(name) == nil {
			t.Errorf("package %s is in no layer: add it to layers", name)
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
		t.Error("no package was checked")
	}
}

// forbidden returns why a package may not import a path, or an empty text if it may.
func forbidden(name, path string) string {
	if path == module || strings.HasPrefix(path, module+"/") {
		other := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
		if strings.HasPrefix(name, "examples/") && strings.Contains(other, "internal") {
			return "a program of another module could not"
		}
		of, to := layerOf(name), layerOf(other)
		if of == nil || to == nil || !slices.Contains(of.imports, to.name) {
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
		{"examples/wallet-channel", module + "/server", true},
		{"examples/wallet-channel", module + "/internal/config", false},
		{"", "time", true},
		{"", "golang.org/x/sync/errgroup", false},
		{"", module + "/engine", false},
		{"engine/internal/dispatch", "math/bits", true},
		{"engine/internal/dispatch", module, false},
		{"engine/internal/dispatch", "github.com/google/uuid", false},
		{"rule", "cel.dev/cel-go/cel", true},
		{"schedule", "cel.dev/cel-go/cel", false},
		{"store/pebble", module, true},
		{"store/pebble", module + "/engine", false},
		{"store/pebble", module + "/store/memory", false},
		{"store/postgres", module + "/internal/sqlstore", true},
		{"store/postgres", "github.com/jackc/pgx/v5", true},
		{"internal/sqlstore", "github.com/jackc/pgx/v5", false},
		{"store/postgres", "github.com/go-sql-driver/mysql", false},
		{"engine", module + "/store/postgres", false},
		{"store/mysql", module + "/store/postgres", false},
		{"internal/api", module + "/client", true},
		{"internal/api", module + "/internal/console", false},
		{"internal/api", module + "/store/pebble", false},
		{"internal/resend", module + "/internal/api", false},
		{"internal/resend", module + "/engine", true},
		{"client", module + "/internal/api", false},
		{"engine", module + "/deliver", false},
		{"engine", "github.com/cockroachdb/pebble/v2", false},
		{"engine", "golang.org/x/sync/errgroup", true},
		{"deliver", module + "/server", false},
		{"deliver", "pgregory.net/rapid", false},
		{"internal/bench/scratch", "github.com/jackc/pgx/v5/stdlib", true},
		{"internal/bench", "github.com/jackc/pgx/v5/stdlib", false},
		{"internal/demo", module + "/server", true},
		{"cmd/bellman", module + "/server", true},
	}
	for _, tt := range tests {
		if why := forbidden(tt.name, tt.path); (why == "") != tt.may {
			t.Errorf("forbidden(%q, %q) = %q; want allowed: %t", tt.name, tt.path, why, tt.may)
		}
	}
}
