package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/internal/freeport"
	"github.com/bellmanhq/bellman/internal/metrics"
	"github.com/bellmanhq/bellman/server"
)

// serve runs a server on a store, and returns its address and what stops it.
func serve(t *testing.T, store string) (addr string, stop func()) {
	t.Helper()
	c := config.Default()
	c.Listen, c.Store = "127.0.0.1:0", store
	s, err := server.Open(server.Options{Config: c, Version: "v1.2.3", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		s.Close()
	}
	t.Cleanup(stop)
	return s.Addr(), stop
}

func get(t *testing.T, address string) (int, string) {
	t.Helper()
	r, err := http.Get(address)
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err.Error()
	}
	return r.StatusCode, string(text)
}

// everything is a scrape of all that the engine and the sources can have.
func everything() string {
	m := metrics.New("v1.2.3")
	m.Added("q", 1)
	m.Alerted("q", "UNKNOWN")
	m.Committed(1, time.Millisecond)
	m.Watch(metrics.Sources{
		Gauges:    func() figures.Gauges { return figures.Gauges{} },
		Queues:    func() []figures.Queue { return []figures.Queue{{Name: "q"}} },
		Endpoints: func() []figures.Endpoint { return []figures.Endpoint{{Endpoint: "e"}} },
		Sources:   func() []source.Info { return []source.Info{{Name: "s"}} },
		Intake:    func() figures.Intake { return figures.Intake{} },
		Certificates: func() []metrics.Certificate {
			return []metrics.Certificate{{Queue: "q", Name: "app_certificate", NotAfter: time.Unix(1795000000, 0)}}
		},
		Credentials: func() []metrics.Credential {
			return []metrics.Credential{{Name: "accounts.shop.certificate", Left: time.Hour}}
		},
		Merchants: func() ([]figures.MerchantPause, int) { return []figures.MerchantPause{{MerchantNo: "M1"}}, 1 },
		Failing:   func() []figures.FailingMerchant { return []figures.FailingMerchant{{MerchantNo: "M2"}} },
	})
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

var (
	sample = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? `)
	used   = regexp.MustCompile(`\b((?:bellman|process|go)_[a-z_]+)(?:\{([^}]*)\})?`)
	naming = regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)"`)
)

// Rules and dashboard ask for figures that there are, by labels that these have.
func TestFiguresExist(t *testing.T) {
	scraped := everything()
	addr, _ := serve(t, "pebble:"+t.TempDir())
	status, text := get(t, "http://"+addr+"/metrics")
	if status != 200 {
		t.Fatalf("/metrics answered %d: %s", status, text)
	}
	scraped += text
	databases := os.Getenv("BELLMAN_TEST_POSTGRES")
	if databases != "" {
		addr, stop := serve(t, scratchtest.New(t, "postgres").URL)
		_, text := get(t, "http://"+addr+"/metrics")
		scraped += text
		stop()
	}
	have := map[string]string{} // a figure's labels
	for _, m := range sample.FindAllStringSubmatch(scraped, -1) {
		have[m[1]] += m[2] + ","
	}
	asked := shown(t)
	for _, r := range rules(t) {
		asked = append(asked, r.expr)
	}
	n := 0
	for _, expr := range asked {
		for _, m := range used.FindAllStringSubmatch(expr, -1) {
			labels, there := have[m[1]]
			if !there && databases == "" && regexp.MustCompile(`^bellman_(store_(connect|broken|unknown)|hints)`).MatchString(m[1]) {
				continue // of a database
			}
			n++
			if !there {
				t.Errorf("%s asks for %s, which there is not", expr, m[1])
			}
			for _, l := range naming.FindAllStringSubmatch(m[2], -1) {
				if l[1] != "job" && l[1] != "instance" && !strings.Contains(labels, l[1]+`="`) {
					t.Errorf("%s asks for %s by %s, which that has not", expr, m[1], l[1])
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("%d figures were looked at; want all that rules and dashboard ask for", n)
	}
}

// A Prometheus that scrapes a server evaluates every rule and every expression of the dashboard,
// sees the sign of life, and raises an alert when the server is gone.
func TestPrometheus(t *testing.T) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("there is no prometheus")
	}
	bellmanAt, stop := serve(t, "pebble:"+t.TempDir())
	at := freeport.Address(t)
	dir := t.TempDir()
	// A second is a minute, so that nobody waits for the alerts.
	quick := regexp.MustCompile(`for: \d+[mhs]`).ReplaceAllString(read(t, "prometheus/bellman.rules.yaml"), "for: 1s")
	for file, text := range map[string]string{
		"bellman.rules.yaml": quick,
		"prometheus.yaml": fmt.Sprintf("global: {scrape_interval: 500ms, evaluation_interval: 500ms}\nrule_files: [bellman.rules.yaml]\n"+
			"scrape_configs:\n  - {job_name: bellman, static_configs: [{targets: [%q]}]}\n", bellmanAt),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "--config.file="+dir+"/prometheus.yaml", "--storage.tsdb.path="+dir+"/data", "--web.listen-address="+at, "--log.level=warn")
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	query := func(expr string) (result []any, problem string) {
		status, text := get(t, "http://"+at+"/api/v1/query?query="+url.QueryEscape(expr))
		var answer struct {
			Data  struct{ Result []any }
			Error string
		}
		if err := json.Unmarshal([]byte(text), &answer); status != 200 || err != nil {
			return nil, fmt.Sprint(status, " ", text)
		}
		return answer.Data.Result, answer.Error
	}
	some := func(expr string) func() bool {
		return func() bool { r, _ := query(expr); return len(r) > 0 }
	}
	eventually.True(t, "a sign of life that is younger than 10 s", some(`time() - bellman_heartbeat_timestamp_seconds{job="bellman"} < 10`))
	for _, expr := range shown(t) {
		if _, problem := query(expr); problem != "" {
			t.Errorf("%s: %s", expr, problem)
		}
	}
	var groups struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	eventually.True(t, "an evaluation of every rule", func() bool {
		_, text := get(t, "http://"+at+"/api/v1/rules")
		return json.Unmarshal([]byte(text), &groups) == nil && len(groups.Data.Groups) > 0 && !strings.Contains(text, `"health":"unknown"`)
	})
	n := 0
	for _, g := range groups.Data.Groups {
		for _, r := range g.Rules {
			n++
			if r.Health != "ok" {
				t.Errorf("%s: %s: %s", r.Name, r.Health, r.LastError)
			}
		}
	}
	if want := len(rules(t)); n != want {
		t.Errorf("Prometheus has %d rules, want %d", n, want)
	}
	// Before the first scrape BellmanAbsent is right; how full this disk is, is this machine's.
	eventually.True(t, "silent while all is well", func() bool {
		r, problem := query(`ALERTS{alertname!="BellmanDiskFillsUp"}`)
		return problem == "" && len(r) == 0
	})
	stop()
	eventually.True(t, "BellmanDown", some(`ALERTS{alertname="BellmanDown",alertstate="firing"}`))
}
