package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/lines"
)

func sendCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "send [FILE]",
		Short: "Create a task, or many",
		Long: `Create a task from flags, or tasks from a FILE (- is standard input) with one JSON
object for each, as in POST /v1/tasks. Flags override the fields of every object in the
file. If the exit status is 0, the tasks are durable. A repeated --task-key creates no
second task.`,
		Example: `  bellman send --url https://merchant.example/notify --json '{"order_no":"1"}' --task-key 1/paid
  bellman send --queue wechat-orders --merchant-no M1 --order-no 1 --expires 30m --notify-url https://merchant.example/paid
  bellman send --queue merchant-notify tasks.ndjson`,
		Args: arguments(0, 1, "one FILE of tasks, - for standard input, or none: flags say the task"),
	}
	flags := newTaskFlags(c.Flags())
	return remoteWithin(c, noLimit, func(ctx context.Context, to *call, args []string) error {
		if len(args) == 0 {
			task := client.CreateTask{}
			if err := flags.apply(&task); err != nil {
				return err
			}
			return sendOne(ctx, to, task)
		}
		tasks, err := readTasks(args[0], flags.apply)
		if err != nil {
			return err
		}
		if len(tasks) == 1 {
			return sendOne(ctx, to, tasks[0])
		}
		return sendMany(ctx, to, tasks)
	})
}

// A taskFlags has the flags of a task.
type taskFlags struct {
	set                         *pflag.FlagSet
	texts                       func(*client.CreateTask)
	data, notifyURL, notifyJSON string
	headers, vars               []string
	supersedes                  bool
	amount                      int64
}

// newTaskFlags declares the flags of a task.
func newTaskFlags(flags *pflag.FlagSet) *taskFlags {
	f := &taskFlags{set: flags}
	f.texts = textFlags(flags, []textFlag[client.CreateTask]{
		{"queue", "the queue (default default)", func(t *client.CreateTask) *string { return &t.Queue }},
		{"task-key", "idempotency key, unique within the queue", func(t *client.CreateTask) *string { return &t.Key }},
		{"merchant-no", "the merchant", func(t *client.CreateTask) *string { return &t.MerchantNo }},
		{"order-no", "the order", func(t *client.CreateTask) *string { return &t.OrderNo }},
		{"channel-order-no", "order or poll: number of the order at the channel (default: order-no, or of a refund that of its order)", func(t *client.CreateTask) *string { return &t.ChannelOrderNo }},
		{"currency", "order: currency of the amount: CNY", func(t *client.CreateTask) *string { return &t.Currency }},
		{"account", "order or poll: the registered account at the channel", func(t *client.CreateTask) *string { return &t.Account }},
		{"ref-no", "poll: number of the refund, transfer or profit sharing at the channel", func(t *client.CreateTask) *string { return &t.RefNo }},
		{"event", "the event: payment.succeeded", func(t *client.CreateTask) *string { return &t.Event }},
		{"url", "address of the request", func(t *client.CreateTask) *string { return &t.URL }},
		{"method", "method of the request (default POST)", func(t *client.CreateTask) *string { return &t.Method }},
		{"body", "the body, as text", func(t *client.CreateTask) *string { return &t.Body }},
		{"delay", "delay before the first attempt: 15s", func(t *client.CreateTask) *string { return &t.Delay }},
		{"schedule", "a preset's name or a schedule's text", func(t *client.CreateTask) *string { return &t.Schedule }},
		{"success", "a preset's name or an expression", func(t *client.CreateTask) *string { return &t.Success }},
		{"timeout", "timeout of one attempt: 5s", func(t *client.CreateTask) *string { return &t.Timeout }},
		{"max-age", "the task fails at this age: 24h", func(t *client.CreateTask) *string { return &t.MaxAge }},
		{"repeat", "start again after the end: 10m, or cron ...", func(t *client.CreateTask) *string { return &t.Repeat }},
		{"ordering-key", "the task waits for earlier tasks of the queue with the same ordering key", func(t *client.CreateTask) *string { return &t.OrderingKey }},
		{"expires", "order: the close protocol begins after this time without a payment: 30m", func(t *client.CreateTask) *string { return &t.Expires }},
		{"code-life", "order: how long the payer can use the code after creation: 2h", func(t *client.CreateTask) *string { return &t.CodeLife }},
	})
	flags.StringVar(&f.data, "json", "", "the body, as JSON")
	flags.BoolVar(&f.supersedes, "supersedes", false, "ends the waiting earlier tasks of its ordering key")
	flags.Int64Var(&f.amount, "amount", 0, "order: what it costs, in the smallest unit of the currency: 8800")
	flags.String("expires-at", "", "order: as --expires, as a time: 2026-11-20T15:34:05Z")
	flags.String("due", "", "time of the first attempt: 2026-11-20T15:04:05Z")
	flags.String("order-created", "", "order: creation time at the channel: 2026-11-20T15:04:05Z")
	flags.StringArrayVar(&f.headers, "header", nil, `a header, "Name: value"; may be repeated`)
	flags.StringArrayVar(&f.vars, "var", nil, "order or poll: NAME=VALUE for the queue's templates or channel; may be repeated")
	flags.StringVar(&f.notifyURL, "notify-url", "", "order or poll: address of the notification")
	flags.StringVar(&f.notifyJSON, "notify-json", "", "order or poll: an object with more fields of the notification")
	return f
}

