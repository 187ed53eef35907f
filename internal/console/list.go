package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/order"
)

const (
	pageRows   = 50                    // tasks on a page of a list
	readRows   = 200                   // tasks asked of the store at once, at most, where some may not be wanted
	searchTime = 25 * time.Millisecond // that one page may ask a store for, beyond its first call
)

// A search is the time that one page looks for tasks. A call of a store is bounded by
// itself; another one is made only if there is time for one that takes as long.
type search struct {
	began, asked time.Time
	rows         int // that the next call is to look at
}

func newSearch() *search {
	now := time.Now()
	return &search{began: now, asked: now, rows: pageRows}
}

// again reports whether there is time for another call: of twice as many rows, or as
// many as there is time for.
func (s *search) again() bool {
	now := time.Now()
	took, left := now.Sub(s.asked), searchTime-now.Sub(s.began)
	s.asked = now
	if left < took {
		return false
	}
	s.rows = min(2*s.rows, readRows, int(float64(s.rows)*float64(left)/float64(max(took, 1))))
	return true
}

// A wish says which tasks somebody wants to see. The first part is a store's
// business, which has indexes for most of it; what follows is looked at task by
// task.
type wish struct {
	resend.Pick

	values url.Values      // as they were given, without what is wrong or empty
	zone   *time.Location  // in which times are given; nil: not known
	Wrong  bellman.Invalid // the fields that could not be read, which are left out
}

// wishes are the names of a wish's fields in an address, in the order in which they
// are shown.
var wishes = []string{"merchant_no", "order_no", "key", "url_host", "event", "queue", "kind", "state", "result", "status", "from", "to", "zone"}

// readWish reads a wish from an address or a form.
func readWish(in url.Values) *wish {
	w := &wish{values: url.Values{}, zone: time.UTC}
	for _, name := range wishes {
		value := strings.TrimSpace(in.Get(name)) // it may have been pasted
		if value == "" {
			continue
		}
		w.values.Set(name, value)
		if err := w.take(name, value); err != nil {
			w.leaveOut(name, err)
		}
	}
	for _, bound := range []struct {
		name string
		at   *time.Time
	}{{"from", &w.CreatedFrom}, {"to", &w.CreatedTo}} {
		if text := w.Get(bound.name); text != "" {
			at, ok := wallTime(text, w.zone)
			if *bound.at = at; !ok {
				*bound.at = time.Time{}
				w.leaveOut(bound.name, w.noTime(text))
			}
		}
	}
	return w
}

// leaveOut notes that a field could not be read.
func (w *wish) leaveOut(name string, why error) {
	w.values.Del(name)
	w.Wrong.Note("filter."+name, why)
}

// maxWish is how long a field of a wish may be, in bytes.
const maxWish = 400

// tooLong says so of a text.
func tooLong(text string) error {
	return coded.Errorf("filter.long", "%.40q… is %d bytes long: want at most %d", text, len(text), maxWish)
}

func (w *wish) take(name, value string) error {
	if len(value) > maxWish {
		if name == "zone" {
			w.zone = nil
		}
		return tooLong(value)
	}
	switch name {
	case "merchant_no":
		w.MerchantNo = value
	case "order_no":
		w.OrderNo = value
	case "key":
		w.Key = value
	case "url_host":
		w.URLHost = value
	case "event":
		w.Event = value
	case "queue":
		w.Queue = value
	case "kind":
		if !slices.Contains(kindNames, value) {
			return coded.Errorf("resend.kind", "%.40q is no kind: want notify or order", value)
		}
		w.Kind = value
	case "state":
		var s bellman.State
		if s.UnmarshalText([]byte(value)) != nil {
			return coded.Errorf("filter.state", "%.40q is no state: want one of %s", value, strings.Join(stateNames, ", "))
		}
		w.State = &s
	case "result":
		var r bellman.Result
		if r.UnmarshalText([]byte(value)) != nil {
			return coded.Errorf("filter.result", "%.40q is no result: want one of %s", value, strings.Join(resultNames, ", "))
		}
		w.Result = &r
	case "status":
		n, err := strconv.Atoi(value)
		if err != nil || n < 100 || n > 599 {
			return coded.Errorf("filter.status", "%.40q is no HTTP status: want 100 to 599, such as 500", value)
		}
		w.Status = n
	case "zone":
		zone, err := time.LoadLocation(value)
		if w.zone = zone; err != nil {
			w.zone = nil
			return coded.Errorf("filter.zone", "%.40q is no time zone: want one such as Asia/Shanghai", value)
		}
	}
	return nil
}

