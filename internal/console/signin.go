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
func (q *request) askToSignIn() {
	if q.r.Method == http.MethodGet && q.r.Header.Get("Sec-Fetch-Site") == "cross-site" && q.cookie(q.r, sessionCookie) == "" {
		// After a link from another site, such as a chat, the browser does not send the cookie. The page
		// reloads itself, and then the browser sends it.
		q.render(http.StatusOK, "again", &again{view: q.view("page.again"), Here: q.r.URL.RequestURI()})
		return
	}
	if strings.HasSuffix(q.r.URL.Path, "/live") { // a browser ignores the status of an event stream, and would connect again
		q.w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(q.w, sessionOver)
		return
	}
	if q.r.Header.Get("HX-Request") != "" {
		q.w.Header().Set("HX-Refresh", "true")
		q.w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if q.r.Method == http.MethodPost {
		// The input of the form is lost. The page says so, and leads back to the page with the form.
		q.render(http.StatusUnauthorized, "signin", &signInView{view: q.view("page.signin"), To: q.cameFrom(), Wrong: q.visitor.lang.say("signin.undone")})
		return
	}
	to := "/signin"
	if q.r.Method == http.MethodGet && q.r.URL.RequestURI() != "/" {
		to += "?" + url.Values{"to": {q.r.URL.RequestURI()}}.Encode()
	}
	http.Redirect(q.w, q.r, to, http.StatusSeeOther)
}

// cameFrom returns the console's page that a form was on.
func (q *request) cameFrom() string {
	u, err := url.Parse(q.r.Referer())
	if err != nil || u.Host != q.r.Host {
		return "/"
	}
	return local(u.RequestURI())
}

// again is a page that reloads itself once.
type again struct {
	*view
	Here string
}

// A signInView is the form to sign in.
type signInView struct {
	*view
	To    string // where the browser goes after the sign-in
	Name  string
	Over  bool   // the browser's session has ended
	Wrong string // why it was refused; empty: not tried yet
}

func (c *Console) signInPage(w http.ResponseWriter, r *http.Request) {
	q, err := c.request(w, r)
	if err != nil {
		q.refuse(err)
		return
	}
	if q.visitor.Role != "" {
		http.Redirect(w, r, local(r.URL.Query().Get("to")), http.StatusSeeOther)
		return
	}
	q.render(http.StatusOK, "signin", &signInView{view: q.view("page.signin"), To: local(r.URL.Query().Get("to")), Over: c.cookie(r, sessionCookie) != ""})
}

func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	q, err := c.request(w, r)
	if err != nil {
		q.refuse(err)
		return
	}
	if !c.sent(w, r, q.visitor) {
		q.fail(http.StatusForbidden, "error.token")
		return
	}
	to, name := local(r.PostForm.Get("to")), r.PostForm.Get("name")
	refuse := func(status int, why string, values ...any) {
		q.render(status, "signin", &signInView{view: q.view("page.signin"), To: to, Name: name, Wrong: q.visitor.lang.say(why, values...)})
	}
	who := c.proxies.From(r)
	from := access.Network(who)
	name = cutBytes(name, 128)
	if wait := c.attempts.Enter(from, name); wait > 0 {
		c.refused()
		if _, ok := c.slowed.Enter(""); ok && c.proxies.Unnamed(r) {
			c.log.Warn("console: sign-ins are slowed down for all who come through a proxy, as if they were one: name it in trusted_proxies", "proxy", who)
		}
		seconds := int(wait/time.Second) + 1
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		refuse(http.StatusTooManyRequests, "signin.slow", "n", seconds)
		return
	}
	var k *access.Key // an empty key matches nobody, whatever the configuration says
	if secret := strings.TrimSpace(r.PostForm.Get("key")); secret != "" {
		k = access.FindNamed(*c.keys.Load(), name, secret)
	}
	switch {
	case k == nil:
		c.log.Warn("console: a sign-in was rejected", "from", who)
		c.refused()
		if !c.named(name) { // it may be a key in the wrong field
			name = ""
		}
		q.recordRefused(name, "signin")
		refuse(http.StatusUnauthorized, "signin.wrong")
	case k.Expired(time.Now()):
		q.recordRefused(k.Name, "signin")
		refuse(http.StatusUnauthorized, "signin.expired")
	case !k.UsableFrom(who):
		q.recordRefused(k.Name, "signin")
		refuse(http.StatusForbidden, "signin.from", "address", q.visitor.From)
	case k.Scope.Limited(): // pages show all queues and merchants
		q.recordRefused(k.Name, "signin")
		refuse(http.StatusForbidden, "signin.scope")
	case !k.Role.Includes(access.Read):
		q.recordRefused(k.Name, "signin")
		refuse(http.StatusForbidden, "signin.submit")
	default:
		c.attempts.Forgive(from, name)
		if err := c.end(r.Context(), c.cookie(r, sessionCookie)); err != nil { // the session of whoever was signed in before
			q.refuse(err)
			return
		}
		c.record(r.Context(), store.AuditOf(bellman.By{Who: k.Name, From: q.visitor.From}, time.Now(), "sign_in", "console"))
		c.secret.Refresh(r.Context()) // so that all nodes sign with the same secret
		c.setCookie(w, r, sessionCookie, newSession(k, time.Now()).cookie(c.secret.Key(sessionPurpose)), absoluteTime)
		c.setCookie(w, r, visitCookie, "", 0)
		http.Redirect(w, r, to, http.StatusSeeOther)
	}
}

func (c *Console) signOut(w http.ResponseWriter, r *http.Request) {
	q, err := c.request(w, r)
	if err != nil {
		q.refuse(err)
		return
	}
	if !c.sent(w, r, q.visitor) {
		q.fail(http.StatusForbidden, "error.token")
		return
	}
	if err := c.end(r.Context(), c.cookie(r, sessionCookie)); err != nil {
		q.refuse(err)
		return
	}
	if q.visitor.SignedIn {
		c.record(r.Context(), store.AuditOf(q.by(""), time.Now(), "sign_out", "console"))
	}
	c.setCookie(w, r, sessionCookie, "", 0)
	c.setCookie(w, r, recentCookie, "", 0)
	http.Redirect(w, r, "/signin", http.StatusSeeOther)
}

// setLook stores the chosen language or theme. It changes only cookies of the browser.
func (c *Console) setLook(w http.ResponseWriter, r *http.Request) {
	q, err := c.request(w, r)
	if err != nil {
		q.refuse(err)
		return
	}
	if !c.sent(w, r, q.visitor) {
		q.fail(http.StatusForbidden, "error.token")
		return
	}
	const year = 365 * 24 * time.Hour
	if code := r.PostForm.Get("lang"); c.byCode[code] != nil {
		c.setCookie(w, r, langCookie, code, year)
	}
	switch theme := r.PostForm.Get("theme"); theme {
	case "light", "dark":
		c.setCookie(w, r, themeCookie, theme, year)
	case "system":
		c.setCookie(w, r, themeCookie, "", 0)
	}
	http.Redirect(w, r, local(r.PostForm.Get("to")), http.StatusSeeOther)
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
