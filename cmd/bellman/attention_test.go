package main

import (
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/eventually"
)

// bellman attention shows a queue whose tasks failed, with the last error and the page.
func TestAttention(t *testing.T) {
	t.Parallel()
	p := start(t, []string{"BELLMAN_QUEUES={once: {schedule: 0s}}"}, "--store", "pebble:"+t.TempDir())
	must(t, "send", "--url", "http://127.0.0.1:9/", "--queue", "once", "--body", "x", "--server", p.url)
	var table string
	eventually.True(t, "the failure is listed", func() bool {
		table = must(t, "attention", "--server", p.url)
		return strings.Contains(table, "tasks_failed")
	})
	for _, want := range []string{"once", "unreachable", "/tasks?queue=once&state=failed"} {
		if !strings.Contains(table, want) {
			t.Errorf("attention:\n%s\nwant %q in it", table, want)
		}
	}
}

// Amounts are those that the console shows, not numbers of the smallest unit.
func TestAmountsOfAttention(t *testing.T) {
	if got, want := amounts([]client.AttentionAmount{{Currency: "CNY", Amount: 9900}, {Currency: "JPY", Amount: 500}}), "99.00 CNY, 500 JPY"; got != want {
		t.Errorf("amounts = %q; want %q", got, want)
	}
}
