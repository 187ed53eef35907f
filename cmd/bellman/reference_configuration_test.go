package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/brokers"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/schedule"
)

// A section of the configuration is a mapping whose fields are read by one table.
type section struct {
	title, yaml string   // YAML of the section with % in place of a field
	in          []string // paths of the section's fields in full.yaml
	zero        any      // a struct with the defaults
}

func configurationPage(p *sheet) {
	order := config.DefaultOrderQueue("q")
	sections := []section{
		{"Server", "%", []string{""}, *config.Default()},
		{"keys: keys of the API", "keys: [{%}]", []string{"keys."}, nil},
		{"queues: a queue of notifications", "queues: {q: {%}}", []string{"queues.merchant-notify.", "queues.told."}, config.DefaultQueue("q")},
		{"queues: a queue of orders", "queues: {q: {kind: order, %}}", []string{"queues.orders.", "queues.wechat.", "queues.alipay.", "queues.shops.", "queues.merchant-notify."}, order},
		{"queues: a queue of refunds and transfers", "queues: {q: {kind: poll, %}}", []string{"queues.refunds.", "queues.wechat-transfers.", "queues.wechat.", "queues.merchant-notify."}, config.DefaultPollQueue("q")},
		{"queues.NAME.sign", "queues: {q: {sign: {%}}}", []string{"queues.merchant-notify.sign.", "queues.told.sign.", "queues.slow.sign."}, nil},
		{"queues.NAME.sign.params", "queues: {q: {sign: {params: {%}}}}", []string{"queues.told.sign.params."}, nil},
		{"queues.NAME.query, close, reverse and request", "queues: {q: {kind: order, query: {%}}}", []string{"queues.orders.query."}, nil},
		{"queues.NAME.then", "queues: {q: {kind: order, then: {%}}}", []string{"queues.orders.then."}, nil},
		{"queues.NAME.then of a queue of refunds and transfers", "queues: {q: {kind: poll, then: {%}}}", []string{"queues.refunds.then.", "queues.orders.then."}, nil},
		{"queues.NAME.then.DECISION", "queues: {q: {kind: order, then: {PAID: {%}}}}", []string{"queues.orders.then.duplicate_payment.", "queues.orders.then.late_payment."}, nil},
		{"queues.NAME.then.template", "queues: {q: {kind: order, then: {template: {%}}}}", []string{"queues.orders.then.duplicate_payment.template."}, nil},
		{"queues.NAME.channel: WeChat Pay", "queues: {q: {kind: poll, channel: {kind: wechatpay, %}}}", []string{"queues.wechat.channel.", "queues.wechat-transfers.channel."}, nil},
		{"queues.NAME.channel: Alipay", "queues: {q: {kind: poll, channel: {kind: alipay, %}}}", []string{"queues.alipay.channel.", "queues.wechat-transfers.channel."}, nil},
		{"queues.NAME.channel: WeChat Pay v2", "queues: {q: {kind: poll, channel: {kind: wechatpay_v2, %}}}", []string{"queues.wechat-v2.channel.", "queues.wechat-transfers.channel."}, nil},
		{"queues.NAME.channel: UnionPay", "queues: {q: {kind: poll, channel: {kind: unionpay, %}}}", []string{"queues.unionpay.channel.", "queues.wechat-transfers.channel."}, nil},
		{"queues.NAME.channel: Stripe", "queues: {q: {kind: poll, channel: {kind: stripe, %}}}", []string{"queues.stripe.channel.", "queues.wechat-transfers.channel."}, nil},
		{"queues.NAME.channel: Antom", "queues: {q: {kind: poll, channel: {kind: antom, %}}}", []string{"queues.antom.channel.", "queues.wechat-transfers.channel."}, nil},
		{"queues.NAME.channel: a registered account", "queues: {q: {kind: poll, channel: {account: a, %}}}", []string{"queues.shops.channel.", "queues.wechat-transfers.channel."}, nil},
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
			for name := range strings.SplitSeq(strings.ReplaceAll(want, " or ", ", "), ", ") {
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
				if values == "it once" { // the field is in the section's own line
					values = map[string]string{"kind": "wechatpay, alipay, wechatpay_v2, unionpay, stripe, antom or program"}[name]
				}
				if strings.HasPrefix(values, brokers.Kinds[0].Server) {
					values = servers() // a list of forms needs no translation
				} else {
					values = p.w(values)
				}
				if s.zero != nil || name == "when" {
					values = cmp.Or(elsewhere[name], values)
				}
				if says == "" {
					p.t.Errorf("full.yaml says nothing about %s of %s", name, s.title)
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
					row = append(row, strings.TrimSpace(tick(variable)+" "+tick(flag)), p.w(map[bool]string{true: "yes", false: "no"}[strings.Contains(string(change), `"`+name+`"`)]))
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

// servers lists the forms of the brokers' URLs.
func servers() string {
	var all []string
	for _, kind := range brokers.Kinds {
		all = append(all, tick(kind.Server))
	}
	return strings.Join(all, ", ")
}

// apart lists the fields that have their own section.
var apart = []string{"sign", "then", "query", "close", "reverse", "request"}

// elsewhere has the fields whose values are listed on another page.
var elsewhere = map[string]string{"kind": "`notify`, `order`, `poll`", "schedule": "[schedules.md](schedules.md)", "confirm": "[schedules.md](schedules.md)",
	"success": "[presets.md](presets.md)", "states": "[presets.md](presets.md)", "close_states": "[presets.md](presets.md)",
	"then": "`then`", "when": "[alarms.md](../alarms.md)"}

// problem returns the error for a section in which a field has a value.
func problem(yaml, name, value string) string {
	groups := strings.Split(name, ".")
	field := groups[len(groups)-1] + ": " + value
	for _, group := range slices.Backward(groups[:len(groups)-1]) {
		field = group + ": {" + field + "}"
	}
	_, err := config.Parse([]byte(strings.Replace(yaml, "%", field, 1)))
	if all, is := errors.AsType[config.Problems](err); is {
		for _, one := range all {
			if one.Field == name || strings.HasSuffix(one.Field, "."+name) {
				return one.Field + ": " + one.Text
			}
		}
	}
	return ""
}

// defaultOf returns the default of a field, in the form of the configuration file.
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

var yamlLine = regexp.MustCompile(`^( *)(- |# )?("?[\w.-]+"?):(?: |$)(.*)`)

// commentsOf returns the comments of a YAML file by the path of their lines. Elements of a list
// have the list's path. A field that excludes another one, or is left out, stands behind "# ".
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
		if m[1]+m[2] == "# " {
			indent = 0
		}
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
