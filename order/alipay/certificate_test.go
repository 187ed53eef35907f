package alipay

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/keytest"
	"github.com/bellmanhq/bellman/order"
)

// The two roots of alipayRootCert.crt that are signed with RSA. Applications with
// certificates send their numbers, joined with _, as alipay_root_cert_sn.
func TestCertificateSN(t *testing.T) {
	attribute := func(last int, value string) pkix.RelativeDistinguishedNameSET {
		return pkix.RelativeDistinguishedNameSET{{Type: asn1.ObjectIdentifier{2, 5, 4, last}, Value: value}}
	}
	for _, tt := range []struct {
		organisation, unit, name, serial string
		want                             string
	}{
		{"Ant Financial", "Certification Authority", "Ant Financial Certification Authority R1", "1FCFA18D6A480D11", "687b59193f3f462dd5336e5abf83c5d8"},
		{"iTrusChina", "China Trust Network", "iTrusChina Class 2 Root CA - G3", "10C764E9D560384212D9C08FD10E373FDD0FB396", "02941eef3187dddf3d3b83462e1dfcf6"},
	} {
		issuer, err := asn1.Marshal(pkix.RDNSequence{attribute(6, "CN"), attribute(10, tt.organisation), attribute(11, tt.unit), attribute(3, tt.name)})
		if err != nil {
			t.Fatal(err)
		}
		serial, _ := new(big.Int).SetString(tt.serial, 16)
		if got, err := certificateSN(&x509.Certificate{RawIssuer: issuer, SerialNumber: serial}); got != tt.want || err != nil {
			t.Errorf("%s: %s, %v; want %s", tt.name, got, err, tt.want)
		}
	}
}

// issue returns a certificate of a key's own.
func issue(key crypto.Signer, serial int64, name string) string {
	return keytest.Certificate(key, x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}})
}

func numberOf(t testing.TB, certificate string) string {
	t.Helper()
	v, err := sign.NewRSAVerifier(sign.NewSecret(certificate))
	if err != nil {
		t.Fatal(err)
	}
	number, err := certificateSN(v.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// An application with certificates sends their numbers, and an answer names the key that signed it.
func TestCertificates(t *testing.T) {
	p, next, strange := newPlatform(t), newPlatform(t), newPlatform(t)
	elliptical, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	app, old, young, stranger := issue(p.app, 1, "app"), issue(p.own, 2, "Alipay"), issue(next.own, 3, "Alipay"), issue(strange.own, 4, "Alipay")
	one, two := issue(p.own, 5, "root"), issue(next.own, 6, "root")
	unreadable := keytest.PEM("CERTIFICATE", []byte("SM2"))

	o := p.options()
	o.AppCertificate = sign.NewSecret(app)
	o.RootCertificates = sign.NewSecret(unreadable + one + issue(elliptical, 7, "root") + two)
	o.AlipayPublicKeys = []sign.Secret{sign.NewSecret(old), sign.NewSecret(young)}
	p.appCertSN, p.rootCertSN = numberOf(t, app), numberOf(t, one)+"_"+numberOf(t, two)
	p.wantMethod = queryMethod

	paid := trades("TRADE_SUCCESS", "")
	for _, tt := range []struct {
		name   string
		by     *platform
		number string
		want   string // a part of the error; empty: it counts
	}{
		{"the first", p, numberOf(t, old), ""},
		{"the next", next, numberOf(t, young), ""},
		{"one under the other's number", next, numberOf(t, old), "signature is wrong"},
		{"a stranger's", strange, numberOf(t, stranger), "is not among alipay_public_keys"},
		{"a stranger's under a known number", strange, numberOf(t, old), "signature is wrong"},
		{"no number", p, "", `the certificate "", which is not among`},
	} {
		p.body = func(func(string) string) string {
			return `{"` + node + `":` + paid + `,"alipay_cert_sn":"` + tt.number + `","sign":"` + tt.by.sign(paid) + `"}`
		}
		got := p.open(o).Query(t.Context(), &order.Order{OrderNo: orderNo})
		if (got.Reading == order.Paid) != (tt.want == "") || !strings.Contains(got.Error, tt.want) {
			t.Errorf("%s: %v, %q; want %q", tt.name, got.Reading, got.Error, tt.want)
		}
	}

	p.body = func(func(string) string) string { return `{"` + node + `":` + paid + `}` }
	if got := p.open(o).Query(t.Context(), &order.Order{OrderNo: orderNo}); got.Error != "the answer is not signed" {
		t.Errorf("without a signature: %v, %q", got.Reading, got.Error)
	}

	ends := slices.Sorted(maps.Keys(p.open(o).Certificates()))
	if want := []string{"alipay_public_keys[0]", "alipay_public_keys[1]", "app_certificate"}; !slices.Equal(ends, want) {
		t.Errorf("the ends of the certificates %q are known; want %q", ends, want)
	}
	if bare := p.open(p.options()).Certificates(); len(bare) > 0 {
		t.Errorf("bare keys end: %v; want no end", bare)
	}

	set := func(f func(o *Options)) Options {
		o := o
		o.AlipayPublicKeys = slices.Clone(o.AlipayPublicKeys)
		f(&o)
		return o
	}
	secret := func(text string) sign.Secret { return sign.NewSecret(text) }
	for _, tt := range []struct {
		name    string
		options Options
		want    string
	}{
		{"no root", set(func(o *Options) { o.RootCertificates = sign.Secret{} }), "root_certificates: want alipayRootCert.crt"},
		{"a root without RSA", set(func(o *Options) { o.RootCertificates = secret(unreadable) }), "root_certificates: want alipayRootCert.crt"},
		{"no certificate of its own", set(func(o *Options) { o.AppCertificate = sign.Secret{} }), "app_certificate: want a certificate"},
		{"a bare key of its own", set(func(o *Options) { o.AppCertificate = secret(barePublic(p.app)) }), "app_certificate: is a public key"},
		{"another's certificate", set(func(o *Options) { o.AppCertificate = secret(old) }), "app_certificate: belongs to another key"},
		{"no key of Alipay's", set(func(o *Options) { o.AlipayPublicKeys[1] = secret("x") }), "alipay_public_keys[1]: "},
		{"no key of its own", set(func(o *Options) { o.PrivateKey = secret("x") }), "private_key: "},
		{"a bare key of Alipay's", set(func(o *Options) { o.AlipayPublicKeys[1] = secret(p.public) }), "alipay_public_keys[1]: is a public key"},
	} {
		if _, err := New(tt.options); err == nil || !strings.HasPrefix(err.Error(), "alipay: "+tt.want) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
}

func barePublic(key *rsa.PrivateKey) string {
	return base64.StdEncoding.EncodeToString(keytest.Public(key))
}
