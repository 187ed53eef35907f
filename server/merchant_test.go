package server_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/config"
	"github.com/bellmanhq/bellman/deliver/sign"
)

// A notified is where a merchant is told: it notes what came, and answers as it is told.
type notified struct {
	*httptest.Server
	mu     sync.Mutex
	answer string
	got    []*http.Request
	bodies [][]byte
}

func openNotified(t *testing.T, answer string) *notified {
	s := &notified{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.got, s.bodies = append(s.got, r), append(s.bodies, body)
		io.WriteString(w, s.answer)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *notified) last() (*http.Request, []byte, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.got) == 0 {
		return nil, nil, 0
	}
	return s.got[len(s.got)-1], s.bodies[len(s.got)-1], len(s.got)
}

func (s *notified) says(answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func randomKey(prefix string) string {
	key := make([]byte, 32)
	rand.Read(key)
	return prefix + base64.StdEncoding.EncodeToString(key)
}

func put(t *testing.T, api *client.Client, no string, in client.PutMerchant) *client.Merchant {
	t.Helper()
	m, _, err := api.PutMerchant(t.Context(), no, in)
	if err != nil {
		t.Fatalf("put merchant %s: %v", no, err)
	}
	return m
}

// resend makes one more attempt now, and returns the task when it is recorded.
func again(t *testing.T, api *client.Client, id string, n int) *client.TaskDetail {
	t.Helper()
	if _, err := api.Resend(t.Context(), client.ByID(id), client.ResendTask{}); err != nil {
		t.Fatal(err)
	}
	return until(t, api, id, attempted(n))
}

// A merchant's address, rule, schedule and keys stand at each attempt as they are
// then.
func TestMerchantAtEachAttempt(t *testing.T) {
	var log bytes.Buffer
	master, former, newer := randomKey(""), randomKey("whsec_"), randomKey("whsec_")
	api, _, stop := serveLogged(t, t.TempDir(), slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		func(c *config.Config) { c.MasterKeys = []sign.Secret{sign.NewSecret(master)} })
	first, second := openNotified(t, "no"), openNotified(t, "no")

	in := client.PutMerchant{Name: "Zhang", NotifyURL: first.URL + "/a", Schedule: "0s, 1h, 2h", Sign: &client.MerchantSign{Scheme: "standard_webhooks", Secrets: []string{former}}}
	m := put(t, api, "M1", in)
	if text, _ := json.Marshal(m); bytes.Contains(text, []byte(former[8:40])) || m.Sign == nil || m.Sign.Secrets[0] != "***"+former[len(former)-4:] {
		t.Errorf("PUT answers %s; want the last four characters of the secret alone", text)
	}
	task := create(t, api, client.CreateTask{Queue: "default", MerchantNo: "M1", Body: "{}"})
	if task.Schedule != "0s, 1h, 2h" {
		t.Errorf("schedule %q, want the merchant's", task.Schedule)
	}
	d := until(t, api, task.ID, attempted(1))
	r, body, n := first.last()
	if n != 1 || r.URL.Path != "/a" {
		t.Fatalf("%d requests, the last %+v; %+v", n, r, d)
	}
	verify := func(r *http.Request, body []byte, keys ...string) {
		t.Helper()
		for _, key := range keys {
			w, err := standardwebhooks.NewWebhook(key)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Verify(body, r.Header); err != nil {
				t.Errorf("verify with …%s: %v", key[len(key)-4:], err)
			}
		}
		if got := len(strings.Fields(r.Header.Get("Webhook-Signature"))); got != len(keys) {
			t.Errorf("%d signatures, want %d", got, len(keys))
		}
	}
	verify(r, body, former)

	// Another address, with a path of its own, from the next attempt on.
	in.NotifyURL, in.Sign.Secrets = second.URL+"/b", nil
	put(t, api, "M1", in)
	again(t, api, task.ID, 2)
	if r, body, n = second.last(); n != 1 || r.URL.Path != "/b" {
		t.Fatalf("%d requests at the new address, the last %+v", n, r)
	}
	verify(r, body, former)

	// A new secret signs beside the former one.
	rotated, err := api.RotateMerchant(t.Context(), "M1", client.RotateMerchant{Secret: newer, Overlap: "1h"})
	if err != nil || len(rotated.Sign.Keys) != 2 || rotated.Sign.Keys[0].Until != nil || rotated.Sign.Keys[1].Until == nil {
		t.Fatalf("rotate: %+v, %v", rotated, err)
	}
	again(t, api, task.ID, 3)
	r, body, _ = second.last()
	verify(r, body, newer, former)
	// … and once more without any overlap.
	last := randomKey("whsec_")
	if _, err := api.RotateMerchant(t.Context(), "M1", client.RotateMerchant{Secret: last, Overlap: "0s"}); err != nil {
		t.Fatal(err)
	}
	again(t, api, task.ID, 4)
	r, body, _ = second.last()
	verify(r, body, last)

	// The rule is the merchant's, and looked at each time.
	second.says("thanks")
	in.Success = `body == "thanks"`
	put(t, api, "M1", in)
	if d := again(t, api, task.ID, 5); d.State != "succeeded" {
		t.Errorf("%s, want the merchant's rule to accept", d.State)
	}

	for _, secret := range []string{former, newer, last, master} {
		if text := strings.TrimPrefix(secret, "whsec_"); strings.Contains(log.String(), text) {
			t.Errorf("a secret stands in the log: %s", log.String())
		}
	}
	stop()
}

// A schedule of the merchant's is followed by tasks that gave none, also by those that
// are there already.
func TestMerchantSchedule(t *testing.T) {
	api, _, stop := serve(t, t.TempDir(), nil)
	defer stop()
	s := openNotified(t, "no")
	in := client.PutMerchant{NotifyURL: s.URL, Schedule: "0s, 1h, 2h"}
	put(t, api, "M1", in)
	lent := create(t, api, client.CreateTask{Queue: "default", MerchantNo: "M1"})
	own := create(t, api, client.CreateTask{Queue: "default", MerchantNo: "M1", Schedule: "0s, 1h*5"})
	until(t, api, lent.ID, attempted(1))
	until(t, api, own.ID, attempted(1))
	in.Schedule = "0s, 10ms*2"
	put(t, api, "M1", in)
	for _, task := range []*client.Task{lent, own} {
		if _, err := api.Resend(t.Context(), client.ByID(task.ID), client.ResendTask{Mode: "restart"}); err != nil {
			t.Fatal(err)
		}
	}
	if d := until(t, api, lent.ID, func(d *client.TaskDetail) bool { return d.State == "failed" }); d.Attempts != 4 {
		t.Errorf("%d attempts, want one and three by the new schedule", d.Attempts)
	}
	if d := until(t, api, own.ID, attempted(2)); d.State != "pending" || time.Until(d.Due.Time) < 50*time.Minute {
		t.Errorf("a schedule of the task's own was not kept: %+v", d)
	}
}

// What is not registered is refused when it is added, and fails with a clear error
// when it was deleted meanwhile; nothing is lost.
func TestMerchantMissing(t *testing.T) {
	api, _, stop := serve(t, t.TempDir(), nil)
	defer stop()
	_, _, err := api.Create(t.Context(), client.CreateTask{Queue: "default", MerchantNo: "M1"})
	if p, ok := err.(*client.Problem); !ok || p.Status != 422 || len(p.Errors) != 1 || p.Errors[0].Location != "body.url" || !strings.Contains(p.Errors[0].Message, "M1") {
		t.Fatalf("create without any address: %v", err)
	}
	s := openNotified(t, "no")
	put(t, api, "M1", client.PutMerchant{NotifyURL: s.URL, Schedule: "0s, 30ms*200"})
	task := create(t, api, client.CreateTask{Queue: "default", MerchantNo: "M1"})
	until(t, api, task.ID, attempted(1))
	if err := api.DeleteMerchant(t.Context(), "M1", "moved away"); err != nil {
		t.Fatal(err)
	}
	d := until(t, api, task.ID, func(d *client.TaskDetail) bool { return d.Last.Error != "" })
	if d.Last.Result != "unreachable" || !strings.Contains(d.Last.Error, "merchant M1") || d.State != "pending" {
		t.Errorf("an attempt without a merchant: %+v", d.Last)
	}
	s.says("success")
	put(t, api, "M1", client.PutMerchant{NotifyURL: s.URL})
	again(t, api, task.ID, d.Attempts+1)
	until(t, api, task.ID, func(d *client.TaskDetail) bool { return d.State == "succeeded" })
	if err := api.DeleteMerchant(t.Context(), "M2", ""); err == nil || err.(*client.Problem).Status != 404 {
		t.Errorf("delete of nobody: %v", err)
	}
}

// A pause holds what names the merchant, wherever it goes, and nobody else.
func TestMerchantPause(t *testing.T) {
	dir := t.TempDir()
	api, _, stop := serve(t, dir, nil)
	s := openNotified(t, "success")
	put(t, api, "M1", client.PutMerchant{NotifyURL: s.URL + "/m1"})
	put(t, api, "M2", client.PutMerchant{NotifyURL: s.URL + "/m2"})
	if err := api.PauseMerchant(t.Context(), "M1", client.Because{Reason: "asked to"}); err != nil {
		t.Fatal(err)
	}
	if m, err := api.Merchant(t.Context(), "M1"); err != nil || m.Paused == nil || m.Paused.Reason != "asked to" {
		t.Errorf("paused: %+v, %v", m, err)
	}
	held := create(t, api, client.CreateTask{Queue: "default", MerchantNo: "M1"})
	own := create(t, api, client.CreateTask{Queue: "default", MerchantNo: "M1", URL: s.URL + "/own"})
	other := create(t, api, client.CreateTask{Queue: "default", MerchantNo: "M2"})
	until(t, api, other.ID, attempted(1))
	stop()
	api, _, stop = serve(t, dir, nil) // over a restart too
	defer stop()
	another := create(t, api, client.CreateTask{Queue: "default", MerchantNo: "M2"})
	until(t, api, another.ID, attempted(1))
	for _, task := range []*client.Task{held, own} {
		if d, err := api.Task(t.Context(), client.ByID(task.ID)); err != nil || d.Attempts != 0 || !d.Due.Equal(task.Due.Time) {
			t.Errorf("a task of a paused merchant: %+v, %v", d, err)
		}
	}
	if err := api.ResumeMerchant(t.Context(), "M1", client.Because{}); err != nil {
		t.Fatal(err)
	}
	for _, task := range []*client.Task{held, own} {
		until(t, api, task.ID, func(d *client.TaskDetail) bool { return d.State == "succeeded" })
	}
}

// A server with another master key is not ready and says which it lacks; it sends
// nothing unsigned, and goes on when the key is back.
func TestMerchantMasterKeys(t *testing.T) {
	dir := t.TempDir()
	former, newer := randomKey(""), randomKey("")
	with := func(keys ...string) func(*config.Config) {
		return func(c *config.Config) {
			for _, k := range keys {
				c.MasterKeys = append(c.MasterKeys, sign.NewSecret(k))
			}
		}
	}
	s := openNotified(t, "no")
	in := client.PutMerchant{NotifyURL: s.URL, Schedule: "0s, 1h", Sign: &client.MerchantSign{Scheme: "standard_webhooks", Secrets: []string{randomKey("whsec_")}}}

	api, _, stop := serve(t, dir, nil)
	if _, _, err := api.PutMerchant(t.Context(), "M1", in); err == nil || !strings.Contains(err.Error(), "master_key") {
		t.Errorf("a secret without a master key: %v", err)
	}
	stop()

	api, _, stop = serve(t, dir, with(former))
	m := put(t, api, "M1", in)
	id := m.Sign.Keys[0].MasterID
	task := create(t, api, client.CreateTask{Queue: "default", MerchantNo: "M1"})
	until(t, api, task.ID, attempted(1))
	stop()

	_, _, sent := s.last()
	api, _, stop = serve(t, dir, with(newer))
	if err := api.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), id) {
		t.Errorf("ready with another master key: %v; want it to name %s", err, id)
	}
	d := again(t, api, task.ID, 2)
	if _, _, n := s.last(); n != sent || !strings.Contains(d.Last.Error, id) {
		t.Errorf("%d requests more; the attempt says %q, want the missing key %s", n-sent, d.Last.Error, id)
	}
	stop()

	api, _, stop = serve(t, dir, with(newer, former))
	eventually(t, "ready with both", func() bool { return api.Ready(t.Context()) == nil })
	again(t, api, task.ID, 3)
	if _, _, n := s.last(); n != sent+1 {
		t.Errorf("%d requests, want %d", n, sent+1)
	}
	done, err := api.ResealMerchants(t.Context(), client.Because{})
	if err != nil || done.Examined != 1 || done.Resealed != 1 || done.Unreadable != 0 {
		t.Errorf("reseal: %+v, %v", done, err)
	}
	stop()

	api, _, stop = serve(t, dir, with(newer))
	defer stop()
	eventually(t, "ready with the newer alone, after a reseal", func() bool { return api.Ready(t.Context()) == nil })
	again(t, api, task.ID, 4)
	if _, _, n := s.last(); n != sent+2 {
		t.Errorf("%d requests, want %d", n, sent+2)
	}
}

