package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/endpoints"
	"github.com/bellmanhq/bellman/store"
)

type queuesView struct {
	*view
	*snapshot
	pauseForm
}

// A pauseForm holds the input of a form that pauses or resumes.
type pauseForm struct {
	Name, Reason string
	Wrong        string // why it was refused; empty: it was not refused
}

func (q *request) queuePage() error {
	return q.showQueues(http.StatusOK, pauseForm{Name: q.r.URL.Query().Get("name")})
}

func (q *request) showQueues(status int, form pauseForm) error {
	f, err := q.figures(q.r.Context())
	if err != nil {
		return err
	}
	return q.render(status, "queues", &queuesView{view: q.view("page.queues"), snapshot: f, pauseForm: form})
}

func (q *request) queueAction() error {
	return q.pauseOrResume("/queues", errQueue, q.o.Engine.PauseQueue, q.o.Engine.ResumeQueue, q.showQueues)
}

func (q *request) endpointAction() error {
	return q.pauseOrResume("/endpoints", errEndpoint, q.eachEndpoint(q.o.Engine.PauseEndpoint), q.eachEndpoint(q.o.Engine.ResumeEndpoint), q.showEndpoints)
}

// eachEndpoint applies do to every endpoint that a name means. A host without a scheme means its
// HTTP and HTTPS endpoints. A single word is taken as a mistyped name.
func (q *request) eachEndpoint(do func(context.Context, string, bellman.By) error) func(context.Context, string, bellman.By) error {
	return func(ctx context.Context, name string, by bellman.By) error {
		if strings.Contains(name, "://") || !strings.ContainsAny(name, ".:") || q.o.Kinds != nil && q.o.Kinds(name) != "" {
			return do(ctx, name, by)
		}
		f, err := q.o.Engine.Figures(ctx, figures.Ask{Endpoints: true})
		if err != nil {
			return err
		}
		names := endpoints.Named(name, f.Endpoints, len(f.Silent) == 0, false)
		if len(names) == 0 {
			return do(ctx, name, by) // its error says what is wrong with the name
		}
		unpaused := 0
		for _, one := range names {
			switch err := do(ctx, one, by); {
			case errors.Is(err, bellman.ErrNotPaused):
				unpaused++
			case err != nil:
				return err
			}
		}
		if unpaused == len(names) {
			return bellman.ErrNotPaused
		}
		return nil
	}
}

// pauseOrResume does what a form requests, or shows the form again with the error. nameless is the
// error for a form without a name.
func (q *request) pauseOrResume(page string, nameless formError, pause, resume func(context.Context, string, bellman.By) error, again func(int, pauseForm) error) error {
	in := q.r.PostForm
	form := pauseForm{Name: strings.TrimSpace(in.Get("name")), Reason: strings.TrimSpace(in.Get("reason"))}
	do := map[string]func(context.Context, string, bellman.By) error{"pause": pause, "resume": resume}[in.Get("action")]
	wrong := mistakes{nil, unreasoned(form.Reason)}
	if form.Name == "" {
		wrong[0] = nameless
	}
	err := wrong.err()
	switch {
	case do == nil:
		err = errAction
	case err == nil:
		err = do(q.r.Context(), form.Name, q.by(form.Reason))
	}
	q.now.forget()
	q.needs.forget()
	switch {
	case errors.Is(err, bellman.ErrNotPaused):
		return q.goDone(page, "unpaused")
	case err != nil:
		status := 0
		status, form.Wrong = q.wrong(err)
		return again(status, form)
	default:
		return q.goDone(page, in.Get("action"))
	}
}

type endpointsView struct {
	*view
	pauseForm
	Part   string            // the part of a name by which the list is filtered; empty: all
	State  string            // failing, late or paused; empty: all
	States []choice          // quick filters
	Rows   []endpointRow     // endpoints in trouble first
	More   int               // number of endpoints that are not shown
	One    *figures.Endpoint // the endpoint of the form; nil: none, or it had no tasks lately
	Silent []string          // nodes that did not report their endpoints
}

