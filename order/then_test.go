package order

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

// follows are the queue, event and key of tasks.
func follows(tasks []bellman.Task) (all []string) {
	for i := range tasks {
		if tasks[i].Event != EventNotice && tasks[i].Event != EventLateWatch {
			all = append(all, tasks[i].Queue+" "+tasks[i].Event)
		}
	}
	return all
}

// Each decision has its own recipients, whatever finds it: an answer, a person or a notice.
func TestThenPerDecision(t *testing.T) {
	to := func(queues ...string) []Recipient {
		r := []Recipient{}
		for _, q := range queues {
			r = append(r, Recipient{Queue: q, HasURL: true})
		}
		return r
	}
	then := Then{Default: to("all"), For: map[string][]Recipient{
		"PAID": to("paid", "ledger"), "CLOSED": {}, StateUnknown: to("desk"), LatePayment: to("late"), DuplicatePayment: to("twice"),
	}}
	right := Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "T1"}
	other := Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "T2"}
	tests := []struct {
		name     string
		then     Then
		outcomes []Told // of which the last is looked at
		want     []string
	}{
		{"paid", then, []Told{{Reading: "PAID", Taken: right}}, []string{"paid order.paid", "ledger order.paid"}},
		{"closed", then, []Told{{Reading: "CLOSED"}}, nil},
		{"failed", then, []Told{{Reading: "FAILED"}}, []string{"all order.failed"}},
		{"late", then, []Told{{Reading: "CLOSED"}, {Reading: "PAID", Taken: right}}, []string{"late order.late_payment"}},
		{"late twice", then, []Told{{Reading: "CLOSED"}, {Reading: "PAID", Taken: right}, {Reading: "PAID", Taken: right}}, nil},
		{"late, and another payment", then, []Told{{Reading: "CLOSED"}, {Reading: "PAID", Taken: right}, {Reading: "PAID", Taken: other}}, []string{"twice order.duplicate_payment"}},
		{"duplicate", then, []Told{{Reading: "PAID", Taken: right}, {Reading: "PAID", Taken: other}}, []string{"twice order.duplicate_payment"}},
		{"duplicate, told before", then, []Told{{Reading: "PAID", Taken: right}, {Reading: "PAID", Taken: other}, {Reading: "PAID", Taken: other}}, nil},
		{"the first again after a duplicate", then, []Told{{Reading: "PAID", Taken: right}, {Reading: "PAID", Taken: other}, {Reading: "PAID", Taken: right}}, nil},
		{"a payment without a number", then, []Told{{Reading: "PAID", Taken: right}, {Reading: "PAID", Taken: Taken{"amount": int64(8800), "currency": "CNY"}}}, nil},
		{"another amount", then, []Told{{Reading: "PAID", Taken: Taken{"amount": int64(1), "currency": "CNY"}}}, []string{"desk order.undecided"}},
		{"another amount, not asked for", Then{Default: to("all")}, []Told{{Reading: "PAID", Taken: Taken{"amount": int64(1), "currency": "CNY"}}}, nil},
		{"duplicate, not asked for", Then{Default: to("all")}, []Told{{Reading: "PAID", Taken: right}, {Reading: "PAID", Taken: other}}, nil},
		{"late, not named", Then{Default: to("all")}, []Told{{Reading: "CLOSED"}, {Reading: "PAID", Taken: right}}, []string{"all order.late_payment"}},
		{"nobody", Then{}, []Told{{Reading: "PAID", Taken: right}}, nil},
	}
	for _, tt := range tests {
		for _, by := range []string{"notice", "person"} {
			h := newHouse(t, func(r *Rules) { r.Then = tt.then })
			task := h.unaddressed()
			var got []string
			for i := range tt.outcomes {
				told := tt.outcomes[i]
				c := bellman.Completion{Outcome: told.Reading, Detail: told.Taken}
				if by == "notice" {
					told.Of = OfPayment
					c.Detail = &told
				}
				v, err := h.handler.Complete(task, c, h.now)
				var wrong *bellman.Invalid
				if errors.As(err, &wrong) && by == "person" { // a payment without an amount
					v, err = bellman.Verdict{}, nil
				}
				if err != nil {
					t.Fatalf("%s: %v", tt.name, err)
				}
				if v.Data != nil {
					task.Data = v.Data
				}
				if v.Next != bellman.Again {
					task.State = bellman.Succeeded
				}
				got = follows(v.Follow)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s by a %s: %q; want %q", tt.name, by, got, tt.want)
			}
		}
		if len(tt.outcomes) > 2 {
			continue
		}
		h := newHouse(t, func(r *Rules) { r.Then = tt.then })
		task := h.unaddressed()
		var v bellman.Verdict
		for i, told := range tt.outcomes {
			h.channel.query = func(*Order) QueryAnswer {
				r, _ := ParseReading(told.Reading)
				return QueryAnswer{Reading: r, Answer: said("x"), Taken: told.Taken}
			}
			if i == 0 {
				v = h.attempt(task)
			} else {
				v = h.byHand(task)
			}
		}
		if got := follows(v.Follow); !slices.Equal(got, tt.want) {
			t.Errorf("%s by an answer: %q; want %q", tt.name, got, tt.want)
		}
	}
}

