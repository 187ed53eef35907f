package console

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/mask"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/store"
)

// newestAttempts is the largest number of attempts shown for a task.
const newestAttempts = 200

type taskView struct {
	*view
	Task  *bellman.Task
	Kind  string          // notify, order or poll
	Order *order.Standing // nil: the task is not an order
	Poll  *poll.Standing  // nil: the task is not a poll
	Ask   order.Ask       // of an order or poll

	Slowed   *figures.Endpoint // an endpoint that delays the overdue task; nil: none
	Held     *held             // the pause that applies to it; nil: none
	WaitsFor bellman.ID        // the first task of its ordering key, which must end first; zero: none

	rules       // hold for the task now
	Method      string
	Header      []field // names and values, sorted
	Body        shownBody
	NotifyJSON  shownBody // additional content of an order's notification
	Vars        []field
	Curl        string // empty: the task sends nothing, or its URL comes from the queue
	MaxAttempts int    // 0: unlimited or unknown

	Log     []logged    // newest attempt first
	Earlier int         // number of older attempts that are not shown
	Lines   []*timeline // one for each width of page

	Hand     []store.Audit // manual actions, newest first
	HandMore bool          // there may be older ones

	Reason, When, Outcome string // the input of a form that was refused
	Wrong                 string // why it was refused; empty: it was not refused
}

// Rules are the rules that hold for a task now: its own, those it got from its queue, or the
// present rules of its merchant.
type rules struct {
	To                string // the address; empty: the queue's address, or an unknown one
	Nowhere           bool   // the task goes to its merchant's address, which is unknown
	Schedule, Success string
	Timeout           time.Duration
	Merchants         bellman.Inherited // which of schedule, success and timeout come from the merchant
}

// rules reads the rules that hold for a task now.
func (c *Console) rules(t *bellman.Task) rules {
	g := c.o.Engine.Route(t)
	r := rules{To: cmp.Or(t.URL, g.URL), Schedule: g.ScheduleOf(t), Success: g.SuccessOf(t), Timeout: g.TimeoutOf(t)}
	r.Nowhere = r.To == "" && bellman.ToMerchant(t.Endpoint) && g.Endpoint == ""
	for rule, has := range map[bellman.Inherited]bool{bellman.InheritedSchedule: g.Schedule != "", bellman.InheritedSuccess: g.Success != "", bellman.InheritedTimeout: g.Timeout > 0} {
		if has && t.Inherited.Has(rule) {
			r.Merchants |= rule
		}
	}
	return r
}

// OfMerchant reports whether a rule comes from the merchant: schedule, success or timeout.
func (r *rules) OfMerchant(rule string) bool {
	return r.Merchants.Has(map[string]bellman.Inherited{"schedule": bellman.InheritedSchedule, "success": bellman.InheritedSuccess, "timeout": bellman.InheritedTimeout}[rule])
}

// A held is the pause that keeps a task from being attempted.
type held struct {
	Target string // the paused object: queue/NAME, endpoint/NAME or merchant/NUMBER
	Pause  *figures.Pause
}

// HasNext reports whether the task is attempted at its due time. A due time that passed during a
// pause is not shown.
func (v *taskView) HasNext() bool {
	return !v.Task.State.Ended() && (v.Held == nil || v.Task.Due.After(time.Now()))
}

// InStep reports whether the attempts of a task are exactly those of its schedule: none was manual
// or lost, and the schedule began once. Then the page can show "n of m".
func (v *taskView) InStep() bool {
	t := v.Task
	switch {
	case v.MaxAttempts == 0, int(t.Attempts) > v.MaxAttempts:
		return false
	case !t.State.Ended():
		return t.Attempts == t.Step
	case v.OfMerchant("schedule"): // at an earlier attempt it may have been another schedule
		return false
	case t.Attempts == t.Step+1: // the attempt that ended the task is not counted
		return len(v.Log) > 0 && v.Log[0].Trigger != bellman.ByHand && v.Log[0].Trigger != bellman.BySettle
	}
	return t.Attempts == t.Step
}

