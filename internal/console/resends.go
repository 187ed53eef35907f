package console

import (
	"context"
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

// Resends runs bulk resends as durable jobs. Errors are those of an [Engine].
type Resends interface {
	// Count says what a job with this filter would touch, up to limit tasks, and what is
	// found within a time; zero: as long as counting takes at most.
	Count(ctx context.Context, f resend.Pick, limit int, within time.Duration) (resend.Count, error)

	// Start makes a durable job of in's Filter, Mode, Rate, Who and Reason; no rate
	// is a default.
	Start(ctx context.Context, in resend.Job) (resend.Job, error)

	Get(ctx context.Context, id bellman.ID) (resend.Job, error)
	List(ctx context.Context, limit int) ([]resend.Job, error) // the newest first

	// Cancel ends a job; one that has ended is returned as it is.
	Cancel(ctx context.Context, id bellman.ID, by bellman.By) (resend.Job, error)
}

// What a page counts at once, so that it is there at once, and what it goes on to
// count by itself, where there is more.
const (
	countedResends = 20_000
	countedAtOnce  = 25 * time.Millisecond
)

// newestResends is how many bulk resends a list has.
const newestResends = 50

// A resendsView is the list of bulk resends.
type resendsView struct {
	*view
	Rows []job
}

// A resendView is the page of one bulk resend.
type resendView struct {
	*view
	Job    job
	Filter []asked
	Tasks  string // the address of the list of its tasks
	pauseForm
}

// A newResendView is what a bulk resend would do, and the form that begins it.
type newResendView struct {
	*view
	Wish   *wish
	Filter []asked
	Count  resend.Count
	Hidden []field // of the form: the wish
	Mode   string
	Rate   string
	Long   time.Duration // how long it takes at this rate; 0: not known

	// Further is where more is counted than could be at once; empty: nowhere.
	Further string
	pauseForm
}

func (q *request) resendList() {
	jobs, err := q.resends.List(q.r.Context(), newestResends)
	if err != nil {
		q.refuse(err)
		return
	}
	v := &resendsView{view: q.view("page.resends"), Rows: make([]job, len(jobs))}
	for i, j := range jobs {
		v.Rows[i] = job{j}
	}
	q.render(http.StatusOK, "resends", v)
}

func (q *request) resendPage() { q.showResend(http.StatusOK, pauseForm{}) }

func (q *request) showResend(status int, form pauseForm) {
	id, ok := q.pathID()
	if !ok {
		return
	}
	found, err := q.resends.Get(q.r.Context(), id)
	if err != nil {
		q.refuse(err)
		return
	}
	v := &resendView{view: q.view("page.resend"), Job: job{found}, pauseForm: form}
	w := wishOf(&found.Filter)
	v.Filter, v.Tasks = q.fields(w), w.Address("/tasks")
	q.render(status, "resend", v)
}

// wishOf is the wish that a filter is.
func wishOf(f *resend.Pick) *wish {
	in := map[string][]string{}
	set := func(name, value string) {
		if value != "" {
			in[name] = []string{value}
		}
	}
	set("merchant_no", f.MerchantNo)
	set("order_no", f.OrderNo)
	set("key", f.Key)
	set("url_host", f.URLHost)
	set("event", f.Event)
	set("queue", f.Queue)
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
	return readWish(in)
}

// An asked field is one of a wish: its name as a text, and what it must be.
type asked struct {
	Name, Value string
	At          time.Time // in the place of Value; zero: it is no time
}

// fields are what a wish asks for.
func (q *request) fields(w *wish) (all []asked) {
	for _, name := range wishes {
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
		}
		all = append(all, a)
	}
	return all
}

// newResend shows what a bulk resend with a wish would do.
func (q *request) newResend() {
	in := q.r.URL.Query()
	q.showNewResend(http.StatusOK, readWish(in), in.Get("mode"), in.Get("rate"), pauseForm{})
}

