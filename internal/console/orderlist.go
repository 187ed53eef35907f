package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/order"
)

// orderFields are the fields of the filter of orders that tasks do not have, in the order of the
// form.
var orderFields = []string{"order_state", "channel", "account", "least", "most"}

// An orderFilter is the filter of a list of orders, in addition to the fields of a taskFilter.
type orderFilter struct {
	resend.OrderPick

	values url.Values // the given values, without invalid and empty ones
	Wrong  bellman.Invalid
}

func readOrderFilter(in url.Values) *orderFilter {
	f := &orderFilter{values: url.Values{}}
	for i, to := range []*string{&f.State, &f.Channel, &f.Account, &f.Least, &f.Most} {
		name := orderFields[i]
		value := strings.TrimSpace(in.Get(name))
		if value == "" {
			continue
		}
		*to = value
		var err error
		switch {
		case len(value) > maxFilter:
			err = tooLong(value)
		case name == "order_state":
			err = f.CheckState()
		case name == "least" || name == "most":
			err = resend.CheckAmount(value)
		}
		if err != nil {
			*to = ""
			f.Wrong.Note("filter."+name, err)
			continue
		}
		f.values.Set(name, value)
	}
	return f
}

// channelNames returns the channels of all queues, of the listed orders, whose registered accounts
// may be at others, and the one that is filtered by; sorted.
func (c *Console) channelNames(rows []row, filtered string) []string {
	names := []string{filtered}
	for _, queue := range c.o.Queues() {
		names = append(names, c.o.Channels(queue))
	}
	for i := range rows {
		names = append(names, rows[i].Channel)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// listOrders reads the newest orders of the filter.
func (q *request) listOrders(v *orderForm, in url.Values) error {
	given := url.Values{"kind": {"order"}}
	for _, name := range []string{"merchant_no", "from", "to", "zone"} {
		given.Set(name, in.Get(name))
	}
	w, f := readTaskFilter(given), readOrderFilter(in)
	v.TaskFilter, v.Filter, v.Channels = w, f, q.channelNames(nil, f.Channel)
	w.also = func(t *bellman.Task) bool { return f.Takes(t, q.o.Channels) }
	wrong := *w.wrong()
	wrong.Fields = append(wrong.Fields, f.Wrong.Fields...)
	v.view = q.view("page.orders")
	if v.Wrong = q.visitor.lang.invalid(&wrong); v.Wrong != "" {
		return q.render(http.StatusUnprocessableEntity, "orderform", v)
	}
	before, err := q.before()
	if err != nil {
		return err
	}
	tasks, next, err := q.read(w, before, pageRows)
	if err != nil {
		return err
	}
	v.Rows, v.All = q.orderRows(tasks), w.Address("/tasks")
	v.Channels = q.channelNames(v.Rows, f.Channel)
	here := url.Values{}
	for _, values := range []url.Values{w.values, f.values} {
		for name, value := range values {
			if name != "kind" {
				here[name] = value
			}
		}
	}
	v.Filtered = len(here) > 0
	if !before.IsZero() {
		v.First = "/orders?" + here.Encode()
	}
	if !next.IsZero() {
		here.Set("before", next.String())
		v.Next = "/orders?" + here.Encode()
		if len(tasks) < pageRows {
			v.Back = next.Time()
		}
	}
	return q.render(http.StatusOK, "orderform", v)
}

// orderRows is rows with what was asked about the orders.
func (q *request) orderRows(tasks []*bellman.Task) []row {
	rows := q.rows(tasks)
	for i := range rows {
		if rows[i].Order != nil {
			rows[i].Ask, _ = order.ParseAsk(rows[i].Body) // the body was validated when the task was added
			rows[i].Channel = resend.ChannelOf(rows[i].Task, q.o.Channels)
		}
	}
	return rows
}
