package alipay

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/order"
)

const zipText = "PK\x05\x06 and so on"

// files is the host of bills: over TLS, and known to the channel alone by its Downloads.
func files(t *testing.T, status int, text string) (*httptest.Server, *int) {
	asked := new(int)
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if *asked++; r.URL.Query().Get("token") != "hush" || r.Header.Get("Authorization") != "" {
			t.Errorf("download of %s", r.RequestURI)
		}
		w.WriteHeader(status)
		io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s, asked
}

// download asks for the bill of the day before now.
func (p *platform) download(o Options, downloads http.RoundTripper, answer string) (string, error) {
	p.t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		if got, want := r.PostForm.Get("biz_content"), `{"bill_date":"2026-11-19","bill_type":"trade"}`; got != want || r.PostForm.Get("method") != billMethod {
			p.t.Errorf("%s %s; want %s %s", r.PostForm.Get("method"), got, billMethod, want)
		}
		fmt.Fprintf(w, `{"alipay_data_dataservice_bill_downloadurl_query_response":%s,"sign":%q}`, answer, p.sign(answer))
	}))
	defer s.Close()
	o.GatewayURL, o.Transport, o.Downloads = s.URL+"/gateway.do", s.Client().Transport, downloads
	c, err := New(o)
	if err != nil {
		p.t.Fatal(err)
	}
	var got strings.Builder
	err = c.DownloadBill(p.t.Context(), "2026-11-19", &got)
	return got.String(), err
}

func at(address string) string {
	return `{"code":"10000","msg":"Success","bill_download_url":"` + address + `"}`
}

// Alipay names an address with http, which is reached over HTTPS.
func TestDownloadBill(t *testing.T) {
	p := newPlatform(t)
	host, asked := files(t, 200, zipText)
	for _, scheme := range []string{"http", "https"} {
		address := scheme + strings.TrimPrefix(host.URL, "https") + "/downloadBillFile.resource?bizType=trade&token=hush"
		if got, err := p.download(p.options(), host.Client().Transport, at(address)); err != nil || got != zipText {
			t.Errorf("%s: %q, %v; want %q", scheme, got, err, zipText)
		}
	}
	if *asked != 2 {
		t.Errorf("%d downloads; want 2", *asked)
	}
}

func TestDownloadBillRefuses(t *testing.T) {
	p := newPlatform(t)
	early := func() time.Time { return time.Date(2026, 11, 20, 1, 59, 0, 0, time.UTC) } // 09:59 in Beijing
	refused := func(code, sub string) string {
		return `{"code":"` + code + `","msg":"Business Failed","sub_code":"` + sub + `","sub_msg":"账单"}`
	}
	host, _ := files(t, 200, zipText)
	page, _ := files(t, 200, "<html>下载超时，请重新下载")
	gone, _ := files(t, 404, "")
	moved := httptest.NewTLSServer(http.RedirectHandler(host.URL+"/?token=hush", http.StatusFound))
	t.Cleanup(moved.Close)
	tests := []struct {
		name   string
		answer string
		host   *httptest.Server
		now    func() time.Time
		is     error
		want   string
	}{
		{"early", refused("40004", "isv.invalid-arguments"), host, early, order.ErrBillNotReady, "ask for the bill of 2026-11-19 after 2026-11-20 10:00 UTC+8"},
		{"wrong arguments", refused("40004", "isv.invalid-arguments"), host, nil, nil, `alipay: bill of 2026-11-19: refused with code "40004", "isv.invalid-arguments", "账单"`},
		{"none", refused("40004", "isv.BILL_NOT_EXIST"), host, nil, order.ErrNoBill, ""},
		{"no permission", refused("40006", "isv.app-api-punished"), host, early, nil, "40006"},
		{"no address", at(""), host, nil, nil, "cannot be read"},
		{"a file of this machine", at("file:///etc/passwd"), host, nil, nil, "cannot be read"},
		{"the address is too old", at(page.URL + "/?token=hush"), page, nil, nil, "valid for 30 s, ask again"},
		{"nothing there", at(gone.URL + "/?token=hush"), gone, nil, nil, "HTTP status 404"},
		{"a redirect", at(moved.URL + "/?token=hush"), moved, nil, nil, "HTTP status 302: redirects are not followed"},
	}
	for _, tt := range tests {
		o := p.options()
		if tt.now != nil {
			o.Now = tt.now
		}
		_, err := p.download(o, tt.host.Client().Transport, tt.answer)
		if err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: %v; want %q, %v", tt.name, err, tt.want, tt.is)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: the error has the token: %v", tt.name, err)
		}
	}
}

// The transport for downloads, which refuses private addresses, is the only one that is used.
func TestDownloadBillIsGuarded(t *testing.T) {
	p := newPlatform(t)
	refusing := noNetwork(func(r *http.Request) (*http.Response, error) {
		return nil, errors.New(r.URL.Host + " is a private address, refused by the egress guard")
	})
	for _, address := range []string{"https://10.0.0.1/x?token=hush", "http://169.254.169.254/latest/meta-data?token=hush"} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = p.download(p.options(), refusing, at(address)); err == nil || !strings.Contains(err.Error(), u.Host+" is a private address") || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A day that is not over has no bill, and Alipay is not asked.
func TestDownloadBillOfToday(t *testing.T) {
	p := newPlatform(t)
	o := p.options()
	o.Transport = noNetwork(func(*http.Request) (*http.Response, error) {
		t.Error("a request was sent")
		return nil, errors.New("no")
	})
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.DownloadBill(t.Context(), "2026-11-20", io.Discard); !errors.Is(err, order.ErrBillNotReady) {
		t.Errorf("DownloadBill = %v", err)
	}
}

// noNetwork answers requests without a network.
type noNetwork func(*http.Request) (*http.Response, error)

func (f noNetwork) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
