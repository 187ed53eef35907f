package order

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/order/internal/wire"
)

// A Told is what a channel told about an order by itself, and what became of it. The Detail of a
// [bellman.Completion] may be one. The record of a notice is a task with [EventNotice], whose Body
// contains the Told.
type Told struct {
	Result NoticeResult `json:"result"`
	Why    string       `json:"why,omitempty"` // why it was refused, or which amount differs

	Queue   string    `json:"-"`            // that received it, and has its record if it is about a refund or transfer
	ID      string    `json:"id,omitempty"` // the channel's id of the notice
	Of      NoticeOf  `json:"of,omitempty"` // what it is about
	Account string    `json:"account,omitempty"`
	OrderNo string    `json:"channel_order_no,omitempty"`
	RefNo   string    `json:"ref_no,omitempty"`  // of a refund or transfer
	Reading string    `json:"reading,omitempty"` // of a payment: "PAID"; of a refund or transfer: "DONE" or "FAILED_THERE", if it says so
	Taken   Taken     `json:"taken,omitempty"`
	Came    time.Time `json:"came,omitzero"`

	// Content is the verified and decrypted content, at most MaxContent bytes. Empty for a refused
	// notice.
	Content string `json:"content,omitempty"`
}

// UnmarshalJSON reads whole numbers of Taken as int64, as a channel gives them. As float64 they
// would be rounded above 2^53, and the expressions of [Then] cannot add or divide them as they do
// when the notice comes.
func (t *Told) UnmarshalJSON(text []byte) error {
	type plain Told
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode((*plain)(t)); err != nil {
		return err
	}
	for name, value := range t.Taken {
		if n, is := value.(json.Number); is {
			if whole, err := n.Int64(); err == nil {
				t.Taken[name] = whole
			} else if t.Taken[name], err = n.Float64(); err != nil {
				return err
			}
		}
	}
	return nil
}

// MaxContent is how much of a notice's content is kept, in bytes.
const MaxContent = 16 << 10

// MaxRepeats is how many notices that change nothing have records, of each task. Channels send a
// notice 15 times at most (WeChat Pay); a gateway that does not understand the answer, or whoever
// repeats one, must not fill the store.
const MaxRepeats = 50

// EventNotice is the event of the record of a notice, and of a notice that is held.
const EventNotice = "order.notice"

// A NoticeResult says what became of a notice.
type NoticeResult string

// What can become of a notice.
const (
	NoticeApplied   NoticeResult = "applied"   // it decided, or said something new
	NoticeDuplicate NoticeResult = "duplicate" // it said what was known
	NoticeHeld      NoticeResult = "held"      // its order did not exist yet: it was kept for HoldNotices
	NoticeMismatch  NoticeResult = "mismatch"  // it told of another amount than the order's
	NoticeRefused   NoticeResult = "refused"   // it is not the channel's, cannot be read, or does not say enough: it decides nothing
)

// ended returns the status of the record of a notice.
func (r NoticeResult) ended() bellman.Status {
	s := bellman.Status{State: bellman.Succeeded, Reason: string(r)}
	if r == NoticeRefused || r == NoticeMismatch {
		s.State = bellman.Failed
	}
	return s
}

// NewTold returns what a verified notice told.
func NewTold(n *Notice, account string, came time.Time) *Told {
	t := &Told{
		Result: NoticeApplied, ID: n.ID, Of: n.Of, Account: account, OrderNo: n.OrderNo, RefNo: n.RefNo,
		Reading: n.Outcome, Taken: n.Taken, Came: came.UTC().Truncate(time.Millisecond),
		Content: string(n.Answer.Body[:min(len(n.Answer.Body), MaxContent)]),
	}
	if n.Of == OfPayment {
		t.Reading = n.Reading.String()
	}
	switch {
	case n.Err != nil:
		t.Result, t.Why, t.Reading = NoticeRefused, n.Err.Error(), ""
	case n.Of == OfPayment && n.Reading == QueryError:
		t.Result, t.Why, t.Reading = NoticeRefused, cmp.Or(n.Answer.Error, "it does not say the order's state"), ""
	}
	return t
}

