package console

import (
	"cmp"
	"hash/fnv"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/store"
)

// Limits of the page of one order.
const (
	orderTasks    = 200
	ownReads      = 8 // readings of as many older tasks that look for the order's own
	orderAttempts = 1000
)

type orderView struct {
	*view
	MerchantNo, OrderNo string
	State, Late         string // empty: no task is the order's own
	Mismatch            string // of the order's own task
	Duplicates          int
	Rows                []row
	Steps               []step      // in the order of time
	More                bool        // there is more than is shown
	Lines               []*timeline // one for each width of page
	Next                time.Time   // time of the next attempt; zero: none
	NextLate            bool        // the next attempt looks for a payment after the decision
	NextNotice          bool        // the next attempt notifies the merchant
	Live                string      // the state that the page shows, for the live stream
	Unsettled           bool        // the channel was queried just now, and its answer is pending
	HandMore            bool        // there may be older manual actions
	Notice              bellman.ID  // the newest notification of the merchant; zero: there is none
	orderFacts
	orderAct
}

// HasNext reports whether the time of the next attempt is still to come. A time that passed, during
// a pause for example, is not shown.
func (v *orderView) HasNext() bool { return v.Next.After(time.Now()) }

// A step is an event of an order: an attempt, several equal attempts in a row, the creation or
// decision of a task, or a manual action.
type step struct {
	What    string // created, query, notice, told, decided or hand
	At      time.Time
	Task    *bellman.Task
	Attempt *bellman.Attempt // the last of them; nil: the step is no attempt
	Answer  shownBody
	Times   int          // number of equal attempts
	Last    time.Time    // when the last of them started
	State   string       // the decided state, of the order or of a poll
	Why     string       // why the order is UNKNOWN: the reason of its task; empty: it is not, or that is not known
	Hand    *store.Audit // who acted manually, and why; nil: nobody
	Told    *order.Told  // what the channel told by itself; nil: the step is something else
}

// orderForm is the form in which an order is searched by number.
type orderForm struct {
	*view
	MerchantNo, OrderNo string
	Wrong               string // the form's error; empty: none
	Missing             bool   // there is no such order
	Several             bool   // several merchants have an order of this number, and none was named
	Rows                []row  // the orders of these merchants, or the newest orders
	All                 string // address of the complete list; empty: all are shown

	TaskFilter *taskFilter  // merchant and time of the listed orders; nil: nothing was listed
	Filter     *orderFilter // the rest of the filter; nil: nothing was listed
	Filtered   bool
	Channels   []string  // to choose from
	Next       string    // address of the next page; empty: this is the last
	Back       time.Time // the search went back to this time, if it found little or nothing and there is more
	First      string    // address of the first page; empty: this is it
}

// Sifted reports whether the list has a filter beside the merchant.
func (v *orderForm) Sifted() bool {
	return v.Filtered && (v.Rare() || v.Filter.State+v.Filter.Channel != "")
}

// Rare reports whether fields have values that the form shows only on request.
func (v *orderForm) Rare() bool {
	return v.Filter != nil && (v.Filter.Account+v.Filter.Least+v.Filter.Most != "" || v.TaskFilter.Get("from")+v.TaskFilter.Get("to") != "")
}

func (q *request) orderPage() error {
	in := q.r.URL.Query()
	v := &orderForm{MerchantNo: strings.TrimSpace(in.Get("merchant_no")), OrderNo: strings.TrimSpace(in.Get("order_no"))}
	switch {
	case v.MerchantNo != "" && v.OrderNo != "":
		return q.showOrder(http.StatusOK, v.MerchantNo, v.OrderNo, orderAct{})
	case v.OrderNo != "":
		return q.findOrder(v)
	default:
		return q.listOrders(v, in)
	}
}

// findOrder finds an order by its number alone. If one merchant has it, the browser goes to its
// page; if several have it, all are listed.
func (q *request) findOrder(v *orderForm) error {
	w := readTaskFilter(url.Values{"order_no": {v.OrderNo}})
	v.view, v.All = q.view("page.orders"), w.Address("/tasks")
	if v.Wrong = q.visitor.lang.invalid(w.wrong()); v.Wrong != "" {
		return q.render(http.StatusUnprocessableEntity, "orderform", v)
	}
	tasks, _, err := q.read(w, bellman.ID{}, readRows)
	if err != nil {
		return err
	}
	v.Rows = ofMerchants(q.orderRows(tasks))
	if len(v.Rows) > 1 { // a notice about an unknown order may contain any number, and tasks for a ledger name no merchant
		v.Rows = slices.DeleteFunc(v.Rows, func(r row) bool { return r.MerchantNo == "" })
	}
	switch {
	case len(v.Rows) == 0:
		v.Missing = true
		return q.render(http.StatusNotFound, "orderform", v)
	case len(v.Rows) > 1:
		v.Several = true
		return q.render(http.StatusOK, "orderform", v)
	case v.Rows[0].MerchantNo == "":
		return q.goTo(v.All) // a task without a merchant is no order
	default:
		return q.goTo(orderAddress(v.Rows[0].MerchantNo, v.OrderNo))
	}
}

