package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
)

// pickedPath is the page on which an operator acts on some tasks of a list.
const pickedPath = "/tasks/picked"

// A pickView is the page of some tasks of a list, with the actions on all of them.
type pickView struct {
	*view
	Rows  []row
	Left  map[string]bool // ids on which the action was not performed
	Tasks int             // on which it was performed; 0: nothing was done yet
	Batch string          // address of the audit records of the action

	Reason, When string
	Wrong        string // why the form was refused; empty: it was not refused
}

// pickPage shows the tasks that were ticked in a list.
func (q *request) pickPage() error { return q.showPicked(http.StatusOK, q.r.URL.Query(), pickView{}) }

func (q *request) showPicked(status int, in url.Values, v pickView) error {
	ticked := map[string]bool{}
	tasks := make([]*bellman.Task, 0, pageRows) // those that were not deleted since
	for _, text := range in["id"] {
		id, err := bellman.ParseID(text)
		if err != nil || len(ticked) == pageRows {
			return fail(http.StatusNotFound, "error.no_page")
		}
		if ticked[id.String()] {
			continue
		}
		ticked[id.String()] = true
		switch t, err := q.o.Reader.Task(q.r.Context(), id); {
		case err == nil:
			tasks = append(tasks, t)
		case !errors.Is(err, bellman.ErrNotFound):
			return err
		}
	}
	v.view, v.Rows, v.Left = q.view("page.picked"), q.rows(tasks), map[string]bool{}
	if batch := in.Get("batch"); batch != "" {
		v.Batch, v.Tasks = query("/audit", "job", "batch/"+batch), len(ticked)
		for _, id := range in["left"] {
			if ticked[id] && !v.Left[id] {
				v.Left[id] = true
				v.Tasks--
			}
		}
	}
	return q.render(status, "picked", &v)
}

// pickAction performs an action on the ticked tasks, one after the other, and shows on which it
// could not be performed. It is refused as a whole if the form is wrong.
func (q *request) pickAction() error {
	in := q.r.PostForm
	action, when, zone := in.Get("action"), strings.TrimSpace(in.Get("when")), in.Get("zone")
	reason := strings.TrimSpace(in.Get("reason"))
	batch := bellman.NewID().String()
	by := q.by(reason)
	by.Job = "batch/" + batch
	to := url.Values{"id": in["id"], "batch": {batch}}
	var first error
	for i, text := range in["id"] {
		id, err := bellman.ParseID(text)
		if err != nil || i == pageRows {
			return fail(http.StatusNotFound, "error.no_page")
		}
		t, err := q.o.Reader.Task(q.r.Context(), id)
		if err == nil {
			err = q.actOn(t, action, when, zone, by)
		}
		if err == nil {
			continue
		}
		if formWrong(err) { // no other task would fare better
			status, wrong := q.wrong(err)
			return q.showPicked(status, in, pickView{Reason: reason, When: when, Wrong: wrong})
		}
		to.Add("left", text)
		if first == nil {
			first = err
		}
	}
	switch {
	case len(in["id"]) == 0:
		return q.showPicked(http.StatusUnprocessableEntity, in, pickView{Reason: reason, When: when, Wrong: q.visitor.lang.say("pick.none")})
	case len(to["left"]) == len(in["id"]): // nothing was done
		status, wrong := q.wrong(first)
		return q.showPicked(status, in, pickView{Reason: reason, When: when, Wrong: wrong})
	default:
		address := pickedPath + "?" + to.Encode() // too long for the cookie of goDone, and the page says what was done
		q.led(address, action)
		return q.goTo(address)
	}
}

// formWrong reports whether an error is about the form and not about a task.
func formWrong(err error) bool {
	all, is := err.(mistakes)
	if !is {
		all = mistakes{err}
	}
	return slices.ContainsFunc(all, func(one error) bool { _, is := one.(formError); return is })
}
