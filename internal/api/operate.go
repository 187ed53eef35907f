package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/endpoints"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// registerOperate registers the calls of operators: what they see, and the pauses of queues and
// endpoints.
func (a *API) registerOperate(h part) {
	register(h, scoped(operation("list-queues", http.MethodGet, "/v1/queues", access.MayRead, "Queues: rules, depth, oldest overdue, in flight, rates.")), a.queues)
	register(h, operation("list-endpoints", http.MethodGet, "/v1/endpoints", access.MayRead, "Endpoints: in flight, limit, success rate, breaker, waiting."), a.endpoints)
	register(h, operation("stats", http.MethodGet, "/v1/stats", access.MayRead, "Counts, and percentiles of lateness, of the latest window."), a.stats)
	register(h, operation("list-audits", http.MethodGet, "/v1/audit", access.MayRead, "Who did what by hand, when and why; newest first."), a.audits)
	register(h, operation("backup", http.MethodPost, "/v1/backup", access.MayAdmin, "Write a consistent copy of the embedded store into a new directory on the server."), a.copyStore)
	register(partOf(h, a.o.Nodes != nil, "this server knows of no nodes"), operation("list-nodes", http.MethodGet, "/v1/nodes", access.MayRead, "Nodes that share the store: their shards and epochs, their last beat, and which one answers."), a.listNodes)
	register(h, operation("list-sources", http.MethodGet, "/v1/sources", access.MayRead, "Queues and streams of brokers whose messages become tasks: state, counts, what went wrong."), a.listSources)
	register(h, operation("list-alarms", http.MethodGet, "/v1/alarms", access.MayRead, "Alarms that are raised or ended lately, and the rules by which they are."), a.listAlarms)
	register(h, operation("list-attention", http.MethodGet, "/v1/attention", access.MayRead, "What needs a person now: endpoints, merchants and queues in trouble, orders without a decision, differences of the bill, nodes, certificates; what affects most first."), a.listAttention)

	type onQueue = struct {
		Caller
		Queue string `path:"queue" maxLength:"128"`
		Body  *client.Because
	}
	queue := func(do func(context.Context, string, bellman.By) error) func(context.Context, *onQueue) (*answer[client.Paused], error) {
		return func(ctx context.Context, in *onQueue) (*answer[client.Paused], error) {
			if refused := in.checkQueue(in.Queue); refused != nil {
				return nil, refused
			}
			err := do(ctx, in.Queue, in.by(given(in.Body).Reason))
			return answered(paused(in.Queue, missing(err, fmt.Sprintf("queue %q", in.Queue))))
		}
	}
	register(h, scoped(operation("pause-queue", http.MethodPost, "/v1/queues/{queue}/pause", access.MayOperate, "Stop attempts of a queue's tasks.")), queue(a.o.Engine.PauseQueue))
	register(h, scoped(operation("resume-queue", http.MethodPost, "/v1/queues/{queue}/resume", access.MayOperate, "End a queue's pause.")), queue(a.o.Engine.ResumeQueue))

	type onHost = struct {
		Caller
		Host string `path:"host" maxLength:"400" doc:"A host, a host:port, a queue of kind order, an account such as wechatpay:1900000001, or one full endpoint, escaped (https:%2F%2Fmerchant.example:443)."`
		Body *client.Because
	}
	host := func(do func(context.Context, string, bellman.By) error) func(context.Context, *onHost) (*answer[client.Paused], error) {
		return func(ctx context.Context, in *onHost) (*answer[client.Paused], error) {
			f, err := a.o.Engine.Figures(ctx, figures.Ask{Endpoints: true})
			if err != nil {
				return nil, err
			}
			names := endpoints.Named(in.Host, f.Endpoints, len(f.Silent) == 0, a.o.Kinds != nil && a.o.Kinds(in.Host) != "")
			if len(names) == 0 {
				return nil, wrongField("path.host", wantHost)
			}
			done := []string{}
			for _, name := range names {
				err := do(ctx, name, in.by(given(in.Body).Reason))
				if invalid, is := errors.AsType[*bellman.Invalid](err); is {
					return nil, wrongField("path.host", invalid.Fields[0].Problem)
				}
				if errors.Is(err, bellman.ErrNotPaused) {
					continue
				}
				if err != nil {
					return nil, err
				}
				done = append(done, name)
			}
			return ok(client.Paused{Names: done})
		}
	}
	register(h, operation("pause-endpoint", http.MethodPost, "/v1/endpoints/{host}/pause", access.MayOperate, "Stop attempts to an endpoint, or to all endpoints of a host."), host(a.o.Engine.PauseEndpoint))
	register(h, operation("resume-endpoint", http.MethodPost, "/v1/endpoints/{host}/resume", access.MayOperate, "End an endpoint's pause."), host(a.o.Engine.ResumeEndpoint))
}

