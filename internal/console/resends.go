package console

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/schedule"
)

// Limits of what a page counts before it is shown, and of the longer count that it offers.
const (
	countedResends = 20_000
	countedAtOnce  = 25 * time.Millisecond
)

// newestResends is the number of bulk resends in the list.
const newestResends = 50

type resendsView struct {
	*view
	Rows []job
	More bool // there are older ones
}

type resendView struct {
	*view
	Job    job
	Filter []asked
	Tasks  string // address of the list of its tasks
	pauseForm
}

// A newResendView is the preview of a bulk resend with the form that starts it.
type newResendView struct {
	*view
	TaskFilter *taskFilter
	Filter     []asked
	Count      resend.Count
	Hidden     []field // the filter, as hidden fields of the form
	Mode       string
	Rate       string
	Long       time.Duration // duration at this rate; 0: unknown

	// Further is the address of a page that counts longer; empty: the count is complete.
	Further string
	pauseForm
}

func (q *request) resendList() error {
	jobs, err := q.o.Resends.List(q.r.Context(), newestResends+1)
	if err != nil {
		return err
	}
	v := &resendsView{view: q.view("page.resends"), More: len(jobs) > newestResends}
	for _, j := range jobs[:min(len(jobs), newestResends)] {
		v.Rows = append(v.Rows, job{j})
	}
	return q.render(http.StatusOK, "resends", v)
}

func (q *request) resendPage() error { return q.showResend(http.StatusOK, pauseForm{}) }

func (q *request) showResend(status int, form pauseForm) error {
	id, err := q.pathID()
	if err != nil {
		return err
	}
	found, err := q.o.Resends.Get(q.r.Context(), id)
	if err != nil {
		return err
	}
	v := &resendView{view: q.view("page.resend"), Job: job{found}, pauseForm: form}
	w := taskFilterOf(&found.Filter)
	v.Filter, v.Tasks = q.fields(w), w.Address("/tasks")
	return q.render(status, "resend", v)
}

// taskFilterOf returns the search form's input for a filter.
func taskFilterOf(f *resend.Pick) *taskFilter {
	in := map[string][]string{}
	set := func(name, value string) {
		if value != "" {
			in[name] = []string{value}
		}
	}
	for name, text := range textsOf(f) {
		set(name, *text)
	}
	set("kind", f.Kind)
	if f.Result != nil {
		set("result", f.Result.String())
	}
	if f.Status != 0 {
		set("status", strconv.Itoa(f.Status))
	}
	if f.State != nil {
		set("state", f.State.String())
	}
	if !f.CreatedFrom.IsZero() {
		set("from", f.CreatedFrom.UTC().Format(time.RFC3339Nano))
	}
	if !f.CreatedTo.IsZero() {
		set("to", f.CreatedTo.UTC().Format(time.RFC3339Nano))
	}
	if !f.FinishedFrom.IsZero() {
		set("finished_from", f.FinishedFrom.UTC().Format(time.RFC3339Nano))
	}
	return readTaskFilter(in)
}

// An asked field is one condition of a search: the name of its text, and the wanted value.
type asked struct {
	Name, Value string
	At          time.Time // the value if it is a time; zero: it is not
}

// fields returns the conditions of a search.
func (q *request) fields(w *taskFilter) (all []asked) {
	for _, name := range taskFields {
		value := w.Get(name)
		if value == "" || name == "zone" {
			continue
		}
		a := asked{Name: q.visitor.lang.say("field." + name), Value: value}
		switch name {
		case "state", "kind", "result":
			a.Value = q.visitor.lang.named(name, value)
		case "from":
			a.At = w.CreatedFrom
		case "to":
			a.At = w.CreatedTo
		case "finished_from":
			a.At = w.FinishedFrom
		}
		all = append(all, a)
	}
	return all
}

// newResend shows the preview of a bulk resend.
func (q *request) newResend() error {
	in := q.r.URL.Query()
	return q.showNewResend(http.StatusOK, readTaskFilter(in), in.Get("mode"), in.Get("rate"), pauseForm{})
}

func (q *request) showNewResend(status int, w *taskFilter, mode, rate string, form pauseForm) error {
	if err := w.wrong().Err(); err != nil {
		return err
	}
	further := q.r.URL.Query().Get("count") == "further"
	within := countedAtOnce
	if further {
		within = 0 // the longest time that counting may take
	}
	count, err := q.o.Resends.Count(q.r.Context(), w.Pick, countedResends, within)
	if err != nil {
		return err
	}
	v := &newResendView{view: q.view("page.newresend"), TaskFilter: w, Filter: q.fields(w), Count: count, Mode: mode, Rate: rate, pauseForm: form}
	v.Rate = cmp.Or(v.Rate, "50")
	if perSecond, ok := parseRate(v.Rate); ok && !count.More && perSecond >= schedule.MinRate {
		v.Long = time.Duration(float64(count.Tasks) / perSecond * float64(time.Second)).Round(time.Second)
	}
	if count.More && count.Tasks < countedResends && !further {
		v.Further = w.Address("/resends/new") + "&" + url.Values{"mode": {v.Mode}, "rate": {v.Rate}, "count": {"further"}}.Encode()
	}
	for _, name := range taskFields {
		if value := w.Get(name); value != "" {
			v.Hidden = append(v.Hidden, field{name, value})
		}
	}
	return q.render(status, "newresend", v)
}