// Alias returns the alias of the task that asks the channel about the same.
func (t *Told) Alias() string {
	if t.Of == OfPayment {
		return Alias(t.Account, t.Of, t.OrderNo)
	}
	return Alias(t.Account, t.Of, t.RefNo)
}

func cut(s string, most int) string { return s[:min(len(s), most)] }

// Record returns the record of a notice about what a task asks the channel. It is in a queue of
// orders: that of the task, or the one that received the notice if the task is of kind poll.
func (t *Told) Record(of *bellman.Task) bellman.Task {
	queue := of.Queue
	if of.Kind == bellman.KindPoll {
		queue = cmp.Or(t.Queue, queue)
	}
	return bellman.Task{
		Queue: queue, MerchantNo: of.MerchantNo, OrderNo: of.OrderNo, Event: EventNotice,
		Body:   t.ask(),
		Status: t.Result.ended(),
	}
}

// ask returns what Ask.Encode writes of a notice alone, in a fraction of the time.
func (t *Told) ask() []byte {
	b := append(make([]byte, 0, 512+len(t.Content)*5/4), `{"notice":{"result":`...)
	b = wire.AppendText(b, string(t.Result))
	text := func(name, value string) {
		if value != "" {
			b = wire.AppendText(append(b, name...), value)
		}
	}
	text(`,"why":`, t.Why)
	text(`,"id":`, t.ID)
	text(`,"of":`, string(t.Of))
	text(`,"account":`, t.Account)
	text(`,"channel_order_no":`, t.OrderNo)
	text(`,"ref_no":`, t.RefNo)
	text(`,"reading":`, t.Reading)
	if len(t.Taken) > 0 {
		b = append(append(b, `,"taken":`...), wire.Join(t.Taken)...)
	}
	if !t.Came.IsZero() {
		b = append(t.Came.AppendFormat(append(b, `,"came":"`...), time.RFC3339Nano), '"')
	}
	text(`,"content":`, t.Content)
	return append(b, "}}"...)
}

// ToldOf returns the notice that a task keeps; nil: it keeps none. A task of kind notify keeps
// none: its creator chose event and body.
func ToldOf(task *bellman.Task) *Told {
	if task.Event != EventNotice || task.Kind == bellman.KindNotify {
		return nil
	}
	ask, err := ParseAsk(task.Body)
	if err != nil {
		return nil
	}
	return ask.Notice
}

// Vouched is the Detail of a [bellman.Completion] by a person, who says that exactly what the order
// costs was paid.
type Vouched struct{}

// Complete applies a result from outside: what a person or a service knows, or the channel's
// notice. The outcome is PAID, PAID_REFUNDED, CLOSED, REVOKED or FAILED, and decides as an answer
// to a query does. The Detail is nil, the [Taken] fields of the payment, [Vouched], or a *[Told];
// the outcome of a Told is its Reading. A field of Taken that has not its shape, and a missing
// amount or currency of a payment of an order that has an Amount, is an [bellman.Invalid].
//
// After the decision a payment is a late payment, and the same outcome again changes nothing. Any
// other outcome is an [bellman.ErrConflict]. An order that is UNKNOWN accepts every outcome, but if
// a payment of it is known, only PAID and PAID_REFUNDED. A notice of its payment leaves it UNKNOWN.
// A payment of another amount than the order's makes it UNKNOWN. If a person or a service says
// PAID, and a reverse or cancel may have given the money back, an alert is raised.
//
// A notice leaves a record, whatever it changes, and gets its Result. A refused notice causes one
// query about its order, unless that has ended, and a second one is an ErrConflict. If the channel
// signed it, and the order has ended and no payment of it is known, each causes a query. A notice
// of a payment that does not say which amount was paid is refused if the order has an Amount.
//
// The task of a notice that is held is completed without an outcome: a person has seen to its
// payment.
func (h *Handler) Complete(task *bellman.Task, c bellman.Completion, now time.Time) (bellman.Verdict, error) {
	if task.Event == EventNotice {
		return completeNotice(task, c.Outcome)
	}
	w, err := h.read(task)
	if err != nil {
		return bellman.Verdict{}, err
	}
	if _, err := h.learn(context.Background(), w); err != nil { // Life bounds its time
		return bellman.Verdict{}, fmt.Errorf("read which late payment is known: %w", err)
	}
	if told, ok := c.Detail.(*Told); ok {
		return h.told(w, told, now)
	}
	r, err := ParseReading(c.Outcome)
	if err != nil || !r.Decides() {
		return bellman.Verdict{}, bellman.InvalidField("outcome", fmt.Sprintf("%.40q: want one of %s", c.Outcome, strings.Join(readingNames[Paid:], ", ")))
	}
	taken, _ := c.Detail.(Taken)
	if _, vouched := c.Detail.(Vouched); vouched && r.IsPaid() && w.order.Amount > 0 {
		taken = Taken{"amount": w.order.Amount, "currency": w.order.Currency}
	}
	if taken, err = given(&w.order, taken, r.IsPaid()); err != nil {
		return bellman.Verdict{}, err
	}
	w.given = true
	v, result, err := h.outcome(w, r, facts{taken, taken}, now)
	if result != NoticeMismatch {
		v.Reason = "" // the caller's
	}
	return v, err
}

