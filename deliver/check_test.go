package deliver

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/invalidtest"
)

func TestCheckURL(t *testing.T) {
	h := newHandler(t, Options{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}, Rules{})
	tests := []struct{ url, endpoint, problem string }{
		{"https://merchant.example/notify", "https://merchant.example:443", ""},
		{"http://Merchant.Example", "http://merchant.example:80", ""},
		{"HTTPS://merchant.example:8443/a?b=c", "https://merchant.example:8443", ""},
		{"https://merchant.example./", "https://merchant.example:443", ""},
		{"https://商户.example/通知?名=值", "https://xn--czr041a.example:443", ""},
		{"https://xn--czr041a.example/", "https://xn--czr041a.example:443", ""},
		{"https://my_shop.example/", "https://my_shop.example:443", ""},
		{"https://3com.example/", "https://3com.example:443", ""},
		{"https://8.8.8.8/", "https://8.8.8.8:443", ""},
		{"https://[2606:2800:220:1::0001]/", "https://[2606:2800:220:1::1]:443", ""},
		{"http://10.1.2.3:8080/", "http://10.1.2.3:8080", ""},

		{"", "", "required"},
		{"merchant.example/notify", "", "absolute URL"},
		{"/notify", "", "absolute URL"},
		{"ftp://merchant.example/", "", "absolute URL"},
		{"https:merchant.example", "", "names no host"},
		{"https:///notify", "", "names no host"},
		{"https://:443/", "", "names no host"},
		{"https://merchant.example:/", "", "colon and no port"},
		{"https://merchant.example:0/", "", "port"},
		{"https://merchant.example:65536/", "", "port"},
		{"https://merchant.example:http/", "", "not a URL"},
		{"https://merchant.example/%zz", "", `has "%zz", which encodes nothing: want % and two hexadecimal digits`},
		{"https://user:s3cret@merchant.example/", "", "user name or password"},
		{"https://user@merchant.example/", "", "user name or password"},
		{"https://merchant.example/#top", "", "fragment"},
		{"https://merchant.example/#", "", "fragment"},
		{"https://merchant.example/a b", "", "space"},
		{"https://merchant.example/?a b", "", "space"},
		{"https://merchant.example/\r\nX: y", "", "control character"},
		{"https://merchant..example/", "", "empty part"},
		{"https://" + strings.Repeat("a", 64) + ".example/", "", "63 characters"},
		{"https://" + strings.Repeat("a.", 127) + "example/", "", "253 characters"},
		{"https://merchant.example/" + strings.Repeat("a", 2000), "", "2,000 bytes"},
		{"https://me*chant.example/", "", "domain name"},
		{"https://xn--a.例え.\u200d/", "", "domain name"},
		{"http://127.0.0.1/", "", "loopback"},
		{"http://127.0.0.1./", "", "loopback"},
		{"http://10.2.0.1/", "", "private"},
		{"http://169.254.169.254/latest/meta-data", "", "link-local"},
		{"http://[::1]/", "", "loopback"},
		{"http://[::ffff:7f00:1]/", "", "loopback"},
		{"http://[fe80::1%25eth0]/", "", "zone"},
		{"http://[::g]/", "", "not a URL"},
		{"http://localhost:8080/", "", "loopback"},
		{"http://LOCALHOST./", "", "loopback"},
		{"http://db.localhost/", "", "loopback"},
		{"http://2130706433/", "", "number"},
		{"http://127.1/", "", "number"},
		{"http://0177.0.0.1/", "", "number"},
		{"http://0x7f.0.0.1/", "", "number"},
		{"http://127.0.0.0x1/", "", "number"},
		{"http://１２７.0.0.1/", "", "loopback"},
	}
	for _, tt := range tests {
		task := &bellman.Task{URL: tt.url}
		err := h.Check(task)
		if task.Endpoint != tt.endpoint {
			t.Errorf("Check(%q): endpoint %q; want %q", tt.url, task.Endpoint, tt.endpoint)
		}
		if tt.problem == "" {
			if err != nil {
				t.Errorf("Check(%q) = %v; want no error", tt.url, err)
			}
			continue
		}
		if bad, is := errors.AsType[*bellman.Invalid](err); !is || len(bad.Fields) != 1 || bad.Fields[0].Field != "url" || !strings.Contains(bad.Fields[0].Problem, tt.problem) {
			t.Errorf("Check(%q) = %v; want url: %s", tt.url, err, tt.problem)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Check(%q) = %v; want an error without the password", tt.url, err)
		}
	}
}