// parseRate parses a number of tasks a second, or a rate such as 30/m.
func parseRate(text string) (perSecond float64, ok bool) {
	text = strings.TrimSpace(text)
	if text != "" && !strings.Contains(text, "/") {
		text += "/s"
	}
	perSecond, ok = schedule.ParseRate(text)
	return perSecond, ok && perSecond > 0
}

func (q *request) startResend() error {
	in := q.r.PostForm
	w := readTaskFilter(in)
	form := pauseForm{Reason: strings.TrimSpace(in.Get("reason"))}
	rate, good := parseRate(in.Get("rate"))
	err := w.wrong().Err()
	if err != nil {
		return err
	}
	var begun resend.Job
	switch {
	case !good:
		err = mistakes{errRate, unreasoned(form.Reason)}.err()
	case !reasoned(form.Reason):
		err = errReason
	default:
		if err = q.stillCounted(w, in.Get("counted")); err == nil {
			begun, err = q.o.Resends.Start(q.r.Context(), resend.Job{
				Filter: w.Pick, Mode: engine.ResendMode(in.Get("mode")), Rate: rate, Who: q.visitor.Who, Reason: form.Reason, From: q.visitor.From,
			})
		}
	}
	if err != nil {
		status := 0
		status, form.Wrong = q.wrong(err)
		return q.showNewResend(status, w, in.Get("mode"), in.Get("rate"), form)
	}
	return q.goDone("/resends/"+begun.ID.String(), "resend")
}

// stillCounted returns an error if a bulk resend would touch many more tasks than the page said, by
// more than a tenth and more than ten: a page may have been open for hours. counted is empty if the
// page could not count them all.
func (q *request) stillCounted(w *taskFilter, counted string) error {
	was, err := strconv.Atoi(counted)
	if err != nil {
		return nil
	}
	now, err := q.o.Resends.Count(q.r.Context(), w.Pick, countedResends, countedAtOnce)
	if err != nil || now.Tasks <= was+max(10, was/10) {
		return err
	}
	return fail(http.StatusConflict, "error.grown", "was", grouped(was), "now", grouped(now.Tasks))
}

// stopResend cancels a bulk resend.
func (q *request) stopResend() error {
	return q.end(ending{
		below: "/resends/", done: "stop", show: q.showResend,
		ended: func(id bellman.ID) (bool, error) {
			j, err := q.o.Resends.Get(q.r.Context(), id)
			return j.State != resend.Running, err
		},
		do: func(id bellman.ID, by bellman.By) (bool, error) {
			j, err := q.o.Resends.Cancel(q.r.Context(), id, by)
			return j.State == resend.Done, err
		},
	})
}

// resendLive notifies the page of a bulk resend of progress.
func (q *request) resendLive() error {
	id, err := q.pathID()
	if err != nil {
		return err
	}
	shown := q.r.URL.Query().Get("version")
	return q.stream(livePace, func() (event, data string, err error) {
		j, err := q.o.Resends.Get(q.r.Context(), id)
		now := job{j}.Version()
		if err != nil || now == shown {
			return "", "", err
		}
		shown = now
		return "changed", shown, nil
	})
}

// A job is a bulk resend with the figures that pages show.
type job struct{ resend.Job }

// Version returns a short text that changes whenever the job makes progress.
func (j job) Version() string { return fmt.Sprintf("%s-%d-%d", j.State, j.Examined, j.Total) }

// Speed returns the average number of tasks a second so far; 0: unknown.
func (j job) Speed() float64 {
	end := j.Finished
	if end.IsZero() {
		end = j.Updated
	}
	if took := end.Sub(j.Created).Seconds(); took > 0 {
		return math.Round(10*float64(j.Examined)/took) / 10
	}
	return 0
}

// Of returns the approximate number of tasks; 0: unknown.
func (j job) Of() int64 {
	if j.Total == 0 {
		return 0
	}
	return max(j.Total, j.Examined)
}

// Left returns the remaining time at this speed; 0: unknown.
func (j job) Left() time.Duration {
	speed := j.Speed()
	if j.State != resend.Running || j.More || speed == 0 || j.Examined >= j.Total {
		return 0
	}
	return time.Duration(float64(j.Total-j.Examined) / speed * float64(time.Second)).Round(time.Second)
}
