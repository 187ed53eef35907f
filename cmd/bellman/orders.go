package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/money"
	"github.com/bellmanhq/bellman/schedule"
)

func orderCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "order MERCHANT_NO ORDER_NO",
		Short: "Show everything about one order, in time order",
		Long: `Show the state of an order, its tasks, and their attempts in time order. With
--settle, overdue tasks are attempted first, so that the state is not outdated. The
exit status is 1 if that took longer than --settle.`,
		Example: "  bellman order M1001 20261120000001 --settle 3s",
		Args:    arguments(2, 2, "MERCHANT_NO and ORDER_NO: bellman order M1001 20261120000001"),
	}
	settle := waitFlag(c, "settle", 0, "attempt overdue tasks now, and wait at most this long: 1ms to 1m")
	return remoteWithin(c, func() time.Duration { return patience + settle.d }, func(ctx context.Context, to *call, args []string) error {
		o, err := to.Order(ctx, client.OrderRef{MerchantNo: args[0], OrderNo: args[1]}, settle.d)
		if err != nil {
			return err
		}
		if err := to.print(o, func(t *rows) { t.order(o) }); err != nil {
			return err
		}
		if o.Settled != nil && !*o.Settled {
			return fmt.Errorf("order %s of merchant %s is not settled: not all that is overdue was attempted within %s", o.OrderNo, o.MerchantNo, settle)
		}
		return nil
	})
}

// order writes one order: its state, its tasks, and their attempts.
func (t *rows) order(o *client.Order) {
	t.row("merchant", o.MerchantNo)
	t.row("order", o.OrderNo)
	t.row("state", o.OrderState)
	t.fields([][2]string{
		{"late payment", o.LatePayment}, {"channel order no", o.ChannelOrderNo}, {"account", o.Account}, {"amount", priceOf(o.Amount, o.Currency)}, {"payment", paymentText(o.Payment)},
	}...)
	if o.More {
		t.row("shown", "the newest alone; see bellman list --order-no, and bellman get")
	}
	t.row(" ")
	t.taskHeads()
	for i := range o.Tasks {
		t.task(&o.Tasks[i])
	}
	if len(o.Attempts) == 0 {
		return
	}
	t.row(" ")
	t.heads("STARTED", "QUEUE", "ATTEMPT", "ACTION", "READING", "TRIGGER", "LATE", "TOOK", "RESULT", "STATUS", "ANSWER", "TASK")
	for _, a := range o.Attempts {
		t.row(a.Started, a.Queue, a.Number, a.Action, a.Reading, a.Trigger, fmt.Sprintf("%dms", a.LatenessMS), fmt.Sprintf("%dms", a.TookMS),
			a.Result, a.Status, cut(cmp.Or(a.Error, a.Response), 60), a.Task)
	}
}

func ordersCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "orders",
		Short: "List orders, the newest first",
		Long: `List orders, the newest first: by state, channel, account, amount and time. With
-o json each order is one line. The server examines every order of the queue, merchant
and time.`,
		Example: "  bellman orders --order-state UNKNOWN --amount-min 1000 --created-from 24h",
		Args:    flagsAlone,
	}
	var f client.OrderFilter
	var within created
	flags := c.Flags()
	flags.StringVar(&f.Queue, "queue", "", "only of this queue")
	flags.StringVar(&f.MerchantNo, "merchant-no", "", "only of this merchant")
	flags.StringVar(&f.OrderState, "order-state", "", "only in this state: PENDING, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED or UNKNOWN")
	flags.StringVar(&f.Channel, "channel", "", "only at this channel, such as wechatpay")
	flags.StringVar(&f.Account, "account", "", "only of this registered account")
	flags.StringVar(&f.AmountMin, "amount-min", "", "smallest amount, in the currency's main unit, such as 88.88")
	flags.StringVar(&f.AmountMax, "amount-max", "", "largest amount")
	within.flags(flags)
	limit := flags.Int("limit", 50, "most orders; 0: all")
	return remoteWithin(c, noLimit, func(ctx context.Context, to *call, _ []string) error {
		if err := within.read(time.Now(), &f.CreatedFrom, &f.CreatedTo); err != nil {
			return err
		}
		_, err := printEach(to, to.Orders(ctx, f), *limit, (*rows).orderHeads, (*rows).listedOrder)
		return err
	})
}

