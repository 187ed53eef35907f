package alipay

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/keytest"
)

const node = "alipay_trade_query_response"

// newKey returns an RSA key: its private half as Alipay's key tool writes it, and its public half
// as Alipay's console shows it.
func newKey() (key *rsa.PrivateKey, private, public string) {
	key = keytest.RSA()
	return key, base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PrivateKey(key)), barePublic(key)
}

func TestOpen(t *testing.T) {
	tests := []struct{ name, body, node, text, sign string }{
		{"as Alipay writes it", `{"alipay_trade_query_response":{"code":"10000","msg":"Success"},"sign":"c2ln"}`, node, `{"code":"10000","msg":"Success"}`, "c2ln"},
		{"signature first", `{"sign":"c2ln","alipay_trade_query_response":{"code":"10000"}}`, node, `{"code":"10000"}`, "c2ln"},
		{"white space belongs to it inside and not outside", "{ \"alipay_trade_query_response\" :\n { \"code\" : \"10000\" } , \"sign\" : \"c2ln\" }", node, `{ "code" : "10000" }`, "c2ln"},
		{"the same words in a string before it", `{"msg":"\"alipay_trade_query_response\":{\"code\":\"1\"}","alipay_trade_query_response":{"code":"10000"},"sign":"c2ln"}`, node, `{"code":"10000"}`, "c2ln"},
		{"the same words in a string inside it", `{"alipay_trade_query_response":{"body":"},\"sign\":\"evil\",\"alipay_trade_query_response\":{","x":{"sign":"no"}},"sign":"c2ln"}`,
			node, `{"body":"},\"sign\":\"evil\",\"alipay_trade_query_response\":{","x":{"sign":"no"}}`, "c2ln"},
		{"backslashes before a quote", `{"alipay_trade_query_response":{"a":"\\","b":"\\\"}"},"sign":"c2ln"}`, node, `{"a":"\\","b":"\\\"}"}`, "c2ln"},
		{"a name with an escape", `{"alipay_trade\u005fquery_response":{"code":"10000"},"sign":"c2ln"}`, node, `{"code":"10000"}`, "c2ln"},
		{"a signature with an escape", `{"alipay_trade_query_response":{},"sign":"a\/b="}`, node, `{}`, "a/b="},
		{"another certificate's number", `{"alipay_trade_query_response":{},"alipay_cert_sn":"1","sign":"c2ln"}`, node, `{}`, "c2ln"},
		{"no signature", `{"alipay_trade_query_response":{"code":"40002"}}`, node, `{"code":"40002"}`, ""},
		{"an error of the gateway", `{"error_response":{"code":"20000"}}`, errorNode, `{"code":"20000"}`, ""},
		{"a signed error of the gateway", `{"error_response":{"code":"20000"},"sign":"c2ln"}`, errorNode, `{"code":"20000"}`, "c2ln"},
		{"both", `{"error_response":{"code":"20000"},"alipay_trade_query_response":{"code":"10000"},"sign":"c2ln"}`, node, `{"code":"10000"}`, "c2ln"},
	}
	for _, tt := range tests {
		e, err := open([]byte(tt.body), node)
		if err != nil || e.node != tt.node || string(e.text) != tt.text || e.sign != tt.sign {
			t.Errorf("%s: open = %q %q %q, %v; want %q %q %q", tt.name, e.node, e.text, e.sign, err, tt.node, tt.text, tt.sign)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"nothing", "", "not JSON"},
		{"a page of a proxy", "<html>502</html>", "not JSON"},
		{"cut off", `{"alipay_trade_query_response":{"code":"10000"},"sign":"c2`, "not JSON"},
		{"more behind it", `{"alipay_trade_query_response":{},"sign":"a"}{}`, "not JSON"},
		{"not UTF-8", "{\"alipay_trade_query_response\":{\"a\":\"\xff\"},\"sign\":\"a\"}", "not JSON"},
		{"a list", `[{"alipay_trade_query_response":{}}]`, "not a JSON object"},
		{"a string", `"alipay_trade_query_response"`, "not a JSON object"},
		{"another answer", `{"alipay_trade_close_response":{"code":"10000"},"sign":"a"}`, "no alipay_trade_query_response"},
		{"the answer twice", `{"alipay_trade_query_response":{"code":"10000"},"alipay_trade_query_response":{"code":"1"},"sign":"a"}`, "alipay_trade_query_response twice"},
		{"the answer twice, once with an escape", `{"alipay_trade_query_response":{},"alipay_trade_query\u005fresponse":{},"sign":"a"}`, "alipay_trade_query_response twice"},
		{"the signature twice", `{"alipay_trade_query_response":{},"sign":"a","sign":"b"}`, "sign twice"},
		{"encrypted", `{"alipay_trade_query_response":"c2VjcmV0","sign":"a"}`, "is encrypted"},
		{"null", `{"alipay_trade_query_response":null,"sign":"a"}`, "not a JSON object"},
		{"a number that is no text", `{"alipay_trade_query_response":{},"sign":"a","alipay_cert_sn":1}`, "answer's alipay_cert_sn is not a string"},
		{"a signature that is no text", `{"alipay_trade_query_response":{},"sign":1}`, "answer's sign is not a string"},
	}
	for _, tt := range tests {
		if e, err := open([]byte(tt.body), node); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: open = %q, %v; want an error that says %q", tt.name, e.text, err, tt.want)
		}
	}
}

