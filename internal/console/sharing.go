package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/sharelink"
	"github.com/bellmanhq/bellman/store"
)

// sharedPath is the path of a shared link; its token follows.
const sharedPath = "/shared/"

const (
	sharedRows     = 20 // notifications on one page of a link
	sharedAttempts = 20 // newest attempts of each notification

	maxViews   = 60          // views of links from one address …
	viewWindow = time.Minute // … within this time
)

// sharedPolicy is the Content-Security-Policy of pages of shared links.
const sharedPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// A sharedView is the page of a shared link. It shows nothing of other merchants and nothing
// internal: no internal addresses, nodes, names of people or headers.
type sharedView struct {
	Lang, Code, Title string
	Theme             string
	OtherCode         string // code of the other language
	Other             string // address of the same page in the other language
	Path              string // path of the link
	MerchantNo        string
	OrderNo           string // of the link; empty: it shows all of the merchant's notifications
	Wanted            string // the order that is searched; empty: all
	Expires, Now      time.Time
	Notices           []notice
	Next              string    // address of the next page; empty: this is the last
	Back              time.Time // the search went back to this time, if it found nothing and there is more
	Failure           string    // why nothing is shown; the other fields are then empty
}

// A notice is a task as its merchant may see it.
type notice struct {
	OrderNo, Event string
	Told           string // the result: the name of a state, or completed if a person ended it as accepted
	Address        string // where it is sent; empty if the merchant may not see that
	Created        time.Time
	Next           time.Time // time of the next attempt; zero: none, or it passed, as in a pause
	Attempts       []heard   // newest first
	Earlier        int       // number of older attempts that are not shown
}

// A heard attempt is an attempt with the merchant's answer. If an internal address answered, the
// answer is left out.
type heard struct {
	Number  int
	Started time.Time
	Took    time.Duration
	Result  bellman.Result
	Status  int
	Answer  shownBody
}

// showShared serves the page of a shared link to everybody who has the link.
func (c *Console) showShared(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", sharedPolicy)
	h.Set("Referrer-Policy", "no-referrer") // the address contains the token
	h.Set("X-Robots-Tag", "noindex, nofollow, noarchive")
	h.Set("Vary", "Accept-Language")
	lang := c.byCode[r.URL.Query().Get("lang")]
	if lang == nil {
		lang = c.byCode[preferred(r.Header.Get("Accept-Language"))]
	}
	q := &request{Console: c, w: w, r: r, visitor: &visitor{lang: lang, Theme: themeOf(r)}}
	v := &sharedView{Lang: lang.tag, Code: lang.code, Title: lang.say("shared.title"), Theme: q.visitor.Theme, Path: r.URL.Path, Now: time.Now()}
	v.OtherCode = map[string]string{"en": "zh", "zh": "en"}[lang.code]
	v.Other = v.Path + "?" + withLang(r.URL.Query(), v.OtherCode)
	refuse := func(status int, why string) {
		v.Failure = lang.say(why)
		q.renderIn("bare.html", status, "shared", v)
	}
	if wait := c.views.Enter(access.Network(c.o.Proxies.From(r)), ""); wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
		refuse(http.StatusTooManyRequests, "shared.slow")
		return
	}
	found, err := c.o.Links.Open(r.Context(), r.PathValue("token"))
	switch {
	case errors.Is(err, bellman.ErrNotFound):
		refuse(http.StatusForbidden, "shared.changed")
	case err != nil:
		c.o.Log.Error("console: a link could not be read", "err", err)
		refuse(http.StatusServiceUnavailable, "shared.later")
	case !found.Revoked.IsZero():
		refuse(http.StatusGone, "shared.revoked")
	case found.Over(time.Now()):
		refuse(http.StatusGone, "shared.expired")
	default:
		from := c.o.Proxies.Text(r)
		if _, ok := c.opened.Enter(found.ID.String() + " " + from); ok { // recorded at most once an hour
			c.o.Record(r.Context(), store.AuditOf(bellman.By{From: from}, time.Now(), "open", "link/"+found.ID.String()))
		}
		if err := q.fillShared(v, &found); err != nil {
			c.o.Log.Error("console: the tasks of a link could not be read", "err", err)
			refuse(http.StatusServiceUnavailable, "shared.later")
			return
		}
		q.renderIn("bare.html", http.StatusOK, "shared", v)
	}
}

// withLang returns a query with another language.
func withLang(in url.Values, code string) string {
	out := url.Values{}
	for _, name := range []string{"order_no", "before"} {
		if value := in.Get(name); value != "" {
			out.Set(name, value)
		}
	}
	out.Set("lang", code)
	return out.Encode()
}

