package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/order"
)

// create serves POST /v1/tasks.
func (a *API) create(w *response, r *http.Request) {
	if refused := checkQuery(r); refused != nil {
		write(w, refused)
		return
	}
	buf := buffers.take()
	defer buffers.giveBack(buf)
	body, refused := readBody(w, r, maxJSON, *buf)
	*buf = body[:0]
	if refused != nil {
		write(w, refused)
		return
	}
	var o wanted
	if err := decodeTask(body, &o); err != nil {
		write(w, malformed(err))
		return
	}
	t, refused := a.askFor(&w.holder, &o)
	if refused != nil {
		write(w, refused)
		return
	}
	added := a.o.Engine.Add(r.Context(), t)[0]
	status, t, refused := a.outcome(r.Context(), &w.holder, t, added, &o.faults)
	if refused != nil {
		write(w, refused)
		return
	}
	*buf = append(a.appendTask((*buf)[:0], t), '\n') // the body is not needed any more
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Location"] = []string{"/v1/tasks/" + t.ID.String()}
	w.WriteHeader(status)
	w.Write(*buf) // an error means that the client has gone
}

// askFor returns the task that a caller requests, or why it is rejected.
func (a *API) askFor(by *holder, o *wanted) (*bellman.Task, *client.Problem) {
	if refused := by.checkCreate(&o.in); refused != nil {
		return nil, refused
	}
	t, refused := a.ask(&o.in, &o.faults)
	if refused == nil {
		t.SetCreatedBy(by.who)
	}
	return t, refused
}

// ask returns the requested task, or all mistakes in the request.
func (a *API) ask(in *client.CreateTask, f *faults) (*bellman.Task, *client.Problem) {
	var t *bellman.Task
	switch a.kindOf(in.Queue) {
	case "order":
		t = a.askOrder(in, f)
	case "poll":
		t = a.askPoll(in, f)
	case "": // the engine reports that there is no such queue
		t = ask(in, f)
	default:
		t = ask(in, f)
		noOrder(in, f)
		a.noTell(in, f)
	}
	if len(t.Body) > maxTask {
		return nil, tooLarge("task's body", maxTask)
	}
	if err := a.o.CheckURL(t); err != nil {
		invalid, is := errors.AsType[*bellman.Invalid](err)
		if !is {
			return nil, a.refuse(err)
		}
		f.take(invalid)
	}
	if len(f.list) == 0 {
		return t, nil
	}
	if c, is := a.o.Engine.(bellman.Checker); is {
		if invalid, is := errors.AsType[*bellman.Invalid](c.Check(t)); is {
			f.take(invalid)
		}
	}
	return nil, f.problem()
}

// outcome converts the engine's result for a task to a status and the task, or to a problem.
func (a *API) outcome(ctx context.Context, by *holder, t *bellman.Task, added bellman.Added, f *faults) (int, *bellman.Task, *client.Problem) {
	switch {
	case added.Err != nil:
		return 0, nil, a.notAdded(ctx, by, t, added, f)
	case !added.Existing:
		return http.StatusCreated, t, nil
	case added.ID.IsZero(): // a key that occurred earlier in a dry run of the batch
		return http.StatusOK, nil, nil
	}
	t, err := a.o.Reader.Task(ctx, added.ID)
	if err != nil {
		return 0, nil, a.refuse(fmt.Errorf("read the task that has the key already: %w", err))
	}
	return http.StatusOK, t, nil
}

// notAdded returns why a task was not added. It names the task that has the key or the alias
// already only to a caller that reaches that task.
func (a *API) notAdded(ctx context.Context, by *holder, t *bellman.Task, added bellman.Added, f *faults) *client.Problem {
	if invalid, ok := errors.AsType[*bellman.Invalid](added.Err); ok {
		f.take(invalid)
		return f.problem()
	}
	p := a.refuse(added.Err)
	named := !added.ID.IsZero() && a.reaches(ctx, by, added.ID)
	if errors.Is(added.Err, bellman.ErrAliasTaken) {
		field, problem := "channel_order_no", "the number is already used in this account"
		switch a.kindOf(t.Queue) {
		case "poll":
			field = "ref_no"
			p.Detail = "another refund or transfer has this number in this account"
		case "order":
			if ask, err := order.ParseAsk(t.Body); err == nil && ask.ChannelOrderNo == "" {
				field, problem = "order_no", "is the number at the channel too, since channel_order_no is missing; it is already used in this account"
			}
		}
		if named {
			problem += a.usedBy(ctx, added.ID)
		}
		f.add(field, problem)
		p.Errors = f.list
	}
	switch {
	case p.Status != http.StatusConflict:
	case named:
		p.Instance = "/v1/tasks/" + added.ID.String()
		if field := keyedBy(t, a.kindOf(t.Queue)); field != "" && errors.Is(added.Err, bellman.ErrKeyTaken) {
			p.Detail = "the key exists in this queue with other content: compare with the task at instance"
			f.add(field, "is in this queue already, with other content: give a number of its own, or repeat the first request without a change")
			p.Errors = f.list
		}
	case errors.Is(added.Err, bellman.ErrKeyTaken):
		p.Detail = "the key exists in this queue, outside the scope of this key: give another key"
	}
	return p
}