// ofMerchants returns one row for each merchant: the order's own task, or else the newest task.
func ofMerchants(rows []row) (out []row) {
	for _, own := range []bool{true, false} {
		for _, r := range rows {
			is := r.Order != nil && !r.Order.Beside
			if is == own && !slices.ContainsFunc(out, func(o row) bool { return o.MerchantNo == r.MerchantNo }) {
				out = append(out, r)
			}
		}
	}
	return out
}

func (q *request) showOrder(status int, merchant, order string, form orderAct) error {
	v, err := q.orderView(merchant, order)
	switch {
	case err != nil:
		return err
	case v == nil:
		return q.render(http.StatusNotFound, "orderform", &orderForm{view: q.view("page.orders"), MerchantNo: merchant, OrderNo: order, Missing: true})
	default:
		v.Unsettled, v.orderAct = v.did == didAsk, form
		return q.render(status, "order", v)
	}
}

// owns reports whether a task is an order, and not one beside it.
func owns(t *bellman.Task) bool {
	return t.Kind == bellman.KindOrder && !order.StandingOf(t).Beside
}

// tasksOf reads the tasks of an order, newest first. more means that there are older ones. Behind
// many notices it also reads the order's own task.
func (q *request) tasksOf(merchant, no string) (tasks []*bellman.Task, more bool, err error) {
	f := store.Filter{MerchantNo: merchant, OrderNo: no}
	var before bellman.ID
	for s := newSearch(searchTime); ; {
		page, next, err := q.o.Reader.List(q.r.Context(), f, before, orderTasks-len(tasks))
		if err != nil {
			return nil, false, err
		}
		tasks = append(tasks, page...)
		more, before = !next.IsZero(), next
		if !more || len(tasks) >= orderTasks || !s.again() {
			break
		}
	}
	for reads := 0; !before.IsZero() && reads < ownReads && !slices.ContainsFunc(tasks, owns); reads++ {
		page, next, err := q.o.Reader.List(q.r.Context(), f, before, orderTasks)
		if err != nil {
			return nil, false, err
		}
		tasks = append(tasks, slices.DeleteFunc(page, func(t *bellman.Task) bool { return !owns(t) })...)
		before = next
	}
	tasks, err = order.AddOwn(q.r.Context(), q.o.Reader.List, tasks, func(*bellman.Task) bool { return true })
	return tasks, more, err
}

// orderView reads an order. It returns nil if there is none.
func (q *request) orderView(merchant, no string) (*orderView, error) {
	tasks, more, err := q.tasksOf(merchant, no)
	if err != nil || len(tasks) == 0 {
		return nil, err
	}
	v := &orderView{view: q.view("page.order"), MerchantNo: merchant, OrderNo: no, More: more, Rows: q.rows(tasks), Live: versions(tasks)}
	v.Title = bounded(plain(no), 40) + " · " + v.Title
	whole, own := order.Overall(tasks)
	v.State, v.Late, v.Mismatch, v.Duplicates = whole.State, whole.Late, whole.Mismatch, whole.Duplicates
	if v.orderFacts, err = q.factsOf(v.Rows, &whole, own); err != nil {
		return nil, err
	}
	for i := range v.Rows {
		if r := &v.Rows[i]; v.Notice.IsZero() && r.Kind == bellman.KindNotify && r.MerchantNo != "" {
			v.Notice = r.ID
		}
	}
	for i := range slices.Backward(v.Rows) {
		r := &v.Rows[i]
		if err := q.addSteps(v, r); err != nil {
			return nil, err
		}
		if !r.State.Ended() && (v.Next.IsZero() || r.Due.Before(v.Next)) {
			v.Next, v.NextLate, v.NextNotice = r.Due, v.State != "PENDING" && r.Order != nil, r.Kind == bellman.KindNotify
		}
	}
	if err := q.addByHand(v); err != nil {
		return nil, err
	}
	slices.SortStableFunc(v.Steps, func(a, b step) int { return a.At.Compare(b.At) })
	now := time.Now()
	v.Lines = []*timeline{q.orderLine(wideLine, v, now), q.orderLine(phoneLine, v, now)}
	v.Steps = gathered(v.Steps)
	return v, nil
}

