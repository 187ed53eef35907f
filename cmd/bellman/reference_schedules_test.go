package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/states"
	"github.com/bellmanhq/bellman/rule"
	"github.com/bellmanhq/bellman/schedule"
)

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
	for part := range strings.SplitSeq(strings.TrimSpace(doc), "\n\n") {
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
	p.text("Of these presets any other value reads QUERY_ERROR: the order stays undecided and is queried again. TRADE_CLOSED with send_pay_date reads PAID_REFUNDED.")
	rows = nil
	for _, probe := range []struct{ preset, body, values string }{
		{"wechat_v2", `<xml><return_code>SUCCESS</return_code><result_code>SUCCESS</result_code><trade_state>%s</trade_state></xml>`, "SUCCESS REFUND NOTPAY USERPAYING ACCEPT CLOSED REVOKED PAYERROR"},
		{"wechat_v3", `{"trade_state":"%s"}`, "SUCCESS REFUND NOTPAY USERPAYING ACCEPT CLOSED REVOKED PAYERROR"},
		{"alipay", `{"code":"10000","trade_status":"%s"}`, "TRADE_SUCCESS TRADE_FINISHED WAIT_BUYER_PAY TRADE_CLOSED"},
		{"antom", `{"result":{"resultStatus":"S"},"paymentStatus":"%s"}`, "SUCCESS FAIL CANCELLED PROCESSING PENDING"},
		{"stripe", `{"object":"payment_intent","status":"%s"}`, "succeeded processing requires_action requires_confirmation requires_payment_method requires_capture canceled"},
		{"hyperswitch", `{"status":"%s"}`, "succeeded failed cancelled processing requires_customer_action requires_payment_method requires_confirmation requires_capture"},
	} {
		q, err := states.CompileQuery(probe.preset)
		if err != nil {
			p.t.Fatal(err)
		}
		for value := range strings.FieldsSeq(probe.values) {
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
	p.text("Of these presets any other value reads QUERY_ERROR: nothing is decided, and it is queried again.")
	rows = nil
	for _, probe := range []struct{ preset, body, values string }{
		{"wechat_refund", `{"status":"%s"}`, "SUCCESS CLOSED ABNORMAL PROCESSING"},
		{"wechat_v2_refund", `<xml><return_code>SUCCESS</return_code><result_code>SUCCESS</result_code><refund_status_0>%s</refund_status_0></xml>`, "SUCCESS REFUNDCLOSE CHANGE PROCESSING"},
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
		for value := range strings.FieldsSeq(probe.values) {
			a := q.Read(order.Answer{Status: 200, Body: fmt.Appendf(nil, probe.body, value)})
			rows = append(rows, []string{tick(probe.preset), tick(value), tick(fmt.Sprint(a.Reading))})
		}
	}
	p.table("Preset, State at the channel, Reading", rows)
}