func TestCheckFillsIn(t *testing.T) {
	h := newHandler(t, Options{}, Rules{Method: "PUT", Success: "http_2xx"})
	task := &bellman.Task{URL: "https://merchant.example"}
	if err := h.Check(task); err != nil || task.Method != "PUT" || task.Success != "http_2xx" {
		t.Errorf("Check: %v, method %q, success %q; want PUT, http_2xx", err, task.Method, task.Success)
	}
	given := bellman.Task{URL: "https://merchant.example", Method: "PATCH", Success: "status == 200", Endpoint: "shop"}
	task = new(given)
	if err := h.Check(task); err != nil || fmt.Sprint(*task) != fmt.Sprint(given) {
		t.Errorf("Check: %v, %+v; want %+v unchanged", err, task, given)
	}
}

func TestCheckFields(t *testing.T) {
	many := map[string]string{}
	for i := range 65 {
		many[fmt.Sprintf("X-%d", i)] = ""
	}
	tests := []struct {
		task bellman.Task
		want string // fields
	}{
		{bellman.Task{}, ""},
		{bellman.Task{Method: "post"}, "method"},
		{bellman.Task{Method: "CONNECT", Success: "sucess_text"}, "method success"},
		{bellman.Task{Success: "status =="}, "success"},
		{bellman.Task{Method: "GET", Body: []byte("x")}, "body"},
		{bellman.Task{Method: "GET", Body: []byte("a=1"), Header: map[string]string{"content-type": "application/x-www-form-urlencoded"}}, ""},
		{bellman.Task{Header: map[string]string{"X-Shop": "a b", "Content-Type": "text/xml", "User-Agent": "", "authorization": "Bearer x", "Cookie": "é"}}, ""},
		{bellman.Task{Header: map[string]string{"host": "x", "Content-Length": "1", "transfer-encoding": "chunked", "TE": "x", "Connection": "close",
			"Keep-Alive": "x", "Upgrade": "x", "Expect": "100-continue", "Trailer": "x", "Proxy-Authorization": "x", "accept-encoding": "gzip", "bellman-task": "x"}},
			"headers.Connection headers.Content-Length headers.Expect headers.Keep-Alive headers.Proxy-Authorization headers.TE headers.Trailer headers.Upgrade headers.accept-encoding headers.bellman-task headers.host headers.transfer-encoding"},
		{bellman.Task{Header: map[string]string{"X-A": "a\r\nX-B: b", "X-C": " c", "X-D": "\x00"}}, "headers.X-A headers.X-C headers.X-D"},
		{bellman.Task{Header: map[string]string{"": "a", "X A": "b", "X:": "c", "X\n": "d"}}, "headers. headers.X\n headers.X A headers.X:"},
		{bellman.Task{Header: map[string]string{"X-A": "1", "x-a": "2"}}, "headers.x-a"},
		{bellman.Task{Header: many}, "headers"},
		{bellman.Task{Header: map[string]string{"X-A": strings.Repeat("x", 8<<10)}}, "headers"},
		{bellman.Task{Header: map[string]string{"Webhook-ID": "x"}}, "headers.Webhook-ID"},
	}
	h := newHandler(t, Options{}, Rules{Sign: sign.Config{Scheme: sign.StandardWebhooks, Secrets: []sign.Secret{sign.NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}}})
	for _, tt := range tests {
		tt.task.URL = "https://merchant.example"
		if got := strings.Join(invalidtest.Fields(h.Check(&tt.task)), " "); got != tt.want {
			t.Errorf("Check(%.200q): wrong fields %q; want %q", fmt.Sprint(tt.task.Method, tt.task.Success, tt.task.Header), got, tt.want)
		}
	}
}

func TestCheckSigned(t *testing.T) {
	h := newHandler(t, Options{}, Rules{Sign: sign.Config{Scheme: sign.MD5Params, Secrets: []sign.Secret{sign.NewSecret("k")}}})
	for body, want := range map[string]string{`{"a":1}`: "", "a=1": "body: cannot be signed", "": ""} {
		err := h.Check(&bellman.Task{URL: "https://merchant.example/?a=1", Body: []byte(body)})
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Check(%q) = %v; want %q", body, err, want)
		}
	}
	for url, want := range map[string]string{"https://merchant.example/?a=%zz": "url: cannot be signed", "https://merchant.example/?a=2": ""} {
		err := h.Check(&bellman.Task{URL: url, Method: "GET"})
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Check(GET %s) = %v; want %q", url, err, want)
		}
	}
}

