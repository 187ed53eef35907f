package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const pageOfAlerts = "https://github.com/bellmanhq/bellman/blob/main/docs/alerts.md#"

// A rule is one alert.
type rule struct{ name, expr, severity, runbook, summary, description string }

func rules(t *testing.T) (all []rule) {
	t.Helper()
	text := func(doc any, path ...any) string { s, _ := at(doc, path...).(string); return s }
	for _, group := range documents(t, "prometheus/bellman.rules.yaml")[0]["groups"].([]any) {
		for _, r := range at(group, "rules").([]any) {
			all = append(all, rule{text(r, "alert"), text(r, "expr"), text(r, "labels", "severity"), text(r, "annotations", "runbook_url"),
				text(r, "annotations", "summary"), text(r, "annotations", "description")})
		}
	}
	if len(all) < 20 {
		t.Fatalf("there are %d alerts", len(all))
	}
	return all
}

// Every alert has a paragraph in both languages that says what it means, where to look and what to
// do; a link to that paragraph; and a test of when it fires and when not.
func TestAlertsHavePages(t *testing.T) {
	pages := map[string][]string{
		"../docs/alerts.md":    {"\n- **Means**: ", "\n- **Look at**: ", "\n- **Do**: "},
		"../docs/zh/alerts.md": {"\n- **意思**：", "\n- **看**：", "\n- **做**："},
	}
	tested := read(t, "prometheus/bellman.rules.test.yaml")
	var names []string
	for _, r := range rules(t) {
		names = append(names, r.name)
		if want := pageOfAlerts + strings.ToLower(r.name); r.runbook != want {
			t.Errorf("%s: runbook_url is %q, want %s", r.name, r.runbook, want)
		}
		if r.severity != "page" && r.severity != "ticket" || r.summary == "" || r.description == "" {
			t.Errorf("%s: severity %q, summary %q, description %q", r.name, r.severity, r.summary, r.description)
		}
		for page, parts := range pages {
			_, of, found := strings.Cut(read(t, page), "\n### "+r.name+"\n")
			of, _, _ = strings.Cut(of, "\n#")
			for _, part := range parts {
				if !found || !strings.Contains(of, part) {
					t.Errorf("%s does not say %q of %s", page, strings.TrimSpace(part), r.name)
				}
			}
		}
		if rings, silent := strings.Count(tested, `- labels: 'ALERTS{alertname="`+r.name+`"`), strings.Count(tested, `alertname="`+r.name+`",alertstate="firing"}', exp_samples: []`); rings == 0 || silent == 0 {
			t.Errorf("%s: %d tests that it rings, %d that it does not", r.name, rings, silent)
		}
	}
	for page := range pages {
		for _, m := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(read(t, page), -1) {
			if !slices.Contains(names, m[1]) {
				t.Errorf("%s explains %s, which is no alert", page, m[1])
			}
		}
	}
}

// An expression that combines series keeps the label cluster, as the first lines of the rules
// promise: without it a cluster that is well hides a trouble of another.
func TestAlertsKeepClustersApart(t *testing.T) {
	kept := regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`)
	n := 0
	for _, r := range rules(t) {
		for _, m := range kept.FindAllStringSubmatch(r.expr, -1) {
			n++
			if !slices.Contains(strings.Split(m[1], ", "), "cluster") {
				t.Errorf("%s combines series of several clusters: %s", r.name, m[0])
			}
		}
	}
	if n < 20 {
		t.Errorf("%d groupings were found; want those of all rules", n)
	}
}

// Prometheus's own tool reads the rules and runs their tests.
func TestAlertsRing(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool: Debian has it in the package prometheus")
	}
	for _, args := range [][]string{{"check", "rules", "bellman.rules.yaml"}, {"test", "rules", "bellman.rules.test.yaml"}, {"check", "config", "prometheus.yaml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = "prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, out)
		}
	}
}

// The series of orders that need somebody begins with its first order, which is no increase. The
// dashboard counts that order, and nothing that was counted before its range.
func TestDashboardCountsFirstOrder(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool: Debian has it in the package prometheus")
	}
	all := shown(t) // $__range is 5m
	i := slices.IndexFunc(all, func(expr string) bool { return strings.Contains(expr, "bellman_order_alerts_total") })
	if i < 0 {
		t.Fatal("the dashboard does not show the orders that need somebody")
	}
	text := fmt.Sprintf(`
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'bellman_order_alerts_total{job="bellman",instance="a",queue="wx",order_state="UNKNOWN"}', values: '_x8 1x30'}
    promql_expr_test:
      - {eval_time: 5m, expr: '%[1]s', exp_samples: [{labels: '{}', value: 0}]}
      - {eval_time: 11m, expr: '%[1]s', exp_samples: [{labels: '{}', value: 1}]}
      - {eval_time: 25m, expr: '%[1]s', exp_samples: [{labels: '{}', value: 0}]}
`, all[i])
	file := filepath.Join(t.TempDir(), "dashboard.test.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", all[i], err, out)
	}
}

// shown are the expressions of the dashboard, with its variables filled in.
func shown(t *testing.T) (all []string) {
	t.Helper()
	type target struct{ Expr, RefID string }
	var board struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			Targets []target
		}
		Templating struct {
			List []struct{ Name, Definition string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "grafana/bellman.json")), &board); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d %q is there twice, has no title, or shows nothing", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, one := range p.Targets {
			all = append(all, one.Expr)
		}
	}
	for _, v := range board.Templating.List {
		if q := regexp.MustCompile(`^label_values\((.+), \w+\)$`).FindStringSubmatch(v.Definition); q != nil {
			all = append(all, q[1])
		}
	}
	if len(all) < 30 {
		t.Fatalf("the dashboard has %d expressions", len(all))
	}
	filled := strings.NewReplacer("$job", ".*", "$instance", ".*", "$queue", ".*", "$__rate_interval", "1m", "$__range", "5m")
	for i := range all {
		if all[i] = filled.Replace(all[i]); strings.Contains(all[i], "$") {
			t.Errorf("%s has a variable that the dashboard has not", all[i])
		}
	}
	return all
}
