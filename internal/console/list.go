package console

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
)

const (
	pageRows   = 50                    // tasks on a page of a list
	readRows   = 200                   // most rows of one reading, if some may be filtered out
	searchTime = 25 * time.Millisecond // how long one page may read from the store after its first reading
)

// A search limits the time that one page looks for tasks. One reading of the store is bounded by
// itself; another is made only if there is time for one as long.
type search struct {
	most         time.Duration
	began, asked time.Time
	rows         int // number of rows of the next reading
}

func newSearch(most time.Duration) *search {
	now := time.Now()
	return &search{most: most, began: now, asked: now, rows: pageRows}
}

// again reports whether there is time for another reading: of twice as many rows, or of as many as
// there is time for.
func (s *search) again() bool {
	now := time.Now()
	took, left := now.Sub(s.asked), s.most-now.Sub(s.began)
	s.asked = now
	if left < took {
		return false
	}
	s.rows = min(2*s.rows, readRows, int(float64(s.rows)*float64(left)/float64(max(took, 1))))
	return true
}

// A taskFilter is the filter of a list of tasks. The store evaluates the fields of the first part,
// mostly by an index; those that follow are compared task by task.
type taskFilter struct {
	resend.Pick

	values url.Values      // the given values, without invalid and empty ones
	zone   *time.Location  // zone of the given times; nil: unknown
	Wrong  bellman.Invalid // the invalid fields, which are left out

	also func(*bellman.Task) bool // a further condition, compared task by task; nil: none
}

// taskFields are the names of a taskFilter's fields in an address, in the order of the form.
var taskFields = []string{"merchant_no", "order_no", "key", "url_host", "event", "queue", "kind", "state", "result", "status", "from", "to", "finished_from", "zone"}

