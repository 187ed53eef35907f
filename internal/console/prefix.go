package console

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
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

// beginningWith finds what begins with a text: names in the registries and in the figures, and
// tasks among the newest, for a short time. Prefixes of tasks have no index.
func (q *request) beginningWith(text string) (*begun, error) {
	b := &begun{}
	var err error
	if b.Names, err = q.namesWith(text); err != nil {
		return nil, err
	}
	if hostOf(text) != "" { // the list of tasks searches for hosts, for as long as a page may take
		return b, nil
	}
	tasks, back, err := q.newestWith(text, 2*foundRows, newSearch(searchTime))
	b.Rows, b.Back = q.rows(tasks), back
	return b, err
}

// newestWith searches the newest tasks for an order number, key or merchant number that begins with
// a text. It returns up to limit tasks, and back to which time it looked; zero: at all tasks.
func (q *request) newestWith(text string, limit int, s *search) (found []*bellman.Task, back time.Time, err error) {
	before := bellman.ID{}
	for {
		tasks, next, err := q.o.Reader.List(q.r.Context(), store.Filter{}, before, s.rows)
		if err != nil {
			return nil, back, err
		}
		for _, t := range tasks {
			if len(found) < limit && (strings.HasPrefix(t.OrderNo, text) || strings.HasPrefix(t.Key, text) || strings.HasPrefix(t.MerchantNo, text)) {
				found = append(found, t)
			}
		}
		switch {
		case next.IsZero():
			return found, back, nil
		case len(found) == limit || !s.again():
			return found, next.Time(), nil
		}
		before = next
	}
}

// namesWith returns the names that begin with a text. Those of endpoints and queues may contain it
// anywhere.
func (q *request) namesWith(text string) (names []begunName, err error) {
	if q.o.Merchants != nil {
		found, err := q.o.Merchants.Named(q.r.Context(), text, begunNames)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			names = append(names, begunName{"field.merchant_no", m.MerchantNo, m.Name, merchantAddress(m.MerchantNo)})
		}
	}
	if q.o.Accounts != nil {
		found, _, err := q.o.Accounts.List(q.r.Context(), client.AccountSearch{Account: text, Limit: begunNames}, "")
		if err != nil {
			return nil, err
		}
		for _, a := range found {
			names = append(names, begunName{"field.account", a.Account, a.Name, accountAddress(a.Account)})
		}
	}
	for _, name := range q.o.Queues() {
		if strings.Contains(name, text) {
			names = append(names, begunName{"field.queue", name, "", query("/tasks", "queue", name)})
		}
	}
	endpoints, err := q.endpointNames(q.r.Context())
	if err != nil {
		return nil, err
	}
	n := 0
	for _, name := range endpoints {
		if n < begunNames && strings.Contains(strings.ToLower(name), strings.ToLower(text)) {
			names = append(names, begunName{"col.endpoint", name, "", query("/endpoints", "name", name)})
			n++
		}
	}
	return names, nil
}

const (
	recentCookie = "bellman_recent"
	recentTime   = 30 * 24 * time.Hour
	mostRecent   = 8
	longRecent   = 100 // bytes; longer texts are not remembered
)

// recent returns what this browser searched for, newest first. It is in a cookie, which the browser
// drops when its user signs out.
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
func (q *request) forgetRecent() error {
	q.setCookie(q.w, q.r, recentCookie, "", 0)
	q.led("/tasks", "")
	return q.goTo("/tasks")
}
