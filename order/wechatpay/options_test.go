package wechatpay

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/deliver/sign"
)

func TestNewRefuses(t *testing.T) {
	set := func(f func(o *Options)) Options { o := options(t); f(&o); return o }
	keys := func(name string, key sign.Secret) Options {
		return set(func(o *Options) { o.PlatformKeys = map[string]sign.Secret{name: key} })
	}
	tests := []struct {
		name    string
		options Options
		want    string
	}{
		{"no merchant", set(func(o *Options) { o.MchID = "" }), "wechatpay: mch_id: want"},
		{"a merchant that breaks out of the header", set(func(o *Options) { o.MchID = `1",x="` }), "wechatpay: mch_id: want"},
		{"a sub-merchant with letters", set(func(o *Options) { o.SubMchID = "abc" }), "wechatpay: sub_mch_id: want"},
		{"no serial", set(func(o *Options) { o.SerialNo = "" }), "wechatpay: serial: want"},
		{"a serial with colons", set(func(o *Options) { o.SerialNo = "51:57" }), "wechatpay: serial: want"},
		{"no key", set(func(o *Options) { o.PrivateKey = sign.Secret{} }), "wechatpay: private_key: want an RSA private key"},
		{"a key that is none", set(func(o *Options) { o.PrivateKey = sign.NewSecret("s3cret") }), "wechatpay: private_key: want an RSA private key"},
		{"a variable that is missing", set(func(o *Options) { o.PrivateKey = sign.NewSecret("env:BELLMAN_TEST_UNSET") }), "BELLMAN_TEST_UNSET is not set"},
		{"no platform keys", set(func(o *Options) { o.PlatformKeys = nil }), "wechatpay: platform_keys: want at least one"},
		{"a platform key that is none", keys(publicID, sign.NewSecret("s3cret")), "wechatpay: platform_keys." + publicID + ": want a certificate"},
		{"a public key under a serial", keys("ABC", publicPEM(publicKey)), "platform_keys.ABC: is a public key: name it by its id, PUB_KEY_ID_…"},
		{"a certificate under an id", keys(publicID, certificate(t, certificateKey, "ABCD")), "is a certificate: name it by its serial number, ABCD"},
		{"a certificate under another's serial", keys("ABC", certificate(t, certificateKey, "ABCD")), "the certificate has the serial number ABCD"},
		{"an address with a path", set(func(o *Options) { o.BaseURL = "https://api.example/v3" }), "wechatpay: url: want"},
		{"an address with a password", set(func(o *Options) { o.BaseURL = "https://a:s3cret@api.example" }), "wechatpay: url: want"},
		{"several", set(func(o *Options) { o.MchID, o.SerialNo, o.PrivateKey = "", "51:57", sign.NewSecret("s3cret") }), "wechatpay: mch_id: want the merchant's number, of digits; serial: want the serial number of the merchant's API certificate, in hex; private_key: want"},
		{"no address", set(func(o *Options) { o.BaseURL = "api.mch.weixin.qq.com" }), "wechatpay: url: want"},
	}
	for _, tt := range tests {
		_, err := New(tt.options)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
}

// However a channel or its options are printed, no key shows.
func TestKeysAreHidden(t *testing.T) {
	o := readerOptions(t)
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("made", "channel", c, "options", o)
	shown := log.String() + fmt.Sprintf("%v %+v %#v %v %+v %#v", c, c, *c, o, o, o)
	for _, part := range []string{"PRIVATE", merchantKey.D.String(), merchantKey.Primes[0].String(), fmt.Sprintf("%x", merchantKey.D),
		apiV3Key[:20], strings.Trim(fmt.Sprint([]byte(apiV3Key[:8])), "[]"), fmt.Sprintf("%x", apiV3Key[:8])} {
		if strings.Contains(shown, part) {
			t.Errorf("the key shows: %.30s…", part)
		}
	}
}
