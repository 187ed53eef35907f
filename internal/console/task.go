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
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
)

// newestAttempts is how many attempts of a task are shown.
const newestAttempts = 200

// A taskView is the page of one task.
type taskView struct {
	*view
	Task  *bellman.Task
	Kind  string          // notify, order
	Order *order.Standing // nil: the task is no order's
	Ask   order.Ask       // of an order

	Held     *held      // what keeps it from being attempted; nil: nothing does
	WaitsFor bellman.ID // the first task of its ordering key, which has to end before; zero: none

	rules       // that hold for the task now
	Method      string
	Header      []field // names and values, sorted
	Body        shownBody
	NotifyJSON  shownBody // what an order's merchant is told besides
	Vars        []field
	Curl        string // empty: nothing is sent by the task itself, or to its queue's address
	MaxAttempts int    // 0: without end, or not known

	Log     []logged    // the newest attempt first
	Earlier int         // attempts that are not shown
	Lines   []*timeline // one for each width

	Hand     []store.Audit // what was done with it by hand, the newest first
	HandMore bool          // there may be more, further back

	Reason, When, Outcome string // what was typed into the form that was refused
	Wrong                 string // why it was; empty: nothing was
}

// Rules are what a task is attempted by now: its own, its queue's as they were, or its
// merchant's as they are.
type rules struct {
	To                string // where it goes; empty: to its queue's address, or to nobody knows where
	Nowhere           bool   // it goes to its merchant's address, and none is known
	Schedule, Success string
	Timeout           time.Duration
	Merchants         bellman.Inherited // which of the last three are its merchant's
}

// rules reads what a task is attempted by now.
func (c *Console) rules(t *bellman.Task) rules {
	g := c.engine.Route(t)
	r := rules{To: cmp.Or(t.URL, g.URL), Schedule: g.ScheduleOf(t), Success: g.SuccessOf(t), Timeout: g.TimeoutOf(t)}
	r.Nowhere = r.To == "" && bellman.ToMerchant(t.Endpoint) && g.Endpoint == ""
	for rule, has := range map[bellman.Inherited]bool{bellman.InheritedSchedule: g.Schedule != "", bellman.InheritedSuccess: g.Success != "", bellman.InheritedTimeout: g.Timeout > 0} {
		if has && t.Inherited.Has(rule) {
			r.Merchants |= rule
		}
	}
	return r
}

// OfMerchant reports whether a rule is the merchant's: schedule, success or timeout.
func (r *rules) OfMerchant(rule string) bool {
	return r.Merchants.Has(map[string]bellman.Inherited{"schedule": bellman.InheritedSchedule, "success": bellman.InheritedSuccess, "timeout": bellman.InheritedTimeout}[rule])
}

// A held task is not attempted for now.
type held struct {
	Target string // what is paused: queue/NAME, endpoint/NAME or merchant/NUMBER
	Pause  *figures.Pause
}

// HasNext reports whether the task is attempted at its due time: one that passed in a pause says nothing.
func (v *taskView) HasNext() bool {
	return !v.Task.State.Ended() && (v.Held == nil || v.Task.Due.After(time.Now()))
}

// InStep reports whether a task's attempts are those of its schedule, so that they are
// so many of it: none was made by hand or lost, and the schedule began once.
func (v *taskView) InStep() bool {
	t := v.Task
	switch {
	case v.MaxAttempts == 0, int(t.Attempts) > v.MaxAttempts:
		return false
	case !t.State.Ended():
		return t.Attempts == t.Step
	case v.OfMerchant("schedule"): // which may have been another one then
		return false
	case t.Attempts == t.Step+1: // the one that ended it is not counted
		return len(v.Log) > 0 && v.Log[0].Trigger != bellman.ByHand && v.Log[0].Trigger != bellman.BySettle
	}
	return t.Attempts == t.Step
}

// A field is a name and its value.
type field struct{ Name, Value string }

// A logged attempt is one with its answer as people read it.
type logged struct {
	*bellman.Attempt
	Answer shownBody
}