// paused returns the answer to a pause or its end, which has no name if there was no pause to end.
func paused(name string, err error) (client.Paused, error) {
	if errors.Is(err, bellman.ErrNotPaused) {
		return client.Paused{Names: []string{}}, nil
	}
	return client.Paused{Names: []string{name}}, err
}

const wantHost = "want a host, a host:port, or one endpoint in full, escaped, such as https:%2F%2Fmerchant.example:443"

func (a *API) queues(ctx context.Context, in *struct{ Caller }) (*answer[client.Queues], error) {
	if !in.scope.AllMerchants() {
		return nil, in.outside("the figures of a queue are of all merchants")
	}
	f, err := a.o.Engine.Figures(ctx, figures.Ask{Queues: true})
	if err != nil {
		return nil, err
	}
	out := client.Queues{Queues: make([]client.Queue, 0, len(f.Queues)), Whole: heard(&f), Intake: a.shownIntake()}
	for i := range f.Queues {
		if in.scope.HasQueue(f.Queues[i].Name) {
			out.Queues = append(out.Queues, queue(&f.Queues[i]))
		}
	}
	return ok(out)
}

func (a *API) endpoints(ctx context.Context, _ *struct{ Caller }) (*answer[client.Endpoints], error) {
	f, err := a.o.Engine.Figures(ctx, figures.Ask{Endpoints: true})
	if err != nil {
		return nil, err
	}
	return ok(client.Endpoints{Endpoints: each(f.Endpoints, endpoint), Whole: heard(&f)})
}

func (a *API) stats(ctx context.Context, in *struct {
	Caller
	Window string `query:"window" default:"1h" maxLength:"64" doc:"A duration from 1s to 365d, counted in whole minutes with the current one, of the last day at most; since is the actual start."`
}) (*answer[client.Stats], error) {
	window, err := schedule.ParseDuration(in.Window)
	if err != nil || window < time.Second || window > 365*24*time.Hour {
		return nil, wrongField("query.window", "want a duration from 1s to 365d")
	}
	f, err := a.o.Engine.Figures(ctx, figures.Ask{Windows: []time.Duration{window}})
	if err != nil {
		return nil, err
	}
	s := f.Windows[0]
	return ok(client.Stats{
		Since: client.At(s.Since), Counts: counts(s.Counts), Lateness: percentiles(s.Lateness), Took: percentiles(s.Took), Whole: heard(&f),
	})
}

// heard returns the nodes that figures cover.
func heard(f *figures.Figures) client.Whole {
	return client.Whole{Nodes: f.Nodes, Silent: append([]string{}, f.Silent...)}
}

