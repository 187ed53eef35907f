package alipay

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order/states"
)

// Gateway is the address of Alipay's gateway.
const Gateway = "https://openapi.alipay.com/gateway.do"

// preset is what Alipay's answers mean.
const preset = "alipay"

// Options of a Channel. AppID, PrivateKey and AlipayPublicKeys are needed.
type Options struct {
	AppID string // 应用 ID

	// PrivateKey is the application's own (应用私钥), PKCS #1 or PKCS #8, in PEM or
	// as Alipay's key tool writes it: base64 alone.
	PrivateKey sign.Secret

	// AlipayPublicKeys verify answers (支付宝公钥, not the application's), in PEM or base64. One is
	// usual. Of several, each is tried, so that keys can rotate. With certificates:
	// alipayCertPublicKey_RSA2.crt, and the one that an answer names is used.
	AlipayPublicKeys []sign.Secret

	// AppCertificate (appCertPublicKey_….crt) and RootCertificates
	// (alipayRootCert.crt) are for an application that was set up with
	// certificates (公钥证书模式), both or neither.
	AppCertificate, RootCertificates sign.Secret

	// AppAuthToken is the token with which a merchant authorised a third-party application
	// (第三方应用授权). The zero Secret: the application acts for itself.
	AppAuthToken sign.Secret

	// SellerID (卖家支付宝用户号, 2088…) is whose trades' notices are read. With AppAuthToken it is needed:
	// each seller numbers orders by itself. Empty: those of every seller of the application.
	SellerID string

	GatewayURL string // default Gateway; the sandbox is https://openapi-sandbox.dl.alipaydev.com/gateway.do

	Transport http.RoundTripper // nil: http.DefaultTransport
	Downloads http.RoundTripper // to the hosts that Alipay names for bills: should refuse private addresses; nil: Transport
	Now       func() time.Time  // nil: time.Now
}

// New returns the channel of one application. The keys are read now. An error wraps a
// *[bellman.Invalid] that names every wrong option as the configuration does (private_key for PrivateKey), and
// contains no key.
func New(o Options) (*Channel, error) {
	c := &Channel{appID: o.AppID, sellerID: o.SellerID, gateway: cmp.Or(o.GatewayURL, Gateway), transport: cmp.Or(o.Transport, http.DefaultTransport), now: o.Now}
	c.downloads = cmp.Or(o.Downloads, c.transport)
	if c.now == nil {
		c.now = time.Now
	}
	bad := new(bellman.Invalid)
	if o.AppID == "" {
		bad.Add("app_id", "want the application's id")
	}
	u, err := url.Parse(c.gateway)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		bad.Add("url", "want an address without a query, such as "+Gateway)
	}
	if c.sign, err = sign.RSASigner(o.PrivateKey); err != nil {
		bad.Note("private_key", err)
	}
	if len(o.AlipayPublicKeys) == 0 {
		bad.Add("alipay_public_keys", "want at least one, for no answer counts unverified")
	}
	for i, secret := range o.AlipayPublicKeys {
		key, err := sign.NewRSAVerifier(secret)
		if err != nil {
			bad.Note(fmt.Sprintf("alipay_public_keys[%d]", i), err)
		}
		c.keys = append(c.keys, key)
	}
	if o.AppCertificate.String() != "" || o.RootCertificates.String() != "" {
		c.readCertificates(bad, o.AppCertificate, o.RootCertificates)
	}
	token, err := o.AppAuthToken.Resolve()
	switch {
	case err != nil:
		bad.Note("app_auth_token", err)
	case len(token) > 0 && o.SellerID == "": // another seller's notice would decide the order of the same number here
		bad.Add("seller_id", "is missing: with app_auth_token it says which of the application's sellers this is")
	}
	if err := bad.Err(); err != nil {
		return nil, fmt.Errorf("alipay: %w", err)
	}
	c.token = func() string { return string(token) }
	if c.query, err = states.CompileQuery(preset); err != nil {
		return nil, fmt.Errorf("alipay: %w", err)
	}
	if c.close, err = states.CompileClose(preset); err != nil {
		return nil, fmt.Errorf("alipay: %w", err)
	}
	return c, nil
}