// keyedBy returns the field of a task whose caller gave it no key: its number is its key. Empty: its
// key is its caller's.
func keyedBy(t *bellman.Task, kind string) string {
	number := t.MerchantNo + "/" + t.OrderNo
	switch {
	case kind == "order" && t.Key == number:
		return "order_no"
	case kind == "poll" && strings.HasPrefix(t.Key, number+"/"):
		return "ref_no"
	}
	return ""
}

// usedBy returns who has the alias that a task was to get; empty if that task cannot be read.
func (a *API) usedBy(ctx context.Context, id bellman.ID) string {
	t, err := a.o.Reader.Task(ctx, id)
	switch {
	case err != nil:
		return ""
	case t.OrderNo == "":
		return " by task " + id.String()
	}
	return " by order " + t.MerchantNo + "/" + t.OrderNo
}

// createBatch serves POST /v1/tasks/batch.
func (a *API) createBatch(w *response, r *http.Request) {
	if refused := checkQuery(r); refused != nil {
		write(w, refused)
		return
	}
	leave, refused := a.enterBatch(r)
	if refused != nil {
		write(w, refused)
		return
	}
	defer leave()
	buf := batchBuffers.take()
	defer batchBuffers.giveBack(buf)
	body, refused := readBody(w, r, maxBatch, *buf)
	*buf = body[:0]
	if refused != nil {
		write(w, refused)
		return
	}
	in, f, err := decodeBatch(body)
	if err != nil {
		write(w, malformed(err))
		return
	}
	if refused := f.problem(); refused != nil {
		write(w, refused)
		return
	}
	*buf, refused = a.addBatch(body[:0], r, &w.holder, &in) // the body is not needed when the answer begins
	if refused != nil {
		write(w, refused)
		return
	}
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(http.StatusOK)
	w.Write(*buf) // an error means that the client has gone
}

// addBatch adds the valid tasks of a batch, or tries them in a dry run, and appends the answer for
// all to b. It returns a problem for the whole batch if nothing can be added now.
func (a *API) addBatch(b []byte, r *http.Request, by *holder, in *wantedBatch) ([]byte, *client.Problem) {
	all, add := in.tasks, a.o.Engine.Add
	if in.dry {
		add = a.o.Engine.Try
	}
	refused := make([]*client.Problem, len(all))
	tasks := make([]*bellman.Task, 0, len(all))
	outside := false // a task is outside the limits of the key
	for i := range all {
		o := &all[i]
		if o.bytes > maxJSON {
			refused[i] = tooLarge("task's JSON", maxJSON)
			continue
		}
		var t *bellman.Task
		if t, refused[i] = a.askFor(by, o); refused[i] == nil {
			tasks = append(tasks, t)
		} else if refused[i].Status == http.StatusForbidden {
			outside = true
		}
	}
	if outside {
		a.recordRefused(r, by.who, http.StatusForbidden)
	}
	var added []bellman.Added
	if len(tasks) > 0 {
		added = add(r.Context(), tasks...)
		if err := common(added); err != nil {
			return b, a.refuse(err)
		}
	}
	b = slices.Grow(b, 32+len(all)*700)
	b = append(b, `{"results":[`...)
	next := 0
	for i := range all {
		if i > 0 {
			b = append(b, ',')
		}
		status, p := 0, refused[i]
		var t *bellman.Task
		if p == nil {
			status, t, p = a.outcome(r.Context(), by, tasks[next], added[next], &all[i].faults)
			next++
		}
		b = a.appendResult(b, status, t, p)
	}
	return append(b, "]}\n"...), nil
}

// common returns the error of all tasks of a batch, if it does not concern the tasks themselves.
func common(added []bellman.Added) error {
	first := added[0].Err
	if _, invalid := errors.AsType[*bellman.Invalid](first); first == nil || invalid || errors.Is(first, bellman.ErrKeyTaken) || errors.Is(first, bellman.ErrAliasTaken) {
		return nil
	}
	for i := range added {
		if !errors.Is(added[i].Err, first) {
			return nil
		}
	}
	return first
}

func (a *API) appendResult(b []byte, status int, t *bellman.Task, p *client.Problem) []byte {
	if p != nil {
		status = p.Status
	}
	b = append(b, `{"status":`...)
	b = strconv.AppendInt(b, int64(status), 10)
	switch {
	case p != nil:
		b = append(append(b, `,"error":`...), marshal(p)...)
	case t != nil:
		b = a.appendTask(append(b, `,"task":`...), t)
	}
	return append(b, '}')
}