func (q *request) taskPage() {
	if v := q.taskView(); v != nil {
		q.render(http.StatusOK, "task", v)
	}
}

// task reads the task that the path names. It has answered if it returns nil.
func (q *request) task() *bellman.Task {
	id, err := bellman.ParseID(q.r.PathValue("id"))
	if err != nil {
		q.fail(http.StatusNotFound, "error.not_found")
		return nil
	}
	t, err := q.reader.Task(q.r.Context(), id)
	if err != nil {
		q.refuse(err)
		return nil
	}
	return t
}

// taskView reads what the page of a task shows. It has answered if it returns nil.
func (q *request) taskView() *taskView {
	t := q.task()
	if t == nil {
		return nil
	}
	earlier := max(int(t.Attempts)-newestAttempts, 0)
	log, err := q.reader.Attempts(q.r.Context(), t.ID, earlier, newestAttempts)
	if err != nil {
		q.refuse(err)
		return nil
	}
	v := &taskView{
		view: q.view("page.task"), Task: t, Kind: "notify", Method: cmp.Or(t.Method, http.MethodPost), Earlier: earlier, rules: q.rules(t),
		Header: sorted(client.MaskHeaders(t.Header)),
	}
	if o, is := q.order(t); is {
		v.Kind, v.Order = "order", &o
		v.Ask, _ = order.ParseAsk(t.Body) // which was read when it was added
		v.Vars = sorted(v.Ask.Vars)
		v.NotifyJSON = showBody(v.Ask.Notify.JSON, "")
	} else {
		v.Body = showBody(t.Body, contentType(t))
		v.Curl = curl(t, v.To, v.Method, v.Body)
		if s, err := q.schedules.Parse(v.Schedule); err == nil {
			v.MaxAttempts, _ = s.Attempts()
		}
	}
	v.Title = cmp.Or(bounded(plain(cmp.Or(t.OrderNo, t.Key)), 40), t.ID.String()) + " · " + v.Title
	planned, more := q.planned(t, v.Schedule, v.Order != nil)
	now := time.Now()
	for i := range slices.Backward(log) {
		a := &log[i]
		v.Log = append(v.Log, logged{a, showBody([]byte(a.Response), "")})
	}
	if !t.State.Ended() {
		if target, pause := q.engine.Held(t); pause != nil {
			v.Held = &held{target, pause}
			if v.did == "once" || v.did == "test" {
				v.Done = v.lang.say("done.held")
			}
		}
	}
	if t.OrderingKey != "" && !t.State.Ended() {
		chain, err := q.reader.Chain(q.r.Context(), t.Queue, t.OrderingKey, t.ID, 1)
		if err != nil && !errors.Is(err, bellman.ErrNotFound) { // it has just ended
			q.refuse(err)
			return nil
		}
		v.WaitsFor = chain.Before(t.ID)
		if v.Held == nil && v.did == "once" && !v.WaitsFor.IsZero() {
			v.Done = v.lang.say("done.waits")
		}
	}
	if v.Hand, v.HandMore, err = q.byHand(t); err != nil {
		q.refuse(err)
		return nil
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
	return v
}

// order is how the order of a task stands; not is: the task is of another kind.
func (c *Console) order(t *bellman.Task) (o order.Standing, is bool) {
	if t.Kind != bellman.KindOrder {
		return o, false
	}
	return order.StandingOf(t), true
}

func sorted(m map[string]string) []field {
	fields := make([]field, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		fields = append(fields, field{name, m[name]})
	}
	return fields
}

const (
	maxByHand = 2000 // records of the audit that are looked at for one page
	byHandAge = 60 * time.Millisecond

	// clocksApart is how much later than a task's last change, by another node's clock, it
	// can be recorded that somebody waited for that change.
	clocksApart = 2 * store.MaxSkew
)

// byHand finds what was done with tasks by hand, the newest first. Records are kept by
// time alone: they are read from the tasks' last change back to their creation, as far
// as that is quick.
func (q *request) byHand(tasks ...*bellman.Task) (found []store.Audit, more bool, err error) {
	wanted := make(map[string]bool, len(tasks))
	var over span
	for _, t := range tasks {
		_, order := q.order(t)
		if !order && int(t.Version) <= 1+int(t.Attempts) { // every change was an attempt's
			continue
		}
		wanted[t.ID.String()] = true
		over.widen(t.Created())
		switch {
		case !order:
			over.widen(t.Updated)
		case t.State.Ended(): // to settle what is being asked already changes nothing of it
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
		records, err := q.reader.Audits(q.r.Context(), before, page)
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

// taskAction does something with a task by hand, and shows it then.
func (q *request) taskAction() {
	t := q.task()
	if t == nil {
		return
	}
	form := q.r.PostForm
	action, reason, when := form.Get("action"), strings.TrimSpace(form.Get("reason")), strings.TrimSpace(form.Get("when"))
	outcome := form.Get("outcome")
	how, zone := when, form.Get("zone")
	if action == "complete" {
		how = outcome
	}
	err := q.actOn(t, action, reason, how, zone)
	if err == nil {
		q.goDone("/tasks/"+t.ID.String(), action)
		return
	}
	v := q.taskView()
	if v == nil {
		return
	}
	var status int
	status, v.Wrong = q.wrong(err)
	v.Reason, v.When, v.Outcome = reason, when, outcome
	q.render(status, "task", v)
}

// A formError is a mistake in a form: the name of the text that says which.
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
	errLife        formError = "error.life"
	errSecret      formError = "error.secret"
	errThere       formError = "error.there"
	errConcurrency formError = "error.concurrency"
	errFile        formError = "error.file"
	errNoLines     formError = "error.no_lines"
	errManyLines   formError = "error.many_lines"
	errMerchant    formError = "error.merchant"
	errScheme      formError = "problem.merchant.missing_scheme"

	maxReason = 500 // characters
)

// mistakes are what is wrong with a form, all of it.
type mistakes []error

func (m mistakes) Error() string   { return errors.Join(m...).Error() }
func (m mistakes) Unwrap() []error { return m }

// err is what is wrong, without what is not; nil: nothing is.
func (m mistakes) err() error {
	if m = slices.DeleteFunc(m, func(err error) bool { return err == nil }); len(m) > 0 {
		return m
	}
	return nil
}

// wrong says why a form was refused.
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
	if mistake := formError(""); errors.As(err, &mistake) {
		return http.StatusUnprocessableEntity, q.visitor.lang.say(string(mistake))
	}
	status, text, detail := q.meaning(err)
	if detail != "" {
		text += " " + detail
	}
	return status, text
}

// actOn does something with a task; how is when it is to be attempted next, as the clocks
// of zone show it, or what it ended as.
func (q *request) actOn(t *bellman.Task, action, reason, how, zone string) error {
	ctx, by := q.r.Context(), q.by(reason)
	if action == "complete" {
		return q.complete(t.ID, how, by)
	}
	var due time.Time
	var err error
	if action == "reschedule" {
		now := time.Now()
		if due, err = moment(how, zone, now); err == nil && !reasoned(reason) {
			err = reachable(due, now) // else the engine says so
		}
	}
	if (action == "cancel" || action == "reschedule") && !reasoned(reason) && t.State.Ended() { // else the engine says so
		err = coded.Errorf("task.ended", "%w: the task is %v already", bellman.ErrConflict, t.State)
	}
	if err := (mistakes{unreasoned(reason), err}).err(); err != nil {
		return err
	}
	switch action {
	case "once", "restart":
		_, err = q.engine.Resend(ctx, t.ID, engine.ResendMode(action), by)
	case "cancel":
		_, err = q.engine.Cancel(ctx, t.ID, by)
	case "reschedule":
		_, err = q.engine.Reschedule(ctx, t.ID, due, by)
	default:
		return errAction
	}
	return err
}