// What is told of a duplicate payment is the second payment; the order keeps the first.
func TestDuplicatePayment(t *testing.T) {
	h := newHouse(t, func(r *Rules) { r.Then.For = map[string][]Recipient{DuplicatePayment: {{Queue: "twice"}}} })
	task := h.priced()
	first := Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "T1"}
	h.tell(task, &Told{Of: OfPayment, Reading: "PAID", Taken: first})
	keys := map[string]bool{}
	for _, id := range []string{"T2", "T3"} {
		told := &Told{Of: OfPayment, Reading: "PAID", Taken: Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": id}}
		v, err := h.handler.Complete(task, bellman.Completion{Detail: told}, h.now)
		if err != nil || told.Result != NoticeApplied || v.Follow[0].Queue != "twice" {
			t.Fatalf("%s: %v, %+v", id, err, v.Follow)
		}
		task.Data = v.Data
		keys[v.Follow[0].Key] = true
		var body map[string]any
		if err := json.Unmarshal(v.Follow[0].Body, &body); err != nil || body["transaction_id"] != id || body["duplicate_payment"] != "PAID" || body["order_state"] != "PAID" || body["found_at"] == nil {
			t.Errorf("told %s", v.Follow[0].Body)
		}
	}
	l, err := ParseLife(task.Data)
	if err != nil || len(l.Payments) != 2 || !strings.Contains(string(l.Taken), `"T1"`) || len(keys) != 2 || len(h.alerts) != 2 {
		t.Errorf("life %+v, %v; keys %v; alerts %q", l, err, keys, h.alerts)
	}
}

// A gateway may write the number of a payment as a number: the payments are told apart all the
// same, and merchants get a text.
func TestPaymentNumberIsANumber(t *testing.T) {
	var number any
	h := newHouse(t, func(r *Rules) {
		r.Then.For = map[string][]Recipient{DuplicatePayment: {{Queue: "twice"}}}
		r.Then.Taken = func(*Order, *QueryAnswer, string) (map[string]any, error) {
			return map[string]any{"transaction_id": number}, nil
		}
	})
	task := h.order()
	h.channel.query = reads(Paid)
	number = int64(4200001234567890123)
	h.attempt(task)
	if id := h.told("orders/M1/O1/decided")["transaction_id"]; id != "4200001234567890123" {
		t.Errorf("told the number %v (%T)", id, id)
	}
	h.byHand(task)
	if s := StandingOf(task); s.Duplicates != 0 {
		t.Errorf("the same payment again: %+v", s)
	}
	number = uint64(14200001234567890123)
	if v := h.byHand(task); StandingOf(task).Duplicates != 1 || len(v.Follow) != 1 || v.Follow[0].Event != EventDuplicatePayment {
		t.Errorf("another payment: %+v", StandingOf(task))
	}
	for i, n := range []any{15, json.Number("16")} { // of a channel in Go
		number = n
		if v := h.byHand(task); StandingOf(task).Duplicates != 2+i || len(v.Follow) != 1 {
			t.Errorf("a payment with the number %v (%T): %+v", n, n, StandingOf(task))
		}
	}
}

// An answer that was in flight while the order was decided may be another payment too.
func TestDuplicatePaymentInFlight(t *testing.T) {
	h := newHouse(t, func(r *Rules) { r.Then.For = map[string][]Recipient{DuplicatePayment: {{Queue: "twice"}}} })
	task := h.priced()
	h.channel.query = pays(Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "T2"})
	flying := *task
	h.now = later(h.now, task.Due)
	v := h.handler.Attempt(t.Context(), &flying, 1)
	h.tell(task, &Told{Of: OfPayment, Reading: "PAID", Taken: Taken{"amount": int64(8800), "currency": "CNY", "transaction_id": "T1"}})
	late := h.handler.Late(task, v, h.now)
	if got := follows(late.Follow); !slices.Equal(got, []string{"twice order.duplicate_payment"}) {
		t.Errorf("follows %q", got)
	}
}

