package bench

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
)

// A verify is the work of a bare loop before each post: it verifies the next notice and decrypts
// it.
type verify struct {
	Public  []byte // PKCS #1
	Notices []notice
}

// next returns a function that does that work for the next notice, and may be called concurrently.
// Without notices it does nothing.
func (v *verify) next() (func() error, error) {
	if v == nil {
		return func() error { return nil }, nil
	}
	one, err := v.one()
	var i atomic.Int64
	return func() error { return one(&v.Notices[int(i.Add(1))%len(v.Notices)]) }, err
}

// one returns the function that verifies a notice and decrypts it.
func (v *verify) one() (func(*notice) error, error) {
	key, err := x509.ParsePKCS1PublicKey(v.Public)
	if err != nil {
		return nil, err
	}
	seal, err := newSealOf(wechatAPIKey)
	if err != nil {
		return nil, err
	}
	return func(n *notice) error {
		signature, err := base64.StdEncoding.DecodeString(n.Header.Get("Wechatpay-Signature"))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(signedText(n.Header.Get("Wechatpay-Timestamp"), n.Header.Get("Wechatpay-Nonce"), n.Body))
		if err := rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature); err != nil {
			return err
		}
		var says struct {
			Resource struct {
				Ciphertext     []byte
				Nonce          string
				AssociatedData string `json:"associated_data"`
			}
		}
		if err := json.Unmarshal(n.Body, &says); err != nil {
			return err
		}
		text, err := seal.Open(nil, []byte(says.Resource.Nonce), says.Resource.Ciphertext, []byte(says.Resource.AssociatedData))
		if err == nil && !bytes.Contains(text, []byte(`"trade_state":"SUCCESS"`)) {
			err = fmt.Errorf("notice: it says %s", text)
		}
		return err
	}, nil
}

// relay is a bare loop that receives its notices over HTTP, as a server does: it verifies each,
// posts once, and answers. It keeps nothing. It ends when standard input does.
func relay(as role) error {
	one, err := as.Verify.one()
	if err != nil {
		return err
	}
	u, err := url.Parse(as.PostTo)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: rawClients}
	body := appendBody(nil, 0, 0)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		status := http.StatusNoContent
		got, err := io.ReadAll(req.Body)
		if err == nil {
			err = one(&notice{req.Header, got})
		}
		if err == nil {
			_, _, err = (&poster{transport: transport, url: u}).post(req.Context(), body)
		}
		if err != nil {
			status = http.StatusInternalServerError
		}
		w.WriteHeader(status)
	})}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		s.Close()
	}()
	if _, err := fmt.Println(l.Addr(), l.Addr()); err != nil {
		return err
	}
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
