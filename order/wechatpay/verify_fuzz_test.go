package wechatpay

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/url"
	"strings"
	"testing"
)

// No headers make bytes WeChat Pay's that it has not signed, whether they come as an answer or as a
// notice.
func FuzzVerify(f *testing.F) {
	good := raw(signedBy(200, trade("SUCCESS")))
	get := good.Header.Get
	f.Add(get("Wechatpay-Timestamp"), get("Wechatpay-Nonce"), get("Wechatpay-Serial"), get("Wechatpay-Signature"), string(good.Body))
	f.Add("-9223372036854775808", "\n", "0", "WECHATPAY/SIGNTEST/x", "")
	f.Add("9223372036854775807", "a\n", "00"+strings.ToLower(publicID), "=", "\n")
	c := reader(f, readerOptions(f))
	f.Fuzz(func(t *testing.T, stamp, nonce, serial, signature, body string) {
		header := map[string]string{"wechatpay-timestamp": stamp, "wechatpay-nonce": nonce, "wechatpay-serial": serial, "wechatpay-signature": signature}
		err := c.verify(t.Context(), "notice", func(name string) string { return header[name] }, []byte(body), now)
		// The signature covers the three joined by newlines.
		signed := stamp+"\n"+nonce+"\n"+body == get("Wechatpay-Timestamp")+"\n"+get("Wechatpay-Nonce")+"\n"+string(good.Body)
		if err == nil && !signed {
			t.Errorf("%q %q %q %q %q: it is verified", stamp, nonce, serial, signature, body)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("%q is more than a line", err)
		}
	})
}

// A bill's address leads to the channel's host, whatever it is, and a bill that breaks off is an
// error.
func FuzzBillFile(f *testing.F) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, "a,b\n")
	z.Close()
	f.Add(Domestic+"/v3/billdownload/file?token=x", packed.Bytes())
	f.Add(" "+Backup+"//evil.example/", packed.Bytes()[:12])
	f.Add("https:api.mch.weixin.qq.com/x", []byte("\x1f\x8b"))
	f.Add(Domestic+"#@evil.example", []byte("plain"))
	c := reader(f, readerOptions(f))
	f.Fuzz(func(t *testing.T, address string, file []byte) {
		if uri, err := c.ownURI(address); err == nil {
			if u, err := url.Parse(Domestic + uri); err != nil || "https://"+u.Host != Domestic || u.User != nil {
				t.Errorf("%q leads to %q, %v", address, u, err)
			}
		}
		var out bytes.Buffer
		err := unpack(&out, bytes.NewReader(file))
		if packed := bytes.HasPrefix(file, []byte("\x1f\x8b")); !packed && (err != nil || !bytes.Equal(out.Bytes(), file)) {
			t.Errorf("%q: %q, %v", file, &out, err)
		}
	})
}
