package wechatpay

import (
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/order"
)

const (
	billText = "交易时间,公众账号ID\r\n`2026-11-19 13:51:31,`wxfdc955f7104ad557\r\n"
	tokenURI = "/v3/billdownload/file?token=h%20ush&tartype=gzip"
	billURI  = "/v3/bill/tradebill?bill_date=2026-11-19&bill_type=ALL&tar_type=GZIP"
)

func zipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.Bytes()
}

// A billServer is a loopback WeChat Pay that has one bill.
type billServer struct {
	t      *testing.T
	server *httptest.Server
	uri    string              // that is wanted
	answer func(at string) any // to the request for the bill: an answer, or what the JSON is made of; at is the server
	status int                 // of the download
	file   []byte
	asked  int // downloads
}

func newBillServer(t *testing.T) *billServer {
	s := &billServer{t: t, uri: billURI, status: 200, file: zipped(billText)}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	s.answer = func(at string) any { return at + tokenURI }
	return s
}

func (s *billServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.RequestURI, "/v3/billdownload/") {
		s.asked++
		if r.RequestURI != tokenURI {
			s.t.Errorf("download of %s; want %s", r.RequestURI, tokenURI)
		}
		r.Header.Set("Accept", "application/json") // which a download does not need
		if wrong := checkRequest(r, nil); wrong != "" {
			s.t.Error("download: " + wrong)
		}
		w.WriteHeader(s.status)
		w.Write(s.file)
		return
	}
	if r.RequestURI != s.uri || r.Method != http.MethodGet {
		s.t.Errorf("request %s %s; want GET %s", r.Method, r.RequestURI, s.uri)
	}
	if wrong := checkRequest(r, nil); wrong != "" {
		s.t.Error("request: " + wrong)
	}
	switch a := s.answer(s.server.URL).(type) {
	case answer:
		a.write(w)
	case string:
		signedBy(200, fmt.Sprintf(`{"download_url":%q,"hash_type":"SHA1","hash_value":"%x"}`, a, sha1.Sum([]byte(billText)))).write(w)
	}
}

// download asks for the bill.
func (s *billServer) download(o Options, of Bill) (string, error) {
	s.t.Helper()
	o.BaseURL, o.Transport = s.server.URL, &http.Transport{DisableCompression: true}
	c, err := New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	var got strings.Builder
	err = c.DownloadBill(s.t.Context(), of, "2026-11-19", &got)
	return got.String(), err
}

func TestDownloadBill(t *testing.T) {
	for _, tt := range []struct {
		name, uri string
		of        Bill
		sub       string
		file      []byte
	}{
		{"trade bill", billURI, TradeBill, "", zipped(billText)},
		{"not compressed", billURI, TradeBill, "", []byte(billText)},
		{"sub-merchant", billURI[:strings.Index(billURI, "&tar")] + "&sub_mchid=" + subMchID + "&tar_type=GZIP", TradeBill, subMchID, zipped(billText)},
		{"fund flow bill", "/v3/bill/fundflowbill?bill_date=2026-11-19&tar_type=GZIP", FundFlowBill, "", zipped(billText)},
	} {
		s := newBillServer(t)
		s.uri, s.file = tt.uri, tt.file
		o := options(t)
		o.SubMchID = tt.sub
		if got, err := s.download(o, tt.of); err != nil || got != billText {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, billText)
		}
	}
}

// The address that WeChat Pay names is at its own host; with an address of one's own, requests go
// there.
func TestDownloadBillByOwnAddress(t *testing.T) {
	s := newBillServer(t)
	s.answer = func(string) any { return " " + Domestic + tokenURI }
	if got, err := s.download(options(t), TradeBill); err != nil || got != billText || s.asked != 1 {
		t.Errorf("%q, %v, %d downloads; want the bill, from the channel's own address", got, err, s.asked)
	}
}