// priceOf writes an amount; empty: it is unknown.
func priceOf(amount int64, currency string) string {
	if amount == 0 {
		return ""
	}
	return money.Format(amount, currency)
}

// paymentText writes what the channel said about a payment; empty: nothing.
func paymentText(p *client.Payment) string {
	if p == nil {
		return ""
	}
	return strings.Join(strings.Fields(priceOf(p.Amount, p.Currency)+" "+p.TransactionID+" "+p.PaidAt.String()), " ")
}

// atChannelText writes what the channel said about a refund or transfer; empty: nothing.
func atChannelText(c *client.AtChannel) string {
	if c == nil {
		return ""
	}
	return strings.Join(strings.Fields(strings.Join([]string{priceOf(c.Amount, c.Currency), c.RefNo, c.State, c.FailReason, c.FinishedAt.String()}, " ")), " ")
}

func (t *rows) orderHeads() {
	t.heads("MERCHANT", "ORDER", "STATE", "AMOUNT", "CHANNEL", "ACCOUNT", "QUEUE", "CREATED", "TASK")
}

func (t *rows) listedOrder(o *client.ListedOrder) {
	t.row(o.MerchantNo, o.OrderNo, o.OrderState, priceOf(o.Amount, o.Currency), o.Channel, o.Account, o.Queue, o.Created, o.ID)
}

func settleCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "settle FILE",
		Short: "Query the channel for many orders now, and show the state of each",
		Long: `Query the channel for the orders in a FILE (- is standard input), decided ones
included, and show the state of each. This way, reconciliation finds unknown payments.
A line has a merchant's number and an order number, separated by spaces or a comma. A
first line "merchant_no,order_no", empty lines, and lines that begin with # are skipped.
With -o json each order is one line.

The exit status is 1 if an order is unknown or could not be asked about. It is also 1 if
the channel has not answered, or denies a payment that a person entered.`,
		Example: "  bellman settle bill-20261120.csv --wait 30s",
		Args:    arguments(1, 1, "a FILE of orders, or -: bellman settle bill-20261120.csv"),
	}
	reason := c.Flags().String("reason", "", "why, for the audit record of each order")
	wait := waitFlag(c, "wait", 10*time.Second, "longest wait for the answers about 1,000 orders: 1ms to 1m")
	return remoteWithin(c, noLimit, func(ctx context.Context, to *call, args []string) error {
		orders, err := readOrders(args[0])
		if err != nil {
			return err
		}
		return settle(ctx, to, orders, wait.d, *reason)
	})
}

// settle settles orders, in requests of the size that a server takes.
func settle(ctx context.Context, to *call, orders []client.OrderRef, wait time.Duration, reason string) error {
	done := 0
	count := map[string]int{}
	t := newRows(to.out)
	if !to.json {
		t.heads("MERCHANT", "ORDER", "STATE", "LATE PAYMENT", "ASKED", "TASK", "PROBLEM")
	}
	lines := newLines(to.out)
	for some := range slices.Chunk(orders, client.MaxBatch) {
		within, cancel := context.WithTimeout(ctx, patience+wait)
		results, err := to.SettleOrders(within, some, wait, client.Because{Reason: reason})
		cancel()
		if err != nil {
			return errors.Join(fmt.Errorf("%d of %d orders were asked about: %w", done, len(orders), err), t.end())
		}
		done += len(some)
		for _, r := range results {
			kind, problem := unsettled(&r)
			if kind != "" {
				count[kind]++
			}
			if !to.json {
				t.row(r.MerchantNo, r.OrderNo, r.OrderState, r.LatePayment, r.Asked, r.Task, problem)
			} else if err := lines.Encode(r); err != nil {
				return err
			}
		}
	}
	if err := t.end(); err != nil {
		return err
	}
	if len(count) == 0 {
		return nil
	}
	var parts []string
	for _, problem := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d %s", count[problem], problem))
	}
	return fmt.Errorf("of %d orders: %s", len(orders), strings.Join(parts, ", "))
}

