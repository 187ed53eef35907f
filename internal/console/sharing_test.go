package console

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/sharelink"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// openLinks opens a console with links, and with what many merchants were told.
func openLinks(t testing.TB, keys ...access.Key) *site {
	t.Helper()
	f := &fake{Store: memory.New()}
	secret := newOwn()
	s := openWith(t, f, Options{Keys: keys, Secret: secret, Links: sharelink.New(f, secret), PublicURL: "https://bellman.example",
		Tells: func(task *bellman.Task) bool { return task.Queue != "alerts" }})
	s.story(t)
	f.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1001", OrderNo: "A-2", URL: "http://10.1.2.3:8080/internal?token=s3cr3t", Header: map[string]string{"X-Secret": "s3cr3t"}}, t0.Add(time.Minute),
		bellman.Attempt{Due: t0, Started: t0.Add(time.Minute), Took: time.Second, Result: bellman.Unreachable, Error: "dial tcp 10.1.2.3:8080: connection refused", Node: "node-of-ours/1"},
		bellman.Attempt{Due: t0, Started: t0.Add(time.Minute), Took: time.Second, Result: bellman.Refused, Status: 502, Response: "said by one of ours"})
	f.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1002", OrderNo: "of another", URL: "https://other.example/n"}, t0.Add(2*time.Minute))
	f.add(t, &bellman.Task{Queue: "alerts", MerchantNo: "M1001", OrderNo: "for ops alone", URL: "https://ops.example/n"}, t0.Add(3*time.Minute))
	return s
}

// makeLink makes a link as people do, and returns its page's and its own path.
func (s *site) makeLink(t testing.TB, order string) (page, path string) {
	t.Helper()
	got := s.post(t, "/links/new", "/links", "merchant_no", "M1001", "order_no", order, "life", "6h", "reason", "asks whether we sent it")
	if got.StatusCode != http.StatusSeeOther {
		t.Fatalf("making a link: %d %s", got.StatusCode, got.body)
	}
	page, _, _ = strings.Cut(got.Header.Get("Location"), "?")
	_, path, found := strings.Cut(s.get(t, page).body, "https://bellman.example/shared/")
	if !found {
		t.Fatal("the page of the link has no address")
	}
	path, _, _ = strings.Cut(path, "<")
	return page, sharedPath + path
}

// A link shows the notices of its merchant, or of its order, and nothing else.
func TestALinkShowsOneMerchant(t *testing.T) {
	s := openLinks(t, testKeys...)
	s.signIn(t, "ops")
	_, merchant := s.makeLink(t, "")
	_, order := s.makeLink(t, "A-1")
	s.client = s.browser(t) // somebody without an account
	for _, tt := range []struct {
		name, path    string
		says, saysNot []string
	}{
		{"the merchant's", merchant, []string{"A-1", "A-2", "B-1", "success", "HTTP 200", "&lt;b&gt;busy&lt;/b&gt;", "Unreachable", "https://m.example/notify"}, nil},
		{"the order's", order, []string{"A-1", "success"}, []string{"A-2", "B-1"}},
		{"of the merchant's one order", merchant + "?order_no=A-2", []string{"A-2"}, []string{"<h2>A-1", "B-1"}},
		{"the order's, and another is asked for", order + "?order_no=A-2", []string{"A-1"}, []string{"A-2"}},
		{"none", merchant + "?order_no=none", []string{"There are no notices"}, []string{"A-1"}},
	} {
		got := s.get(t, tt.path, "Accept-Language: en")
		if got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", tt.name, got.StatusCode)
		}
		for _, want := range tt.says {
			if !strings.Contains(got.body, want) {
				t.Errorf("%s does not say %q", tt.name, want)
			}
		}
		for _, not := range append(tt.saysNot, "M1002", "other.example", "for ops alone", "10.1.2.3", "s3cr3t", "said by one of ours", "HTTP 502", "node-of-ours", "vm/1", "Authorization", "NOTPAY", "appid", "ops", "pw@", "token=") {
			if strings.Contains(got.body, not) {
				t.Errorf("%s says %q", tt.name, not)
			}
		}
		h := got.Header
		if h.Get("Referrer-Policy") != "no-referrer" || h.Get("X-Robots-Tag") == "" || h.Get("Cache-Control") != "no-store" || len(got.Cookies()) > 0 ||
			strings.Contains(h.Get("Content-Security-Policy"), "unsafe") || strings.Contains(h.Get("Content-Security-Policy"), "connect-src") {
			t.Errorf("%s: headers %v", tt.name, h)
		}
	}
	if got := s.get(t, merchant+"?lang=zh", "Accept-Language: en"); !strings.Contains(got.body, "商户 M1001 的通知") {
		t.Error("it is not there in Chinese")
	}
	_, notices, _ := strings.Cut(s.get(t, order, "Accept-Language: en").body, `<section class="panel notice">`) // what stands before says what time it is
	golden(t, "shared", `<main id="main"><section class="panel notice">`+notices)
}

