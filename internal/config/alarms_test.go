package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const alarmQueues = "queues:\n  pay: {}\n  orders: {kind: order, on_exhausted: alert, late_watch: 0s, query: {method: GET, url: 'http://c.internal/{order_no}'}, states: wechat_v3}\n  ops: {url: 'http://ops.internal/'}\n"

func TestAlarms(t *testing.T) {
	c, err := Parse([]byte(`
queues:
  pay: {}
  ops: {url: "http://ops.internal/"}
alarms:
  - name: late
    when: overdue
    queue: pay
    above: 1m30s
    for: 30s
    to: ops
  - {when: overdue, above: 2m, to: ops}
  - {when: overdue, queue: pay, above: 5m, to: ops}
  - {when: endpoint_failing, for: 10m, to: ops}
  - {when: orders_unknown, to: ops}
  - {when: tasks_failed, queue: pay, above: 10, to: ops}
  - {when: store_slow, above: 250ms, for: 1m, to: ops}
  - {when: overloaded, to: ops}
  - {when: node_silent, for: 1m, to: ops}
`))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range c.Alarms {
		got = append(got, fmt.Sprint(a.Name, " ", a.When, " ", a.Queue, " ", a.Above, " ", a.For, " ", a.To))
	}
	want := []string{
		"late overdue pay 90 30s ops", "overdue overdue  120 0s ops", "overdue-pay overdue pay 300 0s ops", "endpoint-failing endpoint_failing  0 10m0s ops",
		"orders-unknown orders_unknown  0 0s ops", "tasks-failed-pay tasks_failed pay 10 0s ops", "store-slow store_slow  0.25 1m0s ops",
		"overloaded overloaded  0 0s ops", "node-silent node_silent  0 1m0s ops",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("alarms are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	other := *c
	other.Alarms = nil
	if names := c.Restarts(&other); len(names) > 0 {
		t.Errorf("a change of the alarms takes a restart of %v; want none", names)
	}
	if c.Alarms[0].For != 30*time.Second {
		t.Errorf("for is %v", c.Alarms[0].For)
	}
}

func TestMistakesInAlarms(t *testing.T) {
	tests := []struct{ alarm, want string }{
		{"{when: late, to: ops}", `line 6:12: alarms[0].when: "late" does not exist: want overdue, endpoint_failing, orders_unknown, tasks_failed, store_slow, overloaded, node_silent, credential_expires, order_decided_by_hand, order_needs_action, amount_mismatch, late_payment, payment_without_order or poll_needs_action`},
		{"{to: ops}", "line 6:5: alarms[0].when: is missing: want overdue, "},
		{"{when: overloaded}", "line 6:5: alarms[0].to: is missing: want the queue that sends the notices"},
		{"{when: overloaded, to: nobody}", `line 6:28: alarms[0].to: "nobody" is no queue: want one of pay, ops`},
		{"{when: overloaded, to: pay}", `alarms[0].to: queue "pay" has no url, and an alarm names none: give it one`},
		{"{when: overloaded, to: orders}", `alarms[0].to: "orders" is of kind order: want a queue of kind notify`},
		{"{when: overloaded, to: 'a b'}", `alarms[0].to: "a b" is no name`},
		{"{when: overloaded, to: ops, above: 3}", "line 6:40: alarms[0].above: has no meaning for overloaded, which has no figure: leave it out"},
		{"{when: overloaded, to: ops, queue: pay}", "alarms[0].queue: has no meaning for overloaded, which is of all queues: leave it out"},
		{"{when: overloaded, to: ops, for: 10}", `alarms[0].for: duration "10"`},
		{"{when: overloaded, to: ops, for: 25h}", "alarms[0].for: 25h: want 0s to 24h"},
		{"{when: overloaded, to: ops, name: a/b}", `alarms[0].name: "a/b" is no name`},
		{"{when: overloaded, to: ops, until: 3}", "alarms[0].until: unknown field: want name, when, queue, above, for or to"},
		{"{when: overdue, to: ops}", "alarms[0].above: is missing: want a duration, such as 1m"},
		{"{when: overdue, to: ops, above: 60}", `line 6:37: alarms[0].above: duration "60": want a duration such as 15s`},
		{"{when: store_slow, to: ops, above: much}", `alarms[0].above: duration "much"`},
		{"{when: order_decided_by_hand, to: ops, above: 1}", "alarms[0].above: has no meaning for order_decided_by_hand"},
		{"{when: order_decided_by_hand, to: ops, for: 1m}", "alarms[0].for: has no meaning for order_decided_by_hand, which is told at once"},
		{"{when: order_decided_by_hand, to: ops, queue: pay}", `alarms[0].queue: "pay" is of kind notify: order_decided_by_hand is of queues of kind order`},
		{"{when: credential_expires, to: ops, above: 3}", "alarms[0].above: has no meaning for credential_expires"},
		{"{when: late_payment, to: ops, for: 1m}", "alarms[0].for: has no meaning for late_payment, which is told at once"},
		{"{when: poll_needs_action, to: ops, queue: orders}", `alarms[0].queue: "orders" is of kind order: poll_needs_action is of queues of kind poll`},
		{"{when: tasks_failed, to: ops, above: 1m}", `alarms[0].above: "1m": want a whole number from 0 to 1000000000`},
		{"{when: tasks_failed, to: ops, above: -1}", `alarms[0].above: "-1": want a whole number`},
		{"{when: tasks_failed, to: ops, queue: none}", `alarms[0].queue: "none" is no queue: want one of pay, orders, ops`},
		{"{when: tasks_failed, to: ops, queue: orders}", `alarms[0].queue: "orders" is of kind order: tasks_failed is of queues of kind notify`},
		{"{when: orders_unknown, to: ops, queue: pay}", `alarms[0].queue: "pay" is of kind notify: orders_unknown is of queues of kind order`},
		{"{when: overloaded, to: ops}\n  - {when: overloaded, to: ops}", `line 7:5: alarms[1].name: "overloaded" is another alarm's: want a name of its own`},
		{"overloaded", "alarms[0]: want fields, each as name: value"},
	}
	for _, tt := range tests {
		text := alarmQueues + "alarms:\n  - " + tt.alarm + "\n"
		c, err := Parse([]byte(text))
		if err = join(err, c.Check()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %s", tt.alarm, err, tt.want)
		}
	}
	c, err := Parse([]byte("alarms:\n" + strings.Repeat("  - {when: overloaded, to: ops}\n", mostAlarms+1)))
	if err == nil || !strings.Contains(err.Error(), "alarms: has 101 rules: want 100 at most") || len(c.Alarms) > 0 {
		t.Errorf("too many: %v", err)
	}
}