// A test goes the real way; figures say how it went; the audit who did what.
func TestMerchantTestAndFigures(t *testing.T) {
	api, _, stop := serve(t, t.TempDir(), nil)
	defer stop()
	s := openNotified(t, "no")
	put(t, api, "M/1 商户", client.PutMerchant{NotifyURL: s.URL})
	task, err := api.TestMerchant(t.Context(), "M/1 商户", client.TestMerchant{Reason: "new"})
	if err != nil {
		t.Fatal(err)
	}
	d := until(t, api, task.ID, func(d *client.TaskDetail) bool { return d.State == "failed" })
	if _, body, n := s.last(); n != 1 || !bytes.Contains(body, []byte("bellman.test")) || d.Event != "bellman.test" || d.Attempts != 1 {
		t.Errorf("a test: %d requests, %s, %+v", n, body, d)
	}
	stats, err := api.MerchantStats(t.Context(), "M/1 商户")
	if err != nil || stats.Tasks != 1 || stats.Failed != 1 || stats.SuccessRate == nil || *stats.SuccessRate != 0 || len(stats.LastFailed) != 1 || stats.Results["refused"] != 1 {
		t.Errorf("figures: %+v, %v", stats, err)
	}
	var actions []string
	for a, err := range api.Audits(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if a.Target == "merchant/M/1 商户" {
			actions = append(actions, a.Action)
		}
	}
	if fmt.Sprint(actions) != "[test put]" {
		t.Errorf("audited %v, want a test and a put", actions)
	}
}

