package server_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/config"
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

// The log warns of each queue and merchant that signs with MD5, and of no other.
func TestWeakSchemesAreLogged(t *testing.T) {
	var log bytes.Buffer
	api, _, stop := serveLogged(t, t.TempDir(), slog.New(slog.NewTextHandler(&log, nil)), func(c *config.Config) {
		c.MasterKeys = []sign.Secret{sign.NewSecret(randomKey(""))}
		c.Queues = append(c.Queues, c.Queues[0])
		c.Queues[1].Name, c.Queues[1].Sign = "weak", sign.Config{Scheme: sign.RoncooMD5, Secrets: []sign.Secret{sign.NewSecret(randomKey(""))}}
	})
	signed := func(no, scheme, prefix string) client.PutMerchant {
		return client.PutMerchant{MerchantNo: no, Sign: &client.MerchantSign{Scheme: scheme, Secrets: []string{randomKey(prefix)}}}
	}
	put(t, api, "M1", signed("", "md5_params", ""))
	put(t, api, "M2", signed("", "standard_webhooks", "whsec_"))
	batch := client.MerchantBatch{DryRun: true, Merchants: []client.PutMerchant{signed("M3", "jeepay_md5", ""), signed("M4", "md5_params", ""), signed("M5", "hmac_sha256_params", ""), {MerchantNo: "M6"}}}
	for range 2 {
		if _, err := api.PutMerchants(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		batch.DryRun = false
	}
	stop()
	var warned []string
	for line := range strings.Lines(log.String()) {
		if _, rest, is := strings.Cut(line, "signatures are made with MD5"); is {
			_, rest, _ = strings.Cut(rest, "\" ")
			warned = append(warned, strings.TrimSpace(rest))
		}
	}
	want := []string{"queue=weak scheme=roncoo_md5", "merchant_no=M1 scheme=md5_params", "merchants=2"}
	if !slices.Equal(warned, want) {
		t.Errorf("the log warns of %q; want %q", warned, want)
	}
}

// Each attempt uses the merchant's address, rule, schedule and keys as they are then.
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

	stop() // nobody writes to the log any more
	for _, secret := range []string{former, newer, last, master} {
		if text := strings.TrimPrefix(secret, "whsec_"); strings.Contains(log.String(), text) {
			t.Errorf("a secret stands in the log: %s", log.String())
		}
	}
}

// Tasks without a schedule of their own follow the merchant's, also those that exist already.
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