func (q *request) showNewResend(status int, w *wish, mode, rate string, form pauseForm) {
	if err := w.wrong().Err(); err != nil {
		q.refuse(err)
		return
	}
	further := q.r.URL.Query().Get("count") == "further"
	within := countedAtOnce
	if further {
		within = 0 // as long as counting takes at most
	}
	count, err := q.resends.Count(q.r.Context(), w.Pick, countedResends, within)
	if err != nil {
		q.refuse(err)
		return
	}
	v := &newResendView{view: q.view("page.newresend"), Wish: w, Filter: q.fields(w), Count: count, Mode: mode, Rate: rate, pauseForm: form}
	if v.Rate == "" {
		v.Rate = "50"
	}
	if perSecond, ok := parseRate(v.Rate); ok && !count.More && perSecond >= schedule.MinRate {
		v.Long = time.Duration(float64(count.Tasks) / perSecond * float64(time.Second)).Round(time.Second)
	}
	if count.More && count.Tasks < countedResends && !further {
		v.Further = w.Address("/resends/new") + "&" + url.Values{"mode": {v.Mode}, "rate": {v.Rate}, "count": {"further"}}.Encode()
	}
	for _, name := range wishes {
		if value := w.Get(name); value != "" {
			v.Hidden = append(v.Hidden, field{name, value})
		}
	}
	q.render(status, "newresend", v)
}

// parseRate reads a number of tasks a second, or a rate such as 30/m.
func parseRate(text string) (perSecond float64, ok bool) {
	text = strings.TrimSpace(text)
	if text != "" && !strings.Contains(text, "/") {
		text += "/s"
	}
	perSecond, ok = schedule.ParseRate(text)
	return perSecond, ok && perSecond > 0
}

// startResend begins a bulk resend.
func (q *request) startResend() {
	in := q.r.PostForm
	w := readWish(in)
	form := pauseForm{Reason: strings.TrimSpace(in.Get("reason"))}
	rate, good := parseRate(in.Get("rate"))
	err := w.wrong().Err()
	if err != nil {
		q.refuse(err)
		return
	}
	var begun resend.Job
	switch {
	case !good:
		err = mistakes{errRate, unreasoned(form.Reason)}.err()
	case !reasoned(form.Reason):
		err = errReason
	default:
		begun, err = q.resends.Start(q.r.Context(), resend.Job{
			Filter: w.Pick, Mode: engine.ResendMode(in.Get("mode")), Rate: rate, Who: q.visitor.Who, Reason: form.Reason, From: q.visitor.From,
		})
	}
	if err != nil {
		status := 0
		status, form.Wrong = q.wrong(err)
		q.showNewResend(status, w, in.Get("mode"), in.Get("rate"), form)
		return
	}
	q.goDone("/resends/"+begun.ID.String(), "resend")
}

// stopResend ends a bulk resend.
func (q *request) stopResend() {
	q.end(ending{
		below: "/resends/", done: "stop", show: q.showResend,
		ended: func(id bellman.ID) (bool, error) {
			j, err := q.resends.Get(q.r.Context(), id)
			return j.State != resend.Running, err
		},
		do: func(id bellman.ID, by bellman.By) (bool, error) {
			j, err := q.resends.Cancel(q.r.Context(), id, by)
			return j.State == resend.Done, err
		},
	})
}

// resendLive tells the page of a bulk resend when it went on.
func (q *request) resendLive() {
	id, ok := q.pathID()
	if !ok {
		return
	}
	shown := q.r.URL.Query().Get("version")
	q.stream(livePace, func() (event, data string, err error) {
		j, err := q.resends.Get(q.r.Context(), id)
		now := job{j}.Version()
		if err != nil || now == shown {
			return "", "", err
		}
		shown = now
		return "changed", shown, nil
	})
}

// A job is a bulk resend as pages show it.
type job struct{ resend.Job }

// Version is a short text that is another one when the job went on.
func (j job) Version() string { return fmt.Sprintf("%s-%d-%d", j.State, j.Examined, j.Total) }

// Speed is how many tasks a second it has done so far; 0: not known.
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

// Of is how many tasks there are about; 0: not known.
func (j job) Of() int64 {
	if j.Total == 0 {
		return 0
	}
	return max(j.Total, j.Examined)
}

// Left is how long the rest takes at this speed; 0: not known.
func (j job) Left() time.Duration {
	speed := j.Speed()
	if j.State != resend.Running || j.More || speed == 0 || j.Examined >= j.Total {
		return 0
	}
	return time.Duration(float64(j.Total-j.Examined) / speed * float64(time.Second)).Round(time.Second)
}
