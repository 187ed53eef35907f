package console

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/store"
)

const (
	maxAttempts   = 10          // wrong sign-ins from one address …
	attemptWindow = time.Minute // … within this time, until it has passed
)

// askToSignIn answers a request without a session.
func (q *request) askToSignIn() error {
	if q.r.Method == http.MethodGet && q.r.Header.Get("Sec-Fetch-Site") == "cross-site" && q.cookie(q.r, sessionCookie) == "" {
		// After a link from another site, such as a chat, the browser does not send the cookie. The
		// page reloads itself, and then the browser sends it.
		return q.render(http.StatusOK, "again", q.view("page.again"))
	}
	if strings.HasSuffix(q.r.URL.Path, "/live") { // a browser ignores the status of an event stream, and would connect again
		q.w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(q.w, sessionOver)
		return nil
	}
	if q.r.Header.Get("HX-Request") != "" {
		q.w.Header().Set("HX-Refresh", "true")
		q.w.WriteHeader(http.StatusUnauthorized)
		return nil
	}
	if q.r.Method == http.MethodPost {
		// The input of the form is lost. The page says so, and leads back to the page with the
		// form.
		return q.render(http.StatusUnauthorized, "signin", &signInView{view: q.view("page.signin"), To: q.cameFrom(), Wrong: q.visitor.lang.say("signin.undone")})
	}
	to := "/signin"
	if q.r.Method == http.MethodGet && q.r.URL.RequestURI() != "/" {
		to += "?" + url.Values{"to": {q.r.URL.RequestURI()}}.Encode()
	}
	return q.goTo(to)
}

// cameFrom returns the console's page that a form was on.
func (q *request) cameFrom() string {
	u, err := url.Parse(q.r.Referer())
	if err != nil || u.Host != q.r.Host {
		return "/"
	}
	return local(u.RequestURI())
}

// A signInView is the form to sign in.
type signInView struct {
	*view
	To    string // where the browser goes after the sign-in
	Name  string
	Over  bool   // the browser's session has ended
	Wrong string // why it was refused; empty: not tried yet
}

func (q *request) signInPage() error {
	if q.visitor.Role != "" {
		return q.goTo(local(q.r.URL.Query().Get("to")))
	}
	return q.render(http.StatusOK, "signin", &signInView{view: q.view("page.signin"), To: local(q.r.URL.Query().Get("to")), Over: q.cookie(q.r, sessionCookie) != ""})
}

func (q *request) signIn() error {
	to, name := local(q.r.PostForm.Get("to")), q.r.PostForm.Get("name")
	refuse := func(status int, why string, values ...any) error {
		v := q.view("page.signin")
		v.Here = query("/signin", "to", to) // the next try comes from an address without it
		return q.render(status, "signin", &signInView{view: v, To: to, Name: name, Wrong: q.visitor.lang.say(why, values...)})
	}
	who := q.o.Proxies.From(q.r)
	from := access.Network(who)
	name = cutBytes(name, 128)
	if wait := q.attempts.Enter(from, name); wait > 0 {
		q.o.Refused()
		if _, ok := q.Console.slowed.Enter(""); ok && q.o.Proxies.Unnamed(q.r) {
			q.o.Log.Warn("console: sign-ins are slowed down for all who come through a proxy, as if they were one: name it in trusted_proxies", "proxy", who)
		}
		seconds := int(wait/time.Second) + 1
		q.w.Header().Set("Retry-After", strconv.Itoa(seconds))
		return refuse(http.StatusTooManyRequests, "signin.slow", "n", seconds)
	}
	var k *access.Key // an empty key matches nobody, whatever the configuration says
	if secret := strings.TrimSpace(q.r.PostForm.Get("key")); secret != "" {
		k = access.FindNamed(*q.Console.keys.Load(), name, secret)
	}
	switch {
	case k == nil:
		q.o.Log.Warn("console: a sign-in was rejected", "from", who)
		q.o.Refused()
		if !q.named(name) { // it may be a key in the wrong field
			name = ""
		}
		q.recordRefused(name, "signin")
		return refuse(http.StatusUnauthorized, "signin.wrong")
	case k.Expired(time.Now()):
		q.recordRefused(k.Name, "signin")
		return refuse(http.StatusUnauthorized, "signin.expired")
	case !k.UsableFrom(who):
		q.recordRefused(k.Name, "signin")
		return refuse(http.StatusForbidden, "signin.from", "address", q.visitor.From)
	case k.Scope.Limited(): // pages show all queues and merchants
		q.recordRefused(k.Name, "signin")
		return refuse(http.StatusForbidden, "signin.scope")
	case !k.Role.Includes(access.Read):
		q.recordRefused(k.Name, "signin")
		return refuse(http.StatusForbidden, "signin.submit")
	default:
		q.attempts.Forgive(from, name)
		if err := q.Console.end(q.r.Context(), q.cookie(q.r, sessionCookie)); err != nil { // the session of the user who was signed in before
			return err
		}
		q.o.Record(q.r.Context(), store.AuditOf(bellman.By{Who: k.Name, From: q.visitor.From}, time.Now(), "sign_in", "console"))
		q.o.Secret.Refresh(q.r.Context()) // so that all nodes sign with the same secret
		q.setCookie(q.w, q.r, sessionCookie, newSession(k, time.Now()).cookie(q.o.Secret.Key(sessionPurpose)), absoluteTime)
		q.setCookie(q.w, q.r, visitCookie, "", 0)
		return q.goTo(to)
	}
}

func (q *request) signOut() error {
	if err := q.Console.end(q.r.Context(), q.cookie(q.r, sessionCookie)); err != nil {
		return err
	}
	if q.visitor.SignedIn {
		q.o.Record(q.r.Context(), store.AuditOf(q.by(""), time.Now(), "sign_out", "console"))
	}
	q.setCookie(q.w, q.r, sessionCookie, "", 0)
	q.setCookie(q.w, q.r, recentCookie, "", 0)
	return q.goTo("/signin")
}

// setLook stores the chosen language or theme. It changes only cookies of the browser.
func (q *request) setLook() error {
	const year = 365 * 24 * time.Hour
	if code := q.r.PostForm.Get("lang"); q.byCode[code] != nil {
		q.setCookie(q.w, q.r, langCookie, code, year)
	}
	switch theme := q.r.PostForm.Get("theme"); theme {
	case "light", "dark":
		q.setCookie(q.w, q.r, themeCookie, theme, year)
	case "system":
		q.setCookie(q.w, q.r, themeCookie, "", 0)
	}
	return q.goTo(local(q.r.PostForm.Get("to")))
}

// local returns a path within the console, or the first page for any other address.
func local(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") ||
		strings.ContainsAny(to, "\\\r\n\t") {
		return "/"
	}
	return to
}