// noTime says of a text why it is no time.
func (w *wish) noTime(text string) error {
	if w.zone != nil && inGap(text, w.zone) {
		return noClock(text, w.zone)
	}
	if _, ok := wallTime(text, time.UTC); ok {
		return coded.Errorf("filter.zoneless", "%.40q means nothing without its time zone: want one that there is, or a time such as 2026-11-20T15:04:05Z", text)
	}
	return coded.Errorf("filter.time", "%.40q is no time from 1970 on: want one such as 2026-11-20 15:04, or 2026-11-20T15:04:05Z", text)
}

// wrong names all that is wrong with a wish, for those who leave out none of it.
func (w *wish) wrong() *bellman.Invalid {
	bad := w.Wrong
	if w.Backwards() {
		bad.Note("filter.created_from", coded.Errorf("resend.from", "is not before created_to, or not before now: want an earlier time"))
	}
	return &bad
}

// wallLayouts are how a browser's field and the pages write a time.
var wallLayouts = [...]string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04:05.000", "2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05"}

// wallTime reads what a browser's field for a time gives, or what pages write, as zone's
// clocks show it, or a time with its zone. nil: no zone is known, and only the latter can be read.
func wallTime(text string, zone *time.Location) (time.Time, bool) {
	for _, layout := range wallLayouts {
		if zone == nil {
			break
		}
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			if skipped(layout, text, at) {
				return time.Time{}, false
			}
			return at.UTC(), at.Year() >= 1970
		}
	}
	at, err := time.Parse(time.RFC3339, text)
	return at.UTC(), err == nil && at.Year() >= 1970
}

// skipped reports whether the clocks of at's zone never show what a text says, since they
// are put forward then. The day alone is a day at whatever time it begins.
func skipped(layout, text string, at time.Time) bool {
	said, err := time.Parse(layout, text)
	return err == nil && layout != time.DateOnly && said.Format(time.DateTime) != at.Format(time.DateTime)
}

// inGap is skipped of a text in any layout.
func inGap(text string, zone *time.Location) bool {
	for _, layout := range wallLayouts {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return skipped(layout, text, at)
		}
	}
	return false
}

// noClock says that no clock of a zone shows a time.
func noClock(text string, zone *time.Location) error {
	return coded.Errorf("when.gap", "the clocks of %s never show %.40q, since they are put forward then: want a time before or after that", zone, text)
}

// At is a bound as a browser's field for a time takes it, in the wish's zone; empty: there is none.
func (w *wish) At(name string) string {
	at := w.CreatedFrom
	if name == "to" {
		at = w.CreatedTo
	}
	if at.IsZero() {
		return ""
	}
	return at.In(cmp.Or(w.zone, time.UTC)).Format("2006-01-02T15:04:05.999")
}

// Zone is the zone of what At says, as it is to be given again; empty: it says nothing.
func (w *wish) Zone() string {
	if zone := w.Get("zone"); zone != "" || w.CreatedFrom.IsZero() && w.CreatedTo.IsZero() {
		return zone
	}
	return "UTC"
}

// Empty reports whether all tasks are wanted.
func (w *wish) Empty() bool { return len(w.values) == 0 }

// Get is what was given for a field.
func (w *wish) Get(name string) string { return w.values.Get(name) }

// Rare reports whether fields are given that are shown only when they are asked for.
func (w *wish) Rare() bool {
	for name := range w.values {
		switch name {
		case "merchant_no", "order_no", "state", "queue":
		default:
			return true
		}
	}
	return false
}

// Address is that of the list of these tasks, below path.
func (w *wish) Address(path string) string {
	if w.Empty() {
		return path
	}
	return path + "?" + w.values.Encode()
}

