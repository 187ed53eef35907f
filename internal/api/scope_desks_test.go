package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/internal/resend"
)

// Resends of a limited key are of its scope, and so are those that it sees.
func TestScopeOfResends(t *testing.T) {
	jobs := &scopedResends{}
	m, _ := market(t, Options{Resends: jobs})
	for _, tt := range []struct {
		key, filter string
		status      int
		want        resend.Pick
	}{
		{"pay", `{}`, 202, pick("pay", "")},
		{"pay", `{"queue":"told"}`, 403, resend.Pick{}},
		{"both", `{}`, 403, resend.Pick{}},
		{"both", `{"queue":"orders"}`, 202, pick("orders", "")},
		{"pay-M1", `{"event":"x"}`, 202, resend.Pick{Filter: withEvent(pick("pay", "M1"), "x").Filter}},
		{"M*", `{"queue":"pay"}`, 403, resend.Pick{}},
	} {
		jobs.started = nil
		w := m.as(tt.key, "POST", "/v1/resends", `{"filter":`+tt.filter+`}`)
		if w.Code != tt.status || w.Code == 202 && !reflect.DeepEqual(jobs.started[0].Filter, tt.want) || w.Code != 202 && jobs.started != nil {
			t.Errorf("%s resends %s: %d %s, started %+v; want %d, %+v", tt.key, tt.filter, w.Code, w.Body, jobs.started, tt.status, tt.want)
		}
	}
	jobs.started = []resend.Job{{Filter: pick("pay", "M1")}, {Filter: pick("", "M1")}, {Filter: pick("told", "")}, {}}
	for i := range jobs.started {
		jobs.started[i].ID = bellman.NewID()
	}
	for key, want := range map[string]string{"all": "1111", "pay": "1000", "M1": "1100", "pay-M1": "1000", "both": "1000"} {
		list, got := m.as(key, "GET", "/v1/resends", "").Body.String(), ""
		for i := range jobs.started {
			id := jobs.started[i].ID.String()
			one := map[bool]string{true: "1", false: "0"}[strings.Contains(list, id)]
			got += one
			for method, path := range map[string]string{"GET": "/v1/resends/" + id, "POST": "/v1/resends/" + id + "/cancel"} {
				if status := m.as(key, method, path, "").Code; status != map[string]int{"1": 200, "0": 403}[one] {
					t.Errorf("%s: %s job %d: %d; listed: %s", key, method, i, status, one)
				}
			}
		}
		if got != want {
			t.Errorf("%s is shown the jobs %s; want %s", key, got, want)
		}
	}
}

func pick(queue, merchant string) (p resend.Pick) {
	p.Queue, p.MerchantNo = queue, merchant
	return p
}

func withEvent(p resend.Pick, event string) resend.Pick {
	p.Event = event
	return p
}

// scopedResends are the bulk resends that were started.
type scopedResends struct{ started []resend.Job }

func (f *scopedResends) Count(context.Context, resend.Pick, int, time.Duration) (resend.Count, error) {
	return resend.Count{}, nil
}

func (f *scopedResends) Start(_ context.Context, in resend.Job) (resend.Job, error) {
	f.started = append(f.started, in)
	return in, nil
}

func (f *scopedResends) Get(_ context.Context, id bellman.ID) (resend.Job, error) {
	for _, j := range f.started {
		if j.ID == id {
			return j, nil
		}
	}
	return resend.Job{}, bellman.ErrNotFound
}

func (f *scopedResends) List(context.Context, int) ([]resend.Job, error) { return f.started, nil }

func (f *scopedResends) Cancel(ctx context.Context, id bellman.ID, _ bellman.By) (resend.Job, error) {
	return f.Get(ctx, id)
}

