package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/rule"
)

// Then says which queues are notified of the result of an order, refund or transfer.
type Then struct {
	Default []Told            // for decisions that For does not name; empty: none
	For     map[string][]Told // by decision; an empty list: none
	JSON    map[string]string // field → CEL over the answer; nil: the fields of the preset
}

// Told is a queue that is notified. The zero Told is not used.
type Told struct {
	Queue    string
	Refund   bool // the queue is of kind poll, and requests the refund of the payment
	Ordered  bool // notices of one order are sent one after another
	Own      bool // named for a decision: a queue with a url of its own is notified there
	Template *order.Template
}

// Queues returns the queues of all decisions, in no particular order. A queue may occur twice.
func (t *Then) Queues() []Told {
	all := slices.Clone(t.Default)
	for _, told := range t.For {
		all = append(all, told...)
	}
	return all
}

// Tells reports whether any queue is notified of any decision.
func (t *Then) Tells() bool { return len(t.Queues()) > 0 }

// nobody is the word for a decision of which no queue is notified.
const nobody = "none"

// toldAlways are the fields that every notification of an order has.
var toldAlways = []string{"order_no", "merchant_no", "order_state", "decided_at", "late_payment", "duplicate_payment", "found_at", "refunded", "reason"}

// A thenReader reads a then. The template and ordered of the whole hold for each recipient that
// says nothing else.
type thenReader struct {
	Then
	whole     Told
	decisions []string // that the kind of queue has
	always    []string // fields that every notification of the kind has
}

// thenFields are the fields of a then besides the decisions.
var thenFields = []field[thenReader]{
	{name: "queue", set: func(t *thenReader, s string) error { return name(&t.whole.Queue, s) }},
	{name: "ordered", set: func(t *thenReader, s string) error { return boolean(&t.whole.Ordered, s) }},
	{name: "json", read: func(r *reader, path string, n ast.Node, t *thenReader) {
		t.JSON = map[string]string{}
		for e, text := range r.texts(r.entries(n, path)) {
			t.JSON[e.name] = text
			if slices.Contains(t.always, e.name) {
				r.note(e.key, e.at, "is told always: want another name")
			}
			if _, err := rule.CompileValue(text); err != nil {
				r.note(e.value, e.at, err.Error())
			}
		}
	}},
	{name: "template", read: func(r *reader, path string, n ast.Node, t *thenReader) { t.whole.Template = readTemplate(r, path, n) }},
	{name: "default", read: func(r *reader, path string, n ast.Node, t *thenReader) { t.Default = t.read(r, path, n) }},
}

// decisionFields are the fields of a then that name a decision.
func decisionFields(decisions []string) (fields []field[thenReader]) {
	for _, decision := range decisions {
		fields = append(fields, field[thenReader]{name: decision, read: func(r *reader, path string, n ast.Node, t *thenReader) {
			t.For[decision] = t.read(r, path, n)
		}})
	}
	return fields
}

// A toldReader reads one recipient.
type toldReader struct {
	Told
	refund string
}

var toldFields = []field[toldReader]{
	{name: "queue", set: func(t *toldReader, s string) error { return name(&t.Queue, s) }},
	{name: "refund", set: func(t *toldReader, s string) error { return name(&t.refund, s) }},
	{name: "ordered", set: func(t *toldReader, s string) error { return boolean(&t.Ordered, s) }},
	{name: "template", read: func(r *reader, path string, n ast.Node, t *toldReader) { t.Template = readTemplate(r, path, n) }},
}

// read reads the recipients of a decision: none, the name of a queue, a mapping, or a list of them.
func (t *thenReader) read(r *reader, path string, n ast.Node) []Told {
	r.places[path] = r.place(n)
	told, named := []Told{}, []entry{{at: path, value: n}}
	if _, is := r.resolve(n, path).(*ast.SequenceNode); is {
		named = r.elements(n, path)
	} else if text, is := scalarOf(r, n, path); is && text == nobody {
		return told
	}
	for _, e := range named {
		r.places[e.at] = r.place(e.value)
		one := t.one(r, e.at, e.value)
		if one == nil {
			continue
		}
		if slices.ContainsFunc(told, func(other Told) bool { return other.Queue == one.Queue }) {
			r.note(e.value, e.at, fmt.Sprintf("names queue %.40q twice: it is told once of one result", one.Queue))
		}
		told = append(told, *one)
	}
	return told
}

