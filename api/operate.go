package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/schedule"
)

// registerOperate registers what an operator looks at and pauses.
func (a *API) registerOperate(h huma.API) {
	huma.Register(h, operation("list-queues", http.MethodGet, "/v1/queues", mayRead, "Queues: rules, depth, oldest overdue, in flight, rates."), a.queues)
	huma.Register(h, operation("list-endpoints", http.MethodGet, "/v1/endpoints", mayRead, "Endpoints: in flight, limit, success rate, breaker, waiting."), a.endpoints)
	huma.Register(h, operation("stats", http.MethodGet, "/v1/stats", mayRead, "Counts, and percentiles of lateness, of the latest window."), a.stats)
	huma.Register(h, operation("list-audits", http.MethodGet, "/v1/audit", mayRead, "Who did what by hand, when and why; newest first."), a.audits)
	huma.Register(h, operation("backup", http.MethodPost, "/v1/backup", mayAdmin, "Write a consistent copy of the embedded store into a new directory on the server."), a.copyStore)

	type onQueue = struct {
		Caller
		Queue string `path:"queue" maxLength:"128"`
		Body  *client.Because
	}
	queue := func(do func(context.Context, string, bellman.By) error) func(context.Context, *onQueue) (*answer[client.Paused], error) {
		return func(ctx context.Context, in *onQueue) (*answer[client.Paused], error) {
			err := do(ctx, in.Queue, in.by(given(in.Body).Reason))
			if errors.Is(err, bellman.ErrNotPaused) {
				return ok(client.Paused{Names: []string{}})
			}
			if err != nil {
				return nil, a.fail(missing(err, fmt.Sprintf("queue %q", in.Queue)))
			}
			return ok(client.Paused{Names: []string{in.Queue}})
		}
	}
	huma.Register(h, operation("pause-queue", http.MethodPost, "/v1/queues/{queue}/pause", mayOperate, "Stop attempts of a queue's tasks."), queue(a.engine.PauseQueue))
	huma.Register(h, operation("resume-queue", http.MethodPost, "/v1/queues/{queue}/resume", mayOperate, "End a queue's pause."), queue(a.engine.ResumeQueue))

	type onHost = struct {
		Caller
		Host string `path:"host" maxLength:"400" doc:"A host, a host:port, a queue of kind order, or one endpoint in full, escaped (https:%2F%2Fmerchant.example:443)."`
		Body *client.Because
	}
	host := func(do func(context.Context, string, bellman.By) error) func(context.Context, *onHost) (*answer[client.Paused], error) {
		return func(ctx context.Context, in *onHost) (*answer[client.Paused], error) {
			f, err := a.engine.Figures(ctx, bellman.FiguresAsk{Endpoints: true})
			if err != nil {
				return nil, a.fail(err)
			}
			names := named(in.Host, f.Endpoints, len(f.Silent) == 0, a.kinds != nil && a.kinds(in.Host) != "")
			if len(names) == 0 {
				return nil, wrongField("path.host", wantHost)
			}
			done := []string{}
			for _, name := range names {
				err := do(ctx, name, in.by(given(in.Body).Reason))
				if invalid, is := asInvalid(err); is {
					return nil, wrongField("path.host", invalid.Fields[0].Problem)
				}
				if errors.Is(err, bellman.ErrNotPaused) {
					continue
				}
				if err != nil {
					return nil, a.fail(err)
				}
				done = append(done, name)
			}
			return ok(client.Paused{Names: done})
		}
	}
	huma.Register(h, operation("pause-endpoint", http.MethodPost, "/v1/endpoints/{host}/pause", mayOperate, "Stop attempts to an endpoint, or to all endpoints of a host."), host(a.engine.PauseEndpoint))
	huma.Register(h, operation("resume-endpoint", http.MethodPost, "/v1/endpoints/{host}/resume", mayOperate, "End an endpoint's pause."), host(a.engine.ResumeEndpoint))
}

const wantHost = "want a host, a host:port, or one endpoint in full, escaped, such as https:%2F%2Fmerchant.example:443"