// unsettled returns why an order is not settled: kind is a short reason to count by, and problem is
// the full text. Both are empty if it is settled.
func unsettled(r *client.SettledOrder) (kind, problem string) {
	switch {
	case r.Status == 404:
		return "unknown", "unknown"
	case r.Status == 202:
		return "not answered yet", "not answered yet"
	case r.Error != nil:
		return "failed", r.Error.Error()
	case r.Last != nil && r.Last.Result != "accepted": // an answer that says nothing about the order, or no answer
		return "not answered", strings.TrimSpace("not answered: " + last(r.Last) + " " + cut(r.Last.Error, 60))
	case paid(r.OrderState) && r.Last != nil && r.Last.Action == "query" && !paid(r.Last.Reading): // its outcome was entered manually
		return "denied by the channel", "the channel denies it: " + r.Last.Reading
	}
	return "", ""
}

func paid(state string) bool { return state == "PAID" || state == "PAID_REFUNDED" }

// readOrders reads order numbers from a file.
func readOrders(path string) ([]client.OrderRef, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var orders []client.OrderRef
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if line == "" || line[0] == '#' {
			continue
		}
		fields, err := strings.Fields(line), error(nil)
		if strings.Contains(line, ",") {
			r := csv.NewReader(strings.NewReader(line))
			r.TrimLeadingSpace = true
			fields, err = r.Read()
		}
		if err != nil || len(fields) != 2 || strings.TrimSpace(fields[0]) == "" || strings.TrimSpace(fields[1]) == "" {
			return nil, wrong{fmt.Errorf("%s, line %d: want a merchant's number and an order's, such as M1001,20261120000001", path, n)}
		}
		ref := client.OrderRef{MerchantNo: strings.TrimSpace(fields[0]), OrderNo: strings.TrimSpace(fields[1])}
		if len(orders) > 0 || ref != (client.OrderRef{MerchantNo: "merchant_no", OrderNo: "order_no"}) {
			orders = append(orders, ref)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(orders) == 0 {
		return nil, wrong{fmt.Errorf("%s names no order: want lines such as M1001,20261120000001", path)}
	}
	return orders, nil
}

func completeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "complete " + taskArgs + " | --merchant-no M --order-no O",
		Short: "End a task as succeeded, or decide an order, because the answer came another way",
		Long: `End a task as succeeded, because the answer came another way. For an order,
--outcome is its state: PAID, PAID_REFUNDED, CLOSED, REVOKED or FAILED. The merchant
is then notified as after an answer of the channel. An order needs a key with the role
submit; a person decides an order with bellman decide. An order with an amount becomes
PAID only with the --amount and --currency that were paid.`,
		Example: "  bellman complete --merchant-no M1001 --order-no 20261120000001 --outcome PAID --amount 8800 --currency CNY",
		Args:    arguments(0, 2, "a task's id, or its queue and key; or --merchant-no and --order-no"),
	}
	var in client.CompleteTask
	c.Flags().StringVar(&in.Reason, "reason", "", "why, for the task and the audit record (default callback)")
	c.Flags().StringVar(&in.Outcome, "outcome", "", "the answer; for an order: PAID, CLOSED, ...; for a poll: DONE or FAILED_THERE")
	var paid payment
	paid.flags(c)
	order := orderFlags(c)
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		if err := oneOf(c.Name(), args, order); err != nil {
			return err
		}
		var task *client.Task
		var err error
		if in.Taken, err = paid.taken(); err != nil {
			return err
		}
		if len(args) == 0 {
			task, err = to.CompleteOrder(ctx, *order, in)
		} else {
			task, err = to.Complete(ctx, ref(args), in)
		}
		return show(to, task, err, (*rows).decided)
	})
}

// A payment is what was paid of an order. Its JSON is the field taken of a completion.
type payment struct {
	Amount        int64  `json:"amount,omitempty"`
	Currency      string `json:"currency,omitempty"`
	TransactionID string `json:"transaction_id,omitempty"`
}

