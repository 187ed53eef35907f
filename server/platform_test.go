package server_test

import (
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/keytest"
)

// A server fetches WeChat Pay's platform certificates, verifies answers with them, and tells when
// they and the merchant's certificate end.
func TestPlatformCertificatesAreFetched(t *testing.T) {
	t.Parallel()
	const serial, v3 = "5157F09E", "0123456789abcdef0123456789ABCDEF"
	p, d, chat := newProvider(t), newDesk(t), newChat(t)
	p.serial = serial
	certificate := func(key *rsa.PrivateKey, left time.Duration) string {
		number, _ := new(big.Int).SetString(serial, 16)
		return keytest.Certificate(key, x509.Certificate{SerialNumber: number, NotAfter: time.Now().Add(left)})
	}
	sealed := keytest.Seal(v3, "61f9c719728a", certificate(p.own, 5*24*time.Hour), "certificate")
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v3/certificates" {
			p.wechat(w, r)
			return
		}
		p.wechatSays(w, http.StatusOK, fmt.Sprintf(`{"data":[{"serial_no":%q,"encrypt_certificate":{"algorithm":"AEAD_AES_256_GCM","nonce":"61f9c719728a","associated_data":"certificate","ciphertext":%q}}]}`, serial, sealed))
	}))
	t.Cleanup(at.Close)
	private, _ := keyFiles(t, p)
	own := filepath.Join(t.TempDir(), "apiclient_cert.pem")
	if err := os.WriteFile(own, []byte(certificate(p.merchant, 20*24*time.Hour)), 0o600); err != nil {
		t.Fatal(err)
	}
	queues := d.parse(t, strings.NewReplacer("PROVIDER", at.URL, "PRIVATE", private, "OWN", own, "KEY", v3, "CHAT", chat.URL).Replace(`
queues:
  orders:
    kind: order
    channel: {kind: wechatpay, url: "PROVIDER", mch_id: "1230000109", certificate: "file:OWN", private_key: "file:PRIVATE", platform_keys: fetch, api_v3_key: KEY}
    on_exhausted: close
    schedule: 20ms, 1h*
  ops: {url: "CHAT"}
`))
	api, _, _ := serve(t, t.TempDir(), func(c *config.Config) {
		c.Queues = queues
		c.Alarms = []config.Alarm{{Name: "expires", When: "credential_expires", To: "ops"}}
	})
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "paid-1", Expires: "2h"})
	if o, _ := d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: "paid-1"}); o.OrderState != "PAID" {
		t.Errorf("the order is %s; want PAID", o.OrderState)
	}
	passes(t, "both certificates told", func() bool {
		all, err := api.Alarms(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, a := range all.Alarms {
			names = append(names, fmt.Sprintf("%s %g", a.Credential, a.Above/86400))
		}
		slices.Sort(names)
		return slices.Equal(names, []string{"queues.orders.channel.certificate 30", "queues.orders.channel.platform_keys 7"})
	})
	passes(t, "the chat told twice", func() bool { return len(chat.told()) == 2 })
}
