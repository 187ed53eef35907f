package wechatpay

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
)

// algorithm is the only one that notices and platform certificates are encrypted with.
const algorithm = "AEAD_AES_256_GCM"

// A resource is the encrypted content of a notice, or a platform certificate. nonce and
// associated_data are used as the bytes of their text.
// https://pay.weixin.qq.com/doc/v3/merchant/4012071382
type resource struct {
	Algorithm      string `json:"algorithm"`
	OriginalType   string `json:"original_type"` // transaction, refund, mch_payment, profitsharing, …
	Ciphertext     string `json:"ciphertext"`    // base64, with the tag of 16 bytes at its end
	Nonce          string `json:"nonce"`
	AssociatedData string `json:"associated_data"`
}

// An opener decrypts with one APIv3 key. It is a function, so that nothing can print the key.
type opener func(nonce, ciphertext, data []byte) ([]byte, error)

// newOpeners reads the APIv3 keys.
func newOpeners(bad *bellman.Invalid, secrets []sign.Secret) (openers []opener) {
	for i, secret := range secrets {
		open, err := newOpener(secret)
		if err != nil {
			bad.Note(fmt.Sprintf("api_v3_key[%d]", i), err)
		}
		openers = append(openers, open)
	}
	return openers
}

func newOpener(secret sign.Secret) (opener, error) {
	key, err := secret.Resolve()
	if err != nil {
		return nil, err
	}
	if len(key) != 32 {
		return nil, fmt.Errorf("has %d bytes: want 32", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, errors.New("cannot be used")
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, errors.New("cannot be used")
	}
	return func(nonce, ciphertext, data []byte) ([]byte, error) {
		if len(nonce) != gcm.NonceSize() { // Open would panic
			return nil, errors.New("nonce")
		}
		return gcm.Open(nil, nonce, ciphertext, data)
	}, nil
}

// open decrypts a resource with the key that fits. what is "notice" or "certificate".
func (c *Channel) open(what string, r *resource) ([]byte, error) {
	if r.Algorithm != algorithm {
		return nil, fmt.Errorf("the %s is encrypted with %.40q: want %s", what, r.Algorithm, algorithm)
	}
	ciphertext, err := base64.StdEncoding.DecodeString(r.Ciphertext)
	if err != nil {
		return nil, fmt.Errorf("the %s's ciphertext is not base64", what)
	}
	for _, decrypt := range c.decrypt {
		if text, err := decrypt([]byte(r.Nonce), ciphertext, []byte(r.AssociatedData)); err == nil {
			return text, nil
		}
	}
	return nil, fmt.Errorf("the %s's content cannot be decrypted with any api_v3_key", what)
}
