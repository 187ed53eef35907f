package console

import (
	"net/url"
	"time"
)

// A quickFilter is a filter of the list that one click sets.
type quickFilter struct {
	Name string            // of its text, below quick
	set  map[string]string // fields of the filter; "today" is the beginning of the viewer's day
}

// quickFilters are in the order of the page.
var quickFilters = []quickFilter{
	{"failed_today", map[string]string{"state": "failed", "finished_from": "today"}},
	{"pending", map[string]string{"state": "pending"}},
	{"refused", map[string]string{"state": "pending", "result": "refused"}},
	{"error_status", map[string]string{"state": "pending", "result": "error_status"}},
	{"unanswered", map[string]string{"state": "pending", "result": "timeout"}},
	{"unreachable", map[string]string{"state": "pending", "result": "unreachable"}},
}

// keptFields are the fields that stay when a quick filter is set.
var keptFields = []string{"merchant_no", "order_no", "key", "url_host", "event", "queue", "kind"}

// quickly returns the address of the list with a quick filter beside what the filter says about
// whom and where tasks go, and with its time zone; empty: there is no such quick filter.
func (w *taskFilter) quickly(name string, now time.Time) string {
	for _, f := range quickFilters {
		if f.Name != name {
			continue
		}
		values := url.Values{}
		for _, kept := range keptFields {
			if value := w.Get(kept); value != "" {
				values.Set(kept, value)
			}
		}
		for field, value := range f.set {
			if value == "today" && w.zone != nil {
				value = now.In(w.zone).Format(time.DateOnly)
				values.Set("zone", w.zone.String())
			}
			values.Set(field, value)
		}
		return "/tasks?" + values.Encode()
	}
	return ""
}
