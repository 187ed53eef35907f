package main

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/keytest"
)

// heard is the listener without which check-config warns of a notice.
const heard = "notices: {listen: '127.0.0.1:2380'}\n"

// What serve refuses in a configuration, check-config refuses with the same text: the file, the
// line, the field by its name in the file, and never a key. serve has created no store by then.
func TestCheckConfigRefusesWhatServeRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own := keytest.RSA()
	private := base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PrivateKey(own))
	public := base64.StdEncoding.EncodeToString(keytest.Public(own))
	write(t, filepath.Join(dir, "none.pem"), "geheim")
	env := []string{"TWO_LINES=a\nb", "SHORT=geheim", "NO_BROKER=http://u:geheim@h/", "NOWHERE=geheim"}
	wechat := func(fields string) string {
		return "queues:\n  wx:\n    kind: order\n    on_exhausted: close\n    channel:\n      kind: wechatpay\n" + indent(6, fields)
	}
	alipay := func(fields string) string {
		return "queues:\n  ali:\n    kind: order\n    on_exhausted: close\n    channel:\n      kind: alipay\n      app_id: '1'\n" + indent(6, fields)
	}
	gateway := func(fields string) string {
		return "queues:\n  gw:\n    kind: order\n    on_exhausted: close\n    query: {url: 'http://h/{order_no}'}\n    close: {url: 'http://h/{order_no}'}\n    states: wechat_v3\n    close_states: wechat_v3\n" + indent(4, fields)
	}
	provider := func(fields string) string {
		return "queues:\n  p:\n    kind: order\n    on_exhausted: close\n    channel:\n" + indent(6, fields)
	}
	id := "PUB_KEY_ID_01"
	good := "mch_id: '1900000001'\nserial: 5157F09EFDC096DE15EBE81A47057A7232F1B8E1\nprivate_key: " + private + "\nplatform_keys: {" + id + ": '" + public + "'}\n"
	tests := []struct {
		name, file string
		want       []string // the lines, without the name of the file
	}{
		{"a key that is none", wechat(strings.Replace(good, private, "geheim", 1)),
			[]string{"9:20: queues.wx.channel.private_key: want an RSA private key in PEM or base64, PKCS #8 or PKCS #1"}},
		{"every wrong field", wechat("mch_id: shop\nserial: '51:57'\nprivate_key: file:none.pem\nplatform_keys: {K: '" + public + "'}\napi_v3_key: env:SHORT\n"), []string{
			"7:15: queues.wx.channel.mch_id: want the merchant's number, of digits",
			"8:15: queues.wx.channel.serial: want the serial number of the merchant's API certificate, in hex",
			"9:20: queues.wx.channel.private_key: want an RSA private key in PEM or base64, PKCS #8 or PKCS #1",
			"10:26: queues.wx.channel.platform_keys.K: is a public key: name it by its id, PUB_KEY_ID_…",
			"11:19: queues.wx.channel.api_v3_key: has 6 bytes: want 32"}},
		{"the second of two keys", wechat(good + "api_v3_key: ['0123456789abcdef0123456789abcdef', geheim]\n"),
			[]string{"11:56: queues.wx.channel.api_v3_key[1]: has 6 bytes: want 32"}},
		{"an address with a path", wechat(good + "url: https://h/v3\n"),
			[]string{"11:12: queues.wx.channel.url: want scheme and host alone, such as https://api.mch.weixin.qq.com"}},
		{"a certificate that is a key", wechat(good + "certificate: '" + public + "'\n"),
			[]string{"11:20: queues.wx.channel.certificate: is a public key: want apiclient_cert.pem"}},
		{"Alipay's keys", alipay("private_key: geheim\nalipay_public_keys: ['" + public + "', geheim]\n"), []string{
			"8:20: queues.ali.channel.private_key: want an RSA private key in PEM or base64, PKCS #8 or PKCS #1",
			fmt.Sprintf("9:%d: queues.ali.channel.alipay_public_keys[1]: want a certificate or an RSA public key, in PEM", 32+len(public))}},
		{"certificates that are keys", alipay("private_key: " + private + "\nalipay_public_keys: ['" + public + "']\napp_certificate: '" + public + "'\nroot_certificates: geheim\n"), []string{
			"9:28: queues.ali.channel.alipay_public_keys[0]: is a public key: with app_certificate want alipayCertPublicKey_RSA2.crt",
			"10:24: queues.ali.channel.app_certificate: is a public key: want appCertPublicKey_….crt",
			"11:26: queues.ali.channel.root_certificates: want alipayRootCert.crt: there is no certificate that is signed with RSA"}},
		{"an API key of v2", provider("kind: wechatpay_v2\nmch_id: '1900000001'\napp_id: wx1\napi_key: geheim\n"),
			[]string{"9:16: queues.p.channel.api_key: has 6 characters: want the 32 of the API key of v2"}},
		{"Stripe's keys", provider("kind: stripe\nsecret_key: pk_1\nstripe_account: '1'\nwebhook_secrets: whsec_of_sixteen\n"), []string{
			"7:19: queues.p.channel.secret_key: want a secret or restricted key, sk_… or rk_…",
			"8:23: queues.p.channel.stripe_account: want acct_…"}},
		{"UnionPay's keys", provider("kind: unionpay\nmer_id: '1'\nprivate_key: geheim\ncertificate: geheim\nroot_certificates: geheim\n"), []string{
			"8:20: queues.p.channel.private_key: want an RSA private key in PEM or base64, PKCS #8 or PKCS #1",
			"9:20: queues.p.channel.certificate: want a certificate or an RSA public key, in PEM",
			"10:26: queues.p.channel.root_certificates: want UnionPay's root and middle certificate in PEM, one behind the other"}},
		{"Antom's keys", provider("kind: antom\nclient_id: x\nprivate_key: geheim\nantom_public_keys: geheim\n"), []string{
			"8:20: queues.p.channel.private_key: want an RSA private key in PEM or base64, PKCS #8 or PKCS #1",
			"9:26: queues.p.channel.antom_public_keys: want a certificate or an RSA public key, in PEM"}},
		{"a header from a variable of two lines", gateway("reverse: {url: 'http://h/{order_no}', headers: {Authorization: env:TWO_LINES}}\n"),
			[]string{"9:68: queues.gw.reverse.headers.Authorization: its value has a control character, or white space at an end"}},
		{"a notice without the header of its signature", gateway("notice: {verify: {scheme: hmac_sha256, secrets: [geheim-geheim-geheim-geheim]}, order: json.no, states: wechat_v3}\n") + heard,
			[]string{"9:22: queues.gw.notice.verify: header: hmac_sha256 needs the name of the header with the signature"}},
		{"a notice whose key is none", gateway("notice: {verify: {scheme: rsa_sha256, header: X, secrets: [geheim]}, order: json.no, states: wechat_v3}\n") + heard,
			[]string{"9:64: queues.gw.notice.verify.secrets[0]: want a certificate or an RSA public key, in PEM"}},
		{"a notice with a short key", gateway("notice: {verify: {scheme: hmac_sha256, header: X, secrets: [geheim]}, order: json.no, states: wechat_v3}\n") + heard,
			[]string{"9:65: queues.gw.notice.verify.secrets[0]: has 6 bytes: want 16 or more"}},
		{"a notice without any key", gateway("notice: {verify: {scheme: hmac_sha256, header: X}, order: json.no, states: wechat_v3}\n") + heard,
			[]string{"9:22: queues.gw.notice.verify: secrets: hmac_sha256 needs at least one"}},
		{"a tolerance without a time", gateway("notice: {verify: {scheme: hmac_sha256, header: X, tolerance: 1m, secrets: [geheim-geheim-geheim-geheim]}, order: json.no, states: wechat_v3}\n") + heard,
			[]string{"9:66: queues.gw.notice.verify.tolerance: hmac_sha256 signs no time"}},
		{"a callback that nobody hears of", strings.Replace(gateway(""), "on_exhausted: close", "on_exhausted: callback", 1),
			[]string{"4:19: queues.gw.on_exhausted: callback tells the queue of then, and there is none"}},
		{"a key to sign with", "queues:\n  pay: {sign: {scheme: rsa2, secrets: ['file:none.pem']}}\n",
			[]string{"2:40: queues.pay.sign.secrets[0]: want an RSA private key of 2048 bits or more, in PEM or base64, PKCS #8 or PKCS #1"}},
		{"the address of a queue", "queues:\n  pay: {url: env:NOWHERE}\n",
			[]string{"2:14: queues.pay.url: env:NOWHERE: is no address of a web server: want http://HOST/… or https://HOST/…, env:NAME, file:PATH, or empty"}},
		{"the address of a broker", "connections:\n  main: {url: env:NO_BROKER}\n", []string{"2:15: connections.main.url: env:NO_BROKER: "}},
		{"one master key twice", "master_keys: ['" + strings.Repeat("ab", 32) + "', '" + strings.Repeat("AB", 32) + "']\n", []string{"1:14: master_keys: key 2: is there twice"}},
		{"queues that are wrong in several ways", wechat(strings.Replace(good, private, "geheim", 1)) + "  pay: {sign: {scheme: rsa2, secrets: ['file:none.pem']}}\nmaster_keys: ['" + strings.Repeat("ab", 32) + "', '" + strings.Repeat("AB", 32) + "']\n", []string{
			"9:20: queues.wx.channel.private_key: ",
			"11:40: queues.pay.sign.secrets[0]: ",
			"12:14: master_keys: key 2: is there twice"}},
	}
	for _, tt := range tests {
		write(t, filepath.Join(dir, "b.yaml"), tt.file)
		check := runIn(t, dir, env, "", "check-config", "b.yaml")
		serve := runIn(t, dir, env, "", "serve", "--config", "b.yaml", "--store", "pebble:data", "--listen", "127.0.0.1:0")
		if check.status != 2 || serve.status != 2 || check.errors != serve.errors || strings.Contains(check.errors, "geheim") {
			t.Errorf("%s: check-config: status %d\n%sserve: status %d\n%swant status 2, the same text, and no key", tt.name, check.status, check.errors, serve.status, serve.errors)
		}
		lines := strings.Split(strings.TrimSuffix(check.errors, "\n"), "\n")
		for i, want := range tt.want {
			if i >= len(lines) || !strings.Contains(lines[i], "b.yaml:"+want) {
				t.Errorf("%s: line %d of\n%swant %q", tt.name, i+1, check.errors, want)
			}
		}
		if len(lines) != len(tt.want) {
			t.Errorf("%s: %d lines; want %d:\n%s", tt.name, len(lines), len(tt.want), check.errors)
		}
		if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
			t.Fatalf("%s: serve created a store", tt.name)
		}
	}
}

