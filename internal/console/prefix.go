package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store"
)

// A begun is what begins with a text.
type begun struct {
	Names []begunName
	Rows  []row     // the newest tasks whose order number, key or merchant number begins with it
	Back  time.Time // tasks were looked at back to this time; zero: all were
}

// A begunName is a merchant, an account, an endpoint or a queue.
type begunName struct {
	What    string // of its text: field.merchant_no, field.account, col.endpoint or field.queue
	Name    string
	Title   string // of a merchant or account; empty: it has none
	Address string
}

// begunNames is the largest number of names of each sort.
const begunNames = 5

// hosts reports whether a host is the host of an endpoint among the names.
func (b *begun) hosts(host string) bool {
	return slices.ContainsFunc(b.Names, func(n begunName) bool {
		u, err := url.Parse(n.Name)
		return n.What == "col.endpoint" && err == nil && (u.Host == host || u.Hostname() == host)
	})
}

// beginningWith finds what begins with a text: names in the registries and in the figures, and tasks among the
// newest, for a short time. Prefixes of tasks have no index.
func (q *request) beginningWith(text string) (*begun, error) {
	b := &begun{}
	var err error
	if b.Names, err = q.namesWith(text); err != nil {
		return nil, err
	}
	if hostOf(text) != "" { // the list of tasks searches for hosts, for as long as a page may take
		return b, nil
	}
	before := bellman.ID{}
	for s := newSearch(); ; {
		tasks, next, err := q.reader.List(q.r.Context(), store.Filter{}, before, s.rows)
		if err != nil {
			return nil, err
		}
		for _, t := range tasks {
			if len(b.Rows) < 2*foundRows && (strings.HasPrefix(t.OrderNo, text) || strings.HasPrefix(t.Key, text) || strings.HasPrefix(t.MerchantNo, text)) {
				b.Rows = append(b.Rows, q.rows([]*bellman.Task{t})...)
			}
		}
		switch {
		case next.IsZero():
			return b, nil
		case len(b.Rows) == 2*foundRows || !s.again():
			b.Back = next.Time()
			return b, nil
		}
		before = next
	}
}

// namesWith returns the names that begin with a text. Those of endpoints may contain it anywhere in their
// host.
func (q *request) namesWith(text string) (names []begunName, err error) {
	if q.merchants != nil {
		found, _, err := q.merchants.List(q.r.Context(), client.MerchantSearch{MerchantNo: text, Limit: begunNames}, "")
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			names = append(names, begunName{"field.merchant_no", m.MerchantNo, m.Name, merchantAddress(m.MerchantNo)})
		}
	}
	if q.accounts != nil {
		found, _, err := q.accounts.List(q.r.Context(), client.AccountSearch{Account: text, Limit: begunNames}, "")
		if err != nil {
			return nil, err
		}
		for _, a := range found {
			names = append(names, begunName{"field.account", a.Account, a.Name, accountAddress(a.Account)})
		}
	}
	if q.queueNames != nil {
		for _, name := range q.queueNames() {
			if strings.HasPrefix(name, text) {
				names = append(names, begunName{"field.queue", name, "", query("/tasks", "queue", name)})
			}
		}
	}
	all, err := q.engine.Figures(q.r.Context(), figures.Ask{Endpoints: true})
	if err != nil {
		return nil, err
	}
	n := 0
	for _, e := range all.Endpoints {
		if n < begunNames && strings.Contains(e.Endpoint, strings.ToLower(text)) {
			names = append(names, begunName{"col.endpoint", e.Endpoint, "", query("/endpoints", "name", e.Endpoint)})
			n++
		}
	}
	return names, nil
}

// searchTyped returns what the search box offers while somebody types: recent searches, and names that begin
// with the text. It needs the script; without it the box offers recent searches.
func (q *request) searchTyped() {
	text := strings.TrimSpace(q.r.URL.Query().Get("q"))
	v := &searchView{view: q.view("page.search"), Begun: &begun{}}
	if text != "" && len(text) <= maxWish {
		b, err := q.beginningWith(text)
		if err != nil {
			q.refuse(err)
			return
		}
		v.Begun = b
	}
	q.renderIn("part.finds", http.StatusOK, "search", v)
}

const (
	recentCookie = "bellman_recent"
	recentTime   = 30 * 24 * time.Hour
	mostRecent   = 8
	longRecent   = 100 // bytes; longer texts are not remembered
)

// recent returns what this browser searched for, newest first. It is in a cookie, which the browser drops when
// its user signs out.
func (q *request) recent() (texts []string) {
	values, err := url.ParseQuery(q.cookie(q.r, recentCookie))
	if err != nil {
		return nil
	}
	for _, text := range values["q"] {
		if text != "" && len(text) <= longRecent && len(texts) < mostRecent {
			texts = append(texts, text)
		}
	}
	return texts
}

// remember adds a text to the recent searches.
func (q *request) remember(text string) {
	if len(text) > longRecent || q.r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return
	}
	texts := append([]string{text}, slices.DeleteFunc(q.recent(), func(one string) bool { return one == text })...)
	q.setCookie(q.w, q.r, recentCookie, url.Values{"q": texts[:min(len(texts), mostRecent)]}.Encode(), recentTime)
}

// forgetRecent drops the recent searches of this browser.
func (q *request) forgetRecent() {
	q.setCookie(q.w, q.r, recentCookie, "", 0)
	q.goTo("/tasks")
}
