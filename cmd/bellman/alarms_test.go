package main

import (
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/eventually"
)

// bellman alarms shows an alarm that a real server raises, with its rule.
func TestAlarms(t *testing.T) {
	t.Parallel()
	p := start(t, []string{"BELLMAN_QUEUES={once: {schedule: 0s}, chat: {url: http://127.0.0.1:9/}}",
		"BELLMAN_ALARMS=[{name: lost, when: tasks_failed, queue: once, above: 0, to: chat}]"}, "--store", "pebble:"+t.TempDir())
	must(t, "send", "--url", "http://127.0.0.1:9/", "--queue", "once", "--body", "x", "--server", p.url)
	var table string
	eventually.True(t, "an alarm is raised", func() bool {
		table = must(t, "alarms", "--server", p.url)
		return strings.Contains(table, "raised")
	})
	if !strings.Contains(table, "lost") || !strings.Contains(table, "tasks_failed") || !strings.Contains(table, "chat") {
		t.Errorf("alarms:\n%s\nwant a failed task, reported to chat", table)
	}
	if rules := must(t, "alarms", "--rules", "--server", p.url); !strings.Contains(rules, "lost") || strings.Contains(rules, "raised") {
		t.Errorf("rules:\n%s", rules)
	}
}
