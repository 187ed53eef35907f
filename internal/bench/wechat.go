package bench

import (
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/schedule"
)

const (
	wechatMerchant = "1900000109"
	wechatKeyID    = "PUB_KEY_ID_01"                    // of the key that the channel signs with
	wechatAPIKey   = "bench-api-v3-key-32-characters-x" // the key that the channel encrypts notices with
	wechatQuery    = "/v3/pay/transactions/out-trade-no/"
	orderCosts     = 1250 // cents
)

// A wechat is an account at WeChat Pay, as the channel that signs for it has it.
type wechat struct {
	key             *rsa.PrivateKey // of the channel
	private, public string          // files: the merchant's private key, and the channel's public one
	seal            cipher.AEAD
}

// newWechat makes an account with keys of RSA 2048, and writes its files to a directory.
func newWechat(dir string) (w *wechat, err error) {
	w = &wechat{private: filepath.Join(dir, "apiclient_key.pem"), public: filepath.Join(dir, "pub_key.pem")}
	if w.key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		return nil, err
	}
	own, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&w.key.PublicKey)
	if err != nil {
		return nil, err
	}
	w.seal, err = newSealOf(wechatAPIKey)
	return w, errors.Join(err,
		os.WriteFile(w.private, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600),
		os.WriteFile(w.public, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600))
}

func newSealOf(key string) (cipher.AEAD, error) {
	block, err := aes.NewCipher([]byte(key))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// settings are those of a platform with this account and a listener for notices. A query of an
// order waits for gap.
func (w *wechat) settings(c *channel, gap time.Duration, more string) string {
	return strings.NewReplacer("CHANNEL", strings.TrimSuffix(c.orders, "/orders"), "MERCHANT", wechatMerchant, "PRIVATE", w.private,
		"KEYID", wechatKeyID, "PUBLIC", w.public, "APIKEY", wechatAPIKey, "GAP", schedule.FormatDuration(gap), "MORE", more).Replace(`
notices: {listen: "127.0.0.1:0"}
queues:
  told: {}
  orders:
    kind: order
    channel: {kind: wechatpay, url: "CHANNEL", mch_id: "MERCHANT", serial: 5157F09E, private_key: "file:PRIVATE",
      platform_keys: {KEYID: "file:PUBLIC"}, api_v3_key: "APIKEY"}
    schedule: "GAP*"
    expires: 12h
    on_exhausted: alert
    MORE
`)
}

// A notice is what the channel sends when an order is paid.
type notice struct {
	Header http.Header
	Body   []byte
}

// notice makes the signed and encrypted notice of an order's payment.
func (w *wechat) notice(no string, paid time.Time) (notice, error) {
	const data = "transaction"
	nonce := fmt.Sprintf("%.12s", no)
	content := fmt.Appendf(nil, `{"transaction_id":"4200002%s","amount":{"payer_total":%d,"total":%[2]d,"currency":"CNY","payer_currency":"CNY"},"mchid":%q,`+
		`"out_trade_no":%[1]q,"trade_state":"SUCCESS","trade_state_desc":"支付成功","bank_type":"CMC","appid":"wxd678efh567hg6787","trade_type":"NATIVE",`+
		`"success_time":%[4]q,"attach":"","payer":{"openid":"oUpF8uMuAJO_M2pxb1Q9zNjWeS6o"}}`, no, orderCosts, wechatMerchant, paid.Format(time.RFC3339))
	body := fmt.Appendf(nil, `{"id":"EV-%s","create_time":%q,"resource_type":"encrypt-resource","event_type":"TRANSACTION.SUCCESS","summary":"支付成功",`+
		`"resource":{"original_type":"transaction","algorithm":"AEAD_AES_256_GCM","ciphertext":%q,"associated_data":%q,"nonce":%q}}`,
		no, paid.Format(time.RFC3339), base64.StdEncoding.EncodeToString(w.seal.Seal(nil, []byte(nonce), content, []byte(data))), data, nonce)
	header, err := w.sign(body)
	return notice{header, body}, err
}

// sign returns the header of an answer or a notice that the channel has signed now.
func (w *wechat) sign(body []byte) (http.Header, error) {
	stamp, nonce := strconv.FormatInt(time.Now().Unix(), 10), "5K8264ILTKCH16CQ2502SI8ZNMTM67VS"
	sum := sha256.Sum256(signedText(stamp, nonce, body))
	signature, err := rsa.SignPKCS1v15(nil, w.key, crypto.SHA256, sum[:])
	if err != nil {
		return nil, err
	}
	return http.Header{
		"Content-Type":        jsonText,
		"Wechatpay-Serial":    {wechatKeyID},
		"Wechatpay-Timestamp": {stamp},
		"Wechatpay-Nonce":     {nonce},
		"Wechatpay-Signature": {base64.StdEncoding.EncodeToString(signature)},
	}, nil
}

// signedText is the text that a signature of the channel covers.
func signedText(stamp, nonce string, body []byte) []byte {
	text := make([]byte, 0, len(stamp)+len(nonce)+len(body)+3)
	text = append(append(append(text, stamp...), '\n'), nonce...)
	return append(append(append(text, '\n'), body...), '\n')
}
