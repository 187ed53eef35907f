package console

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/account"
	"github.com/bellmanhq/bellman/internal/attention"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// Options configure a console. Engine, Reader and Records are required.
type Options struct {
	Engine  Engine
	Reader  Reader
	Records Records

	// Secret signs sessions and forms. nil: a secret of this process, so sessions end with the
	// process.
	Secret Secret

	// Proxies are trusted to set X-Forwarded-For and X-Forwarded-Proto.
	Proxies access.Proxies

	// Attention lists what needs a person. nil: unknown.
	Attention Attention

	Reconciliations reconcile.Desk // nil: they are not available

	// Resends runs bulk resends. nil: they are not available.
	Resends resend.Desk

	// Links makes links for merchants. nil: they are not available. Tells reports whether a task
	// notifies the merchant that it names, so that the merchant's links may show it; tasks for
	// internal receivers do not. nil: all tasks do.
	Links Links
	Tells func(t *bellman.Task) bool

	// Merchants is the registry of merchants. nil: it is not available.
	Merchants merchant.Desk

	// Accounts is the registry of accounts. nil: it is not available.
	Accounts account.Desk

	// Sent builds the request of an attempt again. nil: attempts are shown without.
	Sent func(ctx context.Context, t *bellman.Task, a *bellman.Attempt, reveal bool) (deliver.Sent, error)

	// PublicURL is the address at which merchants reach this server, in the form scheme://host.
	// Empty: the address by which the link's author reached it.
	PublicURL string

	// Name is the environment that each page shows at its top, in Colour: grey, blue, green, orange
	// or red; empty: grey. An empty Name shows nothing.
	Name, Colour string

	// Intake describes whether this node accepts new tasks, and Sources the brokers that it takes
	// tasks from. nil: unknown, or none.
	Intake  func() figures.Intake
	Sources func() []source.Info

	// Kinds returns the kind of a queue's tasks, notify or order; empty: there is no such queue.
	// nil: all are notify.
	Kinds func(queue string) string

	// Channels returns the channel that the orders of a queue are at, such as wechatpay; empty: one
	// of request templates, or unknown. nil: unknown.
	Channels func(queue string) string

	// Queues returns the configured queues, for lists to choose from. nil: none.
	Queues func() []string

	// Nodes returns the nodes that share the store, by name, and the shards without an owner. nil:
	// unknown.
	Nodes func(context.Context) (nodes []engine.NodeInfo, unowned []store.Lease, err error)

	// Keys are the keys to sign in with. Without keys everybody may do everything: then listen on a
	// loopback address only.
	Keys []access.Key

	// Schedules is a cache of parsed schedules that may be shared. nil: the console makes its own.
	Schedules *schedule.Cache

	// Refused is called for each refused sign-in. nil: they are not counted.
	Refused func()

	// Record stores an audit record of events that change nothing: a sign-in, an export, a refused
	// page, an opened link. nil: they are not recorded.
	Record func(context.Context, store.Audit) error

	Version string       // shown at the foot of each page; default "dev"
	Log     *slog.Logger // default: slog.Default()
}

// A Console is an HTTP handler. It is safe for concurrent use.
type Console struct {
	o    Options // with defaults
	keys atomic.Pointer[[]access.Key]

	ended     shared[map[string]time.Time] // ended sessions, and when they would have expired
	byCode    map[string]*language
	attempts  access.Limit
	views     access.Limit   // views of links
	denied    access.Sampler // refused requests that have an audit record
	slowed    access.Sampler // slow requests that have a line in the log
	opened    access.Sampler // opened links that have an audit record
	used      atomic.Bool    // the store had a task
	listeners access.Slots   // open streams
	stopping  chan struct{}
	stop      sync.Once
	foreign   *http.CrossOriginProtection
	mux       *http.ServeMux

	now   shared[*snapshot]
	slow  shared[*slowFigures]
	needs shared[attention.List]

	endpoints shared[[]string]           // their names
	typing    chan struct{}              // one element for each running search as somebody types
	patience  time.Duration              // how long a page waits for slow figures
	parts     map[string]*shared[string] // by language and template
}