// read reads up to limit of the tasks that are wanted, the newest first, below the
// id before. It stops after a while: next is where to go on, zero at the end.
func (q *request) read(w *wish, before bellman.ID, limit int) (tasks []*bellman.Task, next bellman.ID, err error) {
	for s := newSearch(); ; {
		ask := limit - len(tasks)
		if w.Picky() {
			ask = s.rows
		}
		page, after, err := q.reader.List(q.r.Context(), w.Filter, before, ask)
		if err != nil {
			return nil, next, err
		}
		for _, t := range page {
			if !w.Takes(t) {
				continue
			}
			if len(tasks) == limit { // the rest is the next page's
				return tasks, tasks[limit-1].ID, nil
			}
			tasks = append(tasks, t)
		}
		next = after
		if next.IsZero() || len(tasks) == limit || !s.again() {
			return tasks, next, nil
		}
		before = next
	}
}

// A listView is the page of a list of tasks.
type listView struct {
	*view
	Wish   *wish
	Rows   []row
	Next   string    // the address of the page that follows; empty: this is the last
	Back   time.Time // how far back was looked, if nothing or little was found and there is more
	First  string    // the address of the first page; empty: this is it
	Export string    // the address of the export
	Limit  int       // of the export
	Queues []string

	Registered bool   // the merchant that is asked for is
	Strange    bool   // the queue that is asked for is not configured
	LeftOut    string // what of the wish could not be read; empty: nothing
	Refused    string // why nothing was looked for; empty: something was
}

// A row is a task in a list.
type row struct {
	*bellman.Task
	Order *order.Standing // nil: not an order's
	To    string          // where it goes now: its own address, or its merchant's; empty: its queue's
	Held  string          // what is paused of its queue, merchant and endpoint, as audit records name it; empty: nothing is
}

// to is where a task goes now: its own address, or else its merchant's; empty: its
// queue's.
func (c *Console) to(t *bellman.Task) string {
	if t.URL != "" || t.MerchantNo == "" {
		return t.URL
	}
	return c.engine.Route(t).URL
}

func (q *request) rows(tasks []*bellman.Task) []row {
	rows := make([]row, len(tasks))
	for i, t := range tasks {
		rows[i] = row{Task: t}
		if o, is := q.order(t); is {
			rows[i].Order = &o
		} else {
			rows[i].To = q.to(t)
		}
		if t.State == bellman.Pending {
			if target, pause := q.engine.Held(t); pause != nil {
				rows[i].Held = target
			}
		}
	}
	return rows
}

func (q *request) taskList() {
	in := q.r.URL.Query()
	w := readWish(in)
	v := &listView{view: q.view("page.tasks"), Wish: w, Limit: maxExport, Export: w.Address("/tasks.csv")}
	var before bellman.ID
	if at := in.Get("before"); at != "" {
		var err error
		if before, err = bellman.ParseID(at); err != nil {
			q.fail(http.StatusNotFound, "error.no_page")
			return
		}
		v.First = w.Address("/tasks")
	}
	var tasks []*bellman.Task
	var next bellman.ID
	status := http.StatusOK
	switch {
	case w.Backwards():
		status, v.Refused = http.StatusUnprocessableEntity, q.visitor.lang.invalid(w.wrong())
	default:
		v.LeftOut = q.visitor.lang.invalid(&w.Wrong)
		var err error
		if tasks, next, err = q.read(w, before, pageRows); err != nil {
			q.refuse(err)
			return
		}
	}
	v.Rows = q.rows(tasks)
	if !next.IsZero() {
		values := url.Values{"before": {next.String()}}
		for name, value := range w.values {
			values[name] = value
		}
		v.Next = "/tasks?" + values.Encode()
		if len(tasks) < pageRows {
			v.Back = next.Time()
		}
	}
	if q.queueNames != nil {
		v.Queues = q.queueNames()
		v.Strange = w.Queue != "" && !slices.Contains(v.Queues, w.Queue)
	}
	if q.merchants != nil && w.MerchantNo != "" {
		_, err := q.merchants.Get(q.r.Context(), w.MerchantNo)
		v.Registered = err == nil
	}
	q.render(status, "tasks", v)
}