// A queue of its own is told at its own address, and knows no merchant whose address or keys would
// be taken instead.
func TestTellsAtItsOwnAddress(t *testing.T) {
	h := newHouse(t, func(r *Rules) {
		r.Then.For = map[string][]Recipient{"PAID": {{Queue: "m"}, {Queue: "ledger", HasURL: true, Own: true}}}
	})
	task := h.order()
	h.channel.query = reads(Paid)
	v := h.attempt(task)
	if len(v.Follow) != 2 || v.Follow[0].URL != "https://m.example/n" || v.Follow[0].MerchantNo != "M1" || v.Follow[1].URL != "" || v.Follow[1].MerchantNo != "" || v.Follow[1].OrderNo != "O1" {
		t.Errorf("told %+v", v.Follow)
	}
	for name, then := range map[string]Then{
		"notify.url": {Default: []Recipient{{Queue: "ledger", HasURL: true, Own: true}}}, "notify": {For: map[string][]Recipient{"PAID": {}}},
	} {
		h := newHouse(t, func(r *Rules) { r.Then = then })
		err := h.handler.Check(&bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"notify":{"url":"https://m.example/n"}}`)})
		if got := fieldsOf(err); got != name {
			t.Errorf("%+v: %s is wrong; want %s", then, got, name)
		}
	}
}

// unaddressed is priced without an address.
func (h *house) unaddressed() *bellman.Task {
	return h.add(bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Schedule: "3s*20", Body: []byte(`{"amount":8800,"currency":"CNY"}`)})
}

func TestTemplates(t *testing.T) {
	fields := []Field{{"no", "order_no"}, {"amt", "amount"}, {"none", "fail_reason"}, {"sub", "vars.subject"}, {"ok", `order_state == "PAID"`}, {"in", `{"a": [amount]}`}}
	n := &News{
		Of: &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O 1"}, Key: "k", What: "decided", Event: "order.paid", Decision: "PAID",
		Order:  Order{OrderNo: "C1", Created: time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC), Vars: map[string]string{"subject": `<茶> & "tea"`}},
		Fields: map[string]any{"order_no": "O 1", "order_state": "PAID"}, Taken: json.RawMessage(`{"amount":8800}`),
	}
	for _, tt := range []struct {
		template            Template
		method, media, body string
	}{
		{Template{Fields: fields}, "POST", "application/json", `{"no":"O 1","amt":8800,"sub":"<茶> & \"tea\"","ok":true,"in":{"a":[8800]}}`},
		{Template{Format: "form", Fields: fields}, "POST", "application/x-www-form-urlencoded; charset=utf-8",
			`no=O+1&amt=8800&sub=%3C%E8%8C%B6%3E+%26+%22tea%22&ok=true&in=%7B%22a%22%3A%5B8800%5D%7D`},
		{Template{Format: "query", Fields: fields[:2]}, "GET", "application/x-www-form-urlencoded; charset=utf-8", `no=O+1&amt=8800`},
		{Template{Format: "xml", Root: "notice", Method: "PUT", Fields: fields[:5]}, "PUT", "text/xml; charset=utf-8",
			`<notice><no>O 1</no><amt>8800</amt><sub>&lt;茶&gt; &amp; &#34;tea&#34;</sub><ok>true</ok></notice>`},
	} {
		shape, err := tt.template.Compile()
		if err != nil {
			t.Fatal(err)
		}
		then := Then{Default: []Recipient{{Queue: "m", Shape: shape}}}
		tasks, err := then.Tell(n)
		if err != nil || len(tasks) != 1 || tasks[0].Method != tt.method || tasks[0].Header["Content-Type"] != tt.media || string(tasks[0].Body) != tt.body {
			t.Errorf("%s: %v, %+v\nbody %s\nwant %s", tt.template.Format, err, tasks, tasks[0].Body, tt.body)
		}
	}

	// A field that cannot be evaluated is reported, and the others are told.
	shape, err := (&Template{Fields: []Field{{"a", `amount + "x"`}, {"b", "order_no"}}}).Compile()
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := (&Then{Default: []Recipient{{Queue: "m", Shape: shape}}}).Tell(n)
	if err == nil || !strings.Contains(err.Error(), "queue m: template.fields.a") || len(tasks) != 1 || string(tasks[0].Body) != `{"b":"O 1"}` {
		t.Errorf("%v, %+v", err, tasks)
	}
}

// No template says of an order that is UNKNOWN that nobody paid: it may be paid.
func TestTemplatesOfUnknown(t *testing.T) {
	n := &News{
		Of: &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1"}, Decision: StateUnknown, Event: EventUndecided,
		Order:  Order{OrderNo: "C1", Created: created, Amount: 8800, Currency: "CNY"},
		Fields: map[string]any{"merchant_no": "M1", "order_no": "O1", "order_state": StateUnknown, "decided_at": "2026-11-20T15:30:00.000Z"},
	}
	for name, want := range map[string]string{"jeepay": "&state=1&", "roncoo": "&tradeStatus=WAITING_PAYMENT&"} {
		template, _ := TemplateNamed(name)
		shape, err := template.Compile()
		if err != nil {
			t.Fatal(err)
		}
		tasks, err := (&Then{Default: []Recipient{{Queue: "m", Shape: shape}}}).Tell(n)
		if err != nil || len(tasks) != 1 || !strings.Contains(string(tasks[0].Body), want) {
			t.Errorf("%s: %v, %s; want %s in it", name, err, tasks[0].Body, want)
		}
	}
}

// The templates that are built in compile.
func TestTemplateNames(t *testing.T) {
	for _, name := range TemplateNames() {
		template, _ := TemplateNamed(name)
		if _, err := template.Compile(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, known := TemplateNamed("epay"); known {
		t.Error("there is a template epay")
	}
}
