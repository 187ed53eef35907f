package sign

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bellmanhq/bellman/internal/coded"
)

// wechat signs as WeChat Pay v3 signs its notifications: RSA-SHA256 (PKCS #1 v1.5) over
// "timestamp\nnonce\nbody\n". A signature with 2,048 bits takes about a millisecond.
type wechat struct {
	serial    string
	algorithm string                       // Wechatpay-Signature-Type; empty: WeChat Pay has no name for it
	sign      func([]byte) ([]byte, error) // of a SHA-256; a function, so that printing cannot show the key
}

func newWechat(secrets [][]byte, serial string) (*wechat, error) {
	var first *wechat
	for i, secret := range secrets {
		w, err := parseWechatKey(secret)
		if err != nil {
			return nil, fmt.Errorf("secrets[%d]: %w", i, err)
		}
		if first == nil {
			first = w
		}
	}
	if strings.ContainsFunc(serial, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, coded.Errorf("sign.serial", "serial: want letters, digits and signs of ASCII")
	}
	if serial != "" {
		first.serial = serial
	}
	return first, nil
}

// parseWechatKey reads PEM: a private key (PKCS #8 or PKCS #1) and, in any order, the certificate
// that has the serial number.
func parseWechatKey(secret []byte) (*wechat, error) {
	var key *rsa.PrivateKey
	var certificate *x509.Certificate
	for rest := secret; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		switch block.Type {
		case "PRIVATE KEY":
			parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				return nil, coded.Errorf("sign.pkcs8", "PRIVATE KEY is not in PKCS #8 form")
			}
			k, ok := parsed.(*rsa.PrivateKey)
			if !ok {
				return nil, coded.Errorf("sign.not_rsa", "PRIVATE KEY is not an RSA key")
			}
			key = k
		case "RSA PRIVATE KEY":
			k, err := x509.ParsePKCS1PrivateKey(block.Bytes)
			if err != nil {
				return nil, coded.Errorf("sign.pkcs1", "RSA PRIVATE KEY is not in PKCS #1 form")
			}
			key = k
		case "CERTIFICATE":
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, coded.Errorf("sign.certificate", "CERTIFICATE: %w", err)
			}
			if certificate == nil {
				certificate = c
			}
		}
	}
	if key == nil {
		return nil, coded.Errorf("sign.want_rsa", "want an RSA private key in PEM form")
	}
	if key.N.BitLen() < 2048 {
		return nil, coded.Errorf("sign.rsa_short", "an RSA key of %d bits is too short: want 2048 or more", key.N.BitLen())
	}
	if certificate != nil && !key.PublicKey.Equal(certificate.PublicKey) {
		return nil, coded.Errorf("sign.certificate_other", "CERTIFICATE belongs to another key")
	}
	serial, err := serialOf(key, certificate)
	if err != nil {
		return nil, err
	}
	w := &wechat{serial: serial, sign: func(sum []byte) ([]byte, error) {
		return rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum)
	}}
	if key.N.BitLen() == 2048 {
		w.algorithm = "WECHATPAY2-SHA256-RSA2048"
	}
	return w, nil
}

func serialOf(key *rsa.PrivateKey, certificate *x509.Certificate) (string, error) {
	if certificate != nil {
		return upperHex(certificate.SerialNumber.Bytes()), nil
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return "", errors.New("RSA key has no public part")
	}
	sum := sha256.Sum256(public)
	return upperHex(sum[:20]), nil
}

func (w *wechat) Sign(m *Message) error {
	stamp := strconv.FormatInt(m.Time.Unix(), 10)
	nonce := rand.Text() // 26 letters and digits, 130 bits
	h := sha256.New()
	h.Write([]byte(stamp + "\n" + nonce + "\n"))
	h.Write(m.Body)
	h.Write([]byte{'\n'})
	signature, err := w.sign(h.Sum(nil))
	if err != nil {
		return errors.New("the RSA key cannot sign")
	}
	m.Header["Wechatpay-Timestamp"] = []string{stamp}
	m.Header["Wechatpay-Nonce"] = []string{nonce}
	m.Header["Wechatpay-Serial"] = []string{w.serial}
	m.Header["Wechatpay-Signature"] = []string{base64.StdEncoding.EncodeToString(signature)}
	if w.algorithm != "" {
		m.Header["Wechatpay-Signature-Type"] = []string{w.algorithm}
	}
	return nil
}

// Text returns "timestamp\nNONCE\nbody\n": each signature has its own nonce, which is not kept.
func (w *wechat) Text(m *Message) ([]byte, error) {
	text := append([]byte(strconv.FormatInt(m.Time.Unix(), 10)+"\nNONCE\n"), m.Body...)
	return append(text, '\n'), nil
}

func (w *wechat) Check(*Message) error { return nil }

func (w *wechat) Scheme() string { return WechatRSA }

func (w *wechat) Headers() []string { return wechatHeaders }

var wechatHeaders = []string{"Wechatpay-Timestamp", "Wechatpay-Nonce", "Wechatpay-Serial",
	"Wechatpay-Signature", "Wechatpay-Signature-Type"}