func TestHandlerErrors(t *testing.T) {
	c := newClient(t, Options{})
	for _, tt := range []struct {
		rules Rules
		want  string
	}{
		{Rules{URL: "gateway.internal"}, "deliver: url: want an absolute URL"},
		{Rules{Method: "TRACE"}, "deliver: method: want POST"},
		{Rules{Success: "sucess"}, "deliver: success: "},
		{Rules{Sign: sign.Config{Scheme: "rot13"}}, "deliver: sign: scheme: "},
		{Rules{Sign: sign.Config{Scheme: sign.MD5Params, Secrets: []sign.Secret{sign.NewSecret("env:BELLMAN_TEST_UNSET")}}},
			"deliver: sign: secrets[0]: environment variable BELLMAN_TEST_UNSET is not set"},
	} {
		if _, err := c.Handler(tt.rules); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("Handler(%+v): %v; want %s", tt.rules, err, tt.want)
		}
	}
}

// For every accepted URL: its endpoint has the same endpoint, the address is not blocked, and the
// request line is one line.
func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{"https://merchant.example/notify?a=b", "http://[::ffff:1.2.3.4]:80/", "https://商户.example./通知?é",
		"http://0x7f.1/", "https://a%41.example/%zz", "http://1.2.3.4.:1", "http://xn--/", "http://a/?%"} {
		f.Add(s)
	}
	c, err := NewClient(Options{})
	if err != nil {
		f.Fatal(err)
	}
	h, err := c.Handler(Rules{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		task := &bellman.Task{URL: text}
		if h.Check(task) != nil {
			return
		}
		again := &bellman.Task{URL: task.Endpoint}
		if err := h.Check(again); err != nil || again.Endpoint != task.Endpoint {
			t.Errorf("%q has endpoint %q, whose own endpoint is %q, %v; want the same", text, task.Endpoint, again.Endpoint, err)
		}
		a, err := parseAddress(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{a.url.RequestURI(), a.url.Host, task.Endpoint} {
			if strings.ContainsFunc(part, func(r rune) bool { return r <= ' ' || r > '~' }) {
				t.Errorf("%q becomes %q in the request; want no control character or space", text, part)
			}
		}
		u, err := url.Parse(a.url.String())
		if err != nil || u.Host != a.url.Host || u.User != nil {
			t.Errorf("%q is sent as %q, which parses as %+v, %v; want the same address", text, a.url, u, err)
		}
	})
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("x", 700)
	tests := []struct{ body, want string }{
		{"", ""},
		{"success", "success"},
		{long, long[:600]},
		{strings.Repeat("付", 700), strings.Repeat("付", 600)},
		{long[:599] + "付款", long[:599] + "付"},
		{"a\x00b", "a\uFFFDb"},
		{"\x00付\xff\xfe", "\uFFFD付\uFFFD\uFFFD"},
		{"\uFFFD", "\uFFFD"},
		{strings.Repeat("\xff", 700), strings.Repeat("\uFFFD", 600)},
		{"\xe4\xbb", "\uFFFD\uFFFD"},
	}
	for _, tt := range tests {
		if got := excerpt([]byte(tt.body)); got != tt.want {
			t.Errorf("excerpt(%.20q…) = %.40q…, %d bytes; want %.40q…, %d bytes", tt.body, got, len(got), tt.want, len(tt.want))
		}
	}
}

// An excerpt is valid UTF-8, has no NUL, and is the beginning of the answer.
func FuzzExcerpt(f *testing.F) {
	f.Add([]byte("success"))
	f.Add([]byte("\x00付\xff" + strings.Repeat("x", 700)))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := excerpt(body)
		if !utf8.ValidString(got) || strings.Contains(got, "\x00") {
			t.Errorf("excerpt %q is not valid UTF-8 without NUL", got)
		}
		all, kept := []rune(string(body)), []rune(got)
		if len(kept) != min(len(all), bellman.MaxResponse) {
			t.Fatalf("the excerpt has %d characters of an answer with %d; want no more", len(kept), len(all))
		}
		for i, r := range kept {
			if r != all[i] && !(all[i] == 0 && r == utf8.RuneError) {
				t.Errorf("character %d of the excerpt is %q; want %q", i, r, all[i])
			}
		}
	})
}
