package console

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/store"
)

// A searchView is the page of search results, for a text that may mean several pages.
type searchView struct {
	*view
	Found []finding
	Begun *begun // what begins with the text, if nothing equals it; nil: something does
	Wrong string // why nothing was searched; empty: something was
}

// A finding is one possible meaning of the text.
type finding struct {
	What    string // name of its text
	Address string
	Rows    []row // the newest matches
	More    bool  // there are more matches
}

// foundRows is how many tasks of each finding are shown.
const foundRows = 5

// search looks up the text as a task's id, a key, a merchant's number, an order's number and a
// host. If exactly one thing is found, the browser goes to its page.
func (q *request) search() error {
	text := strings.TrimSpace(q.r.URL.Query().Get("q"))
	switch {
	case text == "":
		if len(q.recent()) == 0 {
			return q.goTo("/tasks")
		}
		return q.render(http.StatusOK, "search", &searchView{view: q.view("page.search")})
	case len(text) > maxFilter:
		return q.render(http.StatusOK, "search", &searchView{view: q.view("page.search"), Wrong: q.visitor.lang.problem(tooLong(text))})
	}
	q.remember(text)
	if id, err := bellman.ParseID(strings.ToLower(text)); err == nil {
		if _, err := q.o.Reader.Task(q.r.Context(), id); err == nil {
			return q.goTo("/tasks/" + id.String())
		}
		if q.o.Resends != nil {
			if _, err := q.o.Resends.Get(q.r.Context(), id); err == nil {
				return q.goTo("/resends/" + id.String())
			}
		}
	}
	v := &searchView{view: q.view("page.search")}
	for _, l := range []struct {
		what, field string
		filter      store.Filter
	}{
		{"search.key", "key", store.Filter{Key: text}},
		{"search.order", "order_no", store.Filter{OrderNo: text}},
		{"search.merchant", "merchant_no", store.Filter{MerchantNo: text}},
	} {
		if err := q.look(v, l.what, l.field, text, l.filter); err != nil {
			return err
		}
	}
	if len(v.Found) == 0 {
		begun, err := q.beginningWith(text)
		if err != nil {
			return err
		}
		if host := hostOf(text); host != "" && (len(begun.Names) == 0 && len(begun.Rows) == 0 || begun.hosts(host)) {
			return q.goTo(query("/tasks", "url_host", host)) // hosts have no index: that page searches step by step
		}
		v.Begun = begun
	}
	if len(v.Found) == 1 {
		f := &v.Found[0]
		if len(f.Rows) == 1 && !f.More {
			return q.goTo("/tasks/" + f.Rows[0].ID.String())
		}
		return q.goTo(f.Address)
	}
	return q.render(http.StatusOK, "search", v)
}

// look adds the matches of one meaning to the page.
func (q *request) look(v *searchView, what, field, value string, by store.Filter) error {
	tasks, next, err := q.read(&taskFilter{Pick: resend.Pick{Filter: by}}, bellman.ID{}, foundRows)
	if err != nil || len(tasks) == 0 {
		return err
	}
	f := finding{What: what, Address: query("/tasks", field, value), Rows: q.rows(tasks), More: !next.IsZero()}
	if field == "order_no" && oneOrder(tasks) && next.IsZero() && (len(tasks) > 1 || f.Rows[0].Order != nil) { // an order is shown as a whole
		f.Address, f.More = orderAddress(tasks[0].MerchantNo, value), true
	}
	v.Found = append(v.Found, f)
	return nil
}

// oneOrder reports whether tasks with the same order number also have the same merchant.
func oneOrder(tasks []*bellman.Task) bool {
	for _, t := range tasks {
		if t.MerchantNo == "" || t.MerchantNo != tasks[0].MerchantNo {
			return false
		}
	}
	return len(tasks) > 0
}

// hostOf returns the host of a URL, or the text itself if it looks like a host; else empty.
func hostOf(text string) string {
	if strings.Contains(text, "://") {
		u, err := url.Parse(text)
		if err != nil {
			return ""
		}
		return u.Host
	}
	u, err := url.Parse("http://" + text)
	if err != nil || u.Host != text {
		return ""
	}
	name := u.Hostname()
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" || strings.Contains(name, ".") {
		return text
	}
	return ""
}
