package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/eventually"
)

// Shell completion offers the values of flags and arguments: fixed words always, and names if the
// server answers.
func TestCompletion(t *testing.T) {
	t.Parallel()
	p := start(t, []string{"BELLMAN_QUEUES={merchant-notify: {}, orders-told: {}}"}, "--store", "pebble:"+t.TempDir())
	must(t, "pause", "--endpoint", "https://shop.example", "--server", p.url)
	offered := func(args ...string) []string {
		t.Helper()
		lines := strings.Split(strings.TrimSuffix(must(t, append([]string{"__complete"}, args...)...), "\n"), "\n")
		if last := len(lines) - 1; lines[last] == ":4" { // :4 means: no file names
			return lines[:last]
		}
		t.Errorf("%q: the shell gets %q; want no file names", args, lines)
		return nil
	}
	queues := []string{"merchant-notify", "orders-told"}
	for _, tt := range []struct {
		args string
		want []string
	}{
		{"list --state ", []string{"pending", "succeeded", "failed", "cancelled"}},
		{"resend --mode ", []string{"once", "restart"}},
		{"export --result ", []string{"accepted", "refused", "error_status", "unreachable", "timeout", "blocked", "unknown"}},
		{"orders --order-state ", []string{"PENDING", "PAID", "PAID_REFUNDED", "CLOSED", "REVOKED", "FAILED", "UNKNOWN"}},
		{"merchants list --state ", []string{"failing", "late", "paused"}},
		{"notices --result ", []string{"applied", "duplicate", "held", "mismatch", "refused"}},
		{"reconcile --output ", []string{"table", "json", "csv"}},
		{"list --kind ", []string{"notify", "order", "poll"}},
		{"queues --output ", []string{"table", "json"}},
		{"merchants put M1 --scheme ", []string{"standard_webhooks", "wechat_rsa", "md5_params", "hmac_sha256_params", "jeepay_md5", "roncoo_md5", "md5_key", "rsa2", "t_v1"}},
		{"list --server " + p.url + " --queue ", queues},
		{"send --server " + p.url + " --queue ", queues},
		{"pause --server " + p.url + " ", queues},
		{"resume --server " + p.url + " orders-told ", []string{}},
		{"resume --server " + p.url + " --endpoint ", []string{"https://shop.example:443"}},
		{"list --server http://127.0.0.1:1 --queue ", []string{}},
	} {
		var got []string
		if !eventually.Within(time.Minute, func() bool { // a shell does not wait longer than completionPatience
			got = offered(strings.Split(tt.args, " ")...)
			return slices.Equal(got, tt.want)
		}) {
			t.Errorf("bellman %s: completion offers %q; want %q", tt.args, got, tt.want)
		}
	}
}