// outcome applies a reading from outside. result says what became of it.
func (h *Handler) outcome(w *watched, r Reading, f facts, now time.Time) (v bellman.Verdict, result NoticeResult, err error) {
	l, a := &w.life, answer{act: askQuery, reading: r, started: now}
	if r.IsPaid() {
		a.mismatch, a.payment = mismatch(&w.order, f.paid), paymentOf(f.paid)
	}
	if l.isPaid() && unpriced(&w.order, f.paid) {
		a.mismatch = "" // which amount was paid is known
	}
	was, payments := l.Mismatch, len(l.Payments)
	over := l.over() || w.task.State.Ended()
	var m move
	switch {
	case r.IsPaid() && l.watches():
		*l, m = watch(w.plan, *l, a, now)
	case r.IsPaid() && over && !(w.given && l.State == StateUnknown && a.mismatch == ""):
		*l, m = look(*l, a)
	case r.IsPaid() && a.mismatch != "":
		*l, m = mismatched(*l, a, now)
	case r.String() == l.State:
		return v, NoticeDuplicate, nil
	case !r.IsPaid() && (l.Late != "" || l.Mismatch != ""):
		return v, NoticeDuplicate, coded.Errorf("order.paid", "%w: a payment of the order is known: want PAID or PAID_REFUNDED", bellman.ErrConflict)
	case l.watches(), l.over() && l.State != StateUnknown:
		return v, NoticeDuplicate, coded.Errorf("order.decided", "%w: the order is %s and stays so: only a payment, PAID or PAID_REFUNDED, can still be reported", bellman.ErrConflict, l.State)
	default:
		doubtful := w.given && r == Paid && l.reversing()
		if *l, m = decide(w.plan, *l, r, now); doubtful {
			m.alert = "the order was decided as paid by hand, and a reverse or cancel may have given the money back: look at it in the channel's own pages"
		}
	}
	result = NoticeApplied
	switch settled := over || l.watches(); {
	case a.mismatch != "" && m.tell == "" && l.Mismatch == was:
		return v, NoticeMismatch, nil // known
	case a.mismatch != "":
		result = NoticeMismatch
	case settled && m.tell == "":
		if len(l.Payments) > payments { // its number is new
			v.Data = l.encode()
		}
		return v, NoticeDuplicate, nil // the notification was sent before
	}
	v.Next, v.Reason = m.next, m.reason
	if w.task.State.Ended() {
		v.Next = bellman.Again
	}
	h.follow(&v, w, m, f, now)
	return v, result, nil
}

