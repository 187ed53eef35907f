package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestExitStatus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := filepath.Join(dir, "good.yaml")
	write(t, good, "queues:\n  pay: {schedule: \"0s, 5s\"}\n  alerts: {}\n")
	unset := filepath.Join(dir, "unset.yaml")
	write(t, unset, "queues: {pay: {sign: {scheme: md5_params, secrets: ['env:BELLMAN_NO_SUCH_SECRET']}}}\n")
	badStore := filepath.Join(dir, "store.txt")
	write(t, badStore, "oracle://u:secret@h\n")
	empty := filepath.Join(dir, "empty.json")
	write(t, empty, "")
	odd := filepath.Join(dir, "odd.json")
	write(t, odd, `{"queue":"default","colour":"red"}`)
	cut := filepath.Join(dir, "cut.json")
	write(t, cut, `{"queue":"default"`)
	twice := filepath.Join(dir, "twice.json")
	write(t, twice, `{"url":"http://a.example/","url":"http://b.example/"}`)
	gbk := filepath.Join(dir, "gbk.json")
	write(t, gbk, "{\"body\":\"\xb6\xa9\xb5\xa5\"}")
	away := filepath.Join(dir, "away.yaml")
	write(t, away, "connections:\n  main: {url: 'amqps://h/', ca: /no/such/ca.pem}\n")
	tests := []struct {
		args   string // words of the command line; … stands for dir
		status int
		out    string // part of standard output
		errors string // part of standard error, which has one line
	}{
		{"version", 0, "bellman dev", ""},
		{"--version", 0, "bellman dev", ""},
		{"-v", 0, "bellman dev", ""},
		{"srve", 2, "", "did you mean move, serve?"},
		{"queues --server 127.0.0.1:1", 1, "", "127.0.0.1:1: connect: connection refused"},
		{"--help", 0, "Exit status: 0 done, 1 failed, 2 wrong usage or configuration.", ""},
		{"serve --help", 0, "BELLMAN_PPROF", ""},
		{"frobnicate", 2, "", "unknown command"},
		{"help nosuch", 2, "", "unknown command \"nosuch\""},
		{"help serve", 0, "BELLMAN_PPROF", ""},
		{"serve --config " + unset, 2, "", unset + ":1:53: queues.pay.sign.secrets[0]: environment variable BELLMAN_NO_SUCH_SECRET is not set"},
		{"serve --store env:BELLMAN_NO_STORE", 2, "", "--store: environment variable BELLMAN_NO_STORE is not set"},
		{"serve --store file:" + badStore, 2, "", "--store: file:" + badStore + ": \"oracle\" names no store"},
		{"check-config " + unset, 0, "is in order: queues pay", ""},
		{"check-config " + away, 0, "is in order", "warning: " + away + ":2:33: connections.main.ca: open /no/such/ca.pem: "},
		{"doctor --store pebble:…/none", 1, "", "there is no store in"},
		{"move --from pebble:…/none --abandon --dry-run", 2, "", "--abandon takes --from alone"},
		{"doctor --store nowhere", 2, "", "names no store: want pebble:DIR"},
		{"doctor extra", 2, "", "doctor: want no argument, not \"extra\""},
		{"doctor --store postgres://u:secret@127.0.0.1:1/d", 1, "", "bellman: store postgres://u@127.0.0.1:1/d: "},
		{"doctor --store postgres://u:secret@127.0.0.1:1/d --json", 1, `"error":"store postgres://u@127.0.0.1:1/d: `, "bellman: store postgres://u@127.0.0.1:1/d: "},
		{"serve --colour red", 2, "", "unknown flag: --colour"},
		{"serve extra", 2, "", "serve: want no argument, not \"extra\""},
		{"serve --store nowhere", 2, "", "--store: \"nowhere\" names no store: want pebble:DIR"},
		{"serve --listen 0.0.0.0:0 --store pebble:…/x", 2, "", "there are no keys: add keys, or listen on 127.0.0.1"},
		{"serve --store postgres://u:secret@127.0.0.1:1/d --listen 127.0.0.1:0", 1, "", "bellman: store postgres://u@127.0.0.1:1/d: "},
		{"serve --store mariadb://u:secret@127.0.0.1:1/d --listen 127.0.0.1:0", 1, "", "bellman: store mariadb://u@127.0.0.1:1/d: "},
		{"serve --config …/none.yaml", 2, "", "no such file"},
		{"serve --store pebble:" + good + "/x --listen 127.0.0.1:0", 1, "", "open data directory"},
		{"serve --no-migrate --store pebble:…/none --listen 127.0.0.1:0", 1, "", "there is no store in"},
		{"schedule nonsense", 2, "", "no preset is called"},
		{"schedule wechat_notfy", 2, "", "want wechat_notify"},
		{"schedule a b", 2, "", "schedule: want one preset or text, in quotes"},
		{"schedule --limit 0 wechat_notify", 2, "", "--limit 0: want 1 or more"},
		{"audit --limit 0 --server http://127.0.0.1:1", 2, "", "--limit 0: want 1 or more"},
		{"notices --limit 0 --server http://127.0.0.1:1", 2, "", "--limit 0: want 1 or more"},
		{"schedule", 0, "pay.weixin.qq.com/docs/partner/apis/partner-native-payment/payment-notice.html", ""},
		{"check-config", 2, "", "check-config: want a FILE: bellman check-config bellman.yaml"},
		{"check-config …/none.yaml", 2, "", "no such file"},
		{"check-config " + good, 0, "is in order: queues pay, alerts", ""},
		{"get", 2, "", "bellman: get: want a task's id, or its queue and key"},
		{"get a b c", 2, "", "want a task's id, or its queue and key"},
		{"get x -o yaml", 2, "", `--output "yaml": want table or json`},
		{"list --server ftp://a", 2, "", "want an address such as http://127.0.0.1:2355"},
		{"list --server nonsense", 2, "", "want an address such as http://127.0.0.1:2355"},
		{"list --limit -1 --server http://127.0.0.1:1", 2, "", "--limit -1: want 0 or more"},
		{"list --created-from yesterday --server http://127.0.0.1:1", 2, "", "--created-from \"yesterday\": want a time"},
		{"list --server http://127.0.0.1:1", 1, "", "start a server with bellman serve"},
		{"send --json {", 2, "", "--json: is not JSON"},
		{"send --json=", 2, "", "--json: is not JSON"},
		{"send --notify-json=", 2, "", "--notify-json: is not JSON"},
		{"send --due now", 2, "", "--due \"now\": want a time"},
		{"send --order-created now", 2, "", "--order-created \"now\": want a time"},
		{"send --order-created=", 2, "", "--order-created \"\": want a time"},
		{"send --url http://m.example --task-key=", 2, "", "--task-key is empty"},
		{"send --url http://m.example --queue=", 2, "", "--queue is empty"},
		{"send --header colour", 2, "", "want \"Name: value\""},
		{"send " + empty, 2, "", "has no task"},
		{"send " + odd, 2, "", "unknown field \"colour\""},
		{"send " + cut, 2, "", "task 1 of " + cut + ": the JSON is cut off\n"},
		{"send " + twice, 2, "", "task 1 of " + twice + ": url: is given twice"},
		{"send " + gbk, 2, "", "task 1 of " + gbk + ": is not UTF-8\n"},
		{"send --url http://m.example --body \xb6\xa9", 2, "", "--body: is not UTF-8"},
		{"export --store pebble:x --kind orders", 2, "", `kind "orders"`},
		{"export --store pebble:x --status 20", 2, "", "--status 20: want an HTTP status"},
		{"export --store pebble:x --created-from 1h --created-to 2h", 2, "", "--created-from is not before --created-to"},
		{"send …/none.json", 1, "", "no such file"},
		{"send --var shop", 2, "", "want NAME=VALUE"},
		{"send --notify-json {", 2, "", "--notify-json: is not JSON"},
		{"order M1", 2, "", "order: want MERCHANT_NO and ORDER_NO: bellman order M1001 20261120000001"},
		{"order", 2, "", "want MERCHANT_NO and ORDER_NO"},
		{"backup", 2, "", "backup: want a DIR"},
		{"send a b", 2, "", "send: want one FILE"},
		{"pause a b", 2, "", "want a queue's name, or --endpoint and a host"},
		{"resends a b", 2, "", "want the id of one bulk resend"},
		{"cancel a b c", 2, "", "want a task's id, or its queue and key; or --merchant-no"},
		{"order M1 1 --settle 2m", 2, "", "want 1ms to 1m"},
		{"order M1 1 --settle 3", 2, "", "want a duration such as 15s"},
		{"settle", 2, "", "settle: want a FILE of orders, or -"},
		{"settle " + empty, 2, "", "names no order"},
		{"settle " + odd, 2, "", "line 1: want a merchant's number and an order's"},
		{"settle …/none.csv", 1, "", "no such file"},
		{"complete", 2, "", "or --merchant-no and --order-no"},
		{"complete x --order-no 1", 2, "", "or --merchant-no and --order-no"},
		{"cancel --order-no 1", 2, "", "or --merchant-no and --order-no"},
		{"pause", 2, "", "want a queue's name, or --endpoint and a host"},
		{"resend", 2, "", "or --all and a filter"},
		{"resend --all", 2, "", "want a filter such as --state failed"},
		{"resend --all --state failed --merchant-no= --dry-run", 2, "", "--merchant-no is empty"},
		{"resend --all --state failed --created-from=", 2, "", "--created-from is empty"},
		{"resend --all --state failed --status 0", 2, "", "--status 0: want an HTTP status"},
		{"resends --cancel", 2, "", "want the id of a bulk resend"},
		{"backup dir --server http://192.0.2.1:2355", 2, "", "want an absolute one"},
		{"list --limit x", 2, "", "bellman: --limit \"x\": want a whole number: see bellman list --help\n"},
		{"send --amount 88.00", 2, "", "--amount \"88.00\": want a whole number: see bellman send --help\n"},
		{"resend --dry-run=maybe", 2, "", "--dry-run=maybe: want true or false, or the flag alone: see bellman resend --help\n"},
		{"order M1 1 --settle 3", 2, "", "bellman: --settle: duration \"3\": want a duration such as 15s or 1h30m"},
		{"reconcile --wait soon", 2, "", "--wait: time: invalid duration \"soon\": see bellman reconcile --help\n"},
		{"merchants put", 2, "", "put: want a merchant's number: see bellman merchants put --help\n"},
		{"lst", 2, "", "see bellman help\n"},
		{"--foo", 2, "", "see bellman help\n"},
		{"check x", 2, "", "want no argument, not \"x\": see bellman check --help\n"},
		{"check --store pebble:…/none", 1, "", "there is no store in"},
		{"export --store pebble:…/none", 1, "", "there is no store in"},
		{"export --store pebble:…/none --state gone", 2, "", "gone"},
		{"export --store postgres://u@127.0.0.1:1/d?sslmode=perhaps", 2, "", "sslmode is invalid"},
		{"export --store mysql://u@127.0.0.1:1/d?timeout=soon", 2, "", "a parameter of the address is wrong: time: invalid duration"},
		{"migrate --store postgres://u@127.0.0.1:1/d?connect_timeout=soon", 2, "", "invalid connect_timeout"},
		{"migrate --store env:BELLMAN_NOWHERE", 2, "", "BELLMAN_NOWHERE is not set"},
		{"serve --store env:BELLMAN_NOWHERE", 2, "", "BELLMAN_NOWHERE is not set"},
		{"export --store mysql://u@127.0.0.1:1/d", 1, "", "the database cannot be reached"},
		{"migrate --store oracle://h", 2, "", "\"oracle\" names no store"},
		{"bench drain --for 10m", 2, "", "--for is of the scenario soak alone"},
		{"bench drain --rate 5", 2, "", "--rate is of the scenario soak alone"},
		{"bench soak --for 10", 2, "", "--for: duration"},
		{"bench soak --for 1s", 2, "", "--for 1s: want at least 3s"},
		{"bench soak --rate 0", 2, "", "--rate 0: want at least 1"},
		{"bench nonsense", 2, "", "no scenario \"nonsense\""},
		{"demo --listen 2355 --once", 2, "", "is no address"},
		{"import csv t.csv", 2, "", "import: want --from before \"t.csv\": bellman import csv --from t.csv"},
		{"import csv --from t.csv --zone=", 2, "", "--zone \"\" is no time zone"},
		{"import csv --from t.csv --method GET", 2, "", "--method is for roncoo and jeepay: leave it out for csv"},
		{"import ndjson --from t --table x", 2, "", "--table is for roncoo and jeepay: leave it out for ndjson"},
		{"import xls t.csv", 2, "", "import: want one of roncoo, jeepay, csv, ndjson"},
		{"reschedule", 2, "", "reschedule: want a task's id, or its queue and key"},
		{"reschedule x", 2, "", "reschedule: want --due or --delay"},
		{"reschedule x --due 2026-11-20T15:04:05Z --delay 1m", 2, "", "reschedule: want --due or --delay"},
		{"reschedule x --due soon", 2, "", "--due \"soon\": want a time"},
	}
	for _, tt := range tests {
		args := strings.Fields(strings.ReplaceAll(tt.args, "…", dir))
		r := run(t, args...)
		if r.status != tt.status || !strings.Contains(r.out, tt.out) || !strings.Contains(r.errors, tt.errors) {
			t.Errorf("bellman %s: status %d, output %q, errors %q; want status %d, with %q and %q",
				tt.args, r.status, r.out, r.errors, tt.status, tt.out, tt.errors)
		}
		if strings.Count(r.errors, "see bellman") > 1 {
			t.Errorf("bellman %s: %q; want one piece of advice", tt.args, r.errors)
		}
		if lines := strings.Count(r.errors, "\n"); tt.status != 0 && lines != 1 {
			t.Errorf("bellman %s: %d lines of error; want one:\n%s", tt.args, lines, r.errors)
		}
	}
}

