package wechatpay

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/keytest"
	"github.com/bellmanhq/bellman/order"
)

const (
	mchID    = "1230000109"
	subMchID = "1900000109"
	serialNo = "5157F09EFDC096DE15EBE81A47057A7232F1B8E1"
	publicID = "PUB_KEY_ID_0000000000000024101100397200000006"
	orderNo  = "1217752501201407033233368018"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// keys are made once: the merchant's, WeChat Pay's two and a stranger's.
var merchantKey, certificateKey, publicKey, strangersKey = keytest.RSA(), keytest.RSA(), keytest.RSA(), keytest.RSA()

// privatePEM is apiclient_key.pem.
func privatePEM(key *rsa.PrivateKey) sign.Secret { return sign.NewSecret(keytest.PrivatePEM(key)) }

func publicPEM(key *rsa.PrivateKey) sign.Secret { return sign.NewSecret(keytest.PublicPEM(key)) }

// certificate returns a platform certificate with a serial number in hex.
func certificate(t testing.TB, key *rsa.PrivateKey, serial string) sign.Secret {
	t.Helper()
	number, ok := new(big.Int).SetString(serial, 16)
	if !ok {
		t.Fatalf("%q is not hex", serial)
	}
	return sign.NewSecret(keytest.Certificate(key, x509.Certificate{SerialNumber: number, NotAfter: now.AddDate(1, 0, 0)}))
}

func options(t testing.TB) Options {
	return Options{
		MchID: mchID, SerialNo: serialNo, PrivateKey: privatePEM(merchantKey),
		PlatformKeys: map[string]sign.Secret{publicID: publicPEM(publicKey)},
		Now:          func() time.Time { return now },
	}
}

// An answer is what the loopback server sends, signed unless by is nil.
type answer struct {
	status int
	body   string
	by     *rsa.PrivateKey
	serial string
	at     time.Time
	bend   func(h http.Header) // changes the header after it was signed
	sent   string              // instead of body, after it was signed
}

func signedBy(status int, body string) answer {
	return answer{status: status, body: body, by: publicKey, serial: publicID, at: now}
}

func (a answer) write(w http.ResponseWriter) {
	h := w.Header()
	if a.by != nil {
		maps.Copy(h, keytest.WeChatHeader(a.by, a.serial, a.body, a.at))
		h.Set("Wechatpay-Signature-Type", "WECHATPAY2-SHA256-RSA2048")
	}
	if a.bend != nil {
		a.bend(h)
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(a.status)
	if a.sent != "" {
		a.body = a.sent
	}
	io.WriteString(w, a.body)
}

var authorizationForm = regexp.MustCompile(`^WECHATPAY2-SHA256-RSA2048 mchid="(\d+)",nonce_str="([0-9A-Za-z]{16,32})",signature="([^"]+)",timestamp="(\d+)",serial_no="([0-9A-F]+)"$`)

// checkRequest returns why WeChat Pay would reject a request, by its documents; empty: it would
// not.
func checkRequest(r *http.Request, body []byte) string {
	if r.Header.Get("Accept") != "application/json" {
		return "Accept is not application/json"
	}
	if r.Header.Get("User-Agent") == "" {
		return "User-Agent is empty"
	}
	if r.Method == http.MethodPost && r.Header.Get("Content-Type") != "application/json" {
		return "Content-Type is not application/json"
	}
	m := authorizationForm.FindStringSubmatch(r.Header.Get("Authorization"))
	if m == nil {
		return "Authorization has another form"
	}
	if m[1] != mchID || m[5] != serialNo || m[4] != strconv.FormatInt(now.Unix(), 10) {
		return "Authorization has another merchant, serial number or time"
	}
	if !keytest.Verified(merchantKey, r.Method+"\n"+r.RequestURI+"\n"+m[4]+"\n"+m[2]+"\n"+string(body)+"\n", m[3]) {
		return "the signature is wrong"
	}
	return ""
}

// serve starts a server that returns a if the request is valid and equals want. It returns a
// channel to that server.
func serve(t testing.TB, o Options, want string, a answer) *Channel {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if got := strings.TrimSpace(r.Method + " " + r.RequestURI + " " + string(body)); got != want {
			t.Errorf("request %s; want %s", got, want)
		}
		if wrong := checkRequest(r, body); wrong != "" {
			t.Error("request: " + wrong)
			answer{status: 401, body: `{"code":"SIGN_ERROR"}`}.write(w)
			return
		}
		a.write(w)
	}))
	t.Cleanup(s.Close)
	o.BaseURL, o.Transport = s.URL, s.Client().Transport
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	queryRequest = "GET /v3/pay/transactions/out-trade-no/" + orderNo + "?mchid=" + mchID
	closeRequest = "POST /v3/pay/transactions/out-trade-no/" + orderNo + `/close {"mchid":"` + mchID + `"}`
)

func query(t testing.TB, o Options, a answer) order.QueryAnswer {
	t.Helper()
	return serve(t, o, queryRequest, a).Query(t.Context(), &order.Order{OrderNo: orderNo, Created: now.Add(-time.Minute)})
}

func closing(t testing.TB, o Options, a answer) order.CloseAnswer {
	t.Helper()
	return serve(t, o, closeRequest, a).Close(t.Context(), &order.Order{OrderNo: orderNo, Created: now.Add(-time.Hour)})
}

// trade is an answer to a query, in the form of the example in WeChat Pay's documents.
func trade(state string) string {
	return `{"amount":{"currency":"CNY","payer_currency":"CNY","payer_total":1,"total":1},"appid":"wxd678efh567hg6787",` +
		`"attach":"","bank_type":"OTHERS","mchid":"` + mchID + `","out_trade_no":"` + orderNo + `","payer":{"openid":"oUpF8uMuAJO_M2pxb1Q9zNjWeS6o"},` +
		`"promotion_detail":[],"success_time":"2026-11-20T19:59:00+08:00","trade_state":"` + state + `","trade_state_desc":"…",` +
		`"trade_type":"NATIVE","transaction_id":"1217752501201407033233368018"}`
}

// A serial number of another length than usual, and with a zero in front.
func serialOf(number int64) string { return "0" + hex.EncodeToString(big.NewInt(number).Bytes()) }