// told applies a notice, records it, and sets its Result and Why.
func (h *Handler) told(w *watched, t *Told, now time.Time) (v bellman.Verdict, err error) {
	w.aged = true
	r, parsed := ParseReading(t.Reading)
	decides, f := parsed == nil && r.Decides(), facts{t.Taken, t.Taken}
	if decides && h.rules.Then.Taken != nil {
		said := QueryAnswer{Answer: Answer{Status: 200, Body: []byte(t.Content)}, Reading: r, Taken: t.Taken}
		f = h.facts(w, &said)
	}
	over := w.life.over() || w.life.watches() || w.task.State.Ended()
	lacks := decides && r.IsPaid() && !over && unpriced(&w.order, f.paid)
	if lacks { // a query may say it
		t.Result, t.Why = NoticeRefused, mismatch(&w.order, f.paid)
	}
	// The channel has signed it, and no payment is known of the order that has ended: it may tell
	// of one.
	missed := t.Content != "" && w.task.State.Ended() && !w.life.isPaid() && w.life.Late == ""
	hinted := w.life.Hinted
	switch {
	case decides && r == Paid && !over && w.life.reversing():
		// The notice may be older than a reverse or cancel, whose answer is on its way or was lost.
		t.Result, t.Why = NoticeRefused, "the order is being reversed or cancelled, so the money may be on its way back: the channel is queried"
		if w.life.Stage == Close || w.life.Stage == Reverse {
			w.life.Stage = w.life.before()
		}
		v.Data, v.Due = w.life.encode(), now
	case decides && r == Paid && w.life.refundedByReverse():
		t.Result = NoticeDuplicate
	case t.Result == NoticeRefused && (!w.life.Hinted || missed):
		w.life.Hinted = true
		v.Data = w.life.encode()
		if missed || !over && (w.life.Stage == Polling || w.life.Stage == Closing) {
			v.Due = now
		}
	case lacks: // it is the channel's, and recorded each time
	case t.Result == NoticeRefused:
		return v, coded.Errorf("order.hinted", "%w: the order has the record of such a notice", bellman.ErrConflict)
	case decides:
		if v, t.Result, err = h.outcome(w, r, f, now); t.Result == NoticeMismatch {
			t.Why = mismatch(&w.order, f.paid)
		}
		if err != nil { // it contradicts the decision: a fact to look at, no reason to have it sent again
			t.Why, v, err = strings.TrimPrefix(err.Error(), bellman.ErrConflict.Error()+": "), bellman.Verdict{}, nil
		}
	}
	if v.Data == nil && v.Due.IsZero() && len(v.Follow) == 0 || hinted && missed && t.Result == NoticeRefused {
		known, err := h.read(w.task) // without what was tried above
		if err != nil || known.life.Repeats >= MaxRepeats {
			return v, err
		}
		known.life.Repeats++
		v.Data = known.life.encode()
	}
	v.Follow = append(v.Follow, t.Record(w.task))
	return v, nil
}

// Late handles the verdict of an attempt that was in flight while the order was decided or its
// watch cancelled. A payment in it is a late payment.
// The zero Verdict: nothing follows.
func (h *Handler) Late(task *bellman.Task, verdict bellman.Verdict, now time.Time) bellman.Verdict {
	found, err := ParseLife(verdict.Data)
	if err != nil {
		return bellman.Verdict{}
	}
	reading, err := ParseReading(cmp.Or(found.Late, found.State))
	other := ""
	if found.State == StateUnknown && found.Mismatch != "" { // the attempt found another amount
		reading, err = ParseReading(found.Reading)
		other = found.Mismatch
	}
	if err != nil || !reading.IsPaid() {
		return bellman.Verdict{}
	}
	w, err := h.read(task)
	if err != nil { // it was read before the attempt
		return bellman.Verdict{}
	}
	w.aged = true
	var taken Taken
	if len(found.Taken) > 0 {
		d := json.NewDecoder(bytes.NewReader(found.Taken))
		d.UseNumber()
		d.Decode(&taken) // ParseLife has seen that it is an object
	}
	var m move
	if w.life, m = look(w.life, answer{act: askQuery, reading: reading, mismatch: other, payment: paymentOf(taken), started: now}); m.alert == "" {
		return bellman.Verdict{}
	}
	v := bellman.Verdict{}
	h.follow(&v, w, m, facts{taken, taken}, now)
	return v
}