// A secret that is on the server's machine alone is a warning, and says that it was not checked.
// What can be checked without it is.
func TestCheckConfigWithoutSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := "queues:\n  wx:\n    kind: order\n    on_exhausted: close\n    channel: {kind: wechatpay, mch_id: '1900000001', serial: 'SERIAL', private_key: env:BELLMAN_NO_KEY, platform_keys: {PUB_KEY_ID_1: file:none.pem}}\n"
	write(t, filepath.Join(dir, "b.yaml"), strings.Replace(file, "SERIAL", "51AB", 1))
	r := runIn(t, dir, nil, "", "check-config", "b.yaml")
	for _, want := range []string{
		"warning: b.yaml:5:83: queues.wx.channel.private_key: environment variable BELLMAN_NO_KEY is not set: its content is not checked\n",
		"warning: b.yaml:5:133: queues.wx.channel.platform_keys.PUB_KEY_ID_1: open none.pem: no such file or directory: its content is not checked\n",
	} {
		if r.status != 0 || !strings.Contains(r.errors, want) {
			t.Errorf("check-config: status %d, %q; want 0, and %q", r.status, r.errors, want)
		}
	}
	if n := strings.Count(r.errors, "\n"); n != 2 {
		t.Errorf("check-config printed %d lines; want one for each secret:\n%s", n, r.errors)
	}
	write(t, filepath.Join(dir, "b.yaml"), strings.Replace(file, "SERIAL", "51:AB", 1))
	r = runIn(t, dir, nil, "", "check-config", "b.yaml")
	if want := "b.yaml:5:62: queues.wx.channel.serial: want the serial number"; r.status != 2 || !strings.Contains(r.errors, want) || !strings.Contains(r.errors, "BELLMAN_NO_KEY") {
		t.Errorf("check-config of a wrong serial number: status %d, %q; want 2, %q and the warning", r.status, r.errors, want)
	}
}

// indent indents each line of a text.
func indent(by int, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.Repeat(" ", by) + line)
	}
	return b.String()
}