// A change made at one node is used by the other's next attempt within about a second;
// of several nodes none has to be told.
func TestMerchantOnTwoNodes(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		first, second := openNotified(t, "no"), openNotified(t, "no")
		open := func(node string) *client.Client {
			api, _, stop := serve(t, t.TempDir(), func(c *config.Config) { c.Store, c.Node = d.url, node })
			t.Cleanup(stop)
			return api
		}
		a, b := open("a"), open("b")
		put(t, a, "M1", client.PutMerchant{NotifyURL: first.URL, Schedule: "0s, 1h*100"})
		var tasks []string
		for i := range 40 { // some on each node
			api := []*client.Client{a, b}[i%2]
			task := create(t, api, client.CreateTask{Queue: "default", MerchantNo: "M1"})
			until(t, a, task.ID, attempted(1))
			tasks = append(tasks, task.ID)
		}
		if _, _, n := first.last(); n < len(tasks) {
			t.Fatalf("%d requests, want %d", n, len(tasks))
		}
		put(t, b, "M1", client.PutMerchant{NotifyURL: second.URL})
		changed := time.Now()
		for _, id := range tasks {
			_, _, had := second.last()
			for n := 2; ; n++ {
				again(t, a, id, n)
				if _, _, has := second.last(); has > had {
					break
				}
				if took := time.Since(changed); took > 5*time.Second { // a second, and a busy machine
					t.Fatalf("%v after the change an attempt goes to the former address", took)
				}
			}
		}
	})
}