// The signed text is returned byte for byte, whatever surrounds it, and is one contiguous value of
// the body.
func FuzzOpen(f *testing.F) {
	f.Add("", `{"code":"10000"}`, `,"sign":"c2ln"`)
	f.Add(`"sign":"c2ln",`, ` {"a":"}\",\"sign\":\"x"} `, "")
	f.Add(`"x":"\"alipay_trade_query_response\":{",`, `{"a":{"alipay_trade_query_response":{}}}`, `,"sign":"a"`)
	f.Add(`"alipay_trade_query_response":{},`, `{}`, `,"sign":"a"`)
	f.Add(`"error_response":{},`, `{"":"\\"}`, `,"y":[{"sign":1}]`)
	f.Fuzz(func(t *testing.T, before, text, behind string) {
		body := []byte(`{` + before + `"` + node + `":` + text + behind + `}`)
		e, err := open(body, node)
		if err != nil {
			return
		}
		if !json.Valid(e.text) || e.text[0] != '{' || e.text[len(e.text)-1] != '}' || !bytes.Contains(body, e.text) {
			t.Fatalf("open(%q) = %q: no object of the body", body, e.text)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(body, &members); err != nil {
			t.Fatalf("open(%q) = %q, but json.Unmarshal says %v", body, e.text, err)
		}
		if !bytes.Equal(members[e.node], e.text) {
			t.Fatalf("open(%q) = %q; want %q", body, e.text, members[e.node])
		}
		if e.node == errorNode && members[node] != nil {
			t.Fatalf("open(%q) took the error though there is an answer", body)
		}
		if plain := strings.TrimSpace(text); e.node == node && json.Valid([]byte(`{`+before+`"x":0}`)) &&
			json.Valid([]byte(text)) && plain != string(e.text) {
			t.Fatalf("open(%q) = %q; want %q", body, e.text, plain)
		}
	})
}

func TestVerify(t *testing.T) {
	_, private, public := newKey()
	_, _, other := newKey()
	signer, err := sign.RSASigner(sign.NewSecret(private))
	if err != nil {
		t.Fatal(err)
	}
	keys := func(texts ...string) (keys []*sign.RSAVerifier) {
		for _, text := range texts {
			key, err := sign.NewRSAVerifier(sign.NewSecret(text))
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
		}
		return keys
	}
	const plain, escaped = `{"a":"x/y","b":"\\/"}`, `{"a":"x\/y","b":"\\/"}`
	tests := []struct {
		name, signed, text string
		keys               []*sign.RSAVerifier
		want               string // what may be read; empty: nothing
	}{
		{"as it stands", plain, plain, keys(public), plain},
		{"the second of two keys", plain, plain, keys(other, public), plain},
		{"another's key", plain, plain, keys(other), ""},
		{"one byte changed", plain, strings.Replace(plain, "x", "z", 1), keys(public), ""},
		{"escaped before it was signed", escaped, escaped, keys(public), escaped},
		// What is read is the signed text, though the body means something else.
		{"escaped after it was signed", `{"a":"x/y"}`, `{"a":"x\/y"}`, keys(public), `{"a":"x/y"}`},
		{"escaped by somebody else", `{"a":"x\/y"}`, `{"a":"x\\/y"}`, keys(public), `{"a":"x\/y"}`},
	}
	for _, tt := range tests {
		signature, err := signer([]byte(tt.signed))
		if err != nil {
			t.Fatal(err)
		}
		got, err := envelope{text: []byte(tt.text), sign: signature}.verify(tt.keys)
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: verify = %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
	if got, err := (envelope{text: []byte(plain)}).verify(keys(public)); got != nil || err == nil || err.Error() != "the answer is not signed" {
		t.Errorf("without a signature: %q, %v", got, err)
	}
}

// The form of the example in Alipay's documents: sorted, not encoded, without empty fields and
// sign, with sign_type.
func TestSigned(t *testing.T) {
	form := url.Values{
		"method": {"alipay.trade.query"}, "app_id": {"2014072300007148"}, "charset": {"utf-8"}, "sign_type": {"RSA2"},
		"timestamp": {"2014-07-24 03:07:50"}, "version": {"1.0"}, "biz_content": {`{"out_trade_no":"a&b=c"}`},
		"sign": {"c2ln"}, "app_auth_token": {""}, "notify_url": {"https://a.example/?x=1"},
	}
	const want = `app_id=2014072300007148&biz_content={"out_trade_no":"a&b=c"}&charset=utf-8&method=alipay.trade.query` +
		`&notify_url=https://a.example/?x=1&sign_type=RSA2&timestamp=2014-07-24 03:07:50&version=1.0`
	if got := string(signedText(form, false, "sign")); got != want {
		t.Errorf("signed = %s; want %s", got, want)
	}
}