// one reads one recipient; nil: a mistake is noted.
func (t *thenReader) one(r *reader, path string, n ast.Node) *Told {
	noted := len(r.problems)
	told := Told{Own: true, Ordered: t.whole.Ordered, Template: t.whole.Template}
	if !r.isMapping(n, path) {
		text, _ := r.scalar(n, path)
		if err := name(&told.Queue, text); err != nil && len(r.problems) == noted {
			r.note(n, path, err.Error())
		}
	} else {
		in := toldReader{Told: told}
		fill(r, n, path, toldFields, &in)
		stated := r.names(n, path)
		switch {
		case len(r.problems) > noted:
		case (in.Queue == "") == (in.refund == ""):
			r.note(n, path, "want queue, the name of a queue of kind notify, or refund, the name of a queue of kind poll with a request: one of them")
		case in.refund != "" && (stated["ordered"] || stated["template"]):
			r.note(n, path, "a refund is requested, and nothing is written to it: leave ordered and template out")
		case in.refund != "":
			in.Queue, in.Refund, in.Ordered, in.Template = in.refund, true, false, nil
		}
		told = in.Told
	}
	if len(r.problems) > noted {
		return nil
	}
	return &told
}

// scalarOf returns the text of a scalar, and whether it is one. It notes nothing.
func scalarOf(r *reader, n ast.Node, path string) (string, bool) {
	noted := len(r.problems)
	text, is := r.scalar(n, path)
	is = is && len(r.problems) == noted
	r.problems = r.problems[:noted]
	return text, is
}

// readThen reads the name of a queue, or a mapping of decisions and options.
func readThen(r *reader, path string, n ast.Node, q *Queue) {
	t := &thenReader{Then: Then{}, decisions: order.Decisions(), always: toldAlways}
	if q.Kind == "poll" {
		t.decisions, t.always = poll.Decisions(), toldOfPolls
	}
	defer func() { q.Order.Then = t.Then }()
	if !r.isMapping(n, path) {
		if text, _ := r.scalar(n, path); text != nobody {
			t.Default = []Told{{Queue: text}}
		}
		return
	}
	// The options first: each recipient takes them.
	noted := len(r.problems)
	fields := slices.Concat(thenFields, decisionFields(t.decisions))
	t.For = map[string][]Told{}
	fill(r, n, path, fields, t)
	if len(r.problems) > noted {
		return
	}
	stated := r.names(n, path)
	whole := t.whole
	*t = thenReader{Then: Then{For: map[string][]Told{}}, whole: whole, decisions: t.decisions, always: t.always}
	fill(r, n, path, fields, t)
	if len(t.For) == 0 {
		t.For = nil
	}
	switch {
	case stated["queue"] && stated["default"]:
		r.note(n, path, "has queue and default, which mean the same here: want one of them")
	case stated["queue"]:
		whole.Own = false
		t.Default = []Told{whole}
	case !stated["default"] && t.For == nil:
		r.note(n, path+".queue", "is missing: want the name of a queue of kind notify, default, or one of "+strings.Join(t.decisions, ", "))
	}
}

var templateFields = []field[order.Template]{
	{name: "method", set: func(t *order.Template, s string) error { return choice(&t.Method, s, "POST", "PUT", "PATCH", "GET") }},
	{name: "format", set: func(t *order.Template, s string) error { return choice(&t.Format, s, order.Formats()...) }},
	{name: "root", set: func(t *order.Template, s string) error { return filled(&t.Root, s) }},
	{name: "fields", read: func(r *reader, path string, n ast.Node, t *order.Template) {
		for e, text := range r.texts(r.entries(n, path)) {
			t.Fields = append(t.Fields, order.Field{Name: e.name, Value: text})
			r.places[e.at] = r.place(e.value)
		}
	}},
}