// New returns a console. It returns an error if the keys are invalid.
func New(o Options) (*Console, error) {
	o.Version = cmp.Or(o.Version, "dev")
	o.Log = cmp.Or(o.Log, slog.Default())
	o.Schedules = cmp.Or(o.Schedules, new(schedule.Cache))
	if o.Queues == nil {
		o.Queues = func() []string { return nil }
	}
	if o.Channels == nil {
		o.Channels = func(string) string { return "" }
	}
	if o.Refused == nil {
		o.Refused = func() {}
	}
	if o.Record == nil {
		o.Record = func(context.Context, store.Audit) error { return nil }
	}
	if o.Secret == nil {
		o.Secret = newOwn()
	}
	c := &Console{
		o:        o,
		attempts: access.Limit{Most: maxAttempts, Window: attemptWindow},
		views:    access.Limit{Most: maxViews, Window: viewWindow},
		denied:   access.Sampler{Every: time.Minute, Most: 30},
		slowed:   access.Sampler{Every: time.Minute, Most: 1},
		opened:   access.Sampler{Every: time.Hour, Most: 1000},
		stopping: make(chan struct{}),
		foreign:  http.NewCrossOriginProtection(),
		mux:      http.NewServeMux(),
		typing:   make(chan struct{}, mostTyped),
		patience: slowWait,
	}
	if err := c.SetKeys(o.Keys); err != nil {
		return nil, err
	}
	var err error
	if c.byCode, err = allLanguages(); err != nil {
		return nil, err
	}
	c.parts = map[string]*shared[string]{}
	for _, l := range languages {
		for _, name := range []string{"part.figures", "part.queued"} {
			c.parts[l.code+"/"+name] = &shared[string]{}
		}
	}
	c.route()
	return c, nil
}

// route registers the handlers with their paths and roles.
func (c *Console) route() {
	c.mux.HandleFunc("GET /assets/", serveAsset)
	c.anybody("GET /signin", (*request).signInPage)
	c.anybody("POST /signin", (*request).signIn)
	c.anybody("POST /signout", (*request).signOut)
	c.anybody("POST /look", (*request).setLook)

	c.page("GET /{$}", access.Read, (*request).home)
	c.page("GET /live", access.Read, (*request).live)
	c.page("GET /search", access.Read, (*request).search)
	c.page("GET /search/typed", access.Read, (*request).searchTyped)
	c.page("POST /search/forget", access.Read, (*request).forgetRecent)
	c.page("GET /tasks", access.Read, (*request).taskList)
	c.page("GET /tasks.csv", access.Read, (*request).export)
	c.page("GET "+pickedPath, access.Operate, (*request).pickPage)
	c.page("POST "+pickedPath, access.Operate, (*request).pickAction)
	c.page("GET /tasks/{id}", access.Read, (*request).taskPage)
	c.page("GET /tasks/{id}/attempts/{number}", access.Read, (*request).attemptPage)
	c.page("GET /tasks/{id}/live", access.Read, (*request).taskLive)
	c.pageOf("POST /tasks/{id}", handed, (*request).taskAction)
	c.page("GET /orders", access.Read, (*request).orderPage)
	c.page("GET /orders/live", access.Read, (*request).orderLive)
	c.pageOf("POST /orders", handed, (*request).orderAction)
	c.page("GET /queues", access.Read, (*request).queuePage)
	c.page("POST /queues", access.Operate, (*request).queueAction)
	c.page("GET /endpoints", access.Read, (*request).endpointPage)
	c.page("POST /endpoints", access.Operate, (*request).endpointAction)
	c.page("GET /nodes", access.Read, (*request).nodePage)
	c.page("GET /audit", access.Read, (*request).auditPage)
	c.page("GET /design", access.Read, (*request).designPage)
	if c.o.Resends != nil {
		c.page("GET /resends", access.Read, (*request).resendList)
		c.page("POST /resends", access.Operate, (*request).startResend)
		c.page("GET /resends/new", access.Operate, (*request).newResend)
		c.page("GET /resends/{id}", access.Read, (*request).resendPage)
		c.page("GET /resends/{id}/live", access.Read, (*request).resendLive)
		c.page("POST /resends/{id}", access.Operate, (*request).stopResend)
	}
	if c.o.Reconciliations != nil {
		c.page("GET /reconciliations", access.Read, (*request).reconcileList)
		c.page("POST "+reconcilesPath, access.Operate, (*request).startReconcile)
		c.page("GET /reconciliations/new", access.Operate, (*request).newReconcile)
		c.page("GET /reconciliations/{id}", access.Read, (*request).reconcilePage)
		c.page("GET /reconciliations/{id}/export", access.Read, (*request).exportReconcile)
		c.pageOf("POST /reconciliations/{id}", handed, (*request).settleReconcile)
	}
	if c.o.Accounts != nil {
		c.page("GET /accounts", access.Read, (*request).accountList)
		c.page("POST /accounts", access.Admin, (*request).putAccount)
		c.page("GET /accounts/show", access.Read, (*request).accountPage)
		c.page("POST /accounts/show", access.Admin, (*request).accountAction)
		c.page("GET /accounts/edit", access.Admin, (*request).editAccount)
		c.page("GET "+importAccountPath, access.Admin, (*request).importPage)
		c.page("POST "+importAccountPath, access.Admin, (*request).importAccounts)
		c.page("GET /accounts/export", access.Admin, (*request).exportAccounts)
	}
	if c.o.Merchants != nil {
		c.page("GET /merchants", access.Read, (*request).merchantList)
		c.page("POST /merchants", access.Admin, (*request).putMerchant)
		c.page("GET /merchants/show", access.Read, (*request).merchantPage)
		c.page("POST /merchants/show", access.Operate, (*request).merchantAction)
		c.page("GET /merchants/edit", access.Admin, (*request).editMerchant)
		c.page("GET "+importPath, access.Admin, (*request).importPage)
		c.page("POST "+importPath, access.Admin, (*request).importMerchants)
		c.page("GET /merchants/export", access.Admin, (*request).exportMerchants)
	}
	if c.o.Links != nil {
		c.mux.HandleFunc("GET "+sharedPath+"{token}", c.showShared)
		c.page("GET /links", access.Read, (*request).linkList)
		c.page("POST /links", access.Operate, (*request).makeLink)
		c.page("GET /links/new", access.Operate, (*request).newLink)
		c.page("GET /links/{id}", access.Read, (*request).linkPage)
		c.page("POST /links/{id}", access.Operate, (*request).revokeLink)
	}
	c.page("/", access.Read, (*request).noPage)
}