// apply copies the given flags into a task, and sets the default queue if the task names none.
func (f *taskFlags) apply(t *client.CreateTask) error {
	var garbled error
	f.set.Visit(func(flag *pflag.Flag) {
		if !utf8.ValidString(flag.Value.String()) {
			garbled = wrong{fmt.Errorf("--%s: %w", flag.Name, errEncoding)}
		}
	})
	if garbled != nil {
		return garbled
	}
	for _, name := range []string{"queue", "task-key"} { // without them it would be another task
		if given := f.set.Lookup(name); given.Changed && given.Value.String() == "" {
			return wrong{fmt.Errorf("--%s is empty: give it a value, or leave it out", name)}
		}
	}
	f.texts(t)
	t.Supersedes = t.Supersedes || f.supersedes
	t.Amount = cmp.Or(f.amount, t.Amount)
	t.Queue = cmp.Or(t.Queue, "default")
	for _, flag := range [][2]string{{"json", f.data}, {"notify-json", f.notifyJSON}} {
		if f.set.Changed(flag[0]) && !json.Valid([]byte(flag[1])) { // an empty text is no JSON either
			return wrong{fmt.Errorf("--%s: is not JSON: see whether the shell has taken its quotes", flag[0])}
		}
	}
	if f.data != "" {
		t.JSON = json.RawMessage(f.data)
	}
	for _, flag := range []struct {
		name string
		at   *client.Time
	}{{"due", &t.Due}, {"order-created", &t.OrderCreated}, {"expires-at", &t.ExpiresAt}} {
		if given := f.set.Lookup(flag.name); given.Changed && flag.at.UnmarshalText([]byte(given.Value.String())) != nil {
			return wrong{fmt.Errorf("--%s %q: want a time such as 2026-11-20T15:04:05Z", flag.name, given.Value)}
		}
	}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return wrong{fmt.Errorf(`--header %q: want "Name: value"`, h)}
		}
		addText(&t.Headers, strings.TrimSpace(name), strings.TrimSpace(value))
	}
	for _, v := range f.vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			return wrong{fmt.Errorf("--var %q: want NAME=VALUE", v)}
		}
		addText(&t.Vars, name, value)
	}
	setNotify(t, f.notifyURL, f.notifyJSON)
	return nil
}

func addText(to *map[string]string, name, value string) {
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[name] = value
}

// setNotify sets the address and the fields of a task's notification, unless they are empty.
func setNotify(t *client.CreateTask, url, fields string) {
	if url == "" && fields == "" {
		return
	}
	if t.Notify == nil {
		t.Notify = new(client.Notify)
	}
	t.Notify.URL = cmp.Or(url, t.Notify.URL)
	if fields != "" {
		t.Notify.JSON = json.RawMessage(fields)
	}
}

// errEncoding is the error for text that JSON cannot carry: its bytes would be replaced on the way
// to the server.
var errEncoding = errors.New("is not UTF-8")

