package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/brokers"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/states"
	"github.com/bellmanhq/bellman/rule"
	"github.com/bellmanhq/bellman/schedule"
)

// The pages of docs/reference are what the code says, in both languages. With -update they are written anew.
func TestReference(t *testing.T) {
	chinese := map[string]string{}
	text, err := os.ReadFile("testdata/reference_zh.json")
	if err == nil {
		err = json.Unmarshal(text, &chinese)
	}
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for name, write := range map[string]func(*sheet){"README": indexPage, "configuration": configurationPage, "api": apiPage, "cli": cliPage,
		"metrics": metricsPage, "schedules": schedulesPage, "presets": presetsPage} {
		for _, words := range []map[string]string{nil, chinese} {
			p := &sheet{t: t, words: words, used: used}
			write(p)
			file, link := "../../docs/reference/"+name+".md", "[中文](../zh/reference/"+name+".md)"
			if words != nil {
				file, link = "../../docs/zh/reference/"+name+".md", "[English](../../reference/"+name+".md)"
			}
			title, rest, _ := strings.Cut(p.String(), "\n")
			want := title + "\n\n" + link + "\n" + rest
			if *update {
				if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if have, err := os.ReadFile(file); err != nil || string(have) != want {
				t.Errorf("%s is not what the code says (%v): go test ./cmd/bellman -run Reference -update", file, err)
			}
		}
	}
	for text := range chinese {
		if !used[text] {
			t.Errorf("testdata/reference_zh.json translates %q, which no page says", text)
		}
	}
}

// A sheet is written in one language.
type sheet struct {
	strings.Builder
	t     *testing.T
	words map[string]string // the Chinese of English texts; nil: the page is English
	used  map[string]bool   // texts that were translated
}

// w returns a text in the page's language.
func (p *sheet) w(text string) string {
	p.used[text] = true
	if p.words == nil || text == "" {
		return text
	}
	if p.words[text] == "" {
		p.t.Errorf("testdata/reference_zh.json does not translate %q", text)
	}
	return p.words[text]
}

func (p *sheet) heading(level int, text string) {
	fmt.Fprintf(p, "%s %s\n\n", strings.Repeat("#", level), p.w(text))
}

func (p *sheet) text(text string) { p.WriteString(p.w(text) + "\n\n") }

func (p *sheet) code(text string) { fmt.Fprintf(p, "```\n%s\n```\n\n", strings.Trim(text, "\n")) }

// table writes rows under the names of their columns; nothing if there is no row.
func (p *sheet) table(columns string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	names := strings.Split(columns, ", ")
	for i, name := range names {
		names[i] = p.w(name)
	}
	for _, row := range slices.Concat([][]string{names, slices.Repeat([]string{"---"}, len(names))}, rows) {
		for i, cell := range row {
			row[i] = strings.ReplaceAll(strings.Join(strings.Fields(cell), " "), "|", "\\|")
		}
		p.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	p.WriteString("\n")
}

// tick is text as code; empty stays empty.
func tick(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func indexPage(p *sheet) {
	p.heading(1, "Reference")
	p.text("These pages are generated from the code, and a test compares them with it.")
	for _, name := range []string{"configuration", "api", "cli", "metrics", "schedules", "presets"} {
		fmt.Fprintf(p, "- [%s](%s.md)\n", p.w(titles[name]), name)
	}
}

var titles = map[string]string{"configuration": "Configuration", "api": "HTTP API", "cli": "Command line", "metrics": "Metrics",
	"schedules": "Schedules", "presets": "Presets of answers, signatures and trade states"}

// A section of the configuration is a mapping whose fields are read by one table.
type section struct {
	title, yaml string   // yaml has % where a field stands
	in          []string // where full.yaml has the section's fields
	zero        any      // its defaults
}

func configurationPage(p *sheet) {
	order := config.DefaultOrderQueue("q")
	sections := []section{
		{"Server", "%", []string{""}, *config.Default()},
		{"keys: keys of the API", "keys: [{%}]", []string{"keys."}, nil},
		{"queues: a queue of notifications", "queues: {q: {%}}", []string{"queues.merchant-notify.", "queues.told."}, config.DefaultQueue("q")},
		{"queues: a queue of orders", "queues: {q: {kind: order, %}}", []string{"queues.orders.", "queues.wechat."}, order},
		{"queues: a queue of refunds and transfers", "queues: {q: {kind: poll, %}}", []string{"queues.refunds.", "queues.wechat-transfers.", "queues.told."}, config.DefaultPollQueue("q")},
		{"queues.NAME.sign", "queues: {q: {sign: {%}}}", []string{"queues.merchant-notify.sign.", "queues.told.sign.", "queues.slow.sign."}, nil},
		{"queues.NAME.sign.params", "queues: {q: {sign: {params: {%}}}}", []string{"queues.told.sign.params."}, nil},
		{"queues.NAME.query, close, reverse and request", "queues: {q: {kind: order, query: {%}}}", []string{"queues.orders.query."}, nil},
		{"queues.NAME.then", "queues: {q: {kind: order, then: {%}}}", []string{"queues.orders.then."}, nil},
		{"queues.NAME.then.DECISION", "queues: {q: {kind: order, then: {PAID: {%}}}}", []string{"queues.orders.then.duplicate_payment.", "queues.orders.then.late_payment."}, nil},
		{"queues.NAME.then.template", "queues: {q: {kind: order, then: {template: {%}}}}", []string{"queues.orders.then.duplicate_payment.template."}, nil},
		{"queues.NAME.channel: WeChat Pay", "queues: {q: {kind: poll, channel: {kind: wechatpay, %}}}", []string{"queues.wechat.channel.", "queues.wechat-transfers.channel."}, nil},
		{"queues.NAME.channel: Alipay", "queues: {q: {kind: poll, channel: {kind: alipay, %}}}", []string{"queues.alipay.channel.", "queues.wechat-transfers.channel."}, nil},
		{"connections: brokers", "connections: {c: {%}}", []string{"connections.main.", "connections.bus."}, nil},
		{"sources: messages that become tasks", "sources: [{%}]", []string{"sources."}, nil},
		{"sources[].bind", "sources: [{bind: [{%}]}]", []string{"sources.bind."}, nil},
		{"alarms: conditions and who is told", "alarms: [{%}]", []string{"alarms."}, nil},
	}
	comments := commentsOf(p.t, "../../internal/config/testdata/full.yaml")
	change, err := os.ReadFile("../../internal/config/change.go")
	if err != nil {
		p.t.Fatal(err)
	}
	flags := serveCommand().Flags()
	p.heading(1, titles["configuration"])
	p.text("Precedence: command-line flag, then environment variable, then file, then default.")
	p.text("A setting with \"SIGHUP: yes\" is read again on SIGHUP. All others need a restart, and the log names those that changed.")
	p.text("Fields of queues, keys, connections, sources and alarms stand in the file only. An empty cell means: no default, or no limit but the type.")
	for _, s := range sections {
		p.heading(2, s.title)
		var rows [][]string
		var fields func(group string)
		fields = func(group string) {
			_, want, _ := strings.Cut(problem(s.yaml, group+"zzzzzzzzzzzzzzzzzzz", "1"), "unknown field: want ")
			for _, name := range strings.Split(strings.ReplaceAll(want, " or ", ", "), ", ") {
				name = group + name
				if strings.Contains(problem(s.yaml, name+".zzzzzzzzzzzzzzzzzzz", "1"), "zzz: unknown field: want ") && s.zero != nil && !slices.Contains(apart, name) {
					fields(name + ".")
					continue
				}
				says := ""
				for _, in := range s.in {
					says = cmp.Or(says, comments[in+name])
				}
				_, values, _ := strings.Cut(problem(s.yaml, name, `"\x01?"`), ": want ")
				if values == "it once" { // the section's own line has the kind of channel
					values = "wechatpay, alipay or program"
				}
				if strings.HasPrefix(values, brokers.Kinds[0].Server) {
					values = servers() // a list of forms needs no translation
				} else {
					values = p.w(values)
				}
				if s.zero != nil || name == "when" {
					values = cmp.Or(elsewhere[name], values)
				}
				row := []string{tick(name), p.w(says), values, tick(defaultOf(reflect.ValueOf(s.zero), name))}
				if s.yaml == "%" {
					variable, flag := "", ""
					if top := config.Default().Set(name, ""); top == nil || !strings.Contains(top.Error(), "unknown setting") {
						variable = "BELLMAN_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
					}
					if flags.Lookup(name) != nil {
						flag = "--" + name
					}
					row = append(row, strings.TrimSpace(tick(variable)+" "+tick(flag)), p.w(map[bool]string{true: "no", false: "yes"}[strings.Contains(string(change), `{"`+name+`", `)]))
				}
				rows = append(rows, row)
			}
		}
		fields("")
		columns := "Field, Meaning, Values, Default"
		if s.yaml == "%" {
			columns = "Field, Meaning, Values, Default, Variable, SIGHUP"
		}
		p.table(columns, rows)
	}
	p.heading(2, "A file with every setting")
	full, err := os.ReadFile("../../internal/config/testdata/full.yaml")
	if err != nil {
		p.t.Fatal(err)
	}
	fmt.Fprintf(p, "```yaml\n%s```\n", full)
}

// servers lists the forms of the URLs of brokers.
func servers() string {
	var all []string
	for _, kind := range brokers.Kinds {
		all = append(all, tick(kind.Server))
	}
	return strings.Join(all, ", ")
}

// apart are the fields that have a section of their own.
var apart = []string{"sign", "then", "query", "close", "reverse", "request"}

// elsewhere are the fields whose values another page lists.
var elsewhere = map[string]string{"kind": "`notify`, `order`, `poll`", "schedule": "[schedules.md](schedules.md)", "confirm": "[schedules.md](schedules.md)",
	"success": "[presets.md](presets.md)", "states": "[presets.md](presets.md)", "close_states": "[presets.md](presets.md)",
	"then": "`then`", "when": "[alarms.md](../alarms.md)"}

// problem returns what is said of a section in which a field has a value.
func problem(yaml, name, value string) string {
	groups := strings.Split(name, ".")
	field := groups[len(groups)-1] + ": " + value
	for _, group := range slices.Backward(groups[:len(groups)-1]) {
		field = group + ": {" + field + "}"
	}
	_, err := config.Parse([]byte(strings.Replace(yaml, "%", field, 1)))
	var all config.Problems
	if errors.As(err, &all) {
		for _, one := range all {
			if one.Field == name || strings.HasSuffix(one.Field, "."+name) {
				return one.Field + ": " + one.Text
			}
		}
	}
	return ""
}

// defaultOf returns the value that a field has by default, as it is written in the file.
func defaultOf(in reflect.Value, name string) string {
	if !in.IsValid() {
		return ""
	}
	first, rest, deeper := strings.Cut(name, ".")
	f := in.FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, strings.ReplaceAll(first, "_", "")) })
	if !f.IsValid() {
		if f = in.FieldByName("Order"); f.IsValid() && !deeper {
			return defaultOf(f, name)
		}
		return ""
	}
	if deeper {
		return defaultOf(f, rest)
	}
	switch v := f.Interface().(type) {
	case time.Duration:
		if v != 0 {
			return schedule.FormatDuration(v)
		}
	case slog.Level:
		return strings.ToLower(v.String())
	case string, bool:
		return fmt.Sprint(v)
	case int64:
		return fmt.Sprintf("%dMiB", v>>20)
	case int, float64:
		if !f.IsZero() {
			return fmt.Sprint(v)
		}
	}
	return ""
}