// A merchant's limits hold for all nodes together: no more at once, and no more a second,
// wherever its tasks come in.
func TestMerchantLimitsOnTwoNodes(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		var mu sync.Mutex
		now, most := map[string]int{}, map[string]int{}
		var started []time.Time
		let := make(chan struct{})
		merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			mu.Lock()
			now[r.URL.Path]++
			most[r.URL.Path] = max(most[r.URL.Path], now[r.URL.Path])
			if r.URL.Path == "/paced" {
				started = append(started, time.Now())
			}
			mu.Unlock()
			if r.URL.Path == "/few" {
				select {
				case <-let:
				case <-r.Context().Done():
				}
			}
			mu.Lock()
			now[r.URL.Path]--
			mu.Unlock()
			io.WriteString(w, "success")
		}))
		t.Cleanup(merchant.Close)
		open := func(node string) *client.Client {
			api, _, stop := serve(t, t.TempDir(), func(c *config.Config) { c.Store, c.Node = d.url, node })
			t.Cleanup(stop)
			return api
		}
		nodes := []*client.Client{open("a"), open("b")}
		for end := time.Now().Add(time.Minute); ; { // both have shards
			all, err := nodes[0].Nodes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(all.Nodes) == 2 && len(all.Nodes[0].Shards) > 0 && len(all.Nodes[1].Shards) > 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatal("two nodes do not share the shards")
			}
		}
		const few, rate, tasks = 2, 20, 40
		put(t, nodes[0], "FEW", client.PutMerchant{NotifyURL: merchant.URL + "/few", PerEndpoint: &client.MerchantLimits{Concurrency: few}})
		var waits []string
		for i := range tasks {
			waits = append(waits, create(t, nodes[i%2], client.CreateTask{Queue: "default", MerchantNo: "FEW"}).ID)
		}
		for end := time.Now().Add(time.Minute); ; { // the limit is reached
			mu.Lock()
			n := now["/few"]
			mu.Unlock()
			if n >= few {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%d attempts are in flight, want %d", n, few)
			}
		}
		close(let)
		for _, id := range waits {
			until(t, nodes[0], id, attempted(1))
		}
		mu.Lock()
		if most["/few"] != few {
			t.Errorf("%d attempts were in flight at once, want %d", most["/few"], few)
		}
		mu.Unlock()

		// The address of the other merchant is the same endpoint: it comes after the first.
		put(t, nodes[1], "FEW", client.PutMerchant{NotifyURL: merchant.URL + "/few"})
		put(t, nodes[1], "PACED", client.PutMerchant{NotifyURL: merchant.URL + "/paced", PerEndpoint: &client.MerchantLimits{Rate: fmt.Sprintf("%d/s", rate)}})
		var paced []string
		for i := range tasks {
			paced = append(paced, create(t, nodes[i%2], client.CreateTask{Queue: "default", MerchantNo: "PACED"}).ID)
		}
		for _, id := range paced {
			until(t, nodes[0], id, attempted(1))
		}
		mu.Lock()
		defer mu.Unlock()
		if len(started) != tasks {
			t.Fatalf("%d requests for %d tasks", len(started), tasks)
		}
		// A busy machine delays some requests behind others: as a whole they are no quicker.
		const spread = 5 // that may go at once when there was nothing for a while
		if took, least := started[tasks-1].Sub(started[0]), time.Duration(tasks-spread)*time.Second/rate*8/10; took < least {
			t.Errorf("%d attempts within %v, want at least %v at %d a second", tasks, took, least, rate)
		}
	})
}