// Says returns the name of the text that sums up how the order stands.
func (v *orderView) Says() string {
	switch {
	case v.Late != "" && v.State == "UNKNOWN":
		return "order.says.found"
	case v.Late != "" && v.refunded():
		return "order.says.late_refund"
	case v.Late != "":
		return "order.says.late"
	case v.Duplicates > 0 && v.refunded():
		return "order.says.twice_refund"
	case v.Duplicates > 0:
		return "order.says.twice"
	case v.Mismatch != "" && v.State == "UNKNOWN":
		return "order.says.mismatch"
	case v.State == "":
		return "order.says.none"
	}
	return "order.says." + v.State
}

// refunded reports whether there is a refund or transfer of the order that did not fail: the order
// may be refunded.
func (v *orderView) refunded() bool {
	return slices.ContainsFunc(v.Polls, func(r row) bool {
		return r.Poll.State != poll.StateFailedThere && r.State != bellman.Cancelled
	})
}

// Decision returns the manual action that decided the order; nil: no person did, or a payment was
// found since.
func (v *orderView) Decision() *store.Audit {
	if v.Late != "" || v.Duplicates > 0 {
		return nil
	}
	for i := range slices.Backward(v.Steps) {
		if s := &v.Steps[i]; s.What == "decided" && s.Task.Kind == bellman.KindOrder {
			return s.Hand
		}
	}
	return nil
}

// Decidable reports whether an outcome can still be entered: of a paid order none can.
func (v *orderView) Decidable() bool { return v.State != "PAID" && v.State != "PAID_REFUNDED" }

// addSteps adds the events of one task of the order.
func (q *request) addSteps(v *orderView, r *row) error {
	kind := "notice"
	if r.Order != nil || r.Poll != nil {
		kind = "query"
	}
	if told := order.ToldOf(r.Task); told != nil {
		s := step{What: "told", At: r.Created(), Task: r.Task, Told: told}
		if q.visitor.May(access.Operate) {
			s.Answer = showBody([]byte(told.Content), "")
		}
		v.Steps = append(v.Steps, s)
		return nil
	}
	v.Steps = append(v.Steps, step{What: "created", At: r.Created(), Task: r.Task})
	if r.Attempts > 0 {
		after := max(int(r.Attempts)-newestAttempts, 0)
		v.More = v.More || after > 0
		log, err := q.o.Reader.Attempts(q.r.Context(), r.ID, after, newestAttempts)
		if err != nil {
			return err
		}
		for i := range log {
			if len(v.Steps) >= orderAttempts {
				v.More = true
				break
			}
			a := &log[i]
			v.Steps = append(v.Steps, step{What: kind, At: a.Started, Last: a.Started, Task: r.Task, Attempt: a,
				Times: 1, Answer: showBody([]byte(a.Response), "")})
		}
	}
	if o := r.Order; o != nil && !o.Beside {
		v.addDecisions(r, o)
	}
	if p := r.Poll; p != nil && !p.Decided.IsZero() {
		v.Steps = append(v.Steps, step{What: "decided", At: p.Decided, Task: r.Task, State: p.State})
	}
	return nil
}

// addDecisions adds the decisions of one of the order's own tasks. A result that arrives after the
// order was given up is a further decision; the first stays.
func (v *orderView) addDecisions(r *row, o *order.Standing) {
	state, finished := r.Task.State, r.Finished
	if finished.IsZero() && r.Before != nil { // the channel is queried once more
		state, finished = r.Before.State, r.Before.Finished
	}
	decided := step{What: "decided", At: o.Decided, Task: r.Task, State: o.State}
	switch {
	case o.State == "PENDING":
		return
	case decided.At.IsZero(): // the order was cancelled
		decided.At = finished
	case o.State != "UNKNOWN" && (state == bellman.Failed || state == bellman.Cancelled) && !finished.After(decided.At):
		v.Steps = append(v.Steps, step{What: "decided", At: finished, Task: r.Task, State: "UNKNOWN"})
	}
	if o.State == "UNKNOWN" {
		decided.Why = r.Reason
	}
	if !decided.At.IsZero() {
		v.Steps = append(v.Steps, decided)
	}
}

// addByHand adds manual actions on the order's tasks. A manually entered outcome is shown with the
// decision that it made.
func (q *request) addByHand(v *orderView) error {
	tasks := make(map[string]*row, len(v.Rows))
	all := make([]*bellman.Task, len(v.Rows))
	for i := range v.Rows {
		r := &v.Rows[i]
		tasks[r.ID.String()], all[i] = r, r.Task
	}
	found, more, err := q.byHand(all...)
	if err != nil {
		return err
	}
	v.HandMore = more
	var steps []step
	for i := range slices.Backward(found) {
		hand := &found[i]
		made := slices.IndexFunc(v.Steps, func(s step) bool {
			return (hand.Action == "complete" || hand.Action == "decide") && s.What == "decided" && s.State != "UNKNOWN" && s.Task.ID.String() == hand.Target && s.At.Equal(hand.At)
		})
		if made >= 0 {
			v.Steps[made].Hand = hand
			continue
		}
		r := tasks[hand.Target]
		steps = append(steps, step{What: "hand", At: hand.At, Task: r.Task, Hand: hand})
	}
	v.Steps = append(steps, v.Steps...) // before their effects of the same millisecond
	return nil
}