func (p *payment) flags(c *cobra.Command) {
	c.Flags().Int64Var(&p.Amount, "amount", 0, "order: the amount that was paid, in the smallest unit of the currency: 8800")
	c.Flags().StringVar(&p.Currency, "currency", "", "order: currency of the amount: CNY")
	c.Flags().StringVar(&p.TransactionID, "transaction-id", "", "order: the channel's number of the payment")
}

// taken returns the field taken; nil: no flag was given.
func (p *payment) taken() (json.RawMessage, error) {
	if *p == (payment{}) {
		return nil, nil
	}
	return json.Marshal(p)
}

func decideCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "decide MERCHANT_NO ORDER_NO --outcome STATE --reason TEXT",
		Short: "Decide an order by hand, because a person knows the outcome",
		Long: `Decide an order by hand, because a person knows the outcome. --outcome is its state:
PAID, PAID_REFUNDED, CLOSED, REVOKED or FAILED. The merchant is then notified as after
an answer of the channel. The reason is in the audit record, and the alarm
order_decided_by_hand is raised. It needs a key with the role decide.`,
		Example: `  bellman decide M1001 20261120000001 --outcome PAID --reason "seen in the bank's statement, ticket 4711"`,
		Args:    arguments(2, 2, "MERCHANT_NO and ORDER_NO: bellman decide M1001 20261120000001"),
	}
	var in client.DecideOrder
	c.Flags().StringVar(&in.Outcome, "outcome", "", "the order's state: PAID, CLOSED, ...")
	c.Flags().StringVar(&in.Reason, "reason", "", "how you know it, for the audit record and the alarm")
	for _, name := range []string{"outcome", "reason"} {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err) // it is declared above
		}
	}
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		task, err := to.DecideOrder(ctx, client.OrderRef{MerchantNo: args[0], OrderNo: args[1]}, in)
		return show(to, task, err, (*rows).decided)
	})
}

// orderFlags declares the flags that name an order.
func orderFlags(c *cobra.Command) *client.OrderRef {
	var o client.OrderRef
	c.Flags().StringVar(&o.MerchantNo, "merchant-no", "", "with --order-no, instead of a task: the order's merchant")
	c.Flags().StringVar(&o.OrderNo, "order-no", "", "with --merchant-no, instead of a task: the order")
	return &o
}

// oneOf requires arguments that name a task or an order, and not both.
func oneOf(name string, args []string, o *client.OrderRef) error {
	whole := o.MerchantNo != "" && o.OrderNo != ""
	if none := o.MerchantNo == "" && o.OrderNo == ""; len(args) == 0 && whole || len(args) > 0 && none {
		return nil
	}
	return wrong{fmt.Errorf("%s: want a task's id, or its queue and key; or --merchant-no and --order-no", name)}
}

// A shortWait is a flag for a wait of one minute at most.
type shortWait struct{ d time.Duration }

func waitFlag(c *cobra.Command, name string, otherwise time.Duration, usage string) *shortWait {
	w := &shortWait{otherwise}
	c.Flags().Var(w, name, usage)
	return w
}

func (w *shortWait) Type() string { return "duration" }

func (w *shortWait) String() string {
	if w.d == 0 {
		return ""
	}
	return schedule.FormatDuration(w.d)
}

// Set parses a duration as the API does.
func (w *shortWait) Set(text string) error {
	d, err := schedule.ParseDuration(text)
	if err != nil {
		return err
	}
	if d < time.Millisecond || d > time.Minute {
		return fmt.Errorf("%s: want 1ms to 1m", text)
	}
	w.d = d
	return nil
}

// pairs formats names and texts for a table.
func pairs(texts map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, name+"="+texts[name])
	}
	return strings.Join(all, " ")
}

// notifyText formats a notification for a table.
func notifyText(n *client.Notify) string {
	if n == nil {
		return ""
	}
	text, _ := json.Marshal(n) // cannot fail: it holds an address and JSON
	return string(text)
}
