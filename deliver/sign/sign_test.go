package sign

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/bellmanhq/bellman/internal/keytest"
)

func newSigner(t testing.TB, scheme string, secrets ...string) Signer {
	t.Helper()
	c := Config{Scheme: scheme}
	for _, s := range secrets {
		c.Secrets = append(c.Secrets, NewSecret(s))
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const body = `{"order_no":"20261120000001","state":"SUCCESS"}`

func TestStandardWebhooks(t *testing.T) {
	const one, two = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, whsk := range []string{base64.StdEncoding.EncodeToString(private), base64.StdEncoding.EncodeToString(private.Seed())} {
		s := newSigner(t, StandardWebhooks, one, "whsk_"+whsk, two)
		m := &Message{ID: "0192f3a4-5b6c-7d8e-9f01-23456789abcd", Time: time.Now(), Header: http.Header{}, Body: []byte(body)}
		if err := s.Sign(m); err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{one, two} {
			hook, err := standardwebhooks.NewWebhook(secret)
			if err != nil {
				t.Fatal(err)
			}
			if err := hook.Verify(m.Body, m.Header); err != nil {
				t.Errorf("verify with %s: %v", secret, err)
			}
			if err := hook.Verify([]byte(body+" "), m.Header); err == nil {
				t.Error("another body verifies too")
			}
		}
		parts := strings.Split(m.Header.Get("webhook-signature"), " ")
		if len(parts) != 3 || !strings.HasPrefix(parts[1], "v1a,") {
			t.Fatalf("webhook-signature: %q; want three, the second v1a", parts)
		}
		signature, err := base64.StdEncoding.DecodeString(parts[1][4:])
		signed := fmt.Sprintf("%s.%d.%s", m.ID, m.Time.Unix(), body)
		if err != nil || !ed25519.Verify(public, []byte(signed), signature) {
			t.Errorf("the ed25519 signature does not verify: %v", err)
		}
	}
}

// The example of the Standard Webhooks specification's libraries.
func TestStandardWebhooksVector(t *testing.T) {
	s := newSigner(t, StandardWebhooks, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	m := &Message{ID: "msg_p5jXN8AQM9LWM0D4loKWxJek", Time: time.Unix(1614265330, 0), Header: http.Header{}, Body: []byte(`{"test": 2432232314}`)}
	if err := s.Sign(m); err != nil {
		t.Fatal(err)
	}
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := m.Header.Get("webhook-signature"); got != want {
		t.Errorf("webhook-signature: %s; want %s", got, want)
	}
}

// shortKey is too short for every scheme.
func shortKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestWechat(t *testing.T) {
	key := keytest.RSA()
	pkcs8 := keytest.PrivatePEM(key)
	certificate := keytest.Certificate(key, x509.Certificate{SerialNumber: big.NewInt(0x5157F09EFDC096DE)})
	hash := sha256.Sum256(keytest.Public(key))
	derived := fmt.Sprintf("%X", hash[:20])

	for _, tt := range []struct{ secret, serial, want string }{
		{pkcs8, "PUB_KEY_ID_0001", "PUB_KEY_ID_0001"},
		{keytest.PEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)), "", derived},
		{certificate + pkcs8, "", "5157F09EFDC096DE"},
		{pkcs8 + certificate, "ABC", "ABC"},
	} {
		s, err := New(Config{Scheme: WechatRSA, Secrets: []Secret{NewSecret(tt.secret)}, Serial: tt.serial})
		if err != nil {
			t.Fatal(err)
		}
		nonces := map[string]bool{}
		for range 2 {
			m := &Message{Time: time.Unix(1614265330, 0), Header: http.Header{}, Body: []byte(body)}
			if err := s.Sign(m); err != nil {
				t.Fatal(err)
			}
			h := m.Header
			nonces[h.Get("Wechatpay-Nonce")] = true
			sum := sha256.Sum256([]byte("1614265330\n" + h.Get("Wechatpay-Nonce") + "\n" + body + "\n"))
			signature, err := base64.StdEncoding.DecodeString(h.Get("Wechatpay-Signature"))
			if err == nil {
				err = rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature)
			}
			if err != nil || h.Get("Wechatpay-Timestamp") != "1614265330" || h.Get("Wechatpay-Serial") != tt.want ||
				h.Get("Wechatpay-Signature-Type") != "WECHATPAY2-SHA256-RSA2048" {
				t.Errorf("%v: %v; want a signature that verifies, serial %s", h, err, tt.want)
			}
			for _, name := range s.Headers() {
				delete(h, name)
			}
			if len(h) != 0 {
				t.Errorf("Headers does not name %v", h)
			}
		}
		if len(nonces) != 2 {
			t.Errorf("nonces %v; want two", nonces)
		}
	}
}

