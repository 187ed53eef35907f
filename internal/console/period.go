package console

import (
	"net/url"
	"time"
)

// A period is the time range that pages show. Its address has the names of a list's filter: from,
// to and zone; range=today stands for midnight in the zone.
type period struct {
	Kind     string    // hour, today or custom
	From, To time.Time // To is zero if the range goes to the present
	zone     *time.Location
	Zone     string // as it was given; empty: UTC
	Wrong    error  // what is wrong with the given range, which is left out; nil: nothing
}

// mostPeriod is how far back figures go (figures.History).
const mostPeriod = 24 * time.Hour

// readPeriod reads a range from an address. Without one it is the last hour.
func readPeriod(in url.Values, now time.Time) period {
	w := readTaskFilter(url.Values{"from": in["from"], "to": in["to"], "zone": in["zone"]})
	p := period{Kind: "hour", From: now.Add(-time.Hour), zone: w.zone, Zone: w.Get("zone")}
	if p.zone == nil {
		p.zone, p.Zone = time.UTC, ""
	}
	local := now.In(p.zone)
	midnight := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, p.zone).UTC()
	bad := w.wrong()
	switch from, to := w.CreatedFrom, w.CreatedTo; {
	case len(bad.Fields) > 0:
		p.Wrong = bad
	case in.Get("range") == "today", from.Equal(midnight) && to.IsZero():
		p.Kind, p.From = "today", midnight
	case in.Get("range") == "hour":
	case !from.IsZero() || !to.IsZero():
		p.Kind, p.From, p.To = "custom", from, to
		if !to.Before(now) {
			p.To = time.Time{}
		}
		if from.IsZero() {
			p.From = p.End(now).Add(-time.Hour)
		}
	}
	return p
}

// End returns the end of the range.
func (p *period) End(now time.Time) time.Time {
	if p.To.IsZero() {
		return now
	}
	return p.To
}

// figurePages are the pages whose address may say today. Those of lists have a filter of two times.
var figurePages = map[string]bool{"/": true, "/endpoints": true, "/merchants": true}

// Walk returns the address of another page with the same range. Lists take it as their filter; by
// default they have everything.
func (p *period) Walk(path string) string {
	values := []string{"zone", p.Zone}
	switch {
	case p.Kind == "hour":
		return path
	case figurePages[path] && p.Kind == "today":
		values = append(values, "range", "today")
	default:
		values = append(values, "from", p.At("from"))
		if !p.To.IsZero() {
			values = append(values, "to", p.At("to"))
		}
	}
	return query(path, values...)
}

// At returns a bound in the form of a browser's time field, in the range's zone; empty: none.
func (p *period) At(bound string) string {
	at := p.From
	if bound == "to" {
		at = p.To
	}
	if at.IsZero() || p.Kind == "hour" {
		return ""
	}
	return at.In(p.zone).Format("2006-01-02T15:04")
}