type auditListing struct {
	Caller
	Who         string      `query:"who" maxLength:"128" doc:"Every record is examined for this and the following fields, so a page may have few records, or none, and be followed by more."`
	Action      string      `query:"action" maxLength:"128"`
	Target      string      `query:"target" maxLength:"2000"`
	Job         string      `query:"job" maxLength:"64"`
	CreatedFrom client.Time `query:"created_from" format:"date-time" doc:"Inclusive."`
	CreatedTo   client.Time `query:"created_to" format:"date-time" doc:"Exclusive."`
	Limit       int         `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor      string      `query:"cursor" maxLength:"64" doc:"The next_cursor of a page of the same filter; default: the newest."`
}

func (a *API) audits(ctx context.Context, in *auditListing) (*answer[client.AuditPage], error) {
	wanted := client.AuditFilter{Who: in.Who, Action: in.Action, Target: in.Target, Job: in.Job, CreatedFrom: in.CreatedFrom, CreatedTo: in.CreatedTo}
	before, refused := parseAuditCursor(in.Cursor, &wanted)
	if refused != nil {
		return nil, refused
	}
	if to := wanted.CreatedTo; !to.IsZero() && wanted.CreatedFrom.After(to.Time) {
		return nil, wrongField("query.created_from", backwards)
	}
	records, next, err := a.auditPage(ctx, &wanted, before, in.Limit)
	if err != nil {
		return nil, err
	}
	page := client.AuditPage{Audits: make([]client.Audit, len(records))}
	for i, r := range records {
		page.Audits[i] = client.Audit{At: client.At(r.At), Who: r.Who, Action: r.Action, Target: r.Target, Reason: r.Reason, From: r.From, Job: r.Job}
		for _, c := range r.Changes {
			page.Audits[i].Changes = append(page.Audits[i].Changes, client.Changed(c))
		}
	}
	if !next.IsZero() {
		page.NextCursor = auditCursor(next, &wanted)
	}
	return ok(page)
}

// auditPage reads up to limit audit records of a filter, the newest first, from before on; zero:
// all. Records are ordered by time alone, so each is examined. It stops after a while, always
// between two milliseconds: next is the last one that it examined; zero: at the end.
func (a *API) auditPage(ctx context.Context, f *client.AuditFilter, before time.Time, limit int) (found []store.Audit, next time.Time, err error) {
	began, ask := time.Now(), limit
	if *f != (client.AuditFilter{}) {
		ask = readRows
	}
	if before.IsZero() {
		before = f.CreatedTo.Time
	}
	for range maxReads {
		records, err := a.o.Reader.Audits(ctx, before, ask)
		if err != nil {
			return nil, next, err
		}
		for i := range records {
			r := &records[i]
			switch {
			case r.At.Before(f.CreatedFrom.Time):
				return found, time.Time{}, nil
			case len(found) >= limit && !r.At.Equal(next):
				return found, next, nil
			}
			if next = r.At; (f.Who == "" || f.Who == r.Who) && (f.Action == "" || f.Action == r.Action) && (f.Target == "" || f.Target == r.Target) && (f.Job == "" || f.Job == r.Job) {
				found = append(found, *r)
			}
		}
		if len(records) < ask {
			return found, time.Time{}, nil
		}
		if len(found) >= limit || time.Since(began) >= readTime {
			break
		}
		before = next
	}
	return found, next, nil
}

func (a *API) copyStore(ctx context.Context, in *struct {
	Caller
	Body client.Backup
}) (*answer[client.Backup], error) {
	if a.o.Backup == nil {
		return nil, newProblem(http.StatusNotImplemented, "the store is a database: copy it with its own tool, such as pg_dump, or mariadb-dump --single-transaction")
	}
	if !filepath.IsAbs(in.Body.Dir) || strings.ContainsRune(in.Body.Dir, 0) {
		return nil, wrongField("body.dir", "want an absolute path")
	}
	err := a.o.Backup.Backup(ctx, in.Body.Dir, in.by(in.Body.Reason))
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, wrongField("body.dir", "exists already")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrInvalid):
		return nil, wrongField("body.dir", "cannot be created here: want a new directory in one that the server may write, outside the store's own")
	case errors.Is(err, syscall.ENOSPC):
		return nil, wrongField("body.dir", "there is no room for the copy: free space on that disk, or name a directory on another")
	case err != nil:
		return nil, err
	}
	return ok(in.Body)
}