// The first is the example of WeChat Pay v2's documentation of signatures.
func TestParams(t *testing.T) {
	const key = "192006250b4c09247ec02edce69f6a2d"
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}
	const md5Sign, hmacSign = "9A0A8659F005D6984697E2CA0A9CF3B7", "6A9AE1657590FD6257D693A078E1C3E4BB6BA4DC30B23E0EE2496E54170DACD6"
	tests := []struct {
		name        string
		scheme      string
		header      http.Header
		body, query string
		wantBody    string
		wantQuery   string
	}{
		{name: "wechat v2", scheme: MD5Params,
			body:     `{"appid":"wxd930ea5d5a258f4f","mch_id":"10000100","device_info":"1000","body":"test","nonce_str":"ibuaiVcKdpRxkhJA"}`,
			wantBody: `{"appid":"wxd930ea5d5a258f4f","mch_id":"10000100","device_info":"1000","body":"test","nonce_str":"ibuaiVcKdpRxkhJA","sign":"` + md5Sign + `"}`},
		{name: "wechat v2 hmac, numbers, null, empty, an old sign and white space", scheme: HMACParams,
			body:     " {\n \"sign\": \"OLD\" , \"mch_id\" : 10000100,\"appid\":\"wxd930ea5d5a258f4f\",\n\"x\":null,\"y\":\"\",\"device_info\":1000,\"body\":\"t\\u0065st\",\"nonce_str\":\"ibuaiVcKdpRxkhJA\"}\n",
			wantBody: `{"mch_id" : 10000100,"appid":"wxd930ea5d5a258f4f","x":null,"y":"","device_info":1000,"body":"t\u0065st","nonce_str":"ibuaiVcKdpRxkhJA","sign":"` + hmacSign + `"}`},
		{name: "form", scheme: MD5Params, header: form, query: "untouched=1", wantQuery: "untouched=1",
			body:     "sign=OLD&appid=wxd930ea5d5a258f4f&mch%5Fid=10000100&device_info=1000&body=t%65st&empty=&nonce_str=ibuaiVcKdpRxkhJA",
			wantBody: "appid=wxd930ea5d5a258f4f&mch%5Fid=10000100&device_info=1000&body=t%65st&empty=&nonce_str=ibuaiVcKdpRxkhJA&sign=" + md5Sign},
		{name: "query", scheme: MD5Params,
			query:     "nonce_str=ibuaiVcKdpRxkhJA&body=test&device_info=1000&mch_id=10000100&appid=wxd930ea5d5a258f4f",
			wantQuery: "nonce_str=ibuaiVcKdpRxkhJA&body=test&device_info=1000&mch_id=10000100&appid=wxd930ea5d5a258f4f&sign=" + md5Sign},
		{name: "nothing but the key", scheme: MD5Params, body: "{}",
			wantBody: `{"sign":"1526FD440C2A8E68F74374B33E8BDF73"}`},
		// What the algorithms say by hand: printf '%s' TEXT | md5sum, in upper case. The texts:
		// a1=1&a=2&amount=990&appId=A1&B=3&c=4&mchNo=M1&mchOrderNo=O1&Param=x&payOrderId=P1&key=KEY:
		// a1 stands before a, since '1' is less than '='; B and Param stand among the small
		// letters.
		{name: "jeepay", scheme: JeepayMD5,
			query:     "payOrderId=P1&Param=x&mchOrderNo=O1&B=3&a=2&c=4&a1=1&mchNo=M1&appId=A1&amount=990&empty=",
			wantQuery: "payOrderId=P1&Param=x&mchOrderNo=O1&B=3&a=2&c=4&a1=1&mchNo=M1&appId=A1&amount=990&empty=&sign=92DDFEF08E3EFACD5F4C56FF1D6BE605"},
		// orderNo=O1&orderPrice=9.90&payKey=pk&productName=茶 tea&tradeStatus=SUCCESS&paySecret=KEY
		{name: "roncoo", scheme: RoncooMD5,
			query:     "payKey=pk&productName=%E8%8C%B6+tea&orderNo=O1&remark=+&field1=&orderPrice=9.90&tradeStatus=SUCCESS",
			wantQuery: "payKey=pk&productName=%E8%8C%B6+tea&orderNo=O1&remark=+&field1=&orderPrice=9.90&tradeStatus=SUCCESS&sign=4DEA678389D294786EC40F079C48BE2E"},
		{name: "roncoo, capitals first", scheme: RoncooMD5, body: `{"b":"1","A":"2","a":"3"}`, wantBody: `{"b":"1","A":"2","a":"3","sign":"628FB08D94655D2E0F5C2804AC379B5B"}`},
	}
	for _, tt := range tests {
		s := newSigner(t, tt.scheme, key)
		m := &Message{Header: tt.header, Body: []byte(tt.body), Query: tt.query}
		if err := s.Check(m); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err := s.Sign(m); err != nil || string(m.Body) != tt.wantBody || m.Query != tt.wantQuery {
			t.Errorf("%s: %v,\n body %s\n want %s\nquery %s\n want %s", tt.name, err, m.Body, tt.wantBody, m.Query, tt.wantQuery)
		}
	}
}