// readTaskFilter reads a filter from an address or a form.
func readTaskFilter(in url.Values) *taskFilter {
	w := &taskFilter{values: url.Values{}, zone: time.UTC}
	for _, name := range taskFields {
		value := strings.TrimSpace(in.Get(name)) // the value may have been pasted
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
	}{{"from", &w.CreatedFrom}, {"to", &w.CreatedTo}, {"finished_from", &w.FinishedFrom}} {
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

// textsOf returns the fields of a filter in which any text is valid, by their names in an address.
func textsOf(p *resend.Pick) map[string]*string {
	return map[string]*string{"merchant_no": &p.MerchantNo, "order_no": &p.OrderNo, "key": &p.Key, "url_host": &p.URLHost, "event": &p.Event, "queue": &p.Queue}
}

// leaveOut records an invalid field.
func (w *taskFilter) leaveOut(name string, why error) {
	w.values.Del(name)
	w.Wrong.Note("filter."+name, why)
}

// maxFilter is the longest value of a field in bytes.
const maxFilter = 400

func tooLong(text string) error {
	return coded.Errorf("filter.long", "%.40q… is %d bytes long: want at most %d", text, len(text), maxFilter)
}

func (w *taskFilter) take(name, value string) error {
	if len(value) > maxFilter {
		if name == "zone" {
			w.zone = nil
		}
		return tooLong(value)
	}
	if text := textsOf(&w.Pick)[name]; text != nil {
		*text = value
	}
	switch name {
	case "kind":
		if !slices.Contains(kindNames, value) {
			return coded.Errorf("resend.kind", "%.40q is no kind: want notify, order or poll", value)
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

func (w *taskFilter) noTime(text string) error {
	if w.zone != nil && inGap(text, w.zone) {
		return noClock(text, w.zone)
	}
	if _, ok := wallTime(text, time.UTC); ok {
		return coded.Errorf("filter.zoneless", "%.40q means nothing without its time zone: want one that there is, or a time such as 2026-11-20T15:04:05Z", text)
	}
	return coded.Errorf("filter.time", "%.40q is no time from 1970 on: want one such as 2026-11-20 15:04, or 2026-11-20T15:04:05Z", text)
}

// wrong returns all invalid fields, for callers that leave none out.
func (w *taskFilter) wrong() *bellman.Invalid {
	bad := w.Wrong
	if w.Backwards() {
		bad.Note("filter.created_from", coded.Errorf("resend.from", "is not before created_to, or not before now: want an earlier time"))
	}
	return &bad
}

// wallLayouts are the layouts of times in browsers' fields and on pages.
var wallLayouts = [...]string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04:05.000", "2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05"}

// wallTime parses a time that a browser's field or a page shows, in the given zone, or a time that
// contains its zone. If zone is nil, only the latter can be parsed.
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

// skipped reports whether a text is a time that the clocks of at's zone skip when they are put
// forward. A date alone means the beginning of that day, whatever time that is.
func skipped(layout, text string, at time.Time) bool {
	said, err := time.Parse(layout, text)
	return err == nil && layout != time.DateOnly && said.Format(time.DateTime) != at.Format(time.DateTime)
}

// inGap is skipped for a text in any layout.
func inGap(text string, zone *time.Location) bool {
	for _, layout := range wallLayouts {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return skipped(layout, text, at)
		}
	}
	return false
}

// noClock returns the error for a time that the clocks of a zone skip.
func noClock(text string, zone *time.Location) error {
	return coded.Errorf("when.gap", "the clocks of %s never show %.40q, since they are put forward then: want a time before or after that", zone, text)
}

// At returns a bound in the form of a browser's time field, in the filter's zone; empty: none.
func (w *taskFilter) At(name string) string {
	at := map[string]time.Time{"from": w.CreatedFrom, "to": w.CreatedTo, "finished_from": w.FinishedFrom}[name]
	if at.IsZero() {
		return ""
	}
	return at.In(cmp.Or(w.zone, time.UTC)).Format("2006-01-02T15:04:05.999")
}

// Zone returns the zone of At's value for the next request; empty: not needed.
func (w *taskFilter) Zone() string {
	if zone := w.Get("zone"); zone != "" || w.CreatedFrom.IsZero() && w.CreatedTo.IsZero() && w.FinishedFrom.IsZero() {
		return zone
	}
	return "UTC"
}

// Empty reports whether there is no filter.
func (w *taskFilter) Empty() bool { return len(w.values) == 0 }

// Get returns the given value of a field.
func (w *taskFilter) Get(name string) string { return w.values.Get(name) }

// Rare reports whether fields have values that the form shows only on request.
func (w *taskFilter) Rare() bool {
	for name := range w.values {
		switch name {
		case "merchant_no", "order_no", "state", "queue":
		default:
			return true
		}
	}
	return false
}

// Address returns the address of the list with this filter, below path.
func (w *taskFilter) Address(path string) string {
	if w.Empty() {
		return path
	}
	return path + "?" + w.values.Encode()
}

// read reads up to limit tasks of the filter, newest first, older than before. It stops after a
// while: next is where to continue; zero: at the end.
func (q *request) read(w *taskFilter, before bellman.ID, limit int) (tasks []*bellman.Task, next bellman.ID, err error) {
	for s := newSearch(searchTime); ; {
		ask := limit - len(tasks)
		if w.Picky() || w.also != nil {
			ask = s.rows
		}
		page, after, err := q.o.Reader.List(q.r.Context(), w.Filter, before, ask)
		if err != nil {
			return nil, next, err
		}
		for _, t := range page {
			if !w.Takes(t) || w.also != nil && !w.also(t) {
				continue
			}
			if len(tasks) == limit { // the rest belongs to the next page
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
	TaskFilter *taskFilter
	Rows       []row
	Next       string    // address of the next page; empty: this is the last
	Back       time.Time // the search went back to this time, if it found little or nothing and there is more
	First      string    // address of the first page; empty: this is it
	Export     string    // address of the export
	Limit      int       // most rows of the export
	Queues     []string
	Quick      []quickFilter

	Registered bool   // the merchant of the filter is registered
	Strange    bool   // the queue of the filter is not configured
	LeftOut    string // the invalid fields of the filter; empty: none
	Refused    string // why nothing was searched; empty: something was
}

// A row is a task in a list.
type row struct {
	*bellman.Task
	Order *order.Standing // nil: the task is not an order
	Poll  *poll.Standing  // nil: the task is not a poll
	Told  *order.Told     // nil: the task does not keep a channel's notice
	Ask   order.Ask       // of an order in a list of orders

	Channel string // of an order in a list of orders; empty: unknown
	To      string // where the task is sent now: its own or its merchant's address; empty: its queue's
	Pick    bool   // the row can be ticked, for actions on some of the list
	Held    string // which of its queue, merchant and endpoint is paused, named as in audit records; empty: none
}

// to returns where a task is sent now: its own address, or else its merchant's; empty: its queue's.
func (c *Console) to(t *bellman.Task) string {
	if t.URL != "" || t.MerchantNo == "" {
		return t.URL
	}
	return c.o.Engine.Route(t).URL
}

func (q *request) rows(tasks []*bellman.Task) []row {
	rows := make([]row, len(tasks))
	for i, t := range tasks {
		rows[i] = row{Task: t}
		rows[i].Told = order.ToldOf(t)
		if o, is := q.order(t); is {
			rows[i].Order = &o
		} else if p, is := q.poll(t); is {
			rows[i].Poll = &p
		} else {
			rows[i].To = q.to(t)
		}
		if t.State == bellman.Pending {
			if target, pause := q.o.Engine.Held(t); pause != nil {
				rows[i].Held = target
			}
		}
	}
	return rows
}

// before returns the id before which a page of a list begins; zero: it is the first page.
func (q *request) before() (id bellman.ID, err error) {
	if at := q.r.URL.Query().Get("before"); at != "" {
		if id, err = bellman.ParseID(at); err != nil {
			return id, fail(http.StatusNotFound, "error.no_page")
		}
	}
	return id, nil
}

func (q *request) taskList() error {
	in := q.r.URL.Query()
	w := readTaskFilter(in)
	if to := w.quickly(in.Get("quick"), time.Now()); to != "" {
		return q.goTo(to)
	}
	v := &listView{view: q.view("page.tasks"), TaskFilter: w, Quick: quickFilters, Limit: maxExport, Export: w.Address("/tasks.csv")}
	before, err := q.before()
	if err != nil {
		return err
	}
	if !before.IsZero() {
		v.First = w.Address("/tasks")
	}
	var tasks []*bellman.Task
	var next bellman.ID
	status := http.StatusOK
	if w.Backwards() {
		status, v.Refused = http.StatusUnprocessableEntity, q.visitor.lang.invalid(w.wrong())
	} else {
		v.LeftOut = q.visitor.lang.invalid(&w.Wrong)
		if tasks, next, err = q.read(w, before, pageRows); err != nil {
			return err
		}
	}
	v.Rows = q.rows(tasks)
	for i := range v.Rows {
		v.Rows[i].Pick = q.visitor.May(access.Operate)
	}
	if !next.IsZero() {
		values := url.Values{"before": {next.String()}}
		maps.Copy(values, w.values)
		v.Next = "/tasks?" + values.Encode()
		if len(tasks) < pageRows {
			v.Back = next.Time()
		}
	}
	v.Queues = q.o.Queues()
	v.Strange = len(v.Queues) > 0 && w.Queue != "" && !slices.Contains(v.Queues, w.Queue)
	if q.o.Merchants != nil && w.MerchantNo != "" {
		_, err := q.o.Merchants.Get(q.r.Context(), w.MerchantNo)
		v.Registered = err == nil
	}
	return q.render(status, "tasks", v)
}
