package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
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
	bellman.Pick

	values url.Values // as they were given, without what is wrong or empty
	From   string     // as it was given, in the zone Zone
	To     string
	Zone   string
	Wrong  []string // names of the fields that could not be read
}

// wishes are the names of a wish's fields in an address, in the order in which they
// are shown.
var wishes = []string{"merchant_no", "order_no", "key", "url_host", "event", "queue", "kind", "state", "result", "status", "from", "to", "zone"}

// readWish reads a wish from an address or a form.
func readWish(in url.Values) *wish {
	w := &wish{values: url.Values{}}
	for _, name := range wishes {
		value := in.Get(name)
		if value == "" {
			continue
		}
		if !w.take(name, value) {
			w.Wrong = append(w.Wrong, name)
			continue
		}
		w.values.Set(name, value)
	}
	zone, err := time.LoadLocation(in.Get("zone")) // none is UTC
	if err != nil {
		zone, w.Zone = nil, ""
		w.values.Del("zone")
		if !slices.Contains(w.Wrong, "zone") {
			w.Wrong = append(w.Wrong, "zone")
		}
	}
	for _, bound := range []struct {
		name string
		at   *time.Time
	}{{"from", &w.CreatedFrom}, {"to", &w.CreatedTo}} {
		if text := w.values.Get(bound.name); text != "" {
			var ok bool
			if *bound.at, ok = wallTime(text, zone); !ok {
				w.Wrong = append(w.Wrong, bound.name)
				w.values.Del(bound.name)
			}
		}
	}
	return w
}

// unread names the fields of a wish that could not be read, as the form does.
func (q *request) unread(w *wish) string {
	names := make([]string, len(w.Wrong))
	for i, name := range w.Wrong {
		names[i] = q.visitor.lang.say("field." + name)
	}
	return strings.Join(names, ", ")
}

func (w *wish) take(name, value string) bool {
	const maxText = 400
	if len(value) > maxText {
		return false
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
		w.Kind = value
		return value == "notify" || value == "order"
	case "state":
		var s bellman.State
		if s.UnmarshalText([]byte(value)) != nil {
			return false
		}
		w.State = &s
	case "result":
		var r bellman.Result
		if r.UnmarshalText([]byte(value)) != nil {
			return false
		}
		w.Result = &r
	case "status":
		n, err := strconv.Atoi(value)
		w.Status = n
		return err == nil && n >= 100 && n <= 599
	case "from":
		w.From = value
	case "to":
		w.To = value
	case "zone":
		w.Zone = value
	}
	return true
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
			return at.UTC(), at.Year() >= 1970
		}
	}
	at, err := time.Parse(time.RFC3339, text)
	return at.UTC(), err == nil && at.Year() >= 1970
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
			if !w.Takes(t, q.kind) {
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

	Registered bool // the merchant that is asked for is
	Strange    bool // the queue that is asked for is not configured
}

// A row is a task in a list.
type row struct {
	*bellman.Task
	Kind  string
	Order *Order // nil: not an order's
	To    string // where it goes now: its own address, or its merchant's; empty: its queue's
}

// to is where a task goes now: its own address, or else its merchant's; empty: its
// queue's.
func (c *Console) to(t *bellman.Task) string {
	if t.URL != "" || t.MerchantNo == "" {
		return t.URL
	}
	return c.engine.Guidance(t).URL
}

func (q *request) rows(tasks []*bellman.Task) []row {
	rows := make([]row, len(tasks))
	for i, t := range tasks {
		rows[i] = row{Task: t, Kind: "notify"}
		if o, is := q.order(t); is {
			rows[i].Kind, rows[i].Order = "order", &o
		} else {
			rows[i].To = q.to(t)
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
	tasks, next, err := q.read(w, before, pageRows)
	if err != nil {
		q.refuse(err)
		return
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
	q.render(http.StatusOK, "tasks", v)
}