func TestDownloadBillRefuses(t *testing.T) {
	early := func() time.Time { return time.Date(2026, 11, 20, 1, 59, 0, 0, time.UTC) } // 09:59 in Beijing
	said := func(status int, code string) func(string) any {
		return func(string) any {
			return signedBy(status, `{"code":"`+code+`","message":"账单"}`)
		}
	}
	file := func(url, kind, hash string) func(string) any {
		return func(at string) any {
			return signedBy(200, fmt.Sprintf(`{"download_url":%q,"hash_type":%q,"hash_value":%q}`, strings.Replace(url, "SERVER", at, 1), kind, hash))
		}
	}
	right := fmt.Sprintf("%x", sha1.Sum([]byte(billText)))
	tests := []struct {
		name   string
		answer func(string) any
		change func(s *billServer, o *Options)
		is     error
		want   string
	}{
		{"being made", said(400, "STATEMENT_CREATING"), nil, order.ErrBillNotReady, "ask for the bill of 2026-11-19 in half an hour"},
		{"being made, early", said(400, "STATEMENT_CREATING"), func(s *billServer, o *Options) { o.Now = early }, order.ErrBillNotReady, "ask for the bill of 2026-11-19 after 2026-11-20 10:00 UTC+8"},
		{"none, early", said(400, "NO_STATEMENT_EXIST"), func(s *billServer, o *Options) { o.Now = early }, order.ErrBillNotReady, "after 2026-11-20 10:00 UTC+8"},
		{"none", said(400, "NO_STATEMENT_EXIST"), nil, order.ErrNoBill, "nothing was paid or refunded"},
		{"refused", said(400, "PARAM_ERROR"), nil, nil, `wechatpay: bill of 2026-11-19: refused with "PARAM_ERROR", "账单"`},
		{"not signed", func(string) any { return answer{status: 200, body: "{}"} }, nil, nil, "the answer is not signed"},
		{"not signed, and broken off", func(string) any {
			return answer{status: 400, body: `{"code":"NO_STATEMENT_EXIST"}`, bend: func(h http.Header) { h.Set("Content-Length", "1000") }}
		}, nil, nil, "the answer broke off"},
		{"another host", file("https://evil.example/v3/billdownload/file?token=hush", "SHA1", right), nil, nil, `"evil.example", which is not WeChat Pay's: nothing was requested there`},
		{"a host that looks similar", file("https://api.mch.weixin.qq.com.evil.example/x", "SHA1", right), nil, nil, "nothing was requested there"},
		{"a user", file("https://api.mch.weixin.qq.com@evil.example/x", "SHA1", right), nil, nil, "cannot be read"},
		{"not encrypted", file("http://api.mch.weixin.qq.com/x", "SHA1", right), nil, nil, "nothing was requested there"},
		{"another hash", file("SERVER"+tokenURI, "MD5", right), nil, nil, "want one of SHA1"},
		{"no hash", file("SERVER"+tokenURI, "SHA1", ""), nil, nil, "want one of SHA1"},
		{"a wrong hash", file("SERVER"+tokenURI, "SHA1", strings.Repeat("00", 20)), nil, nil, "WeChat Pay announced 0000000000000000000000000000000000000000: the file is damaged"},
		{"cut off", nil, func(s *billServer, o *Options) { s.file = s.file[:len(s.file)-9] }, nil, "the file broke off: unexpected EOF"},
		{"an error instead of the file", nil, func(s *billServer, o *Options) { s.status, s.file = 403, []byte(`{"code":"NO_AUTH"}`) }, nil, `HTTP status 403: "{\"code\":\"NO_AUTH\"}"`},
	}
	for _, tt := range tests {
		s, o := newBillServer(t), options(t)
		if tt.change != nil {
			tt.change(s, &o)
		}
		if tt.answer != nil {
			s.answer = func(at string) any {
				a := tt.answer(at).(answer)
				a.at = o.Now()
				return a
			}
		}
		if !o.Now().Equal(now) { // the test's checks of requests know one time alone
			s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.answer("").(answer).write(w) })
		}
		_, err := s.download(o, TradeBill)
		if err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: %v; want %q, %v", tt.name, err, tt.want, tt.is)
		}
		if err != nil && strings.Contains(err.Error(), "ush") {
			t.Errorf("%s: the error has the token: %v", tt.name, err)
		}
		if strings.Contains(tt.want, "nothing was requested") && s.asked > 0 {
			t.Errorf("%s: a file was downloaded", tt.name)
		}
	}
}

// What cannot be had is not asked for.
func TestDownloadBillAsksNothing(t *testing.T) {
	o := options(t)
	o.SubMchID = subMchID
	o.Transport = noNetwork(func(*http.Request) (*http.Response, error) {
		t.Error("a request was sent")
		return nil, errors.New("no")
	})
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.DownloadBill(t.Context(), TradeBill, "2026-11-20", io.Discard); !errors.Is(err, order.ErrBillNotReady) {
		t.Errorf("a day that is not over: %v", err)
	}
	if err := c.DownloadBill(t.Context(), FundFlowBill, "2026-11-19", io.Discard); err == nil || !strings.Contains(err.Error(), "sub-merchant's own") {
		t.Errorf("a sub-merchant's fund flow bill: %v", err)
	}
	if err := c.DownloadBill(t.Context(), "x", "2026-11-19", io.Discard); err == nil {
		t.Error("another bill: no error")
	}
}

// noNetwork answers requests without a network.
type noNetwork func(*http.Request) (*http.Response, error)

func (f noNetwork) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