// An empty order, such as one from an unset variable of the shell, makes no link to all notices of
// the merchant.
func TestLinkOfEmptyOrder(t *testing.T) {
	t.Parallel()
	r := run(t, "link", "M1001", "", "--reason", "asks", "--server", "http://127.0.0.1:1")
	if r.status != 2 || !strings.Contains(r.errors, "ORDER is empty") {
		t.Errorf("status %d, %q; want 2 and the reason", r.status, r.errors)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestScheduleTable(t *testing.T) {
	t.Parallel()
	const golden = "testdata/wechat_notify.txt"
	got := must(t, "schedule", "wechat_notify")
	if *update {
		write(t, golden, got)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("bellman schedule wechat_notify:\n%s\nwant\n%s", got, want)
	}
	if !strings.HasSuffix(got, "16 attempts, total 24h4m\n") {
		t.Error("want 16 attempts, total 24h4m")
	}
}

// check-config reports every mistake of a file at once, each with its line.
func TestCheckConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "bad.yaml"), `listen: 127.0.0.1:2355
flow: {high: 10, low: 20}
queues:
  pay:
    scedule: wechat_notify
    timeout: 5
    success: status ==
`)
	write(t, filepath.Join(dir, "good.yaml"), "queues: {pay: {sign: {scheme: standard_webhooks, secrets: [\"env:BELLMAN_SECRET\"]}}}\n")
	misspelt := []string{"BELLMAN_LISTN=127.0.0.1:1", "BELLMAN_SECRET=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
	for _, command := range [][]string{{"check-config", "good.yaml"}, {"serve", "--config", "good.yaml"}} {
		if r := runIn(t, dir, misspelt, "", command...); r.status != 2 || !strings.Contains(r.errors, "BELLMAN_LISTN: means nothing here: want BELLMAN_LISTEN,") ||
			strings.Contains(r.errors, "BELLMAN_SECRET") {
			t.Errorf("%s with a misspelt environment variable: status %d, %q; want an error", command[0], r.status, r.errors)
		}
	}
	write(t, filepath.Join(dir, "deaf.yaml"), `queues:
  orders:
    kind: order
    query: {url: "http://h/{order_no}"}
    close: {url: "http://h/{order_no}"}
    states: wechat_v3
    close_states: wechat_v3
    on_exhausted: close
    notice: {verify: {scheme: hmac_sha256, header: X, secrets: [secret-of-sixteen]}, order: json.no, states: wechat_v3}
`)
	if r := runIn(t, dir, nil, "", "check-config", "deaf.yaml"); r.status != 0 || !strings.Contains(r.errors, "warning: deaf.yaml:9:13: queues.orders.notice: notices.listen is not set") {
		t.Errorf("notices that nothing listens for: status %d, %q; want a warning", r.status, r.errors)
	}
	r := runIn(t, dir, nil, "", "check-config", "bad.yaml")
	if r.status != 2 || r.out != "" {
		t.Errorf("check-config: status %d, output %q; want 2 and no output", r.status, r.out)
	}
	for _, want := range []string{
		"bad.yaml:5:5: queues.pay.scedule: unknown field",
		"bad.yaml:6:14: queues.pay.timeout: duration \"5\": want a duration",
		"bad.yaml:7:14: queues.pay.success: ",
		"bad.yaml:2:23: flow.low: ",
	} {
		if !strings.Contains(r.errors, want) {
			t.Errorf("check-config did not print %q:\n%s", want, r.errors)
		}
	}
	if lines := strings.Count(r.errors, "\n"); lines != 4 {
		t.Errorf("check-config printed %d lines; want 4:\n%s", lines, r.errors)
	}
}