// Unwanted reports whether the last attempt got an answer that the rule does not accept.
func (v *taskView) Unwanted() bool {
	return v.Success != "" && len(v.Log) > 0 && v.Log[0].Status > 0 && v.Log[0].Result != bellman.Accepted
}

type field struct{ Name, Value string }

// A logged attempt is an attempt with a readable form of its answer.
type logged struct {
	*bellman.Attempt
	Answer shownBody
}

func (q *request) taskPage() error {
	v, err := q.taskView()
	if err != nil {
		return err
	}
	return q.render(http.StatusOK, "task", v)
}

// task reads the task that the path names.
func (q *request) task() (*bellman.Task, error) {
	id, err := q.pathID()
	if err != nil {
		return nil, err
	}
	return q.o.Reader.Task(q.r.Context(), id)
}

// taskView reads the page of a task.
func (q *request) taskView() (*taskView, error) {
	t, err := q.task()
	if err != nil {
		return nil, err
	}
	earlier := max(int(t.Attempts)-newestAttempts, 0)
	log, err := q.o.Reader.Attempts(q.r.Context(), t.ID, earlier, newestAttempts)
	if err != nil {
		return nil, err
	}
	v := &taskView{
		view: q.view("page.task"), Task: t, Kind: "notify", Method: cmp.Or(t.Method, http.MethodPost), Earlier: earlier, rules: q.rules(t),
		Header: sorted(client.MaskHeaders(t.Header)),
	}
	if o, is := q.order(t); is {
		v.Kind, v.Order = "order", &o
		v.Ask, _ = order.ParseAsk(t.Body) // the body was validated when the task was added
	} else if p, is := q.poll(t); is {
		v.Kind, v.Poll = "poll", &p
		ask, _ := poll.ParseAsk(t.Body) // as above
		v.Ask = order.Ask{Created: ask.Created, Vars: ask.Vars, Notify: ask.Notify}
	} else {
		v.Body = showBody(t.Body, mask.ContentType(t.Header))
		v.Curl = curl(t, v.To, v.Method, v.Body)
		if s, err := q.o.Schedules.Parse(v.Schedule); err == nil {
			v.MaxAttempts, _ = s.Attempts()
		}
	}
	v.Vars, v.NotifyJSON = sorted(v.Ask.Vars), showBody(v.Ask.Notify.JSON, "")
	v.Title = cmp.Or(bounded(plain(cmp.Or(t.OrderNo, t.Key)), 40), t.ID.String()) + " · " + v.Title
	planned, more := q.planned(t, v.Schedule, v.Asks())
	now := time.Now()
	for i := range slices.Backward(log) {
		a := &log[i]
		v.Log = append(v.Log, logged{a, showBody([]byte(a.Response), "")})
	}
	if !t.State.Ended() {
		if target, pause := q.o.Engine.Held(t); pause != nil {
			v.Held = &held{target, pause}
			if v.did == "once" || v.did == "test" {
				v.Done = v.lang.say("done.held")
			}
		}
	}
	if v.Held == nil && !t.State.Ended() && t.Due.Before(now) {
		v.Slowed = q.slowed(t)
	}
	if t.OrderingKey != "" && !t.State.Ended() {
		chain, err := q.o.Reader.Chain(q.r.Context(), t.Queue, t.OrderingKey, t.ID, 1)
		if err != nil && !errors.Is(err, bellman.ErrNotFound) { // the task has just ended
			return nil, err
		}
		v.WaitsFor = chain.Before(t.ID)
		if v.Held == nil && v.did == "once" && !v.WaitsFor.IsZero() {
			v.Done = v.lang.say("done.waits")
		}
	}
	if v.Hand, v.HandMore, err = q.byHand(t); err != nil {
		return nil, err
	}
	var restarts []time.Time
	for i := range v.Hand {
		if v.Hand[i].Action == "restart" {
			restarts = append(restarts, v.Hand[i].At)
		}
	}
	for _, width := range []float64{wideLine, phoneLine} {
		v.Lines = append(v.Lines, v.lang.line(width, t, log, restarts, planned, more, now))
	}
	return v, nil
}