// named returns the endpoints that a host, a host:port, a queue or a full endpoint
// names: of those that are known. Where there is none, or others may be known elsewhere,
// it is the queue, or what the host has by HTTP and HTTPS, for nobody need have sent
// anything there yet. Whoever pauses them says which there can be.
func named(host string, known []bellman.EndpointInfo, all, queue bool) []string {
	if scheme, _, is := strings.Cut(host, "://"); is {
		u, err := url.Parse(host)
		if err != nil || u.Host == "" || *u != (url.URL{Scheme: u.Scheme, Host: u.Host}) {
			return nil
		}
		if port := map[string]string{"http": "80", "https": "443"}[strings.ToLower(scheme)]; u.Port() == "" && port != "" {
			u.Host = net.JoinHostPort(u.Hostname(), port)
		}
		return []string{strings.ToLower(u.String())}
	}
	var names []string
	for i := range known {
		name := known[i].Endpoint
		u, err := url.Parse(name)
		if name == host || err == nil && u.Host != "" && (strings.EqualFold(u.Host, host) || strings.EqualFold(u.Hostname(), host)) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) > 0 && all:
		return names
	case queue && !slices.Contains(names, host):
		return append(names, host)
	case queue:
		return names
	}
	for _, scheme := range []string{"https", "http"} {
		name := scheme + "://" + host
		if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") { // IPv6
			name = scheme + "://[" + host + "]"
		}
		for _, name := range named(name, nil, true, false) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func (a *API) queues(ctx context.Context, _ *struct{ Caller }) (*answer[client.Queues], error) {
	f, err := a.engine.Figures(ctx, bellman.FiguresAsk{Queues: true})
	if err != nil {
		return nil, a.fail(err)
	}
	out := client.Queues{Queues: make([]client.Queue, len(f.Queues)), Whole: heard(&f), Intake: a.shownIntake()}
	for i := range f.Queues {
		out.Queues[i] = queue(&f.Queues[i])
	}
	return ok(out)
}

func (a *API) endpoints(ctx context.Context, _ *struct{ Caller }) (*answer[client.Endpoints], error) {
	f, err := a.engine.Figures(ctx, bellman.FiguresAsk{Endpoints: true})
	if err != nil {
		return nil, a.fail(err)
	}
	out := client.Endpoints{Endpoints: make([]client.Endpoint, len(f.Endpoints)), Whole: heard(&f)}
	for i := range f.Endpoints {
		out.Endpoints[i] = endpoint(&f.Endpoints[i])
	}
	return ok(out)
}

func (a *API) stats(ctx context.Context, in *struct {
	Caller
	Window string `query:"window" default:"1h" maxLength:"64" doc:"A duration from 1s to 365d. Counted in whole minutes, at least the current one, of the latest day: since says from when."`
}) (*answer[client.Stats], error) {
	window, err := schedule.ParseDuration(in.Window)
	if err != nil || window < time.Second || window > 365*24*time.Hour {
		return nil, wrongField("query.window", "want a duration from 1s to 365d")
	}
	f, err := a.engine.Figures(ctx, bellman.FiguresAsk{Windows: []time.Duration{window}})
	if err != nil {
		return nil, a.fail(err)
	}
	s := f.Windows[0]
	return ok(client.Stats{
		Since: client.At(s.Since), Counts: counts(s.Counts), Lateness: percentiles(s.Lateness), Took: percentiles(s.Took), Whole: heard(&f),
	})
}

// heard says of which nodes figures are.
func heard(f *bellman.Figures) client.Whole {
	return client.Whole{Nodes: f.Nodes, Silent: append([]string{}, f.Silent...)}
}

func (a *API) audits(ctx context.Context, in *struct {
	Caller
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor string `query:"cursor" maxLength:"64" doc:"A page's next_cursor; default: the newest."`
}) (*answer[client.AuditPage], error) {
	before, refused := parseAuditCursor(in.Cursor)
	if refused != nil {
		return nil, refused
	}
	records, err := a.reader.Audits(ctx, before, in.Limit)
	if err != nil {
		return nil, a.fail(err)
	}
	page := client.AuditPage{Audits: make([]client.Audit, len(records))}
	for i, r := range records {
		page.Audits[i] = client.Audit{At: client.At(r.At), Who: r.Who, Action: r.Action, Target: r.Target, Reason: r.Reason, From: r.From}
	}
	if len(records) >= in.Limit {
		page.NextCursor = auditCursor(records[len(records)-1].At)
	}
	return ok(page)
}

func (a *API) copyStore(ctx context.Context, in *struct {
	Caller
	Body client.Backup
}) (*answer[client.Backup], error) {
	if a.backup == nil {
		return nil, newProblem(http.StatusNotImplemented, "the store is a database: copy it with its own tool, such as pg_dump, or mariadb-dump --single-transaction")
	}
	if !filepath.IsAbs(in.Body.Dir) || strings.ContainsRune(in.Body.Dir, 0) {
		return nil, wrongField("body.dir", "want an absolute path")
	}
	err := a.backup.Backup(ctx, in.Body.Dir, in.by(in.Body.Reason))
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, wrongField("body.dir", "exists already")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrInvalid):
		return nil, wrongField("body.dir", "cannot be created here: want a new directory in one that the server may write, outside the store's own")
	case err != nil:
		return nil, a.fail(err)
	}
	return ok(in.Body)
}