// Precedence: flag, then environment variable, then file. A mistake in a value that applies is
// reported.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "c.yaml"), "listen: nowhere\nstore: pebble:from-file\n")
	r := runIn(t, dir, []string{"BELLMAN_CONFIG=c.yaml", "BELLMAN_STORE=oracle://from-environment"}, "", "serve", "--listen", "127.0.0.1:0")
	for _, want := range []string{"c.yaml:1:9: listen: ", `BELLMAN_STORE: "oracle" names no store`} {
		if !strings.Contains(r.errors, want) {
			t.Errorf("serve did not print %q:\n%s", want, r.errors)
		}
	}
	if r.status != 2 {
		t.Errorf("serve: status %d; want 2", r.status)
	}
	r = runIn(t, dir, []string{"BELLMAN_PPROF=0.0.0.0:6060"}, "", "serve", "--listen", "127.0.0.1:0")
	if r.status != 2 || !strings.Contains(r.errors, "want an address of loopback") {
		t.Errorf("serve with public profiles: status %d, %q; want 2 and the reason", r.status, r.errors)
	}
}

func TestDemoOnce(t *testing.T) {
	t.Parallel()
	out := must(t, "demo", "--once")
	if !strings.Contains(out, "records attempt 3: accepted") || !strings.Contains(out, "The story is over") {
		t.Errorf("the demo printed\n%s", out)
	}
}

