package main

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	described  = regexp.MustCompile(`(?s)(?:gauge|counter)\("(\w+)", "([^"]*)"([^\n]*)\)|Name:\s+"(\w+)",\s+Help:\s+("[^\n]*?"),(?:\n(?:\t+Buckets:.*?[})],\n)?\t+\}, \[\]string\{([^}]*)\}|\s)`)
	quotes     = regexp.MustCompile(`"\s*\+\s*"`)
	quotedName = regexp.MustCompile(`"\w+"`)
)

func metricsPage(p *sheet) {
	p.heading(1, titles["metrics"])
	p.text("Every node serves its own metrics at /metrics, in Prometheus's format. Beside these there are those of the Go runtime (go_) and of the process (process_).")
	for _, part := range []struct{ title, files, prefix string }{
		{"Engine, queues, endpoints, merchants and brokers", "../../internal/metrics/*.go", "bellman_"},
		{"Nodes", "../../server/figures.go", "bellman_"},
		{"Spans", "../../server/traces.go", "bellman_spans_"},
		{"Embedded store (Pebble)", "../../store/pebble/*.go", "bellman_store_"},
		{"PostgreSQL and MySQL", "../../internal/sqlstore/*.go", "bellman_store_"},
		{"Redis", "../../store/redis/*.go", "bellman_store_"},
	} {
		files, err := filepath.Glob(part.files)
		if err != nil || len(files) == 0 {
			p.t.Fatalf("%s: %v", part.files, err)
		}
		var rows [][]string
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				p.t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, m := range described.FindAllStringSubmatch(string(text), -1) {
				help, err := strconv.Unquote(quotes.ReplaceAllString(cmp.Or(m[5], `"`+m[2]+`"`), ""))
				if err != nil {
					p.t.Errorf("%s: %s", file, m[0])
				}
				name := part.prefix + strings.TrimPrefix(m[1]+m[4], "bellman_")
				kind := "gauge"
				switch before := string(text[:strings.Index(string(text), m[0])]); {
				case strings.HasSuffix(name, "_total"):
					kind = "counter"
				case strings.LastIndex(before, "HistogramOpts{") > max(strings.LastIndex(before, "CounterOpts{"), strings.LastIndex(before, "GaugeOpts{")):
					kind = "histogram"
				}
				labels := strings.ReplaceAll(strings.Join(quotedName.FindAllString(m[3]+m[6], -1), ", "), `"`, "")
				rows = append(rows, []string{tick(name), kind, labels, p.w(help)})
			}
		}
		slices.SortFunc(rows, slices.Compare)
		p.heading(2, part.title)
		p.table("Metric, Type, Labels, Meaning", rows)
	}
}