// A task of an unregistered merchant is refused when it is added. If the merchant was deleted
// meanwhile, its attempts fail with a clear error, and nothing is lost.
func TestMerchantMissing(t *testing.T) {
	api, _, stop := serve(t, t.TempDir(), nil)
	defer stop()
	_, _, err := api.Create(t.Context(), client.CreateTask{Queue: "default", MerchantNo: "M1"})
	if p, ok := err.(*client.Problem); !ok || p.Status != 422 || len(p.Errors) != 1 || p.Errors[0].Location != "body.url" || !strings.Contains(p.Errors[0].Message, "M1") {
		t.Fatalf("create without any address: %v", err)
	}
	s := openNotified(t, "no")
	put(t, api, "M1", client.PutMerchant{NotifyURL: s.URL, Schedule: "0s, 2s*150"})
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
	if p, err := api.Merchants(t.Context(), client.MerchantSearch{Paused: true}); err != nil || len(p.Merchants) != 1 || p.Merchants[0].MerchantNo != "M1" || p.NextCursor != "" {
		t.Errorf("the merchants that are paused: %+v, %v; want M1 alone", p, err)
	}
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

// A server with another master key is not ready and says which key it lacks. It sends nothing
// unsigned, and goes on when the key is back.
func TestMerchantMasterKeys(t *testing.T) {
	t.Parallel()
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
	passes(t, "ready with both", func() bool { return api.Ready(t.Context()) == nil })
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
	passes(t, "ready with the newer alone, after a reseal", func() bool { return api.Ready(t.Context()) == nil })
	again(t, api, task.ID, 4)
	if _, _, n := s.last(); n != sent+2 {
		t.Errorf("%d requests, want %d", n, sent+2)
	}
}

// A test goes the real way; figures say how it went; the audit who did what. A registered merchant
// that accepts nothing, on a host on which another accepts everything, is in the metrics and on the
// first page until it accepts something. One that nobody registered is not.
func TestMerchantThatFailsIsSeen(t *testing.T) {
	t.Parallel()
	api, s, stop := serve(t, t.TempDir(), func(c *config.Config) { c.Queues[0].Schedule = "0s, 10ms, 10ms, 100ms*" })
	defer stop()
	var well atomic.Bool
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" && !well.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
		io.WriteString(w, "success")
	}))
	defer host.Close()
	put(t, api, "M-bad", client.PutMerchant{NotifyURL: host.URL + "/bad"})
	put(t, api, "M-good", client.PutMerchant{NotifyURL: host.URL + "/good"})
	create(t, api, client.CreateTask{Queue: "default", MerchantNo: "M-bad"})
	create(t, api, client.CreateTask{Queue: "default", MerchantNo: "M-stranger", URL: host.URL + "/bad"})
	for range 5 {
		create(t, api, client.CreateTask{Queue: "default", MerchantNo: "M-good"})
	}
	pageAt := func(path string) string {
		_, text := fetch(t, "http://"+s.Addr()+path)
		return text
	}
	page := func() string { return pageAt("/") }
	var text string
	passes(t, "in the metrics", func() bool {
		text = scrape(t, s.Addr())
		return strings.Contains(text, `bellman_merchant_failing{merchant="M-bad"} 1`)
	})
	if !strings.Contains(text, "bellman_merchants_failing 1\n") {
		t.Error("more merchants fail than the one that does")
	}
	var failing *client.MerchantPage
	var err error
	passes(t, "its backlog is counted", func() bool { // a list does not count what would take longer than 40 ms
		failing, err = api.Merchants(t.Context(), client.MerchantSearch{State: "failing"})
		if err != nil || len(failing.Merchants) != 1 || failing.Merchants[0].MerchantNo != "M-bad" {
			t.Fatalf("failing are %+v, %v; want M-bad alone", failing, err)
		}
		return failing.Merchants[0].Backlog != nil
	})
	if m := failing.Merchants[0]; m.Backlog.Pending != 1 || m.Hour == nil || m.Hour.FailingSince == nil || *m.Hour.SuccessRate != 0 || m.Hour.LastFailure.Status != 500 {
		t.Errorf("M-bad has the backlog %+v and the last hour %+v; want one task, and 500 each time", m.Backlog, m.Hour)
	}
	var good *client.Merchant
	passes(t, "five attempts of M-good", func() bool {
		good, err = api.Merchant(t.Context(), "M-good")
		return err != nil || good.Hour != nil && good.Hour.Attempts == 5
	})
	if err != nil || *good.Hour.SuccessRate != 1 || good.Hour.FailingSince != nil {
		t.Errorf("M-good has the last hour %+v, %v; want 5 accepted", good.Hour, err)
	}
	needs, err := api.Attention(t.Context())
	if err != nil || !slices.ContainsFunc(needs.Items, func(a client.Attention) bool {
		return a.Kind == "merchant_failing" && a.Name == "M-bad" && a.Tasks == 1 && a.Failure != nil && a.Failure.Status == 500
	}) {
		t.Errorf("what needs a person is %+v, %v; want M-bad with its last failure", needs, err)
	}
	passes(t, "on the first page", func() bool { return strings.Contains(page(), `/merchants/show?no=M-bad"`) })
	passes(t, "on its own page", func() bool {
		text := pageAt("/merchants/show?no=M-bad")
		return strings.Contains(text, ">Failing<") && !strings.Contains(text, ">Normal<") && !strings.Contains(text, "100 %")
	})
	if strings.Contains(page(), "M-good") || strings.Contains(page(), "M-stranger") {
		t.Error("the first page names a merchant that does not fail, or that is not registered")
	}
	well.Store(true)
	passes(t, "over", func() bool {
		return strings.Contains(scrape(t, s.Addr()), "bellman_merchants_failing 0\n") && !strings.Contains(page(), "M-bad")
	})
}

func TestMerchantTestAndFigures(t *testing.T) {
	api, _, stop := serve(t, t.TempDir(), nil)
	defer stop()
	s := openNotified(t, "no")
	put(t, api, "M/1+商户", client.PutMerchant{NotifyURL: s.URL})
	task, err := api.TestMerchant(t.Context(), "M/1+商户", client.TestMerchant{Reason: "new"})
	if err != nil {
		t.Fatal(err)
	}
	d := until(t, api, task.ID, func(d *client.TaskDetail) bool { return d.State == "failed" })
	if _, body, n := s.last(); n != 1 || !bytes.Contains(body, []byte("bellman.test")) || d.Event != "bellman.test" || d.Attempts != 1 {
		t.Errorf("a test: %d requests, %s, %+v", n, body, d)
	}
	stats, err := api.MerchantStats(t.Context(), "M/1+商户")
	if err != nil || stats.Tasks != 1 || stats.Failed != 1 || stats.SuccessRate == nil || *stats.SuccessRate != 0 || len(stats.LastFailed) != 1 || stats.Results["refused"] != 1 {
		t.Errorf("figures: %+v, %v", stats, err)
	}
	var actions []string
	for a, err := range api.Audits(t.Context(), client.AuditFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if a.Target == "merchant/M/1+商户" {
			actions = append(actions, a.Action)
		}
	}
	if fmt.Sprint(actions) != "[test put]" {
		t.Errorf("audited %v, want a test and a put", actions)
	}
}