// textOfMD5 is what md5_params signs, without the key.
func textOfMD5(list []param) []byte {
	return (&params{Params: presets[""]}).text(slices.DeleteFunc(slices.Clone(list), func(p param) bool { return p.name == "sign" }))
}

func TestParamsNested(t *testing.T) {
	list, in, err := parseParams(&Message{Body: []byte(`{"b":{"x" : [1, 2.50]}, "a":true, "A":1e3, "c":[ ], "é":"<&>"}`)})
	const want = `A=1e3&a=true&b={"x":[1,2.50]}&c=[]&é=<&>`
	if got := string(textOfMD5(list)); err != nil || in != inJSON || got != want {
		t.Errorf("sorted: %s, %v; want %s", got, err, want)
	}
}

func TestParamsErrors(t *testing.T) {
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	for _, m := range []*Message{
		{Body: []byte("hello")},
		{Body: []byte(`[1]`)},
		{Body: []byte(`{"a":s3cret`)},
		{Body: []byte(`{"a":1} {"b":2}`)},
		{Body: []byte(`{"a":1,"a":2}`)},
		{Body: []byte("{\"a\":\"\xff\"}")},
		{Header: form, Body: []byte("a=1&a=2")},
		{Header: form, Body: []byte("a=s3cret%zz")},
		{Query: "a=1&%61=2"},
	} {
		s := newSigner(t, MD5Params, "k")
		if err := s.Check(m); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Check(%q, %q) = %v; want an error without values", m.Body, m.Query, err)
		}
		if err := s.Sign(m); err == nil {
			t.Errorf("Sign(%q, %q): no error", m.Body, m.Query)
		}
	}
}

