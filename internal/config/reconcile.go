package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/internal/bill"
)

// Reconcile is the daily comparison of a queue's orders with the bill of its channel.
type Reconcile struct {
	At      time.Duration  // since midnight in Zone
	Zone    *time.Location // nil: at is missing
	Alarm   string         // the queue of kind notify whose tasks report differences; empty: nobody is told
	Refunds bool           // refunds are compared; default true

	FundFlow bool // WeChat Pay's fund flow bill is compared, too; default false
}

// reconcile returns the queue's daily comparison, which is made if it is missing.
func (o *Order) reconcile() *Reconcile {
	if o.Reconcile == nil {
		o.Reconcile = &Reconcile{Refunds: true}
	}
	return o.Reconcile
}

// at reads a time of day and its zone: "10:30 Asia/Shanghai". Without a zone it is UTC+8.
func (to *Reconcile) at(s string) error {
	clock, zone, named := strings.Cut(s, " ")
	t, err := time.Parse("15:04", clock)
	if err != nil {
		return fmt.Errorf("%.40q: want a time of day such as 10:30 Asia/Shanghai", s)
	}
	to.At, to.Zone = time.Duration(t.Hour())*time.Hour+time.Duration(t.Minute())*time.Minute, bill.Zone
	if named {
		if to.Zone, err = time.LoadLocation(zone); err != nil || zone == "" || zone == "Local" {
			return fmt.Errorf("%.40q is no time zone: want one such as Asia/Shanghai", zone)
		}
	}
	return nil
}

// checkReconcile reports a daily comparison that has no time, or whose channel has no bill.
func checkReconcile(r *reader, n ast.Node, path string, o *Order) {
	at := within(path, "reconcile")
	r.need(n, at+".at", o.Reconcile.Zone != nil, "a time of day such as 10:30 Asia/Shanghai")
	if o.Reconcile.FundFlow && o.Channel.Kind != "wechatpay" && o.Channel.Account == "" {
		r.note(n, at+".fund_flow", "is a bill of the channel wechatpay: leave it out")
	}
	if kind := o.Channel.Kind; kind != "wechatpay" && kind != "alipay" && o.Channel.Account == "" {
		r.note(n, at, "needs the channel wechatpay or alipay, or an account that is registered, whose bills are known: compare a file by bellman reconcile instead")
	}
}

// checkReconcileAlarms reports alarms of reconcile whose queue does not exist or cannot send.
func checkReconcileAlarms(r *reader, path string, queues []Queue) {
	for _, q := range queues {
		if q.Order.Reconcile == nil || q.Order.Reconcile.Alarm == "" {
			continue
		}
		at := within(within(within(path, q.Name), "reconcile"), "alarm")
		if wrong := notNotify(queues, q.Order.Reconcile.Alarm, "an alarm"); wrong != "" {
			r.noteAt(at, wrong)
		}
	}
}
