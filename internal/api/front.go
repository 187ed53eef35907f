package api

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/store"
)

// A response is what the handlers of this package write to.
type response struct {
	http.ResponseWriter
	holder
	status int    // 0 before the first byte
	from   string // the caller's address
	part   bool   // a part of the request is outside the limits of its key
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap serves http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// SetReadDeadline does nothing: bodies are read before huma sees them, under the server's own
// limits, which huma would change.
func (w *response) SetReadDeadline(time.Time) error { return nil }

// ServeHTTP serves one request.
func (a *API) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w := &response{ResponseWriter: rw}
	start := time.Now()
	id := requestID(r)
	h := rw.Header()
	h["X-Request-Id"] = []string{id}
	h["X-Content-Type-Options"] = noSniff
	h["Cache-Control"] = noStore
	defer func() {
		if what := recover(); what != nil {
			if what == http.ErrAbortHandler {
				panic(what)
			}
			a.panicked(w, r, id, what)
		}
		if a.o.Log.Enabled(r.Context(), slog.LevelDebug) {
			a.o.Log.LogAttrs(r.Context(), slog.LevelDebug, "request", slog.String("request", id),
				slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", w.status),
				slog.String("who", w.who), slog.Duration("took", time.Since(start)))
		}
	}()
	if err := a.crossOrigin.Check(r); err != nil {
		write(w, newProblem(http.StatusForbidden, "a page of another origin may not do that"))
		return
	}
	if keyed := keyPath(r); keyed != nil {
		r = keyed
	} else if !clean(r.URL.EscapedPath()) {
		a.noSuchPath(w, r)
		return
	}
	a.mux.ServeHTTP(w, r)
}

var (
	noSniff = []string{"nosniff"}
	noStore = []string{"no-store"}
)

// foreign reports whether a page of another site makes the request, with any method.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return true
	}
	origin := r.Header.Get("Origin")
	_, host, _ := strings.Cut(origin, "://")
	return origin != "" && host != r.Host
}

// panicked answers for a handler that panicked, if no answer was begun.
func (a *API) panicked(w *response, r *http.Request, id string, what any) {
	if context.Cause(r.Context()) != nil {
		return // the client has gone, and the write failed
	}
	a.o.Log.Error("a request panicked", "request", id, "method", r.Method, "path", r.URL.Path, "panic", what, "stack", string(debug.Stack()))
	if w.status == 0 {
		write(w, newProblem(http.StatusInternalServerError, "something went wrong inside; the log says what"))
	}
}

// requestID returns the caller's X-Request-Id if it is fit for a log, or a new one.
func requestID(r *http.Request) string {
	given := r.Header.Get("X-Request-Id")
	if given == "" || len(given) > 128 {
		return bellman.NewID().String()
	}
	for i := range len(given) {
		if given[i] <= ' ' || given[i] >= 0x7f {
			return bellman.NewID().String()
		}
	}
	return given
}

// guard calls a handler if the caller has the right for an operation.
func (a *API) guard(op *huma.Operation, serve func(*response, *http.Request)) http.HandlerFunc {
	need, _ := op.Metadata["need"].(access.Rights)
	_, scoped := op.Metadata["scoped"]
	return func(rw http.ResponseWriter, r *http.Request) {
		w, ok := rw.(*response)
		if !ok {
			w = &response{ResponseWriter: rw}
		}
		by, refused := a.admit(r, need)
		w.holder = by
		if refused == nil && !scoped && need != access.Open && by.scope.Limited() {
			refused = by.outside("this call concerns all queues and merchants")
		}
		if need != access.MayCreate { // creates have no such audit records
			w.from = a.o.Proxies.Text(r)
		}
		if refused != nil {
			a.recordRefused(r, by.who, refused.Status)
			if refused.Status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", `Bearer realm="bellman"`)
			}
			write(w, refused)
			return
		}
		if need != access.MayCreate || a.o.Traced == nil {
			a.serve(w, r, serve)
			return
		}
		a.o.Traced(http.HandlerFunc(func(traced http.ResponseWriter, r *http.Request) {
			a.serve(&response{ResponseWriter: traced, holder: w.holder, from: w.from}, r, serve)
		})).ServeHTTP(w, r)
	}
}

// serve calls the handler of an admitted request. The handler finds out whether the request is
// within the limits of its key; if not, that is recorded here.
func (a *API) serve(w *response, r *http.Request, handle func(*response, *http.Request)) {
	handle(w, r)
	if w.part || w.status == http.StatusForbidden {
		a.recordRefused(r, w.who, http.StatusForbidden)
	}
}