// fillShared reads one page of the notifications that a link shows.
func (q *request) fillShared(v *sharedView, l *sharelink.Link) error {
	in := q.r.URL.Query()
	v.MerchantNo, v.OrderNo, v.Expires = l.MerchantNo, l.OrderNo, l.Expires
	if l.OrderNo != "" {
		in.Del("order_no") // the link is for one order
		v.Other = v.Path + "?" + withLang(in, v.OtherCode)
	}
	v.Wanted = bounded(strings.TrimSpace(in.Get("order_no")), 400)
	f := store.Filter{MerchantNo: l.MerchantNo, OrderNo: cmp.Or(l.OrderNo, v.Wanted)}
	before, err := bellman.ParseID(in.Get("before"))
	if err != nil {
		before = bellman.ID{}
	}
	for s := newSearch(searchTime); ; {
		tasks, next, err := q.o.Reader.List(q.r.Context(), f, before, sharedRows)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			if len(v.Notices) == sharedRows {
				break
			}
			before = t.ID
			if t.MerchantNo != l.MerchantNo || l.OrderNo != "" && t.OrderNo != l.OrderNo || !q.told(t) {
				continue
			}
			n, err := q.noticeOf(t)
			if err != nil {
				return err
			}
			v.Notices = append(v.Notices, n)
		}
		more := !next.IsZero()
		if len(v.Notices) < sharedRows {
			before = next
		} else if len(tasks) > 0 && before != tasks[len(tasks)-1].ID {
			more = true
		}
		if !more {
			return nil
		}
		if len(v.Notices) == sharedRows || !s.again() {
			break
		}
	}
	values := url.Values{"before": {before.String()}, "lang": {v.Code}}
	if v.Wanted != "" {
		values.Set("order_no", v.Wanted)
	}
	v.Next = v.Path + "?" + values.Encode()
	if len(v.Notices) < sharedRows {
		v.Back = before.Time()
	}
	return nil
}

// told reports whether a task notifies a merchant.
func (q *request) told(t *bellman.Task) bool {
	if t.Kind != bellman.KindNotify {
		return false
	}
	return q.o.Tells == nil || q.o.Tells(t)
}

func (q *request) noticeOf(t *bellman.Task) (notice, error) {
	n := notice{OrderNo: t.OrderNo, Event: t.Event, Told: t.State.String(), Address: outside(t.URL), Created: t.Created()}
	if !t.State.Ended() && t.Due.After(time.Now()) {
		n.Next = t.Due
	}
	if t.Attempts == 0 {
		if t.State == bellman.Succeeded {
			n.Told = "completed"
		}
		return n, nil
	}
	n.Earlier = max(int(t.Attempts)-sharedAttempts, 0)
	log, err := q.o.Reader.Attempts(q.r.Context(), t.ID, n.Earlier, sharedAttempts)
	if err != nil {
		return n, err
	}
	if t.State == bellman.Succeeded && !confirmed(t, log, n.Earlier) {
		n.Told = "completed"
	}
	to := q.to(t)
	ours := to != "" && outside(to) == "" // the answer is then not the merchant's
	for _, a := range slices.Backward(log) {
		h := heard{Number: a.Number, Started: a.Started, Took: a.Took, Result: a.Result}
		if !ours {
			h.Status, h.Answer = a.Status, showBody([]byte(a.Response), "")
		}
		n.Attempts = append(n.Attempts, h)
	}
	return n, nil
}

// confirmed reports whether the merchant accepted a notification that succeeded: in one of the
// attempts of log, or possibly in an earlier one.
func confirmed(t *bellman.Task, log []bellman.Attempt, earlier int) bool {
	return earlier > 0 && t.Reason == "accepted" ||
		slices.ContainsFunc(log, func(a bellman.Attempt) bool { return a.Result == bellman.Accepted })
}

// carriers is the address range of carrier-grade NAT (RFC 6598), which clouds also use for internal
// services.
var carriers = netip.MustParsePrefix("100.64.0.0/10")

// outside returns an address as a merchant may see it. It is empty for internal networks, and
// contains neither a password nor a query, which may hold secrets.
func outside(address string) string {
	u, err := url.Parse(address)
	if err != nil || deliver.DefaultPort(u.Scheme) == "" {
		return ""
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip = ip.Unmap(); !ip.IsGlobalUnicast() || ip.IsPrivate() || carriers.Contains(ip) {
			return ""
		}
	} else {
		_, last, dotted := strings.Cut(host, ".")
		last = last[strings.LastIndexByte(last, '.')+1:]
		number := strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") // some resolvers read 127.1 as 127.0.0.1
		if !dotted || number || slices.Contains([]string{"internal", "local", "localhost", "lan", "home", "corp", "svc", "intranet", "private"}, last) {
			return ""
		}
	}
	return plain((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String())
}