// Merchants of a limited key are those of its scope, in lists too, and no cursor names another.
func TestScopeOfMerchants(t *testing.T) {
	desk := &scopedDesk{numbers: []string{"M1", "M10", "M2", "X9"}}
	m, _ := market(t, Options{Merchants: desk})
	for _, tt := range []struct {
		key, method, path, body string
		status                  int
		want                    string // the merchants of a list, or a part of the answer
	}{
		{"all", "GET", "/v1/merchants", "", 200, "M1 M10 M2 X9"},
		{"pay", "GET", "/v1/merchants", "", 200, "M1 M10 M2 X9"},
		{"M1", "GET", "/v1/merchants", "", 200, "M1"},
		{"M1", "GET", "/v1/merchant-export", "", 200, "M1"},
		{"M1", "GET", "/v1/merchants?limit=1&cursor=" + cursor([]byte("M1"), &client.MerchantSearch{MerchantNo: "M1"}), "", 200, ""},
		{"all", "GET", "/v1/merchants?cursor=" + cursor([]byte("M1"), &client.MerchantSearch{}), "", 200, "M10 M2 X9"},
		{"all", "GET", "/v1/merchants?merchant_no=M&cursor=" + cursor([]byte("M1"), &client.MerchantSearch{}), "", 422, "of a list with another filter"},
		{"all", "GET", "/v1/merchants?cursor=" + base64.RawURLEncoding.EncodeToString([]byte("M1")), "", 422, "want the next_cursor of a page"},
		{"all", "GET", "/v1/merchants?paused=true&state=failing", "", 422, "give either paused or state"},
		{"M1", "GET", "/v1/merchants?merchant_no=M1", "", 200, "M1"},
		{"M1", "GET", "/v1/merchants?merchant_no=M", "", 403, `not all merchants that begin with`},
		{"M1", "GET", "/v1/merchants?name=x", "", 403, "search by merchant_no instead"},
		{"M*", "GET", "/v1/merchants", "", 200, "M1 M10 M2"},
		{"M*", "GET", "/v1/merchants?merchant_no=M1", "", 200, "M1 M10"},
		{"M*", "GET", "/v1/merchants?merchant_no=X", "", 403, "not all merchants"},
		{"M1", "GET", "/v1/merchants/M1", "", 200, ""},
		{"M1", "GET", "/v1/merchants/X9", "", 403, "outside this key's scope"},
		{"M1", "GET", "/v1/merchants/none", "", 403, "outside this key's scope"},
		{"M1", "GET", "/v1/merchants/M1/stats", "", 200, ""},
		{"pay-M1", "GET", "/v1/merchants/M1/stats", "", 403, "concerns the merchant in all queues"},
		{"M1", "PUT", "/v1/merchants/M1", "{}", 200, ""},
		{"M1", "PUT", "/v1/merchants/X9", "{}", 403, ""},
		{"pay-M1", "PUT", "/v1/merchants/M1", "{}", 403, "in all queues"},
		{"M1", "DELETE", "/v1/merchants/X9", "", 403, ""},
		{"M1", "POST", "/v1/merchants/X9/pause", "", 403, ""},
		{"M1", "POST", "/v1/merchants/X9/secrets", `{"secret":"s"}`, 403, ""},
		{"M1", "POST", "/v1/merchants/X9/test", "", 403, ""},
		{"pay-M1", "POST", "/v1/merchants/M1/test", "", 403, "in all queues"},
		{"pay-M1", "POST", "/v1/merchants/M1/test", `{"queue":"told"}`, 403, "outside"},
		{"pay-M1", "POST", "/v1/merchants/M1/test", `{"queue":"pay"}`, 201, ""},
		{"M1", "POST", "/v1/merchants/batch", `{"merchants":[{"merchant_no":"X9"},{"merchant_no":"M1"}]}`, 200, `"status":403`},
		{"M1", "POST", "/v1/merchants/reseal", "", 403, "concerns all queues and merchants"},
	} {
		desk.changed = ""
		w := m.as(tt.key, tt.method, tt.path, tt.body)
		if w.Code != tt.status {
			t.Errorf("%s: %s %s: %d %s; want %d", tt.key, tt.method, tt.path, w.Code, w.Body, tt.status)
			continue
		}
		if strings.Contains(desk.changed, "X9") || w.Code >= 400 && desk.changed != "" {
			t.Errorf("%s: %s %s changed %s", tt.key, tt.method, tt.path, desk.changed)
		}
		if strings.Contains(tt.path, "merchants?") || strings.HasSuffix(tt.path, "merchants") || strings.HasSuffix(tt.path, "export") {
			var page client.MerchantPage
			if w.Code == 200 {
				if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, one := range page.Merchants {
					got = append(got, one.MerchantNo)
				}
				if strings.Join(got, " ") != tt.want || strings.HasPrefix(tt.key, "M1") && page.NextCursor != "" {
					t.Errorf("%s: GET %s: %v, cursor %q; want %s", tt.key, tt.path, got, page.NextCursor, tt.want)
				}
				continue
			}
		}
		if !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s: %s %s: %s; want %s", tt.key, tt.method, tt.path, w.Body, tt.want)
		}
	}
}