// slowed returns the endpoint of a task if it gets fewer attempts than it could: its breaker is not
// closed, it asked for fewer requests, or it is paused. nil: it gets all, or no figures can be
// read.
func (q *request) slowed(t *bellman.Task) *figures.Endpoint {
	name := t.Endpoint
	if bellman.ToMerchant(name) {
		name = q.o.Engine.Route(t).Endpoint
	}
	all, err := q.o.Engine.Figures(q.r.Context(), figures.Ask{Endpoints: true})
	if err != nil {
		return nil // the page is right without it
	}
	for i := range all.Endpoints {
		if e := &all.Endpoints[i]; e.Endpoint == name && trouble(e) > 0 {
			return e
		}
	}
	return nil
}

// order returns the state of a task's order. is is false for other tasks.
func (c *Console) order(t *bellman.Task) (o order.Standing, is bool) {
	if t.Kind != bellman.KindOrder {
		return o, false
	}
	return order.StandingOf(t), true
}

// poll returns the state of a task's refund or transfer. is is false for other tasks.
func (c *Console) poll(t *bellman.Task) (p poll.Standing, is bool) {
	if t.Kind != bellman.KindPoll {
		return p, false
	}
	return poll.StandingOf(t), true
}

// isOrder reports whether a person can decide a task as an order: false for a channel's notice.
func isOrder(t *bellman.Task) bool {
	return t.Kind == bellman.KindOrder && t.Event != order.EventNotice
}

// Decidable reports whether a person can decide the task as an order.
func (v *taskView) Decidable() bool { return isOrder(v.Task) }

// Unclaimed reports whether the task holds the notice of a payment whose order has not come.
func (v *taskView) Unclaimed() bool { return order.Unclaimed(v.Task) != nil }

// Settled reports whether a person can say that an ended refund or transfer was dealt with, which
// needed a person.
func (v *taskView) Settled() bool {
	return v.Poll != nil && v.Poll.Alerted && !v.Poll.Decided.IsZero() && v.Task.State.Ended()
}

// Asks reports whether the task queries a channel: it is an order or a poll.
func (v *taskView) Asks() bool { return v.Order != nil || v.Poll != nil }

func sorted(m map[string]string) []field {
	fields := make([]field, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		fields = append(fields, field{name, m[name]})
	}
	return fields
}

const (
	maxByHand = 2000 // audit records that are read for one page
	byHandAge = 60 * time.Millisecond

	// clocksApart is how much later than a task's last change an action that waited for this change
	// can be recorded, because nodes' clocks differ.
	clocksApart = 2 * store.MaxSkew
)

// byHand finds manual actions on tasks, newest first. Audit records are ordered by time alone, so
// it reads from the last change of the tasks back to their creation, as far as that is quick.
func (q *request) byHand(tasks ...*bellman.Task) (found []store.Audit, more bool, err error) {
	wanted := make(map[string]bool, len(tasks))
	var over span
	for _, t := range tasks {
		order := t.Kind == bellman.KindOrder || t.Kind == bellman.KindPoll
		if !order && int(t.Version) <= 1+int(t.Attempts) { // every change was an attempt
			continue
		}
		wanted[t.ID.String()] = true
		over.widen(t.Created())
		switch {
		case !order:
			over.widen(t.Updated)
		case t.State.Ended(): // settling a query that is under way changes nothing of the task
			over.widen(t.Updated.Add(clocksApart))
		default:
			over.widen(time.Now())
		}
	}
	if len(wanted) == 0 {
		return nil, false, nil
	}
	began := time.Now()
	before := over.end.Add(time.Millisecond)
	for seen := 0; seen < maxByHand && time.Since(began) < byHandAge; {
		const page = 200
		records, err := q.o.Reader.Audits(q.r.Context(), before, page)
		if err != nil {
			return nil, false, err
		}
		for _, r := range records {
			if r.At.Before(over.start) {
				return found, false, nil
			}
			if wanted[r.Target] {
				found = append(found, r)
			}
		}
		if len(records) < page {
			return found, false, nil
		}
		seen += len(records)
		before = records[len(records)-1].At
	}
	return found, true, nil
}

