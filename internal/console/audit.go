package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

const (
	auditRows = 100
	auditRead = 500 // records of one reading

	namesWithin = 40 * time.Millisecond
)

type auditView struct {
	*view
	By, Action, Target, Address, Job string // the filter, beside the page's range; empty: all
	PeriodIs                         string // what is wrong with the range; empty: nothing

	Rows  []store.Audit
	Tasks map[string]*bellman.Task // of targets, by id, as far as they were read quickly
	Next  string                   // address of the next page; empty: this is the last
	Back  time.Time
	First string
}

// auditPage shows manual actions, newest first. Audit records are ordered by time alone, so a
// filter is applied to as many as can be read quickly.
func (q *request) auditPage() error {
	in := q.r.URL.Query()
	v := &auditView{view: q.view("page.audit"), By: in.Get("by"), Action: in.Get("action"), Target: strings.TrimSpace(in.Get("target")), Address: strings.TrimSpace(in.Get("address")), Job: in.Get("job")}
	here := []string{"by", v.By, "action", v.Action, "target", v.Target, "address", v.Address, "job", v.Job, "from", v.Period.At("from"), "to", v.Period.At("to")}
	before, after := v.Period.To, time.Time{}
	switch {
	case v.Period.Wrong != nil:
		_, v.PeriodIs = q.wrong(v.Period.Wrong)
	case v.Period.Kind != "hour":
		after = v.Period.From
		here = append(here, "zone", v.Period.zone.String())
	}
	if at := in.Get("before"); at != "" {
		ms, err := strconv.ParseInt(at, 10, 64)
		if err != nil || ms <= 0 {
			return fail(http.StatusNotFound, "error.no_page")
		}
		before = time.UnixMilli(ms).UTC()
		v.First = query("/audit", here...)
	}
	began := time.Now()
	order, err := q.targetsOf(v.Target)
	if err != nil {
		return err
	}
	for {
		records, err := q.o.Reader.Audits(q.r.Context(), before, auditRead)
		if err != nil {
			return err
		}
		// A page ends between two milliseconds, so that records of one millisecond stay together.
		full, done := false, len(records) < auditRead
		for i, r := range records {
			if r.At.Before(after) {
				done = true
				break
			}
			if len(v.Rows) >= auditRows && !r.At.Equal(records[max(i-1, 0)].At) {
				full = true
				break
			}
			before = r.At
			if v.wants(&r, order) {
				v.Rows = append(v.Rows, r)
			}
		}
		if !full && done {
			break
		}
		if full || time.Since(began) > searchTime {
			v.Next = query("/audit", append(here, "before", strconv.FormatInt(before.UnixMilli(), 10))...)
			if !full {
				v.Back = before
			}
			break
		}
	}
	q.nameTargets(v)
	return q.render(http.StatusOK, "audit", v)
}

// targetsOf returns the tasks of an order number, by id: the targets of what was done with the
// order.
func (q *request) targetsOf(orderNo string) (map[string]bool, error) {
	ids := map[string]bool{}
	if _, err := bellman.ParseID(orderNo); err == nil || orderNo == "" {
		return ids, nil
	}
	tasks, _, err := q.o.Reader.List(q.r.Context(), store.Filter{OrderNo: orderNo}, bellman.ID{}, orderTasks)
	for _, t := range tasks {
		ids[t.ID.String()] = true
	}
	return ids, err
}

// nameTargets reads the tasks among the targets, for at most namesWithin. The page has the id alone
// of one that is not read.
func (q *request) nameTargets(v *auditView) {
	v.Tasks = map[string]*bellman.Task{}
	began := time.Now()
	for i := range v.Rows {
		id, err := bellman.ParseID(v.Rows[i].Target)
		if _, known := v.Tasks[v.Rows[i].Target]; known || err != nil {
			continue
		}
		if time.Since(began) > namesWithin {
			return
		}
		if t, err := q.o.Reader.Task(q.r.Context(), id); err == nil {
			v.Tasks[v.Rows[i].Target] = t
		}
	}
}

func (v *auditView) wants(r *store.Audit, order map[string]bool) bool {
	return (v.By == "" || r.Who == v.By) && (v.Action == "" || r.Action == v.Action) && (v.Target == "" || strings.Contains(r.Target, v.Target) || order[r.Target]) &&
		(v.Address == "" || r.From == v.Address) && (v.Job == "" || r.Job == v.Job)
}

// Filtered reports whether the page has a filter.
func (v *auditView) Filtered() bool {
	return v.By+v.Action+v.Target+v.Address+v.Job != "" || v.Period.Kind != "hour"
}

// auditJob returns the address and the name of the job that an action belongs to; empty: none.
func auditJob(job string) (a struct{ To, Key string }) {
	kind, id, _ := strings.Cut(job, "/")
	if _, err := bellman.ParseID(id); err != nil {
		return a
	}
	switch kind {
	case "resend":
		a.To, a.Key = "/resends/"+id, "page.resend"
	case "batch":
		a.To, a.Key = query("/audit", "job", job), "audit.batch"
	}
	return a
}

// auditLink returns the address of the page of an action's target; empty: there is none.
func auditLink(target string) string {
	kind, name, _ := strings.Cut(target, "/")
	switch kind {
	case "queue":
		return query("/queues", "name", name)
	case "endpoint":
		return query("/endpoints", "name", name)
	case "resend":
		return "/resends/" + url.PathEscape(name)
	case "merchant":
		return merchantAddress(name)
	case "account":
		return accountAddress(name)
	case "reconciliation":
		return "/reconciliations/" + url.PathEscape(name)
	case "link":
		id, _, _ := strings.Cut(name, "/") // the rest says what the link shows
		return "/links/" + url.PathEscape(id)
	}
	if _, err := bellman.ParseID(target); err == nil {
		return "/tasks/" + target
	}
	return ""
}