var yamlLine = regexp.MustCompile(`^( *)(- )?("?[\w.-]+"?):(?: |$)(.*)`)

// commentsOf returns the comments of a YAML file, by the path of what each stands beside. Elements of a list have the list's path.
func commentsOf(t *testing.T, file string) map[string]string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, path, indents := map[string]string{}, []string{}, []int{}
	for line := range strings.Lines(string(text)) {
		m := yamlLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		indent := len(m[1]) + len(m[2])
		for len(indents) > 0 && indents[len(indents)-1] >= indent {
			path, indents = path[:len(path)-1], indents[:len(indents)-1]
		}
		path, indents = append(path, m[3]), append(indents, indent)
		if _, comment, found := strings.Cut(m[4], "# "); found {
			name := strings.Join(path, ".")
			all[name] = cmp.Or(all[name], comment)
		}
	}
	return all
}

// A schema is as much of JSON Schema as the document of the API uses.
type schema struct {
	Ref         string            `json:"$ref"`
	Type        any               `json:"type"`
	Description string            `json:"description"`
	Enum        []any             `json:"enum"`
	Default     any               `json:"default"`
	Minimum     *float64          `json:"minimum"`
	Maximum     *float64          `json:"maximum"`
	MaxLength   int               `json:"maxLength"`
	Format      string            `json:"format"`
	Items       *schema           `json:"items"`
	Properties  map[string]schema `json:"properties"`
	Required    []string          `json:"required"`
}