// taskAction performs a manual action on a task and shows the task.
func (q *request) taskAction() error {
	t, err := q.task()
	if err != nil {
		return err
	}
	form := q.r.PostForm
	action, reason, when := form.Get("action"), strings.TrimSpace(form.Get("reason")), strings.TrimSpace(form.Get("when"))
	outcome := form.Get("outcome")
	need := access.Operate
	if isOrder(t) && action == "complete" {
		need = access.Decide
	}
	if !q.visitor.May(need) {
		return fail(http.StatusForbidden, "error.role", "role", string(need))
	}
	var wrong error
	if action == "complete" {
		wrong = q.complete(t.ID, outcome, q.by(reason))
	} else {
		wrong = q.actOn(t, action, when, form.Get("zone"), q.by(reason))
	}
	if wrong == nil {
		return q.goDone("/tasks/"+t.ID.String(), action)
	}
	v, err := q.taskView()
	if err != nil {
		return err
	}
	status, text := q.wrong(wrong)
	v.Wrong, v.Reason, v.When, v.Outcome = text, reason, when, outcome
	return q.render(status, "task", v)
}

// A formError is a mistake in a form: the name of the text that describes it.
type formError string

func (e formError) Error() string { return string(e) }

const (
	errReason      formError = "error.reason"
	errWhen        formError = "error.when"
	errAction      formError = "error.action"
	errQueue       formError = "error.queue"
	errEndpoint    formError = "error.endpoint"
	errRate        formError = "error.rate"
	errOutcome     formError = "error.outcome"
	errSeveral     formError = "error.several"
	errLife        formError = "error.life"
	errSecret      formError = "error.secret"
	errThere       formError = "error.there"
	errConcurrency formError = "error.concurrency"
	errFile        formError = "error.file"
	errBill        formError = "error.bill"
	errNoLines     formError = "error.no_lines"
	errManyLines   formError = "error.many_lines"
	errMerchant    formError = "error.merchant"
	errScheme      formError = "problem.merchant.missing_scheme"

	maxReason = 500 // characters
)

// mistakes are all mistakes in a form.
type mistakes []error

func (m mistakes) Error() string   { return errors.Join(m...).Error() }
func (m mistakes) Unwrap() []error { return m }

// err returns the mistakes that are not nil as one error; nil: there are none.
func (m mistakes) err() error {
	if m = slices.DeleteFunc(m, func(err error) bool { return err == nil }); len(m) > 0 {
		return m
	}
	return nil
}

// wrong returns the status and text for a form that was refused.
func (q *request) wrong(err error) (status int, text string) {
	if all, is := err.(mistakes); is {
		texts := make([]string, len(all))
		for i, one := range all {
			if status, texts[i] = q.wrong(one); i > 0 {
				texts[i] = " " + texts[i]
			}
		}
		return status, strings.Join(texts, "")
	}
	if mistake, is := errors.AsType[formError](err); is {
		return http.StatusUnprocessableEntity, q.visitor.lang.say(string(mistake))
	}
	status, text, detail := q.meaning(err)
	if detail != "" {
		text += " " + detail
	}
	return status, text
}

// actOn performs an action that takes the role operate on a task. when is the time of the next
// attempt in the given zone.
func (q *request) actOn(t *bellman.Task, action, when, zone string, by bellman.By) error {
	ctx, reason := q.r.Context(), by.Reason
	var due time.Time
	var err error
	if action == "reschedule" {
		now := time.Now()
		if due, err = moment(when, zone, now); err == nil && !reasoned(reason) {
			err = reachable(due, now) // otherwise the engine returns the error
		}
	}
	if (action == "cancel" || action == "reschedule") && !reasoned(reason) && t.State.Ended() { // otherwise the engine returns the error
		err = coded.Errorf("task.ended", "%w: the task is %v already: only a resend attempts it again", bellman.ErrConflict, t.State)
	}
	if err := (mistakes{unreasoned(reason), err}).err(); err != nil {
		return err
	}
	switch action {
	case "once", "restart":
		_, err = q.o.Engine.Resend(ctx, t.ID, engine.ResendMode(action), by)
	case "cancel":
		_, err = q.o.Engine.Cancel(ctx, t.ID, by)
	case "reschedule":
		_, err = q.o.Engine.Reschedule(ctx, t.ID, due, by)
	default:
		return errAction
	}
	return err
}