// A notice without an address of its own goes to the merchant's registered address. If that is
// internal, the answer is not shown either.
func TestALinkHidesTheAnswersOfInternalAddresses(t *testing.T) {
	s := openLinks(t)
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1001", OrderNo: "D-1"}, t0,
		bellman.Attempt{Due: t0, Started: t0, Took: time.Second, Result: bellman.Refused, Status: 502, Response: "what it says"})
	_, path := s.makeLink(t, "D-1")
	for address, want := range map[string]bool{"https://m.example/n": true, "http://10.9.9.9/n": false} {
		s.fake.guided = map[string]bellman.Route{"M1001": {URL: address}}
		body := s.get(t, path, "Accept-Language: en").body
		if strings.Contains(body, "what it says") != want || strings.Contains(body, "HTTP 502") != want || !strings.Contains(body, "D-1") || strings.Contains(body, "10.9.9.9") {
			t.Errorf("of a merchant at %s: the answer is to be shown: %t: %s", address, want, body)
		}
	}
}

// A notice that somebody marked as accepted was not confirmed by its merchant, and the
// merchant's link does not say so.
func TestALinkDoesNotConfirmForTheMerchant(t *testing.T) {
	s := openLinks(t)
	refused := bellman.Attempt{Started: t0, Result: bellman.ErrorStatus, Status: 500}
	accepted := bellman.Attempt{Started: t0, Result: bellman.Accepted, Status: 200}
	many := make([]bellman.Attempt, sharedAttempts+1)
	for i := range many {
		many[i] = refused
	}
	for i, tt := range []struct {
		name, reason string
		log          []bellman.Attempt
		confirmed    bool
	}{
		{"after refusals", "told by telephone", []bellman.Attempt{refused, refused}, false},
		{"with a reason that sounds so", "accepted", []bellman.Attempt{refused}, false},
		{"before any attempt", "callback", nil, false},
		{"after many refusals", "told by telephone", many, false},
		{"accepted", "accepted", []bellman.Attempt{refused, accepted}, true},
		{"accepted after it was ended", "callback", []bellman.Attempt{accepted}, true},
		{"accepted, and sent again often", "accepted", append([]bellman.Attempt{accepted}, many[1:]...), true},
	} {
		no := fmt.Sprint("C-", i)
		to := bellman.Status{State: bellman.Succeeded, Reason: tt.reason, Finished: t0, Version: 2}
		task := s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1001", OrderNo: no, URL: "https://m.example/notify", Status: to}, t0.Add(time.Duration(i)*time.Hour), tt.log...)
		if len(tt.log) == 0 {
			b := store.Batch{Changes: []store.Change{{ID: task.ID, Version: 1, To: to}}}
			if err := s.fake.Commit(t.Context(), &b); err != nil || b.Changes[0].Err != nil {
				t.Fatal(err, b.Changes[0].Err)
			}
		}
		_, path := s.makeLink(t, no)
		body := s.get(t, path, "Accept-Language: en").body
		if got, not := strings.Contains(body, "</svg>Confirmed<"), strings.Contains(body, "Ended by us, without your confirmation"); got != tt.confirmed || not == tt.confirmed {
			t.Errorf("%s: shown as confirmed is %t, as ended by us %t", tt.name, got, not)
		}
	}
}

