package alipay

import (
	"crypto/md5"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
)

// readCertificates reads the certificates of an application that uses them instead of bare keys
// (公钥证书模式). Every request carries the numbers of the application's certificate and of the roots.
// An answer names the certificate that signed it.
func (c *Channel) readCertificates(bad *bellman.Invalid, app, root sign.Secret) {
	if err := c.readOwn(app); err != nil {
		bad.Note("app_certificate", err)
	}
	var err error
	if c.rootCertSN, err = rootSN(root); err != nil {
		bad.Note("root_certificates", err)
	}
	c.byNumber = make(map[string]*sign.RSAVerifier, len(c.keys))
	for i, key := range c.keys {
		if key == nil {
			continue // which is reported already
		}
		number, err := "", error(nil)
		if key.Certificate == nil {
			err = errors.New("is a public key: with app_certificate want alipayCertPublicKey_RSA2.crt")
		} else {
			number, err = certificateSN(key.Certificate)
		}
		if err != nil {
			bad.Note(fmt.Sprintf("alipay_public_keys[%d]", i), err)
		}
		c.byNumber[number] = key
	}
}

// readOwn takes the number of the application's certificate.
func (c *Channel) readOwn(app sign.Secret) error {
	own, err := sign.NewRSAVerifier(app)
	if err != nil {
		return err
	}
	if own.Certificate == nil {
		return errors.New("is a public key: want appCertPublicKey_….crt")
	}
	if c.sign != nil { // else the private key is wrong already
		probe, err := c.sign([]byte("probe"))
		if err != nil || !own.Verify([]byte("probe"), probe) {
			return errors.New("belongs to another key than private_key")
		}
	}
	c.appCertificate = own.Certificate
	c.appCertSN, err = certificateSN(own.Certificate)
	return err
}

// Certificates returns the end of validity of each certificate, by its option's name. It leaves out
// the roots, which only name the issuers.
func (c *Channel) Certificates() map[string]time.Time {
	valid := make(map[string]time.Time, 1+len(c.keys))
	if c.appCertificate != nil {
		valid["app_certificate"] = c.appCertificate.NotAfter
	}
	for i, key := range c.keys {
		if key.Certificate != nil {
			valid[fmt.Sprintf("alipay_public_keys[%d]", i)] = key.Certificate.NotAfter
		}
	}
	return valid
}

// candidates are the keys that an answer may be signed with.
func (c *Channel) candidates(e envelope) ([]*sign.RSAVerifier, error) {
	if c.byNumber == nil || e.sign == "" {
		return c.keys, nil
	}
	key := c.byNumber[e.certSN]
	if key == nil {
		return nil, fmt.Errorf("the answer is signed with the certificate %.40q, which is not among alipay_public_keys", e.certSN)
	}
	return []*sign.RSAVerifier{key}, nil
}

// certificateSN is the number that Alipay knows a certificate by: the MD5 of its
// issuer (RFC 2253) and serial number.
// alipay-easysdk, AntCertificationUtil.getCertSN
func certificateSN(c *x509.Certificate) (string, error) {
	var issuer pkix.RDNSequence // in its own order, which pkix.Name does not keep
	if rest, err := asn1.Unmarshal(c.RawIssuer, &issuer); err != nil || len(rest) > 0 {
		return "", errors.New("the certificate's issuer cannot be read")
	}
	sum := md5.Sum([]byte(issuer.String() + c.SerialNumber.String()))
	return hex.EncodeToString(sum[:]), nil
}

// rootSN is the number of Alipay's roots: the numbers of all roots that are signed with RSA, joined
// with _. The file has others too, with SM2, which Go cannot read.
// alipay-easysdk, AntCertificationUtil.getRootCertSN
func rootSN(root sign.Secret) (string, error) {
	text, err := root.Resolve()
	if err != nil {
		return "", err
	}
	var numbers []string
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil || !signedWithRSA(c) {
			continue
		}
		number, err := certificateSN(c)
		if err != nil {
			return "", err
		}
		numbers = append(numbers, number)
	}
	if numbers == nil {
		return "", errors.New("want alipayRootCert.crt: there is no certificate that is signed with RSA")
	}
	return strings.Join(numbers, "_"), nil
}

func signedWithRSA(c *x509.Certificate) bool {
	switch c.SignatureAlgorithm {
	case x509.SHA1WithRSA, x509.SHA256WithRSA, x509.SHA384WithRSA, x509.SHA512WithRSA, x509.MD5WithRSA:
		return true
	}
	return false
}
