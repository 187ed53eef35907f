package sign

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bellmanhq/bellman/internal/coded"
)

// tv1 signs as Stripe signs its webhooks: a header t=TIME,v1=SIGNATURE with one v1 for each secret,
// HMAC-SHA256 in hex over "TIME.body", the time in Unix seconds.
// https://docs.stripe.com/webhooks/signature
type tv1 struct {
	headers []string                   // one
	sums    []func(text []byte) string // functions, so that printing them cannot show a key
}

func newTV1(secrets [][]byte, header string) (*tv1, error) {
	name := http.CanonicalHeaderKey(cmp.Or(header, "Stripe-Signature"))
	own := []string{"Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}
	if strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasPrefix(name, "Bellman-") || slices.Contains(own, name) {
		return nil, coded.Errorf("sign.header", "header: %.40q: want a header's name that is not bellman's or HTTP's own, such as X-Signature", header)
	}
	s := &tv1{headers: []string{name}}
	for _, secret := range secrets {
		s.sums = append(s.sums, func(text []byte) string {
			h := hmac.New(sha256.New, secret)
			h.Write(text)
			return hex.EncodeToString(h.Sum(nil))
		})
	}
	return s, nil
}

func (s *tv1) Sign(m *Message) error {
	stamp := strconv.FormatInt(m.Time.Unix(), 10)
	text, _ := s.Text(m) // has no error
	value := "t=" + stamp
	for _, sum := range s.sums {
		value += ",v1=" + sum(text)
	}
	m.Header[s.headers[0]] = []string{value}
	return nil
}

// Text returns "TIME.body".
func (s *tv1) Text(m *Message) ([]byte, error) {
	return append([]byte(strconv.FormatInt(m.Time.Unix(), 10)+"."), m.Body...), nil
}

func (s *tv1) Check(*Message) error { return nil }

func (s *tv1) Scheme() string { return TV1 }

func (s *tv1) Headers() []string { return s.headers }
