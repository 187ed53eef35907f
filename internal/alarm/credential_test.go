package alarm_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/results"
)

// watched runs a watch of one rule over credentials that a test changes.
func (w *world) watched(rule alarm.Rule) (set func(...alarm.Credential), stop func()) {
	var mu sync.Mutex
	var all []alarm.Credential
	watch, err := alarm.New(alarm.Options{Engine: w, Store: w, Logger: slog.New(slog.DiscardHandler), Every: 10 * time.Minute, Credentials: func() []alarm.Credential {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	watch.SetRules([]alarm.Rule{rule}, map[string]results.Queue{"ops": {Name: "ops"}})
	set = func(c ...alarm.Credential) {
		mu.Lock()
		defer mu.Unlock()
		all = c
	}
	return set, w.start(watch)
}

// summary says what was told: the day, what happened, what expires, and the time before its end in
// days.
func (w *world) summary() (all []string) {
	for _, x := range w.told {
		var event struct {
			Data struct {
				Credential, Text string
				ZH               string `json:"text_zh"`
				Above            float64
			}
		}
		if err := json.Unmarshal(x.task.Body, &event); err != nil {
			w.t.Fatal(err)
		}
		d := event.Data
		all = append(all, fmt.Sprintf("%d %s %s %g", x.at/(24*time.Hour), strings.TrimPrefix(x.task.Event, "bellman.alarm."), d.Credential, d.Above/86400))
		if d.Credential != "" && (!strings.Contains(d.Text, d.Credential+" expires at ") && !strings.Contains(d.Text, "has expired") || !strings.Contains(d.ZH, "到期")) {
			w.t.Errorf("told %s %s", d.Text, d.ZH)
		}
	}
	return all
}

// Each certificate and key is told of 30, 7 and 1 days before its end, each time once, and when it
// was replaced.
func TestCredentialExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const day = 24 * time.Hour
		set, stop := w.watched(alarm.Rule{Name: "expires", When: alarm.CredentialExpires, To: "ops"})
		defer stop()
		far := alarm.Credential{Name: "keys.far", Expires: start.Add(1000 * day)}
		shop := alarm.Credential{Name: "keys.shop", Expires: start.Add(33*day + time.Hour)}
		near := alarm.Credential{Name: "queues.wx.channel.certificate", Queue: "wx", Expires: start.Add(5*day + time.Hour)}
		set(far, shop, near)
		w.pass(36 * day)
		set(far)
		w.pass(day)
		want := []string{
			"0 began queues.wx.channel.certificate 7", // and not of 30 days, too
			"3 began keys.shop 30",
			"4 began queues.wx.channel.certificate 1",
			"26 began keys.shop 7",
			"32 began keys.shop 1",
			"36 ended keys.shop 1", "36 ended keys.shop 30", "36 ended keys.shop 7",
			"36 ended queues.wx.channel.certificate 1", "36 ended queues.wx.channel.certificate 7",
		}
		got := w.summary()
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A rule of a queue is about that queue's credentials. Of many that end at once most are only
// counted.
func TestCredentialsOfQueueAndMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		set, stop := w.watched(alarm.Rule{Name: "expires", When: alarm.CredentialExpires, Queue: "wx", To: "ops"})
		defer stop()
		all := []alarm.Credential{{Name: "keys.shop", Expires: start}, {Name: "queues.ali.channel.app_certificate", Queue: "ali", Expires: start}}
		set(all...)
		w.pass(time.Hour)
		if got := w.summary(); got != nil {
			t.Errorf("told %v; want nothing of other queues", got)
		}
		for i := range 30 {
			all = append(all, alarm.Credential{Name: fmt.Sprint("accounts.A", i), Queue: "wx", Expires: start})
		}
		set(all...)
		w.pass(time.Hour)
		if got := w.summary(); len(got) != 21 || !slices.ContainsFunc(got, func(s string) bool { return s == "0 began  0" }) {
			t.Errorf("told %v; want 20, and one for the rest", got)
		}
	})
}

// Of up to twenty credentials that end together each is told of by name at each of the three times:
// the alarms of the longer times are still raised, and take no place.
func TestCredentialsThatEndTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const day = 24 * time.Hour
		set, stop := w.watched(alarm.Rule{Name: "expires", When: alarm.CredentialExpires, To: "ops"})
		defer stop()
		var all []alarm.Credential
		var want []string
		for i := range 20 {
			name := fmt.Sprint("keys.k", i)
			all = append(all, alarm.Credential{Name: name, Expires: start.Add(40*day + time.Hour)})
			want = append(want, "10 began "+name+" 30", "33 began "+name+" 7", "39 began "+name+" 1")
		}
		set(all...)
		w.pass(40 * day)
		got := w.summary()
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
