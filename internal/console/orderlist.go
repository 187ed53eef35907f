package console

import (
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/money"
	"github.com/bellmanhq/bellman/order"
)

// orderFields are the fields of the filter of orders that tasks do not have, in the order of the form.
var orderFields = []string{"order_state", "channel", "account", "least", "most"}

// An orderFilter chooses orders by what is in their tasks. No field has an index: orders are read one by one.
type orderFilter struct {
	OrderState, Channel, Account string // empty: all
	Least, Most                  string // bounds of the amount in whole units, such as 88.88; empty: none

	values url.Values // the given values, without invalid and empty ones
	Wrong  bellman.Invalid
}

func readOrderFilter(in url.Values) *orderFilter {
	f := &orderFilter{values: url.Values{}}
	for i, to := range []*string{&f.OrderState, &f.Channel, &f.Account, &f.Least, &f.Most} {
		name := orderFields[i]
		value := strings.TrimSpace(in.Get(name))
		var err error
		switch {
		case value == "":
			continue
		case len(value) > maxWish:
			err = tooLong(value)
		case name == "order_state" && !slices.Contains(orderStates, value):
			err = coded.Errorf("filter.order_state", "%.40q is no state of an order: want one of %s", value, strings.Join(orderStates, ", "))
		case name == "least" || name == "most":
			if _, ok := money.Parse(value, "CLF"); !ok { // the currency with the most decimals
				err = coded.Errorf("filter.amount", "%.40q is no amount: want one such as 88.88", value)
			}
		}
		if err != nil {
			f.Wrong.Note("filter."+name, err)
			continue
		}
		*to = value
		f.values.Set(name, value)
	}
	return f
}

// orderStates are the states of an order.
var orderStates = []string{"PENDING", "PAID", "PAID_REFUNDED", "CLOSED", "REVOKED", "FAILED", "UNKNOWN"}

// takes reports whether the filter chooses the task of an order. Tasks that only watch or keep notices are
// left out.
func (f *orderFilter) takes(c *Console, t *bellman.Task) bool {
	s := order.StandingOf(t)
	switch {
	case s.Beside, f.OrderState != "" && s.State != f.OrderState:
		return false
	case f.Channel != "" && c.channel(t.Queue) != f.Channel:
		return false
	case f.Account == "" && f.Least == "" && f.Most == "":
		return true
	}
	ask, err := order.ParseAsk(t.Body)
	if err != nil || f.Account != "" && ask.Account != f.Account {
		return false
	}
	return f.Least == "" && f.Most == "" || ask.Amount > 0 && f.costs(&ask)
}

// costs reports whether an amount, in whole units of whatever currency, is within the bounds.
func (f *orderFilter) costs(ask *order.Ask) bool {
	decimals, known := money.Decimals(ask.Currency)
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	amount := new(big.Rat).SetFrac(big.NewInt(ask.Amount), unit)
	for _, bound := range []struct {
		text string
		sign int
	}{{f.Least, 1}, {f.Most, -1}} {
		if bound.text == "" {
			continue
		}
		n, ok := new(big.Rat).SetString(bound.text)
		if !known || !ok || amount.Cmp(n) == -bound.sign {
			return false
		}
	}
	return true
}

// channel returns the channel of a queue's orders; empty: unknown, or one of request templates.
func (c *Console) channel(queue string) string {
	if c.channels == nil {
		return ""
	}
	return c.channels(queue)
}

// channelNames returns the channels of all queues, sorted.
func (c *Console) channelNames() (names []string) {
	if c.queueNames == nil {
		return nil
	}
	for _, queue := range c.queueNames() {
		if name := c.channel(queue); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// listOrders reads the newest orders of the filter.
func (q *request) listOrders(v *orderForm, in url.Values) {
	given := url.Values{"kind": {"order"}}
	for _, name := range []string{"merchant_no", "from", "to", "zone"} {
		given.Set(name, in.Get(name))
	}
	w, f := readWish(given), readOrderFilter(in)
	v.Wish, v.Filter, v.Channels = w, f, q.channelNames()
	w.also = func(t *bellman.Task) bool { return f.takes(q.Console, t) }
	wrong := *w.wrong()
	wrong.Fields = append(wrong.Fields, f.Wrong.Fields...)
	v.view = q.view("page.orders")
	if v.Wrong = q.visitor.lang.invalid(&wrong); v.Wrong != "" {
		q.render(http.StatusUnprocessableEntity, "orderform", v)
		return
	}
	var before bellman.ID
	if at := in.Get("before"); at != "" {
		var err error
		if before, err = bellman.ParseID(at); err != nil {
			q.fail(http.StatusNotFound, "error.no_page")
			return
		}
	}
	tasks, next, err := q.read(w, before, pageRows)
	if err != nil {
		q.refuse(err)
		return
	}
	v.Rows, v.All = q.orderRows(tasks), w.Address("/tasks")
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
	q.render(http.StatusOK, "orderform", v)
}

// orderRows is rows with what was asked about the orders.
func (q *request) orderRows(tasks []*bellman.Task) []row {
	rows := q.rows(tasks)
	for i := range rows {
		if rows[i].Order != nil {
			rows[i].Ask, _ = order.ParseAsk(rows[i].Body) // the body was validated when the task was added
			rows[i].Channel = q.channel(rows[i].Queue)
		}
	}
	return rows
}
