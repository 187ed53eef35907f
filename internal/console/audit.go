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
	auditRead = 500 // records that are asked of the store at once
)

// An auditView is the page of what was done by hand.
type auditView struct {
	*view
	By, Action, Target, From, Job string // what is wanted; empty: all

	Rows  []store.Audit
	Next  string // the address of the page that follows; empty: this is the last
	Back  time.Time
	First string
}

// auditPage shows what was done by hand, the newest first. Records are kept by time
// alone: those that are wanted are picked out of as many as can be read quickly.
func (q *request) auditPage() {
	in := q.r.URL.Query()
	v := &auditView{view: q.view("page.audit"), By: in.Get("by"), Action: in.Get("action"), Target: strings.TrimSpace(in.Get("target")), From: strings.TrimSpace(in.Get("from")), Job: in.Get("job")}
	values := url.Values{}
	for name, value := range map[string]string{"by": v.By, "action": v.Action, "target": v.Target, "from": v.From, "job": v.Job} {
		if value != "" {
			values.Set(name, value)
		}
	}
	var before time.Time
	if at := in.Get("before"); at != "" {
		ms, err := strconv.ParseInt(at, 10, 64)
		if err != nil || ms <= 0 {
			q.fail(http.StatusNotFound, "error.no_page")
			return
		}
		before = time.UnixMilli(ms).UTC()
		v.First = "/audit?" + values.Encode()
	}
	began := time.Now()
	for {
		records, err := q.reader.Audits(q.r.Context(), before, auditRead)
		if err != nil {
			q.refuse(err)
			return
		}
		// Records of one millisecond are not torn apart: that is where pages end.
		full := false
		for i, r := range records {
			if len(v.Rows) >= auditRows && !r.At.Equal(records[max(i-1, 0)].At) {
				full = true
				break
			}
			before = r.At
			if v.wants(&r) {
				v.Rows = append(v.Rows, r)
			}
		}
		if !full && len(records) < auditRead {
			break
		}
		if full || time.Since(began) > searchTime {
			values.Set("before", strconv.FormatInt(before.UnixMilli(), 10))
			v.Next = "/audit?" + values.Encode()
			if !full {
				v.Back = before
			}
			break
		}
	}
	q.render(http.StatusOK, "audit", v)
}

func (v *auditView) wants(r *store.Audit) bool {
	return (v.By == "" || r.Who == v.By) && (v.Action == "" || r.Action == v.Action) && (v.Target == "" || strings.Contains(r.Target, v.Target)) &&
		(v.From == "" || r.From == v.From) && (v.Job == "" || r.Job == v.Job)
}

// Filtered reports whether not all records are wanted.
func (v *auditView) Filtered() bool { return v.By+v.Action+v.Target+v.From+v.Job != "" }

// auditJob is the page of the job that an action was a part of, and what it is called; empty: it
// was done alone.
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

// auditLink is the page of what an action was done to; empty: there is none.
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
	case "link":
		id, _, _ := strings.Cut(name, "/") // behind it stands what the link shows
		return "/links/" + url.PathEscape(id)
	}
	if _, err := bellman.ParseID(target); err == nil {
		return "/tasks/" + target
	}
	return ""
}