// readTemplate reads a template, the name of one that is built in, or the word none; nil: none.
func readTemplate(r *reader, path string, n ast.Node) *order.Template {
	r.places[path] = r.place(n)
	if !r.isMapping(n, path) {
		text, ok := r.scalar(n, path)
		t, known := order.TemplateNamed(text)
		if ok && !known && text != nobody {
			r.note(n, path, fmt.Sprintf("%.40q is no template: want one of %s, none, or {format: form, fields: {…}}", text, strings.Join(order.TemplateNames(), ", ")))
		}
		if !known {
			return nil
		}
		return &t
	}
	t := new(order.Template)
	if noted := len(r.problems); !fill(r, n, path, templateFields, t) || len(r.problems) > noted {
		return nil
	}
	_, err := t.Compile()
	if err == nil {
		return t
	}
	at, text := path, err.Error()
	if wrong, is := err.(*order.TemplateError); is {
		at, text = within(path, wrong.Field), wrong.Problem
		if name, is := strings.CutPrefix(wrong.Field, "fields."); is {
			at = within(within(path, "fields"), name)
		}
	}
	if _, there := r.places[at]; there {
		r.noteAt(at, text)
	} else {
		r.note(n, at, text)
	}
	return nil
}

// checkThen reports queues whose then names no queue that can be told.
func checkThen(r *reader, path string, queues []Queue) {
	for _, q := range queues {
		at := within(within(path, q.Name), "then")
		check := func(at string, told []Told, payment, duplicate bool) {
			if _, there := r.places[at]; !there {
				at = within(within(path, q.Name), "then")
			}
			for _, to := range told {
				wrong := ""
				switch {
				case !to.Refund:
					wrong = notNotify(queues, to.Queue, "")
				case duplicate && !q.Order.namesPaymentsAlike():
					wrong = "the query and the notice may name one payment by different transaction_ids, and it would be refunded as a second one: want the same preset as states and as notice.states"
				default:
					wrong = noRefund(queues, &q.Order.Channel, to.Queue, payment)
				}
				if wrong != "" {
					r.noteAt(at, wrong)
				}
			}
		}
		check(within(at, "default"), q.Order.Then.Default, false, false)
		for _, decision := range slices.Concat(order.Decisions(), poll.Decisions()) {
			duplicate := decision == order.DuplicatePayment
			check(within(at, decision), q.Order.Then.For[decision], duplicate || decision == order.LatePayment, duplicate)
		}
	}
}

// namesPaymentsAlike reports whether a query and a notice have the same transaction_id for one
// payment. A gateway's must be read by one preset.
func (o *Order) namesPaymentsAlike() bool {
	return o.Notice == nil || o.States.Preset != "" && o.States.Preset == o.Notice.States.Preset
}

// noRefund returns why the queue named to cannot request the refund of a payment at a channel;
// empty: it can.
func noRefund(queues []Queue, paid *Channel, to string, payment bool) string {
	i := slices.IndexFunc(queues, func(q Queue) bool { return q.Name == to })
	switch {
	case !payment:
		return "refund is for late_payment and duplicate_payment alone: nothing else is refunded by itself"
	case i < 0:
		return fmt.Sprintf("%.40q is no queue: want the name of a queue of kind poll with a request", to)
	case queues[i].Kind != "poll":
		return fmt.Sprintf("%.40q is of kind %s: want a queue of kind poll with a request", to, queues[i].Kind)
	case queues[i].Poll.Request.URL == "" && !queues[i].Poll.BuiltIn:
		return fmt.Sprintf("queue %.40q has no request: it could only ask about a refund that nobody requested", to)
	case queues[i].Order.Channel.Of != "" && queues[i].Order.Channel.Of != "refund":
		return fmt.Sprintf("queue %.40q is about a %s: want one of refunds", to, queues[i].Order.Channel.Of)
	}
	// A registered account is known when an order comes.
	if asked := &queues[i].Order.Channel; paid.Identity() != "" && asked.Identity() != "" && paid.Identity() != asked.Identity() {
		return fmt.Sprintf("queue %.40q requests refunds of the account %s, and the orders are paid at %s: want a queue with the same account", to, asked.Identity(), paid.Identity())
	}
	return ""
}
