package deliver

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
)

// What Sent builds again is what the attempt sent, without the value of the signature.
func TestSentIsWhatWasSent(t *testing.T) {
	var got *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		io.WriteString(w, "success")
	}))
	defer server.Close()
	secret := sign.NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	for _, tt := range []struct {
		config sign.Config
		task   bellman.Task
		signed string // what the text ends with; empty: nothing is signed
	}{
		{sign.Config{}, bellman.Task{URL: server.URL + "/n?a=1", Body: []byte(`{"n":1}`), Header: map[string]string{"X-Shop": "12"}}, ""},
		{sign.Config{Scheme: sign.StandardWebhooks, Secrets: []sign.Secret{secret}}, bellman.Task{URL: server.URL, Body: []byte(`{"n":1}`)}, `.{"n":1}`},
		{sign.Config{Scheme: sign.MD5Params, Secrets: []sign.Secret{secret}}, bellman.Task{URL: server.URL, Method: "GET", Body: []byte("b=2&a=1"), Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, "a=1&b=2&key=***"},
	} {
		h := newHandler(t, Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}, Rules{Sign: tt.config})
		tt.task.ID = bellman.NewID()
		if v := h.Attempt(t.Context(), &tt.task, 3); v.Result != bellman.Accepted {
			t.Fatalf("the attempt: %+v", v)
		}
		s, err := h.Sent(t.Context(), &tt.task, 3, time.Now(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Method != got.Method || string(s.Body) != string(body) || s.Success != "success_text" || s.Scheme != tt.config.Scheme {
			t.Errorf("%s %s %s %s; want %s %s %s", s.Method, s.Body, s.Success, s.Scheme, got.Method, body, tt.config.Scheme)
		}
		if sent := server.URL + got.URL.String(); s.URL != sent && !strings.HasPrefix(sent, strings.Replace(s.URL, server.URL+"?", server.URL+"/?", 1)) { // the signature follows
			t.Errorf("URL %s; want the beginning of %s", s.URL, sent)
		}
		for name := range s.Header {
			if s.Header.Get(name) != got.Header.Get(name) {
				t.Errorf("header %s: %q; want %q", name, s.Header.Get(name), got.Header.Get(name))
			}
		}
		for _, name := range s.Signature {
			if got.Header.Get(name) == "" || s.Header.Get(name) != "" {
				t.Errorf("header %s: %q built again, %q sent; want that only the sent one has a value", name, s.Header.Get(name), got.Header.Get(name))
			}
		}
		for name := range got.Header {
			if own := name == "Accept-Encoding" || name == "Content-Length"; !own && s.Header.Get(name) == "" && !contains(s.Signature, name) {
				t.Errorf("header %s was sent, and is not built again", name)
			}
		}
		if !strings.HasSuffix(string(s.Signed), tt.signed) || (len(s.Signed) > 0) != (tt.signed != "") {
			t.Errorf("signed text %q; want an end of %q", s.Signed, tt.signed)
		}
	}
}

func contains(names []string, name string) bool {
	return slices.Contains(names, name)
}

// A broker's message is built again too; a merchant that cannot be read is an error.
func TestSentElsewhere(t *testing.T) {
	key := base64.StdEncoding.EncodeToString(make([]byte, 32))
	h := brokerHandler(t, "nats://bus/home", sign.Config{Scheme: sign.StandardWebhooks, Secrets: []sign.Secret{sign.NewSecret("whsec_" + key)}},
		func(context.Context, string, *Message) (string, error) { return "", nil })
	s, err := h.Sent(t.Context(), &bellman.Task{ID: bellman.NewID(), Body: []byte(`{}`)}, 1, time.Now(), nil)
	if err != nil || s.Method != "" || s.URL != "nats://bus/home" || s.Success != "" || !strings.HasSuffix(string(s.Signed), ".{}") {
		t.Errorf("to a broker: %+v, %v", s, err)
	}
	h = newHandler(t, Options{}, Rules{Merchants: book{}})
	if _, err := h.Sent(t.Context(), &bellman.Task{ID: bellman.NewID(), MerchantNo: "lost"}, 1, time.Now(), nil); err == nil || err.Error() != "no connection" {
		t.Errorf("of a merchant that cannot be read: %v; want why", err)
	}
	hide := func(query string) string { return strings.ReplaceAll(query, "s3cret", "***") }
	s, err = newHandler(t, Options{}, Rules{}).Sent(t.Context(), &bellman.Task{ID: bellman.NewID(), URL: "https://m.example/?t=s3cret"}, 1, time.Now(), hide)
	if err != nil || s.URL != "https://m.example/?t=***" {
		t.Errorf("a hidden query: %q, %v", s.URL, err)
	}
}