// shape returns what values a schema has, in a few words, and links those that are described apart.
func (s schema) shape() string {
	if name := strings.TrimPrefix(s.Ref, "#/components/schemas/"); name != "" {
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	}
	var parts []string
	if s.Type != nil {
		parts = append(parts, fmt.Sprint(s.Type))
	}
	if s.Items != nil {
		parts = []string{"array of " + s.Items.shape()}
	}
	if len(s.Enum) > 0 {
		parts = nil
		for _, v := range s.Enum {
			parts = append(parts, tick(fmt.Sprint(v)))
		}
	}
	if s.Format == "date-time" {
		parts = append(parts, "RFC 3339")
	}
	if s.Minimum != nil && s.Maximum != nil {
		parts = append(parts, fmt.Sprintf("%v–%v", *s.Minimum, *s.Maximum))
	}
	if s.MaxLength > 0 {
		parts = append(parts, fmt.Sprintf("≤ %d", s.MaxLength))
	}
	if s.Default != nil {
		parts = append(parts, fmt.Sprintf("default %v", s.Default))
	}
	return strings.Join(parts, ", ")
}

func apiPage(p *sheet) {
	type media map[string]struct{ Schema schema }
	var doc struct {
		Info  struct{ Description string }
		Paths map[string]map[string]struct {
			Summary, Description string
			Parameters           []struct {
				Name, In, Description string
				Required              bool
				Schema                schema
			}
			RequestBody *struct{ Content media }
			Responses   map[string]struct {
				Description string
				Content     media
			}
		}
		Components struct{ Schemas map[string]schema }
	}
	text, err := os.ReadFile("../../clients/openapi.json")
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	of := func(m media) (all string) {
		for _, kind := range slices.Sorted(maps.Keys(m)) {
			all = cmp.Or(m[kind].Schema.shape(), kind)
		}
		return all
	}
	p.heading(1, titles["api"])
	p.text(doc.Info.Description)
	p.text("Every refusal is application/problem+json: see Problem below. The same document for generators is at `/openapi.json`.")
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			o := doc.Paths[path][method]
			fmt.Fprintf(p, "## %s %s\n\n", strings.ToUpper(method), path)
			p.text(o.Summary)
			if o.Description != "" {
				p.text(o.Description)
			}
			var rows [][]string
			for _, a := range o.Parameters {
				rows = append(rows, []string{tick(a.Name), p.w(a.In), a.Schema.shape(), p.w(a.Description)})
			}
			if o.RequestBody != nil {
				rows = append(rows, []string{"", p.w("body"), of(o.RequestBody.Content), ""})
			}
			p.table("Name, In, Values, Meaning", rows)
			rows = nil
			for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
				if status == "default" { // a Problem, as the top of the page says
					continue
				}
				rows = append(rows, []string{status, of(o.Responses[status].Content), p.w(o.Responses[status].Description)})
			}
			p.table("Status, Body, Meaning", rows)
		}
	}
	p.heading(2, "Bodies")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		s := doc.Components.Schemas[name]
		fmt.Fprintf(p, "### %s\n\n", name)
		var rows [][]string
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			f := s.Properties[field]
			must := ""
			if slices.Contains(s.Required, field) {
				must = p.w("yes")
			}
			rows = append(rows, []string{tick(field), must, f.shape(), p.w(f.Description)})
		}
		p.table("Field, Always, Values, Meaning", rows)
	}
}