func TestResumed(t *testing.T) {
	tests := []struct {
		pending, due int64
		crashed      bool
		want         string
	}{
		{0, 0, false, "no tasks wait"},
		{1, 0, false, "resumed 1 task"},
		{1, 1, true, "resumed 1 task, due, after a crash"},
		{1234, 56, true, "resumed 1,234 tasks, 56 of them due, after a crash"},
		{1234567, 0, false, "resumed 1,234,567 tasks, 0 of them due"},
	}
	for _, tt := range tests {
		if got := resumed(tt.pending, tt.due, tt.crashed); got != tt.want {
			t.Errorf("resumed(%d, %d, %t) = %q; want %q", tt.pending, tt.due, tt.crashed, got, tt.want)
		}
	}
}

// check-config rejects every store address that serve rejects before it connects, together with the
// other mistakes of the file.
func TestCheckConfigOfStores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tests := []struct{ store, want string }{
		{"redis://127.0.0.1:1/0?replcas=1", `parameter "replcas" is not known: want connections, shards, prefix`},
		{"redis://127.0.0.1:1/0?replicas=x", `parameter replicas="x": want a whole number`},
		{"redis://127.0.0.1:1/abc", `"abc" is no number of a database`},
		{"redis://127.0.0.1:1,127.0.0.1:2/0", "names several hosts"},
		{"postgres://u@127.0.0.1:1/d?sslmod=disable", `"sslmod" is unknown: want sslmode?`},
		{"postgres://u@127.0.0.1:1/d?sslmode=perhaps", "sslmode is invalid"},
		{"postgres://u@127.0.0.1:1/d?default_query_exec_mode=exec", "default_query_exec_mode is exec: leave it out"},
		{"mysql://u@127.0.0.1:1/d?timeout=soon", "a parameter of the address is wrong: time: invalid duration"},
	}
	for _, tt := range tests {
		write(t, filepath.Join(dir, "b.yaml"), "store: '"+tt.store+"'\nlisten: nowhere\n")
		for _, command := range [][]string{{"check-config", "b.yaml"}, {"serve", "--config", "b.yaml"}} {
			r := runIn(t, dir, nil, "", command...)
			if r.status != 2 || !strings.Contains(r.errors, "b.yaml:1:8: store: ") || !strings.Contains(r.errors, tt.want) || !strings.Contains(r.errors, "b.yaml:2:9: listen: ") {
				t.Errorf("%s with %s: status %d, %q; want 2, with %q and the other mistake", command[0], tt.store, r.status, r.errors, tt.want)
			}
		}
	}
	for _, store := range []string{"postgres://u@127.0.0.1:1/d?sslmode=verify-full&sslrootcert=/no/such/file", "rediss://h/0?ca=/no/such/file", "env:NOWHERE"} {
		write(t, filepath.Join(dir, "b.yaml"), "store: '"+store+"'\n")
		if r := runIn(t, dir, nil, "", "check-config", "b.yaml"); r.status != 0 {
			t.Errorf("check-config with %s, which may be valid on another machine: status %d, %s; want no error about it", store, r.status, r.errors)
		}
	}
}

// A channel that is Go code is valid in a file, but this program does not have it.
func TestCheckConfigOfPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b.yaml"), "queues: {wallet: {kind: order, on_exhausted: close, channel: {kind: program}}}\n")
	r := runIn(t, dir, nil, "", "check-config", "b.yaml")
	want := "warning: b.yaml:1:69: queues.wallet.channel.kind: program is a channel in Go: bellman serve refuses the queue, and a program with server.Options.Channels runs it"
	if r.status != 0 || !strings.Contains(r.errors, want) {
		t.Errorf("check-config: status %d, %q; want 0, and %q", r.status, r.errors, want)
	}
}