// readTasks reads tasks from a file, and completes each with set.
func readTasks(path string, set func(*client.CreateTask) error) ([]client.CreateTask, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	from := path
	if path == "-" {
		from = "standard input"
	}
	buffered := bufio.NewReader(in)
	if mark, err := buffered.Peek(3); err == nil && string(mark) == "\ufeff" { // as some editors begin a file
		buffered.Discard(3)
	}
	d := json.NewDecoder(buffered)
	var tasks []client.CreateTask
	for {
		var text json.RawMessage
		var t client.CreateTask
		err := d.Decode(&text)
		switch {
		case errors.Is(err, io.EOF):
		case errors.Is(err, io.ErrUnexpectedEOF):
			err = errors.New("the JSON is cut off")
		case err == nil && !utf8.Valid(text):
			err = errEncoding
		case err == nil:
			known := json.NewDecoder(bytes.NewReader(text))
			known.DisallowUnknownFields()
			if err = known.Decode(&t); err == nil {
				err = lines.Once(text)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, wrong{fmt.Errorf("task %d of %s: %w", len(tasks)+1, from, err)}
		}
		if err := set(&t); err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	if len(tasks) == 0 {
		return nil, wrong{fmt.Errorf("%s has no task: want JSON objects, as POST /v1/tasks takes them", from)}
	}
	return tasks, nil
}

func sendOne(ctx context.Context, to *call, in client.CreateTask) error {
	task, _, err := to.Create(ctx, in)
	return show(to, task, err, (*rows).oneTask)
}

// sendMany creates tasks in batches. It goes on after a task that was refused, and reports at the
// end how many were refused.
func sendMany(ctx context.Context, to *call, in []client.CreateTask) error {
	refused := 0
	var last error
	list := array{out: to.out}
	for start := 0; start < len(in); {
		end := batchEnd(in, start)
		results, err := to.CreateBatch(ctx, in[start:end])
		if err != nil {
			return errors.Join(fmt.Errorf("%d of %d tasks were sent: %w", start, len(in), err), list.end())
		}
		if to.json {
			err = list.add(results)
		} else {
			err = to.print(results, func(t *rows) { t.results(start, results) })
		}
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Error != nil {
				last = r.Error
				refused++
			}
		}
		start = end
	}
	if err := list.end(); err != nil {
		return err
	}
	if refused > 0 {
		return fmt.Errorf("%d of %d tasks were refused, the last one: %s", refused, len(in), problemOf(last))
	}
	return nil
}

// An array writes the results of batches as one array of JSON.
type array struct {
	out io.Writer
	n   int // results written
}

func (a *array) add(results []client.BatchResult) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("  ", "  ")
	for _, r := range results {
		text.WriteString(map[bool]string{true: "[\n  ", false: ",\n  "}[a.n == 0])
		if err := e.Encode(r); err != nil {
			return err
		}
		text.Truncate(text.Len() - 1) // the end of the line, which Encode adds
		a.n++
	}
	_, err := seenJSON{a.out}.Write(text.Bytes())
	return err
}

// end ends the array, if something was added.
func (a *array) end() error {
	if a.n == 0 {
		return nil
	}
	_, err := io.WriteString(a.out, "\n]\n")
	return err
}

// batchEnd returns the end of the batch that begins at start: after 1,000 tasks, or about 8 MiB.
func batchEnd(in []client.CreateTask, start int) int {
	const maxBytes = 8 << 20
	size := 0
	for i := start; i < len(in); i++ {
		size += len(in[i].Body) + len(in[i].JSON) + 1024
		if n := in[i].Notify; n != nil {
			size += len(n.JSON)
		}
		if i > start && (size > maxBytes || i-start == client.MaxBatch) {
			return i
		}
	}
	return len(in)
}

// results writes the results of a batch whose first task is number start.
func (t *rows) results(start int, results []client.BatchResult) {
	t.heads("TASK", "STATUS", "ID", "KEY", "PROBLEM")
	for i, r := range results {
		switch {
		case r.Error != nil:
			t.row(start+i+1, r.Status, "", "", problemOf(r.Error))
		case r.Task != nil:
			t.row(start+i+1, r.Status, r.Task.ID, r.Task.Key, "")
		}
	}
}

// problemOf says why one task of a batch was refused. Its status is said elsewhere.
func problemOf(err error) string {
	p := new(client.Problem)
	if !errors.As(err, &p) || len(p.Errors) == 0 {
		return strings.TrimPrefix(err.Error(), "bellman: ")
	}
	var fields []string
	for _, f := range p.Errors {
		_, name, in := strings.Cut(f.Location, "].") // of body.tasks[1].url
		if !in {
			name = f.Location
		}
		fields = append(fields, name+": "+f.Message)
	}
	return strings.Join(fields, "; ")
}
