package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/schedule"
)

func getCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "get " + taskArgs,
		Short: "Show a task with its request and its attempts",
		Args:  oneTask,
	}
	number := c.Flags().Int("attempt", 0, "show only this attempt, with its request and the text that is signed")
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		if c.Flags().Changed("attempt") {
			if *number < 1 {
				return wrong{fmt.Errorf("--attempt %d: want 1 or more", *number)}
			}
			a, err := to.Attempt(ctx, ref(args), *number)
			return show(to, a, err, (*rows).opened)
		}
		task, err := wholeTask(ctx, to.Client, ref(args))
		return show(to, task, err, func(t *rows, task *client.TaskDetail) {
			t.detail(task)
			if len(task.AttemptLog) > 0 {
				t.row(" ")
				t.attempts(task.AttemptLog)
			}
		})
	})
}

// wholeTask reads a task with all of its attempts.
func wholeTask(ctx context.Context, c *client.Client, r client.Ref) (*client.TaskDetail, error) {
	task, err := c.Task(ctx, r)
	if err != nil || len(task.AttemptLog) == 0 || task.AttemptLog[0].Number <= 1 {
		return task, err
	}
	newest := task.AttemptLog
	var log []client.Attempt
	for after := 0; after+1 < newest[0].Number; after = log[len(log)-1].Number {
		more, err := c.AttemptsAfter(ctx, r, after)
		if err != nil {
			return nil, err
		}
		if len(more) == 0 {
			break
		}
		log = append(log, more...)
	}
	for _, a := range newest {
		if len(log) == 0 || a.Number > log[len(log)-1].Number {
			log = append(log, a)
		}
	}
	task.AttemptLog = log
	return task, nil
}

// detail writes one task, a field a line.
func (t *rows) detail(k *client.TaskDetail) {
	t.row("task", k.ID)
	t.row("queue", k.Queue)
	t.fields([][2]string{
		{"key", k.Key}, {"merchant", k.MerchantNo}, {"order", k.OrderNo}, {"event", k.Event}, {"repeat", k.Repeat},
		{"ordering key", k.OrderingKey}, {"supersedes", map[bool]string{true: "yes"}[k.Supersedes]}, {"waits for", k.WaitsFor}, {"created by", k.CreatedBy},
		{"order state", k.OrderState}, {"late payment", k.LatePayment}, {"channel order no", k.Request.ChannelOrderNo}, {"account", k.Request.Account},
		{"amount", priceOf(k.Request.Amount, k.Request.Currency)}, {"payment", paymentText(k.Payment)}, {"ref no", k.RefNo}, {"poll state", k.PollState}, {"at channel", atChannelText(k.AtChannel)},
		{"order created", k.Request.OrderCreated.String()}, {"expires", k.Request.Expires}, {"code life", k.Request.CodeLife},
		{"vars", pairs(k.Request.Vars)}, {"notify", cut(notifyText(k.Request.Notify), 200)},
		{"request", strings.TrimSpace(k.Request.Method + " " + k.Request.URL)}, {"body", cut(k.Request.Body, 200)},
		{"schedule", k.Schedule}, {"success", k.Success}, {"state", k.State}, {"reason", k.Reason},
		{"attempts", attemptsOf(&k.Task)}, {"created", k.Created.String()}, {"due", when(k.Due)}, {"finished", when(k.Finished)},
	}...)
}

// attempts writes attempts, one a row. The columns for action and reading are shown if an attempt
// has them.
func (t *rows) attempts(log []client.Attempt) {
	heads := []string{"ATTEMPT", "TRIGGER", "STARTED", "LATE", "TOOK", "CONNECTING", "RESULT", "STATUS", "ANSWER"}
	actions := slices.ContainsFunc(log, func(a client.Attempt) bool { return a.Action != "" || a.Reading != "" })
	if actions {
		heads = slices.Insert(heads, 1, "ACTION", "READING")
	}
	t.heads(heads...)
	for _, a := range log {
		cells := []any{a.Number, a.Trigger, a.Started, fmt.Sprintf("%dms", a.LatenessMS), fmt.Sprintf("%dms", a.TookMS),
			connecting(a.Timing), a.Result, a.Status, cut(cmp.Or(a.Error, a.Response), 60)}
		if actions {
			cells = slices.Insert(cells, 1, any(a.Action), any(a.Reading))
		}
		t.row(cells...)
	}
}