// Who has a link can do nothing but look, and whoever has none sees one clear page.
func TestALinkThatShowsNothing(t *testing.T) {
	s := openLinks(t, testKeys...)
	s.signIn(t, "ops")
	page, path := s.makeLink(t, "")
	_, other := s.makeLink(t, "")
	if got := s.post(t, page, page, "reason", ""); got.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("revoking without a reason: %d", got.StatusCode)
	}
	if got := s.post(t, page, page, "reason", "sent to the wrong one"); got.StatusCode != http.StatusSeeOther {
		t.Fatalf("revoking: %d", got.StatusCode)
	}
	if body := s.get(t, page).body; strings.Contains(body, "/shared/") || !strings.Contains(body, "Revoked") {
		t.Error("the page of a link that was revoked has its address still")
	}
	s.client = s.browser(t)
	for _, tt := range []struct {
		name, method, path string
		status             int
		says               string
	}{
		{"revoked", "GET", path, http.StatusGone, "was withdrawn"},
		{"changed", "GET", other[:len(other)-2] + "AA", http.StatusForbidden, "not valid"},
		{"nonsense", "GET", "/shared/x", http.StatusForbidden, "not valid"},
		{"good", "GET", other, http.StatusOK, "A-1"},
		{"a form", "POST", other, http.StatusUnauthorized, ""}, // as any path that takes an account
	} {
		got := s.do(t, tt.method, tt.path, nil, "Accept-Language: en")
		if got.StatusCode != tt.status || !strings.Contains(got.body, tt.says) {
			t.Errorf("%s: %d; want %d and %q", tt.name, got.StatusCode, tt.status, tt.says)
		}
		if tt.status != http.StatusOK && strings.Contains(got.body, "M1001") {
			t.Errorf("%s names the merchant", tt.name)
		}
	}
	for range maxViews {
		s.get(t, other)
	}
	if got := s.get(t, other); got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" || strings.Contains(got.body, "A-1") {
		t.Errorf("looked at too often: %d", got.StatusCode)
	}
}

// Each page of a link goes on where the one before ended.
func TestALinkGoesOn(t *testing.T) {
	s := openLinks(t)
	for i := range 45 {
		s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1001", OrderNo: fmt.Sprintf("many-%02d", i), URL: "https://m.example/n"}, t0.Add(time.Hour+time.Duration(i)*time.Second))
	}
	_, path := s.makeLink(t, "")
	seen := map[string]bool{}
	for at := path; at != ""; {
		body := s.get(t, at).body
		at = ""
		for part := range strings.SplitSeq(body, "<h2>") {
			name, _, _ := strings.Cut(part, "</h2>")
			if strings.HasPrefix(name, "many-") {
				if seen[name] {
					t.Errorf("%s comes twice", name)
				}
				seen[name] = true
			}
		}
		if _, rest, more := strings.Cut(body, `rel="next" href="`); more {
			at, _, _ = strings.Cut(rest, `"`)
			at = strings.ReplaceAll(at, "&amp;", "&")
		}
	}
	if len(seen) != 45 {
		t.Errorf("%d of 45 notices were shown", len(seen))
	}
}