func TestNewErrors(t *testing.T) {
	short := shortKey(t)
	certificate := keytest.Certificate(keytest.RSA(), x509.Certificate{SerialNumber: big.NewInt(1)})
	_, ed, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	mixed := bytes.Clone(ed)
	mixed[63]++
	t.Setenv("BELLMAN_TEST_EMPTY", " ")
	for _, tt := range []struct {
		config Config
		want   string
	}{
		{Config{Scheme: "hmac", Secrets: []Secret{NewSecret("k")}}, "scheme: "},
		{Config{Secrets: []Secret{NewSecret("k")}}, "scheme: "},
		{Config{Scheme: MD5Params}, "secrets: "},
		{Config{Scheme: MD5Params, Serial: "1", Secrets: []Secret{NewSecret("k")}}, "serial: "},
		{Config{Scheme: MD5Params, Secrets: []Secret{NewSecret("k"), {}}}, "secrets[1]: "},
		{Config{Scheme: MD5Params, Secrets: []Secret{NewSecret("env:BELLMAN_TEST_UNSET")}}, "secrets[0]: environment variable BELLMAN_TEST_UNSET is not set"},
		{Config{Scheme: MD5Params, Secrets: []Secret{NewSecret("env:BELLMAN_TEST_EMPTY")}}, "secrets[0]: environment variable BELLMAN_TEST_EMPTY is empty"},
		{Config{Scheme: MD5Params, Secrets: []Secret{NewSecret("file:no/such/file")}}, "secrets[0]: open no/such/file"},
		{Config{Scheme: StandardWebhooks, Secrets: []Secret{NewSecret("s3cret")}}, "secrets[0]: want whsec_"},
		{Config{Scheme: StandardWebhooks, Secrets: []Secret{NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), NewSecret("whsec_s3cret!")}}, "secrets[1]: what follows whsec_ is not base64"},
		{Config{Scheme: StandardWebhooks, Secrets: []Secret{NewSecret("whsec_")}}, "secrets[0]: whsec_ holds 0 bytes: want 24 to 64"},
		{Config{Scheme: StandardWebhooks, Secrets: []Secret{NewSecret("whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 23)))}}, "secrets[0]: whsec_ holds 23 bytes: want 24 to 64"},
		{Config{Scheme: StandardWebhooks, Secrets: []Secret{NewSecret("whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65)))}}, "secrets[0]: whsec_ holds 65 bytes: want 24 to 64"},
		{Config{Scheme: StandardWebhooks, Secrets: []Secret{NewSecret("whsk_AAAA")}}, "secrets[0]: whsk_ holds 3 bytes"},
		{Config{Scheme: StandardWebhooks, Secrets: []Secret{NewSecret("whsk_" + base64.StdEncoding.EncodeToString(mixed))}}, "secrets[0]: whsk_ holds a private key and another's"},
		{Config{Scheme: WechatRSA, Secrets: []Secret{NewSecret("s3cret")}}, "secrets[0]: want an RSA private key"},
		{Config{Scheme: WechatRSA, Secrets: []Secret{NewSecret(keytest.PrivatePEM(ed))}}, "secrets[0]: PRIVATE KEY is not an RSA key"},
		{Config{Scheme: WechatRSA, Secrets: []Secret{NewSecret(keytest.PEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(short)))}}, "secrets[0]: an RSA key of 1024 bits"},
		{Config{Scheme: WechatRSA, Secrets: []Secret{NewSecret(certificate + keytest.PEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(keytest.RSA())))}}, "secrets[0]: CERTIFICATE belongs"},
	} {
		if _, err := New(tt.config); err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("New(%v): %v; want %s, without the secret", tt.config, err, tt.want)
		}
	}
	for _, size := range []int{24, 64} {
		if _, err := New(Config{Scheme: StandardWebhooks, Secrets: []Secret{NewSecret("whsec_" + base64.StdEncoding.EncodeToString(make([]byte, size)))}}); err != nil {
			t.Errorf("a secret of %d bytes: %v", size, err)
		}
	}
	if s, err := New(Config{}); s != nil || err != nil {
		t.Errorf("New(Config{}) = %v, %v; want nil, nil", s, err)
	}
}

func TestSecretSources(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("k3y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BELLMAN_TEST_KEY", "k3y")
	for _, text := range []string{"k3y", "env:BELLMAN_TEST_KEY", "file:" + path} {
		if key, err := NewSecret(text).Resolve(); string(key) != "k3y" || err != nil {
			t.Errorf("%s: %q, %v", text, key, err)
		}
	}
	if err := os.WriteFile(path, make([]byte, maxSecret+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewSecret("file:" + path).Resolve(); err == nil {
		t.Error("a file of more than 64 KiB: no error")
	}
}

// However it is printed, alone or in what holds it, a secret does not show.
func TestSecretsAreHidden(t *testing.T) {
	const literal, key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "correct-horse-battery-staple"
	t.Setenv("BELLMAN_TEST_KEY", literal)
	config := Config{Scheme: StandardWebhooks, Secrets: []Secret{NewSecret(literal), NewSecret("env:BELLMAN_TEST_KEY")}}
	holder := struct{ hidden Config }{config}
	private := keytest.RSA()
	pkcs1 := keytest.PEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(private))
	values := []any{NewSecret(literal), new(config.Secrets[0]), config, &config, holder, &holder, NewSecret(key), NewSecret(pkcs1),
		newSigner(t, StandardWebhooks, literal), newSigner(t, MD5Params, key), newSigner(t, HMACParams, key), newSigner(t, WechatRSA, pkcs1),
		newSigner(t, MD5Key, key), newSigner(t, TV1, key), newSigner(t, RSA2, pkcs1)}
	raw, _ := base64.StdEncoding.DecodeString(literal[6:])
	lines := strings.Split(pkcs1, "\n")
	secrets := []string{literal[6:30], key[:20], lines[1], lines[len(lines)-3], private.D.String()[:20],
		strings.Trim(fmt.Sprint(raw[:8]), "[]"), strings.Trim(fmt.Sprint([]byte(key[:8])), "[]"), fmt.Sprintf("%x", raw[:8]), fmt.Sprintf("%x", key[:8]),
		fmt.Sprintf("%#v", raw[:8])[7:40]}
	for _, v := range values {
		var out strings.Builder
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%b"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("m", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "v", v)
		encoded, _ := json.Marshal(v)
		out.Write(encoded)
		for _, secret := range secrets {
			if strings.Contains(out.String(), secret) {
				t.Errorf("%T shows %s in\n%s", v, secret, out.String())
			}
		}
	}
	for text, want := range map[string]string{literal: "***LaSw", "short": "***", "": "", "env:X": "env:X", "file:/k": "file:/k", pkcs1: "***"} {
		if got := NewSecret(text).String(); got != want {
			t.Errorf("String() = %s; want %s", got, want)
		}
	}
	if got, _ := json.Marshal(config); !strings.Contains(string(got), `["***LaSw","env:BELLMAN_TEST_KEY"]`) {
		t.Errorf("JSON: %s", got)
	}
	var s Secret
	if err := json.Unmarshal([]byte(`"k3y"`), &s); err != nil || *s.text != "k3y" {
		t.Errorf("unmarshal: %v, %v", s, err)
	}
}

// A signed message is the given message plus a signature. Signing again gives the same signature,
// and a JSON body stays JSON.
func FuzzParams(f *testing.F) {
	f.Add(body, "", false)
	f.Add(`{"a":{"b":[1,null]},"sign":"x","é":"\u0000"}`, "", false)
	f.Add("a=1&b=%20+&sign=x", "", true)
	f.Add("", "a=1&b", false)
	f.Fuzz(func(t *testing.T, body, query string, form bool) {
		s := newSigner(t, MD5Params, "k")
		m := &Message{Header: http.Header{}, Body: []byte(body), Query: query}
		if form {
			m.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		before, in, err := parseParams(m)
		if err != nil {
			return
		}
		if err := s.Sign(m); err != nil {
			t.Fatalf("parsed, but: %v", err)
		}
		after, in2, err := parseParams(m)
		if err != nil || in != in2 || !bytes.Equal(textOfMD5(before), textOfMD5(after)) {
			t.Fatalf("%q %q became %q %q: %v", body, query, m.Body, m.Query, err)
		}
		if in == inJSON && !json.Valid(m.Body) {
			t.Errorf("%q became %q", body, m.Body)
		}
		once := *m
		if err := s.Sign(m); err != nil || !bytes.Equal(m.Body, once.Body) || m.Query != once.Query {
			t.Errorf("signed again: %q %q, %v; want %q %q", m.Body, m.Query, err, once.Body, once.Query)
		}
	})
}