// How a merchant's tasks go is of all queues: a key with queues does not learn it.
func TestScopeOfHealth(t *testing.T) {
	m, ids := market(t, Options{Merchants: &scopedDesk{numbers: []string{"M1"}, failing: true}})
	m.fake.recent = []figures.Recent{{Name: "M1", Attempts: 3, Failure: &figures.Failure{Task: ids["told-M1"], Error: "busy"}}}
	for _, path := range []string{"/v1/merchants/M1", "/v1/merchants", "/v1/merchants?merchant_no=M1"} {
		for key, want := range map[string]bool{"all": true, "M1": true, "pay": false, "both": false, "pay-M1": false} {
			text := m.as(key, "GET", path, "").Body.String()
			for _, part := range []string{`"failing":true`, `"backlog":{`, `"last_hour":{`, ids["told-M1"].String()} {
				if !strings.Contains(text, `"M1"`) || strings.Contains(text, part) != want {
					t.Errorf("%s: GET %s: %s; want the merchant with %s: %t", key, path, text, part, want)
				}
			}
		}
	}
	for state, want := range map[string]int{"failing": 403, "late": 403, "paused": 200} {
		if w := m.as("pay", "GET", "/v1/merchants?state="+state, ""); w.Code != want {
			t.Errorf("merchants that are %s: %d %s; want %d", state, w.Code, w.Body, want)
		}
	}
}

// scopedDesk has merchants of some numbers, and notes what is changed.
type scopedDesk struct {
	merchant.Desk
	numbers []string
	failing bool
	address string
	changed string
}

// shown is a merchant as the registry shows it.
func (d *scopedDesk) shown(no string) client.Merchant {
	m := client.Merchant{MerchantNo: no, NotifyURL: d.address, Failing: d.failing}
	if d.failing {
		m.Backlog = &client.Backlog{Pending: 7}
	}
	return m
}

func (d *scopedDesk) List(_ context.Context, s client.MerchantSearch, after string) (page []client.Merchant, next string, err error) {
	for _, no := range d.numbers {
		if no <= after || !strings.HasPrefix(no, s.MerchantNo) {
			continue
		}
		if page = append(page, d.shown(no)); len(page) == s.Limit {
			return page, no, nil
		}
	}
	return page, "", nil
}

func (d *scopedDesk) Get(_ context.Context, no string) (client.Merchant, error) {
	return d.shown(no), nil
}

func (d *scopedDesk) Stats(context.Context, string) (client.MerchantStats, error) {
	return client.MerchantStats{}, nil
}

func (d *scopedDesk) Put(_ context.Context, in merchant.Wanted, _ bellman.By) (client.Merchant, bool, error) {
	d.changed += in.MerchantNo
	return client.Merchant{MerchantNo: in.MerchantNo}, false, nil
}

func (d *scopedDesk) Import(_ context.Context, in []merchant.Wanted, _ bool, _ bellman.By) ([]registry.Imported, error) {
	out := make([]registry.Imported, len(in))
	for i := range in {
		if out[i].ID = in[i].MerchantNo; len(in[i].Wrong) == 0 {
			d.changed += in[i].MerchantNo
		}
	}
	return out, nil
}

func (d *scopedDesk) Delete(_ context.Context, no string, _ bellman.By) error {
	d.changed += no
	return nil
}

func (d *scopedDesk) Pause(_ context.Context, no string, _ bellman.By) error {
	d.changed += no
	return nil
}

func (d *scopedDesk) Rotate(_ context.Context, no, _ string, _ time.Duration, _ bellman.By) (client.Merchant, error) {
	d.changed += no
	return client.Merchant{}, nil
}

func (d *scopedDesk) Test(_ context.Context, no, queue string, _ bellman.By) (*bellman.Task, error) {
	d.changed += no
	return &bellman.Task{ID: bellman.NewID(), Queue: queue, MerchantNo: no}, nil
}