func TestMakingLinks(t *testing.T) {
	s := openLinks(t, testKeys...)
	s.signIn(t, "ops")
	for _, tt := range []struct {
		merchant, life, reason string
		want                   string
	}{
		{"", "6h", "x", "Give the merchant"},
		{"M1001", "6h", "", "Say why"},
		{"M1001", "90d", "x", "Choose how long"},
		{"M1001", "soon", "x", "Choose how long"},
	} {
		got := s.post(t, "/links/new", "/links", "merchant_no", tt.merchant, "life", tt.life, "reason", tt.reason)
		if got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, tt.want) {
			t.Errorf("%+v: %d; want %q", tt, got.StatusCode, tt.want)
		}
	}
	// Of what nobody knows, a link is made once whoever makes it is sure.
	for _, tt := range []struct{ merchant, order, want string }{
		{"M10O1", "", "No notices and no registration of this merchant"},
		{"M1001", "A-l", "No notices of this order are known"},
	} {
		values := []string{"merchant_no", tt.merchant, "order_no", tt.order, "life", "6h", "reason", "asks"}
		got := s.post(t, "/links/new", "/links", values...)
		sure := regexp.MustCompile(`name="sure" value="([^"]*)"`).FindStringSubmatch(got.body)
		if got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, tt.want) || sure == nil {
			t.Fatalf("%s %s: %d; want it asked for, with %q", tt.merchant, tt.order, got.StatusCode, tt.want)
		}
		if got := s.post(t, "/links/new", "/links", append(values, "sure", sure[1], "order_no", "another")...); got.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("sure of another one: %d; want it asked for again", got.StatusCode)
		}
		if got := s.post(t, "/links/new", "/links", append(values, "sure", sure[1])...); got.StatusCode != http.StatusSeeOther {
			t.Errorf("%s %s, for sure: %d; want it made", tt.merchant, tt.order, got.StatusCode)
		}
	}
	page, _ := s.makeLink(t, "A-1")
	if body := s.get(t, "/links").body; !strings.Contains(body, page) || !strings.Contains(body, "A-1") || !strings.Contains(body, `<small class="only-narrow">ops · asks whether`) {
		t.Error("the list does not have the link, or not by whom and why it was made on a phone")
	}
	if body := s.get(t, "/audit?action=link").body; !strings.Contains(body, "asks whether we sent it") || !strings.Contains(body, `href="`+page+`"`) {
		t.Error("the audit record does not lead to the link")
	}
	if body := s.get(t, "/links?merchant_no=M1002").body; strings.Contains(body, page) {
		t.Error("the list of another merchant has the link")
	}
	s.client = s.browser(t)
	s.signIn(t, "reader")
	if body := s.get(t, page).body; strings.Contains(body, "/shared/") || strings.Contains(body, `name="reason"`) {
		t.Error("who may only read is shown the link's address, or a form")
	}
	if got := s.do(t, http.MethodPost, "/links", url.Values{"token": {s.token(t, page)}, "merchant_no": {"M1001"}, "life": {"6h"}, "reason": {"x"}}); got.StatusCode != http.StatusForbidden {
		t.Errorf("who may only read makes a link: %d", got.StatusCode)
	}
}

func TestOutside(t *testing.T) {
	for address, want := range map[string]string{
		"https://user:pw@m.example:8443/notify/x?token=1#f": "https://m.example:8443/notify/x",
		"http://203.0.113.9/n":                              "http://203.0.113.9/n",
		"http://10.0.0.1/n":                                 "",
		"http://[fd00::1]/n":                                "",
		"http://[::ffff:192.168.0.1]/n":                     "",
		"http://169.254.169.254/":                           "",
		"http://127.0.0.1/":                                 "",
		"http://gateway/n":                                  "",
		"http://gateway.payments.svc/n":                     "",
		"http://a.INTERNAL/n":                               "",
		"http://a.internal./n":                              "",
		"http://100.100.100.200/n":                          "",
		"http://127.1/n":                                    "",
		"http://10.0x1/n":                                   "",
		"amqp://main/q":                                     "",
		"":                                                  "",
		"http://%zz":                                        "",
	} {
		if got := outside(address); got != want {
			t.Errorf("outside(%q) = %q; want %q", address, got, want)
		}
	}
}

// A link names no time that passed, as in a pause, as that of the next attempt.
func TestALinkNamesOnlyATimeToCome(t *testing.T) {
	s := openLinks(t)
	due := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	tried := bellman.Attempt{Due: t0, Started: t0, Result: bellman.Refused, Status: 500}
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1001", OrderNo: "to come", URL: "https://m.example/n", Status: bellman.Status{Due: due, VisibleAt: due}}, t0, tried)
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1001", OrderNo: "passed", URL: "https://m.example/n", Status: bellman.Status{Due: t0, VisibleAt: t0}}, t0, tried)
	for order, want := range map[string]bool{"to come": true, "passed": false} {
		_, path := s.makeLink(t, order)
		page := s.get(t, path, "Accept-Language: en").body
		if !strings.Contains(page, "<h2>"+order) || strings.Contains(page, "Next attempt") != want || strings.Contains(page, due.Format(time.DateTime)) != want {
			t.Errorf("the notice of %q: the page names the next attempt: %t; want %t", order, strings.Contains(page, "Next attempt"), want)
		}
	}
}