// opened writes one attempt with its request.
func (t *rows) opened(a *client.Attempt) {
	t.attempts([]client.Attempt{*a})
	t.row(" ")
	if a.Timing.FirstByteMS > 0 {
		t.row("first byte", fmt.Sprintf("%.1fms after the connection", a.Timing.FirstByteMS))
	}
	for _, name := range slices.Sorted(maps.Keys(a.ResponseHeaders)) {
		t.row("answered", name+": "+a.ResponseHeaders[name])
	}
	if a.Sent == nil {
		return
	}
	t.fields([2]string{"request", strings.TrimSpace(a.Sent.Method + " " + a.Sent.URL)}, [2]string{"not shown", a.Sent.Missing})
	for _, name := range slices.Sorted(maps.Keys(a.Sent.Headers)) {
		t.row("header", name+": "+a.Sent.Headers[name])
	}
	wanted := a.Sent.Success
	if a.Sent.Accepts != "" {
		wanted += ": " + a.Sent.Accepts
	}
	t.fields([][2]string{{"body", cut(a.Sent.Body, 200)}, {"wanted", wanted}, {"signed as", a.Sent.SignScheme}, {"signed text", cut(a.Sent.Signed, 400)}}...)
}

// connecting describes how long it took to connect, if a connection was made.
func connecting(t client.Timing) string {
	var parts []string
	for _, part := range []struct {
		name string
		ms   float64
	}{{"dns", t.DNSMS}, {"tcp", t.ConnectMS}, {"tls", t.TLSMS}} {
		if part.ms > 0 {
			parts = append(parts, fmt.Sprintf("%s %.1fms", part.name, part.ms))
		}
	}
	return strings.Join(parts, ", ")
}

func listCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List tasks, the newest first",
		Long:  "List tasks, the newest first. With -o json each task is one line.",
		Args:  flagsAlone,
	}
	var f filter
	f.flags(c.Flags())
	limit := c.Flags().Int("limit", 50, "most tasks; 0: all")
	return remoteWithin(c, noLimit, func(ctx context.Context, to *call, _ []string) error {
		wanted, err := f.filter(time.Now())
		if err != nil {
			return err
		}
		n, err := printEach(to, to.Tasks(ctx, wanted), *limit, (*rows).taskHeads, (*rows).task)
		if err != nil || n > 0 || wanted.Queue == "" {
			return err
		}
		page, err := to.List(ctx, wanted, 1, "")
		if err == nil && page.Warning != "" {
			fmt.Fprintf(to.err, "bellman: %s\n", page.Warning)
		}
		return err
	})
}

// A filter is a client's filter as flags state it.
type filter struct {
	client.Filter
	created
	finished string // finished_from
}

func (f *filter) flags(to *pflag.FlagSet) {
	to.StringVar(&f.Queue, "queue", "", "only of this queue")
	to.StringVar(&f.Key, "task-key", "", "only with this key")
	to.StringVar(&f.State, "state", "", "only in this state: pending, succeeded, failed or cancelled")
	to.StringVar(&f.MerchantNo, "merchant-no", "", "only of this merchant")
	to.StringVar(&f.OrderNo, "order-no", "", "only of this order")
	to.StringVar(&f.Event, "event", "", "only of this event")
	to.StringVar(&f.URLHost, "url-host", "", "only to this host, or host:port")
	to.StringVar(&f.Kind, "kind", "", "only of this kind: notify, order or poll")
	to.StringVar(&f.Result, "result", "", "only with this result of the last attempt: accepted, refused, error_status, unreachable, timeout, blocked or unknown")
	to.IntVar(&f.Status, "status", 0, "only with this HTTP status of the last answer")
	f.created.flags(to)
	to.StringVar(&f.finished, "finished-from", "", "ended at this time or later")
}