// gathered merges consecutive equal attempts into one step.
func gathered(steps []step) []step {
	var out []step
	for _, s := range steps {
		if n := len(out); n > 0 && s.Attempt != nil && alike(&out[n-1], &s) {
			last := &out[n-1]
			last.Times, last.Last, last.Attempt = last.Times+1, s.At, s.Attempt
			continue
		}
		out = append(out, s)
	}
	return out
}

func alike(a, b *step) bool {
	x, y := a.Attempt, b.Attempt
	return x != nil && y != nil && a.Task.ID == b.Task.ID && x.Result == y.Result && x.Status == y.Status &&
		x.Action == y.Action && x.Reading == y.Reading && x.Response == y.Response && x.Error == y.Error && x.Trigger == y.Trigger
}

// orderLine draws the life of an order: queries of the channel above, notifications of the merchant
// below.
func (q *request) orderLine(width float64, v *orderView, now time.Time) *timeline {
	var over span
	for i := range v.Steps {
		over.widen(v.Steps[i].At)
	}
	if !v.Next.IsZero() {
		over.widen(v.Next)
		over.widen(now)
	}
	s := newScale(width, over.start, over.end)
	say := q.visitor.lang.say
	channel := &lane{Name: say("line.channel"), Y: laneHeight - 10}
	merchant := &lane{Name: say("line.merchant"), Y: 2*laneHeight - 10}
	for i := range v.Steps {
		st := &v.Steps[i]
		switch {
		case st.What == "query":
			m := made(s, st.Attempt, q.visitor.lang.outcome(st.Attempt))
			if m.Number = ""; m.Class == "wait" {
				m.Label = "" // the legend says it
			}
			channel.Marks = append(channel.Marks, m)
		case st.What == "told":
			channel.Marks = append(channel.Marks, mark{X: s.place(st.At), Class: "end", Label: q.visitor.lang.named("reason", string(st.Told.Result)), At: st.At})
		case st.What == "notice":
			m := made(s, st.Attempt, q.visitor.lang.answered(st.Attempt))
			m.Number = ""
			merchant.Marks = append(merchant.Marks, m)
		case st.What == "decided":
			class := "end"
			if st.State == "UNKNOWN" {
				class = "odd"
			}
			channel.Marks = append(channel.Marks, mark{X: s.place(st.At), Class: class, Label: q.visitor.lang.named(st.Task.Kind.String(), st.State), At: st.At})
		}
	}
	for i := range v.Rows {
		r := &v.Rows[i]
		if r.State.Ended() || r.Due.IsZero() {
			continue
		}
		on := merchant
		if r.Order != nil || r.Poll != nil {
			on = channel
		}
		on.Marks = append(on.Marks, mark{X: s.place(r.Due), Class: "next", At: r.Due})
	}
	l := &timeline{Width: width, Lanes: []*lane{channel, merchant}, Ticks: s.ticks(), More: !v.Next.IsZero(), NowTop: 14}
	for _, on := range l.Lanes {
		slices.SortStableFunc(on.Marks, func(a, b mark) int { return cmp.Compare(a.X, b.X) })
		on.thin(width)
	}
	if !v.Next.IsZero() {
		l.Now = s.place(now)
	}
	return l
}

// orderLive notifies the page of an order when the order changes.
func (q *request) orderLive() error {
	in := q.r.URL.Query()
	shown := in.Get("version")
	return q.stream(2*livePace, func() (event, data string, err error) {
		tasks, _, err := q.tasksOf(in.Get("merchant_no"), in.Get("order_no"))
		if err != nil {
			return "", "", err
		}
		now := versions(tasks)
		if now == shown {
			return "", "", nil
		}
		shown = now
		return "changed", now, nil
	})
}

// versions returns a short text that changes whenever one of the tasks changes.
func versions(tasks []*bellman.Task) string {
	h := fnv.New64a()
	for _, t := range tasks {
		h.Write(t.ID[:])
		h.Write([]byte{byte(t.Version), byte(t.Version >> 8), byte(t.Version >> 16), byte(t.Version >> 24)})
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

func orderAddress(merchantNo, orderNo string) string {
	return "/orders?" + url.Values{"merchant_no": {merchantNo}, "order_no": {orderNo}}.Encode()
}