// A limit that is taken is answered as it was given; each other is refused with its bounds.
func TestLimitsAreAnsweredAsGiven(t *testing.T) {
	api, _, stop := serve(t, t.TempDir(), nil)
	defer stop()
	for _, rate := range []string{"50/s", "0.5/s", "10/m", "100/h", "1/h", "1234.5678/s", "1000000/s"} {
		m := put(t, api, "M1", client.PutMerchant{PerEndpoint: &client.MerchantLimits{Rate: rate, Concurrency: 100_000}})
		if m.PerEndpoint.Rate != rate || m.PerEndpoint.Concurrency != 100_000 {
			t.Errorf("a rate of %s is answered as %+v", rate, m.PerEndpoint)
		}
		if again := put(t, api, "M1", client.PutMerchant{PerEndpoint: &m.PerEndpoint}); again.Version != m.Version {
			t.Errorf("a rate of %s: what was answered is another merchant than was put", rate)
		}
		if rate == "1000000/s" {
			continue // more than a job may have
		}
		job, err := api.StartResend(t.Context(), client.BulkResend{Filter: client.Filter{MerchantNo: "M1"}, Mode: "once", Reason: "r", Rate: rate})
		if err != nil || job.Rate != rate {
			t.Errorf("a job of %s: %+v, %v", rate, job, err)
		}
	}
	for _, rate := range []string{"0/s", "-1/s", "NaN/s", "1e9/s", "2000000/s", "0.0000001/s", "0.9/h"} {
		for what, do := range map[string]func() error{
			"merchant": func() error {
				_, _, err := api.PutMerchant(t.Context(), "M1", client.PutMerchant{PerEndpoint: &client.MerchantLimits{Rate: rate}})
				return err
			},
			"job": func() error {
				_, err := api.StartResend(t.Context(), client.BulkResend{Filter: client.Filter{MerchantNo: "M1"}, Mode: "once", Reason: "r", Rate: rate})
				return err
			},
		} {
			var p *client.Problem
			if err := do(); !errors.As(err, &p) || p.Status != 422 || len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Message, "1/h to 1") {
				t.Errorf("a %s of %s: %v; want it refused with the bounds", what, rate, err)
			}
		}
	}
}