// filter returns the filter that the flags state. Durations count back from now.
func (f *filter) filter(now time.Time) (client.Filter, error) {
	out := f.Filter
	if err := f.created.read(now, &out.CreatedFrom, &out.CreatedTo); err != nil {
		return out, err
	}
	return out, readMoment(now, "--finished-from", f.finished, &out.FinishedFrom)
}

// checkGiven returns an error if one of the flags of a filter was given without a value, such as a
// value from an unset variable of the shell. Such a flag does not limit the filter.
func checkGiven(flags *pflag.FlagSet) (err error) {
	own := pflag.NewFlagSet("filter", pflag.ContinueOnError)
	new(filter).flags(own)
	flags.Visit(func(flag *pflag.Flag) {
		value := flag.Value.String()
		switch {
		case own.Lookup(flag.Name) == nil:
		case value == "":
			err = wrong{fmt.Errorf("--%s is empty: give it a value, or leave it out", flag.Name)}
		case flag.Name == "status" && value == "0":
			err = wrong{errors.New("--status 0: want an HTTP status from 100 to 599")}
		}
	})
	return err
}

// A created is the range of creation times as flags state it.
type created struct{ from, to string }

func (c *created) flags(to *pflag.FlagSet) {
	to.StringVar(&c.from, "created-from", "", `created at this time or later: 2026-11-20T15:04:05Z, or "2h" ago`)
	to.StringVar(&c.to, "created-to", "", "created before this time")
}

// read reads the range. Durations count back from now.
func (c *created) read(now time.Time, from, to *client.Time) error {
	if err := readMoment(now, "--created-from", c.from, from); err != nil {
		return err
	}
	return readMoment(now, "--created-to", c.to, to)
}

// readMoment reads the time of a flag. A duration counts back from now. Without a text, to stays.
func readMoment(now time.Time, flag, text string, to *client.Time) error {
	if text == "" {
		return nil
	}
	if ago, err := schedule.ParseDuration(text); err == nil {
		*to = client.At(now.Add(-ago))
	} else if err := to.UnmarshalText([]byte(text)); err != nil {
		return wrong{fmt.Errorf("%s %q: want a time such as 2026-11-20T15:04:05Z, or a duration such as 2h", flag, text)}
	}
	return nil
}

func cancelCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "cancel " + taskArgs + " | --merchant-no M --order-no O",
		Short: "Cancel a task, or stop polling an order; an attempt in flight may still arrive",
		Args:  arguments(0, 2, "a task's id, or its queue and key; or --merchant-no and --order-no"),
	}
	reason := c.Flags().String("reason", "", "why, for the audit record")
	order := orderFlags(c)
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		if err := oneOf(c.Name(), args, order); err != nil {
			return err
		}
		var task *client.Task
		var err error
		if len(args) == 0 {
			task, err = to.CancelOrder(ctx, *order, client.Because{Reason: *reason})
		} else {
			task, err = to.Cancel(ctx, ref(args), client.Because{Reason: *reason})
		}
		return show(to, task, err, (*rows).oneTask)
	})
}

func rescheduleCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "reschedule " + taskArgs + " --due TIME | --delay DURATION",
		Short: "Move the next attempt of a task",
		Long: `Move the next attempt of a pending task to a time, or by a duration from now. The
schedule continues after that attempt.`,
		Example: `  bellman reschedule merchant-notify M1001/20261120000001/paid --delay 2h --reason "the merchant's maintenance"`,
		Args:    oneTask,
	}
	due := c.Flags().String("due", "", "time: 2026-11-20T15:04:05Z")
	var in client.RescheduleTask
	c.Flags().StringVar(&in.Delay, "delay", "", "duration from now: 15m")
	c.Flags().StringVar(&in.Reason, "reason", "", "why, for the audit record")
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		if (*due == "") == (in.Delay == "") {
			return wrong{fmt.Errorf("reschedule: want --due or --delay")}
		}
		if *due != "" {
			if err := in.Due.UnmarshalText([]byte(*due)); err != nil {
				return wrong{fmt.Errorf("--due %q: want a time such as 2026-11-20T15:04:05Z", *due)}
			}
		}
		task, err := to.Reschedule(ctx, ref(args), in)
		return show(to, task, err, (*rows).oneTask)
	})
}