// recordRefused writes an audit record of a request that its key may not make: one a minute for
// each key and address, and a bounded number in all. Requests without a key have none.
func (a *API) recordRefused(r *http.Request, who string, status int) {
	from := a.o.Proxies.From(r)
	switch {
	case status == http.StatusUnauthorized && r.Header.Get("Authorization") != "":
	case status == http.StatusForbidden && who != "":
	default:
		return
	}
	left, ok := a.refusals.Enter(who + " " + access.Network(from).String())
	if !ok {
		return
	}
	by := bellman.By{Who: who, From: a.o.Proxies.Text(r)}
	if left > 0 {
		by.Reason = fmt.Sprintf("%d before it have no record", left)
	}
	a.o.Record(r.Context(), store.AuditOf(by, time.Now(), "refused", r.Pattern)) // its writer logs failures
}

// noSuchPath answers 405 if the path exists with another method, otherwise 404.
func (a *API) noSuchPath(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	probe := &http.Request{URL: r.URL, Host: r.Host}
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		probe.Method = m
		if _, pattern := a.mux.Handler(probe); pattern != "" && pattern != "/" && clean(r.URL.EscapedPath()) {
			allowed = append(allowed, m)
		}
	}
	if allowed == nil {
		write(w, newProblem(http.StatusNotFound, "there is no such path; /openapi.json lists all"))
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	write(w, newProblem(http.StatusMethodNotAllowed, "want "+strings.Join(allowed, " or ")))
}

// Serves reports whether the API serves this path, or one below /v1. It is for servers that serve
// other paths at the same address.
func (a *API) Serves(r *http.Request) bool {
	if r.URL.Path == "/v1" || strings.HasPrefix(r.URL.Path, "/v1/") {
		return true
	}
	_, pattern := a.mux.Handler(r)
	return pattern != "" && pattern != "/"
}

// clean reports whether the mux would not redirect a path.
func clean(p string) bool { return path.Clean(p) == p }

// keyPath returns the request with the key in its path as one escaped segment, or nil if its path
// is not /v1/queues/{queue}/keys/{key}…. A key whose slashes are escaped is exact. With plain
// slashes, a GET takes the rest of the path as the key, and a POST the rest except the last
// segment, which is the action.
func keyPath(r *http.Request) *http.Request {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/v1/queues/")
	if !ok {
		return nil
	}
	queue, key, ok := strings.Cut(rest, "/keys/")
	if !ok || queue == "" || queue == "." || queue == ".." || strings.Contains(queue, "/") {
		return nil
	}
	action := ""
	if r.Method == http.MethodPost {
		i := strings.LastIndexByte(key, '/')
		if i < 0 {
			return nil
		}
		key, action = key[:i], key[i:]
		if action == "/" || action == "/." || action == "/.." {
			return nil
		}
	}
	plain, err := url.PathUnescape(key)
	if err != nil || plain == "" {
		return nil
	}
	u := *r.URL
	u.RawPath = "/v1/queues/" + queue + "/keys/" + escape(plain) + action
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return nil
	}
	keyed := *r
	keyed.URL = &u
	return &keyed
}

// escape returns s as one segment of a path.
func escape(s string) string {
	switch s {
	case ".":
		return "%2E"
	case "..":
		return "%2E%2E"
	}
	return url.PathEscape(s)
}

// queryFaults returns the mistakes in a query: unknown parameters, and parameters that occur twice.
func queryFaults(r *http.Request, known ...*huma.Param) []client.Fault {
	if r.URL.RawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return []client.Fault{{Location: "query", Message: "cannot be read: " + err.Error()}}
	}
	var list []client.Fault
	for _, name := range slices.Sorted(maps.Keys(query)) {
		is := func(p *huma.Param) bool { return p.In == "query" && p.Name == name }
		switch {
		case len(list) == maxFaults:
			return list
		case !slices.ContainsFunc(known, is):
			list = append(list, client.Fault{Location: "query." + cut(name), Message: "there is no such parameter"})
		case len(query[name]) > 1:
			list = append(list, client.Fault{Location: "query." + name, Message: "is given twice"})
		}
	}
	return list
}

// checkQuery returns the problem of a query with mistakes.
func checkQuery(r *http.Request, known ...*huma.Param) *client.Problem {
	list := queryFaults(r, known...)
	if list == nil {
		return nil
	}
	return newProblem(http.StatusUnprocessableEntity, wrong(len(list)), list...)
}
