package sign

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/bellmanhq/bellman/internal/keytest"
)

var verifyNow = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func newVerifier(t testing.TB, scheme, header string, secrets ...string) *Verifier {
	t.Helper()
	c := VerifyConfig{Scheme: scheme, Header: header}
	for _, s := range secrets {
		c.Secrets = append(c.Secrets, NewSecret(s))
	}
	v, err := NewVerifier(c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func sumOf(key, text string) []byte {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return h.Sum(nil)
}

func hexOf(key, text string) string { return hex.EncodeToString(sumOf(key, text)) }

// headers are pairs of name and value.
func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

type verifyRow struct {
	name   string
	header http.Header
	body   string
	want   string // a part of the error; empty: it is valid
}

func runVerify(t *testing.T, v *Verifier, rows []verifyRow) {
	t.Helper()
	for _, tt := range rows {
		err := v.Verify(tt.header, []byte(tt.body), verifyNow)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
}

const wrongSignature = "signature is wrong"

func TestVerifyHMAC(t *testing.T) {
	const newer, older = "the newer secret", "the older secret"
	v := newVerifier(t, HMACBody, "x-signature", newer, older)
	sum := base64.StdEncoding.EncodeToString(sumOf(newer, body))
	long := strings.Repeat(hexOf("stranger", body)+",", 10) + hexOf(newer, body)
	runVerify(t, v, []verifyRow{
		{"hex", headers("X-Signature", hexOf(newer, body)), body, ""},
		{"capitals", headers("X-Signature", strings.ToUpper(hexOf(newer, body))), body, ""},
		{"base64", headers("X-Signature", sum), body, ""},
		{"the older secret", headers("X-Signature", hexOf(older, body)), body, ""},
		{"as GitHub writes it", headers("X-Signature", "sha256="+hexOf(newer, body)), body, ""},
		{"several, the last is right", headers("X-Signature", hexOf("stranger", body)+", "+sum), body, ""},
		{"several headers", headers("X-Signature", hexOf("stranger", body), "X-Signature", sum), body, ""},
		{"an empty body", headers("X-Signature", hexOf(newer, "")), "", ""},
		{"a stranger's", headers("X-Signature", hexOf("stranger", body)), body, wrongSignature},
		{"another body", headers("X-Signature", hexOf(newer, body)), body + " ", wrongSignature},
		{"cut off", headers("X-Signature", hexOf(newer, body)[:62]), body, wrongSignature},
		{"no sum", headers("X-Signature", "?"), body, wrongSignature},
		{"64 characters that are no hex", headers("X-Signature", strings.Repeat("z", 64)), body, wrongSignature},
		{"too many", headers("X-Signature", long), body, "11 signatures"},
		{"empty", headers("X-Signature", " , "), body, "not signed"},
		{"another header", headers("X-Other", hexOf(newer, body)), body, "not signed: it has no header X-Signature"},
	})
}

func TestVerifyRSA(t *testing.T) {
	first, second, stranger := keytest.RSA(), keytest.RSA(), keytest.RSA()
	public := func(key *rsa.PrivateKey) string { return base64.StdEncoding.EncodeToString(keytest.Public(key)) }
	signed := func(key *rsa.PrivateKey) string {
		sign, err := RSASigner(NewSecret(keytest.PrivatePEM(key)))
		if err != nil {
			t.Fatal(err)
		}
		signature, err := sign([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return signature
	}
	v := newVerifier(t, RSABody, "Sign", public(first), public(second))
	runVerify(t, v, []verifyRow{
		{"the first key", headers("Sign", signed(first)), body, ""},
		{"the second key", headers("Sign", signed(second)), body, ""},
		{"several", headers("Sign", signed(stranger)+","+signed(second)), body, ""},
		{"a stranger's", headers("Sign", signed(stranger)), body, wrongSignature},
		{"another body", headers("Sign", signed(first)), body + "\n", wrongSignature},
		{"none", headers(), body, "not signed"},
	})
}

// The signatures of another implementation, and of this package's own signer.
func TestVerifyStandardWebhooks(t *testing.T) {
	const secret, older, other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := newVerifier(t, StandardWebhooks, "", secret, older, "whpk_"+base64.StdEncoding.EncodeToString(public))
	theirs := func(secret, id string, at time.Time) string {
		hook, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		signature, err := hook.Sign(id, at, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return signature
	}
	message := func(at time.Time, signature string) http.Header {
		return headers("Webhook-Id", "msg_1", "Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10), "Webhook-Signature", signature)
	}
	ours := func(secrets ...string) http.Header {
		m := &Message{ID: "msg_1", Time: verifyNow, Header: http.Header{}, Body: []byte(body)}
		if err := newSigner(t, StandardWebhooks, secrets...).Sign(m); err != nil {
			t.Fatal(err)
		}
		return m.Header
	}
	bent := func(name, value string) http.Header {
		h := message(verifyNow, theirs(secret, "msg_1", verifyNow))
		h.Set(name, value)
		return h
	}
	at := func(d time.Duration) http.Header {
		return message(verifyNow.Add(d), theirs(secret, "msg_1", verifyNow.Add(d)))
	}
	seed := "whsk_" + base64.StdEncoding.EncodeToString(private)
	runVerify(t, v, []verifyRow{
		{"theirs", at(0), body, ""},
		{"the older secret", message(verifyNow, theirs(older, "msg_1", verifyNow)), body, ""},
		{"several signatures", message(verifyNow, theirs(other, "msg_1", verifyNow)+" "+theirs(older, "msg_1", verifyNow)), body, ""},
		{"ours", ours(secret), body, ""},
		{"ours, with ed25519", ours(seed), body, ""},
		{"ours, with a stranger's and ed25519", ours(other, seed), body, ""},
		{"almost too old", at(-5 * time.Minute), body, ""},
		{"almost too new", at(5 * time.Minute), body, ""},
		{"too old", at(-5*time.Minute - time.Second), body, "differs from ours by 5m1s"},
		{"too new", at(5*time.Minute + time.Second), body, "differs from ours by 5m1s"},
		{"a stranger's", message(verifyNow, theirs(other, "msg_1", verifyNow)), body, wrongSignature},
		{"another id", bent("Webhook-Id", "msg_2"), body, wrongSignature},
		{"another time", bent("Webhook-Timestamp", fmt.Sprint(verifyNow.Unix()+1)), body, wrongSignature},
		{"no time", bent("Webhook-Timestamp", "now"), body, "is no time"},
		{"a time beyond all", bent("Webhook-Timestamp", "9223372036854775807"), body, "differs from ours"},
		{"another version", bent("Webhook-Signature", "v1a,"+strings.TrimPrefix(theirs(secret, "msg_1", verifyNow), "v1,")), body, wrongSignature},
		{"no version", bent("Webhook-Signature", strings.TrimPrefix(theirs(secret, "msg_1", verifyNow), "v1,")), body, wrongSignature},
		{"no id", bent("Webhook-Id", ""), body, "not signed"},
		{"no signature", bent("Webhook-Signature", ""), body, "not signed"},
		{"another body", at(0), body + " ", wrongSignature},
	})
}

func TestVerifyStripe(t *testing.T) {
	v := newVerifier(t, Stripe, "", "whsec_new_secret", "whsec_old_secret")
	stamp := fmt.Sprint(verifyNow.Unix())
	header := func(text string) http.Header { return headers("Stripe-Signature", text) }
	at := func(d time.Duration) http.Header {
		stamp := fmt.Sprint(verifyNow.Add(d).Unix())
		return header("t=" + stamp + ",v1=" + hexOf("whsec_new_secret", stamp+"."+body))
	}
	right, old, wrong := hexOf("whsec_new_secret", stamp+"."+body), hexOf("whsec_old_secret", stamp+"."+body), hexOf("stranger", stamp+"."+body)
	runVerify(t, v, []verifyRow{
		{"as it is", at(0), body, ""},
		{"several signatures, of which one is right", header("t=" + stamp + ",v1=" + wrong + ",v1=" + old + ",v0=6ffbb59b"), body, ""},
		{"in another order, with white space", header("v1=" + right + ", t=" + stamp), body, ""},
		{"almost too old", at(-5 * time.Minute), body, ""},
		{"too old", at(-5*time.Minute - time.Second), body, "differs from ours"},
		{"too new", at(5*time.Minute + time.Second), body, "differs from ours"},
		{"another time", header("t=" + fmt.Sprint(verifyNow.Unix()+1) + ",v1=" + right), body, wrongSignature},
		{"two times", header("t=" + stamp + ",t=1,v1=" + right), body, "more than one t="},
		{"a stranger's", header("t=" + stamp + ",v1=" + wrong), body, wrongSignature},
		{"another scheme", header("t=" + stamp + ",v0=" + right), body, "not signed"},
		{"no time", header("v1=" + right), body, "not signed"},
		{"no header", headers(), body, "not signed"},
		{"another body", at(0), body + " ", wrongSignature},
	})
	short, err := NewVerifier(VerifyConfig{Scheme: Stripe, Header: "X-Sig", Secrets: []Secret{NewSecret("whsec_new_secret")}, Tolerance: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := short.Verify(headers("X-Sig", at(-time.Second).Get("Stripe-Signature")), []byte(body), verifyNow); err != nil {
		t.Errorf("another header and a tolerance of 1s: %v", err)
	}
	if err := short.Verify(headers("X-Sig", at(-2*time.Second).Get("Stripe-Signature")), []byte(body), verifyNow); err == nil {
		t.Error("a message of 2 s ago is valid with a tolerance of 1s")
	}
}

func TestVerifierRefuses(t *testing.T) {
	secrets := func(list ...string) (out []Secret) {
		for _, s := range list {
			out = append(out, NewSecret(s))
		}
		return out
	}
	for _, tt := range []struct {
		config VerifyConfig
		want   string
	}{
		{VerifyConfig{}, `scheme: "" is not one of hmac_sha256, rsa_sha256, standard_webhooks, stripe`},
		{VerifyConfig{Scheme: MD5Params, Secrets: secrets("s3cret-of-sixteen")}, "scheme: "},
		{VerifyConfig{Scheme: HMACBody, Header: "X"}, "secrets: hmac_sha256 needs at least one"},
		{VerifyConfig{Scheme: HMACBody, Header: "X", Secrets: secrets("s3cret-of-sixteen", "")}, "secrets[1]: is empty"},
		{VerifyConfig{Scheme: HMACBody, Header: "X", Secrets: secrets("s")}, "secrets[0]: has 1 bytes: want 16 or more"},
		{VerifyConfig{Scheme: Stripe, Secrets: secrets("s3cret-of-sixteen", "s3cret-of-15-b.")}, "secrets[1]: has 15 bytes: want 16 or more"},
		{VerifyConfig{Scheme: HMACBody, Header: "X", Secrets: secrets("env:BELLMAN_TEST_NONE")}, "secrets[0]: environment variable BELLMAN_TEST_NONE"},
		{VerifyConfig{Scheme: HMACBody, Secrets: secrets("s3cret-of-sixteen")}, "header: hmac_sha256 needs"},
		{VerifyConfig{Scheme: RSABody, Secrets: secrets("s3cret-of-sixteen")}, "header: rsa_sha256 needs"},
		{VerifyConfig{Scheme: RSABody, Header: "X", Secrets: secrets("s3cret-of-sixteen")}, "secrets[0]: want a certificate or an RSA public key"},
		{VerifyConfig{Scheme: HMACBody, Header: "X", Secrets: secrets("s3cret-of-sixteen"), Tolerance: time.Minute}, "tolerance: hmac_sha256 signs no time"},
		{VerifyConfig{Scheme: Stripe, Secrets: secrets("s3cret-of-sixteen"), Tolerance: -time.Minute}, "tolerance: want"},
		{VerifyConfig{Scheme: StandardWebhooks, Header: "X", Secrets: secrets("s3cret-of-sixteen")}, "header: standard_webhooks has"},
		{VerifyConfig{Scheme: StandardWebhooks, Secrets: secrets("s3cret-of-sixteen")}, "secrets[0]: want whsec_"},
		{VerifyConfig{Scheme: StandardWebhooks, Secrets: secrets("whsk_s3cret")}, "secrets[0]: is the sender's private key"},
		{VerifyConfig{Scheme: StandardWebhooks, Secrets: secrets("whpk_AAAA")}, "secrets[0]: want whpk_"},
	} {
		if _, err := NewVerifier(tt.config); err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("NewVerifier(%v): %v; want %s, without the secret", tt.config, err, tt.want)
		}
	}
}

func TestVerifierHidesItsSecrets(t *testing.T) {
	const key = "correct-horse-battery-staple"
	v := newVerifier(t, HMACBody, "X", key)
	encoded, _ := json.Marshal(struct{ V any }{v})
	shown := string(encoded)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		shown += fmt.Sprintf(verb+"\n", v)
	}
	for _, secret := range []string{key[:12], hex.EncodeToString([]byte(key[:8])), strings.Trim(fmt.Sprint([]byte(key[:8])), "[]")} {
		if strings.Contains(shown, secret) {
			t.Errorf("it shows %s in %s", secret, shown)
		}
	}
}

// No header makes a message valid that was not signed, and none makes a verifier panic.
func FuzzVerify(f *testing.F) {
	stamp := fmt.Sprint(verifyNow.Unix())
	f.Add("a", "b", "t="+stamp+",v1=00", body)
	f.Add("msg_1", stamp, "v1,AAAA v1a,AAAA", body)
	f.Add("", "-1", "sha256="+hexOf("k", body), body)
	f.Add("", "9223372036854775807", strings.Repeat("a", 64), "")
	key := keytest.PublicPEM(keytest.RSA())
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	verifiers := map[string]*Verifier{
		HMACBody:         newVerifier(f, HMACBody, "X-Signature", "correct-horse-battery-staple"),
		RSABody:          newVerifier(f, RSABody, "X-Signature", key),
		StandardWebhooks: newVerifier(f, StandardWebhooks, "", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whpk_"+base64.StdEncoding.EncodeToString(public)),
		Stripe:           newVerifier(f, Stripe, "X-Signature", "correct-horse-battery-staple"),
	}
	f.Fuzz(func(t *testing.T, id, stamp, signature, body string) {
		h := http.Header{"X-Signature": {signature}, "Webhook-Id": {id}, "Webhook-Timestamp": {stamp}, "Webhook-Signature": {signature}}
		for scheme, v := range verifiers {
			err := v.Verify(h, []byte(body), verifyNow)
			if err == nil || strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("%s: %v of %q %q %q %q", scheme, err, id, stamp, signature, body)
			}
		}
	})
}