type endpointRow struct {
	figures.Endpoint
	Spark *spark // nil: there was no attempt in the last hour
}

// endpointRows is the largest number of endpoints shown.
const endpointRows = 200

func (q *request) endpointPage() error {
	return q.showEndpoints(http.StatusOK, pauseForm{Name: q.r.URL.Query().Get("name")})
}

func (q *request) showEndpoints(status int, form pauseForm) error {
	form.Name = bounded(form.Name, 400)
	in := q.r.URL.Query()
	v := &endpointsView{view: q.view("page.endpoints"), pauseForm: form, Part: bounded(strings.TrimSpace(in.Get("part")), 400)}
	if state := in.Get("state"); slices.Contains(troubles, state) {
		v.State = state
	}
	v.States = choices("/endpoints", v.State, "part", v.Part)
	late := alarm.Above(q.alarmRules(), alarm.Overdue, "")
	now := time.Now()
	all, err := q.o.Engine.Figures(q.r.Context(), figures.Ask{Endpoints: true})
	if err != nil {
		return err
	}
	v.Silent = all.Silent
	for _, e := range all.Endpoints {
		if v.Name == e.Endpoint {
			one := e
			v.One = &one
		}
		is := map[string]bool{"": true, "failing": trouble(&e) >= 2, "paused": e.Pause != nil,
			"late": !e.Oldest.IsZero() && now.Sub(e.Oldest).Seconds() > late}
		if strings.Contains(strings.ToLower(e.Endpoint), strings.ToLower(v.Part)) && is[v.State] {
			v.Rows = append(v.Rows, endpointRow{Endpoint: e})
		}
	}
	slices.SortStableFunc(v.Rows, func(a, b endpointRow) int {
		return cmp.Or(trouble(&b.Endpoint)-trouble(&a.Endpoint), b.Waiting-a.Waiting, b.InFlight-a.InFlight)
	})
	if v.More = len(v.Rows) - endpointRows; v.More > 0 {
		v.Rows = v.Rows[:endpointRows]
	}
	ask := figures.RecentAsk{}
	for i := range v.Rows {
		ask.Endpoints = append(ask.Endpoints, v.Rows[i].Endpoint.Endpoint)
	}
	if len(v.Rows) > 0 {
		if all, err = q.o.Engine.Figures(q.r.Context(), figures.Ask{Recent: &ask}); err != nil {
			return err
		}
	}
	for i := range v.Rows {
		v.Rows[i].Spark = newSpark(recentOf(all.RecentEndpoints, v.Rows[i].Endpoint.Endpoint), now)
	}
	return q.render(status, "endpoints", v)
}

func (c *Console) alarmRules() []alarm.Rule {
	if c.o.Attention == nil {
		return nil
	}
	return c.o.Attention.Rules()
}

// trouble returns a larger number for an endpoint that needs attention first.
func trouble(e *figures.Endpoint) int {
	switch {
	case e.Breaker == "open":
		return 3
	case e.Breaker != "closed", e.Fails():
		return 2
	case e.Pause != nil, e.Rate > 0:
		return 1
	}
	return 0
}

// endpointTasks returns the address of the list of an endpoint's tasks. A queue can be an endpoint
// too: orders have their queue as endpoint.
func endpointTasks(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return query("/tasks", "queue", endpoint)
	}
	host := u.Host
	if port := deliver.DefaultPort(u.Scheme); port != "" && u.Port() == port {
		host = u.Hostname() // also finds addresses without the port
	}
	return query("/tasks", "url_host", host)
}

type nodesView struct {
	*view
	Nodes   []engine.NodeInfo
	Unowned []store.Lease
	Known   bool // the nodes are known
}

func (q *request) nodePage() error {
	v := &nodesView{view: q.view("page.nodes"), Known: q.o.Nodes != nil}
	if q.o.Nodes != nil {
		var err error
		if v.Nodes, v.Unowned, err = q.o.Nodes(q.r.Context()); err != nil {
			return err
		}
	}
	return q.render(http.StatusOK, "nodes", v)
}