func cliPage(p *sheet) {
	p.heading(1, titles["cli"])
	p.text("Exit status: 0 done, 1 failed, 2 wrong usage or configuration.")
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			return
		}
		if c.HasParent() {
			fmt.Fprintf(p, "## %s\n\n", c.CommandPath())
			p.text(c.Short + ".")
		}
		if c.Runnable() {
			p.code(c.UseLine())
		}
		if c.HasParent() && c.Long != "" {
			p.code(c.Long)
		}
		if c.Example != "" {
			p.text("Examples:")
			p.code(c.Example)
		}
		var rows [][]string
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			name, usage := pflag.UnquoteUsage(f)
			value := f.DefValue
			if value == "false" || value == "[]" || value == "0s" && strings.Contains(usage, "default") {
				value = ""
			}
			rows = append(rows, []string{tick(strings.TrimSpace("--" + f.Name + " " + name)), tick(value), p.w(usage)})
		})
		p.table("Flag, Default, Meaning", rows)
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(rootCommand())
}

var (
	described = regexp.MustCompile(`(?s)gauge\("(\w+)", "([^"]*)"((?:, "\w+")*)\)|Name:\s+"(\w+)",\s+Help:\s+("[^\n]*?"),(?:\n(?:\t+Buckets:.*?[})],\n)?\t+\}, \[\]string\{([^}]*)\}|\s)`)
	quotes    = regexp.MustCompile(`"\s*\+\s*"`)
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
				labels := strings.ReplaceAll(strings.TrimPrefix(m[3]+m[6], ", "), `"`, "")
				rows = append(rows, []string{tick(name), kind, labels, p.w(help)})
			}
		}
		slices.SortFunc(rows, slices.Compare)
		p.heading(2, part.title)
		p.table("Metric, Type, Labels, Meaning", rows)
	}
}