// paths are the first segments of the console's paths; see Serves.
var paths = map[string]bool{
	"": true, "assets": true, "signin": true, "signout": true, "look": true, "live": true, "search": true, "tasks": true, "tasks.csv": true, "orders": true,
	"queues": true, "endpoints": true, "nodes": true, "audit": true, "design": true, "resends": true, "reconciliations": true, "links": true, "shared": true, "merchants": true, "accounts": true,
}

// Serves reports whether a request's path belongs to the console.
func Serves(r *http.Request) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return paths[first]
}

// Browses reports whether a browser requests a page for a person.
func Browses(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// ServeHTTP answers one request.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	if c.o.Proxies.Secure(r) {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	if c.open() && !access.Direct(r.Host) {
		http.Error(w, c.language(r).say("error.host", "host", bounded(plain(r.Host), 200)), http.StatusForbidden)
		return
	}
	c.mux.ServeHTTP(w, r)
}

// handed are the roles that act on tasks and orders by hand. Each action needs one of them.
var handed = []access.Role{access.Operate, access.Decide}

// anybody serves a pattern to all visitors. An error of serve, here and below, becomes the page of
// an error.
func (c *Console) anybody(pattern string, serve func(*request) error) {
	c.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		q, err := c.request(w, r)
		if err == nil && r.Method == http.MethodPost {
			err = c.sent(w, r, q.visitor)
		}
		if err == nil {
			err = serve(q)
		}
		if err != nil {
			q.refuse(err)
		}
	})
}

// page serves a pattern to visitors who have the role need.
func (c *Console) page(pattern string, need access.Role, serve func(*request) error) {
	c.pageOf(pattern, []access.Role{need}, serve)
}

// pageOf serves a pattern to visitors who have one of the roles.
func (c *Console) pageOf(pattern string, needs []access.Role, serve func(*request) error) {
	c.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		q, err := c.request(w, r)
		switch {
		case err != nil:
		case q.visitor.Role == "":
			err = q.askToSignIn()
		case !slices.ContainsFunc(needs, q.visitor.May): // before the form is read, which may be long
			err = fail(http.StatusForbidden, "error.role", "role", string(needs[0]))
		case r.Method == http.MethodPost:
			if err = c.sent(w, r, q.visitor); err == nil {
				err = q.once(serve)
			}
		default:
			err = serve(q)
		}
		if err != nil {
			q.refuse(err)
		}
	})
}

// Stop ends the streams of live pages, so that a server can shut down without waiting for them. It
// may be called more than once.
func (c *Console) Stop() { c.stop.Do(func() { close(c.stopping) }) }