// That a merchant is there already hides nothing that is wrong besides.
func TestAConflictHidesNothing(t *testing.T) {
	api, _, stop := serve(t, t.TempDir(), nil)
	defer stop()
	put(t, api, "M1", client.PutMerchant{Name: "Tea"})
	bad := client.PutMerchant{Version: "none", Schedule: "often", Timeout: "soon"}
	_, _, err := api.PutMerchant(t.Context(), "M1", bad)
	var p *client.Problem
	if !errors.As(err, &p) || p.Status != 409 || len(p.Errors) != 2 || p.Errors[0].Location != "body.timeout" || p.Errors[1].Location != "body.schedule" {
		t.Errorf("PutMerchant: %v; want 409, and both fields that are wrong", err)
	}
	bad.MerchantNo = "M1"
	done, err := api.PutMerchants(t.Context(), client.MerchantBatch{Merchants: []client.PutMerchant{{MerchantNo: "M2"}, bad}, DryRun: true})
	if err != nil || len(done) != 2 || done[1].Error == nil || done[1].Error.Status != 409 || len(done[1].Error.Errors) != 2 || done[1].Error.Errors[0].Location != "body.merchants[1].timeout" {
		t.Errorf("PutMerchants: %+v, %v; want the second refused so", done, err)
	}
}