var grammar = regexp.MustCompile(`(?s)A schedule lists.*# Canonical text`)

func schedulesPage(p *sheet) {
	p.heading(1, titles["schedules"])
	p.text("A schedule is a preset's name or a list of delays. `bellman schedule NAME-OR-TEXT` prints the times of its attempts.")
	text, err := os.ReadFile("../../schedule/doc.go")
	if err != nil {
		p.t.Fatal(err)
	}
	doc := regexp.MustCompile(`(?m)^// ?`).ReplaceAllString(grammar.FindString(string(text)), "")
	doc = strings.TrimSuffix(doc, "# Canonical text")
	for _, part := range strings.Split(strings.TrimSpace(doc), "\n\n") {
		switch {
		case strings.HasPrefix(part, "# "):
			p.heading(2, part[2:])
		case strings.HasPrefix(part, "\t"):
			p.code(strings.ReplaceAll(strings.ReplaceAll(part[1:], "\n\t", "\n"), ", see [Presets]", ""))
		default:
			p.text(strings.Join(strings.Fields(strings.ReplaceAll(part, "[Schedule.String]", "`bellman schedule`")), " "))
		}
	}
	for _, kind := range []struct {
		kind  schedule.Kind
		title string
	}{{schedule.Notify, "Presets for notifications"}, {schedule.Poll, "Presets for querying orders"}, {schedule.Close, "Presets for closing orders"}} {
		p.heading(2, kind.title)
		var rows [][]string
		for _, one := range schedule.Presets() {
			if one.Kind != kind.kind {
				continue
			}
			s, err := schedule.Parse(one.Name)
			if err != nil {
				p.t.Fatal(err)
			}
			attempts, total := p.w("no end"), schedule.FormatDuration(s.MaxAge())
			if n, finite := s.Attempts(); finite {
				attempts = strconv.Itoa(n)
			}
			if d, finite := s.Total(); finite {
				total = schedule.FormatDuration(d)
			}
			if total == "0s" {
				total = ""
			}
			rows = append(rows, []string{tick(one.Name), tick(one.Text), attempts, total, tick(one.OnExhausted), p.w(strings.ReplaceAll(one.Note, "_like;", "`_like`;")), one.Source})
		}
		p.table("Name, Delays, Attempts, Last after, on_exhausted, Note, Source", rows)
	}
}

func presetsPage(p *sheet) {
	p.heading(1, titles["presets"])
	p.heading(2, "Answers that accept a notification (success)")
	var rows [][]string
	for _, one := range rule.Presets() {
		rows = append(rows, []string{tick(one.Name), p.w(one.Accepts), p.w(one.Warning), one.Source})
	}
	p.table("Name, Accepts, Warning, Source", rows)
	p.heading(2, "Signatures (sign.scheme)")
	text, err := os.ReadFile("../../deliver/sign/sign.go")
	if err != nil {
		p.t.Fatal(err)
	}
	rows = nil
	for _, name := range sign.Schemes() {
		m := regexp.MustCompile(`= "` + name + `"\s+// (.*)`).FindStringSubmatch(string(text))
		if m == nil {
			p.t.Fatalf("deliver/sign does not describe %s", name)
		}
		rows = append(rows, []string{tick(name), p.w(m[1])})
	}
	p.table("Name, Meaning", rows)
	p.heading(2, "Trade states (states, close_states)")
	rows = nil
	for _, one := range states.Presets() {
		rows = append(rows, []string{tick(one.Name), one.Source})
	}
	p.table("Name, Source", rows)
	p.heading(3, "What a state means")
	p.text("A value that is not here reads QUERY_ERROR: the order stays undecided and is queried again.")
	rows = nil
	for _, probe := range []struct{ preset, body, values string }{
		{"wechat_v2", `<xml><return_code>SUCCESS</return_code><result_code>SUCCESS</result_code><trade_state>%s</trade_state></xml>`, "SUCCESS REFUND NOTPAY USERPAYING ACCEPT CLOSED REVOKED PAYERROR"},
		{"wechat_v3", `{"trade_state":"%s"}`, "SUCCESS REFUND NOTPAY USERPAYING ACCEPT CLOSED REVOKED PAYERROR"},
		{"alipay", `{"code":"10000","trade_status":"%s"}`, "TRADE_SUCCESS TRADE_FINISHED WAIT_BUYER_PAY TRADE_CLOSED"},
		{"stripe", `{"object":"payment_intent","status":"%s"}`, "succeeded processing requires_action requires_confirmation requires_payment_method requires_capture canceled"},
		{"hyperswitch", `{"status":"%s"}`, "succeeded failed cancelled processing requires_customer_action requires_payment_method requires_confirmation requires_capture"},
	} {
		q, err := states.CompileQuery(probe.preset)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, value := range strings.Fields(probe.values) {
			a := q.Read(order.Answer{Status: 200, Body: fmt.Appendf(nil, probe.body, value)}, time.Hour)
			rows = append(rows, []string{tick(probe.preset), tick(value), tick(fmt.Sprint(a.Reading))})
		}
	}
	p.table("Preset, State at the channel, Reading", rows)
	p.heading(2, "Refunds, transfers and profit sharings (states of a queue of kind poll)")
	rows = nil
	for _, one := range states.PollPresets() {
		rows = append(rows, []string{tick(one.Name), one.Source})
	}
	p.table("Name, Source", rows)
	p.heading(3, "What a state of a refund or transfer means")
	p.text("A value that is not here reads QUERY_ERROR: nothing is decided, and it is queried again.")
	rows = nil
	for _, probe := range []struct{ preset, body, values string }{
		{"wechat_refund", `{"status":"%s"}`, "SUCCESS CLOSED ABNORMAL PROCESSING"},
		{"wechat_transfer", `{"state":"%s"}`, "SUCCESS FAIL CANCELLED ACCEPTED PROCESSING WAIT_USER_CONFIRM TRANSFERING CANCELING"},
		{"wechat_profitsharing", `{"state":"FINISHED","receivers":[{"result":"%s"}]}`, "SUCCESS CLOSED"},
		{"wechat_profitsharing", `{"state":"%s"}`, "PROCESSING"},
		{"alipay_refund", `{"code":"10000","refund_amount":"1","refund_status":"%s"}`, "REFUND_SUCCESS"},
		{"alipay_transfer", `{"code":"10000","status":"%s"}`, "SUCCESS FAIL CLOSED REFUND DEALING INIT UNKNOWN WAIT_PAY"},
		{"stripe_refund", `{"object":"refund","status":"%s"}`, "succeeded failed canceled pending requires_action"},
		{"adyen_refund", `{"eventCode":"REFUND","success":"%s"}`, "true false"},
		{"adyen_refund", `{"eventCode":"%s"}`, "REFUND_FAILED REFUNDED_REVERSED"},
		{"adyen_refund", `{"status":"%s"}`, "received"},
		{"antom_refund", `{"result":{"resultStatus":"S"},"refundStatus":"%s"}`, "SUCCESS FAIL PROCESSING"},
	} {
		q, err := states.CompilePoll(probe.preset)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, value := range strings.Fields(probe.values) {
			a := q.Read(order.Answer{Status: 200, Body: fmt.Appendf(nil, probe.body, value)})
			rows = append(rows, []string{tick(probe.preset), tick(value), tick(fmt.Sprint(a.Reading))})
		}
	}
	p.table("Preset, State at the channel, Reading", rows)
}
