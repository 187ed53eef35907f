// Package sharelink makes links that show a merchant its notices without an account: "did you send
// it?" A link is signed, so nobody can forge or change one. It expires, and can be revoked. The
// console shows the pages.
//
// The document of a link in the store says what it shows. Its token contains the id, the expiry,
// which secret signed it, and a signature over these and over what it shows. A link therefore works
// at every node and after a restart, and its address reveals nothing about the merchant.
package sharelink

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/store"
)

// A Store is the part of a [store.Store] that links need.
type Store interface {
	// Commit is only called with Docs and Audits.
	Commit(ctx context.Context, b *store.Batch) error
	store.DocReader
	List(ctx context.Context, f store.Filter, before bellman.ID, limit int) (tasks []*bellman.Task, next bellman.ID, err error)
}

// A Secret is a secret that all nodes share.
type Secret interface {
	// Key derives a key for a purpose. It is the same at every node and after a restart.
	Key(purpose string) []byte

	// Refresh reads the secret again, unless that was done just now. It reports whether it did.
	Refresh(ctx context.Context) bool
}

// Bounds of a link's lifetime.
const (
	minLife = time.Hour
	maxLife = 30 * 24 * time.Hour
)

// Keep is how long the document of an expired link is kept.
const Keep = 30 * 24 * time.Hour

// Links creates and reads the links of a store. It is safe for concurrent use.
type Links struct {
	store  Store
	secret Secret
}

// New returns the links of a store, signed with a secret.
func New(store Store, secret Secret) *Links { return &Links{store, secret} }

// A token consists of a version, the id of the secret, the link's id, the expiry (Unix seconds),
// and the signature.
const (
	version   = 1
	keyBytes  = 4
	fixed     = 1 + keyBytes + 16 + 8
	signBytes = 16
)

// token returns the token of a link under the present secret.
func (l *Links) token(of *Link) string {
	b := make([]byte, 0, fixed+signBytes)
	b = append(append(b, version), l.secret.Key("bellman link: which secret")[:keyBytes]...)
	b = append(b, of.ID[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(of.Expires.Unix()))
	return base64.RawURLEncoding.EncodeToString(append(b, l.sign(b, of)...))
}

// sign signs the fixed part of a token, and what the link shows.
func (l *Links) sign(head []byte, of *Link) []byte {
	mac := hmac.New(sha256.New, l.secret.Key("bellman link: signature"))
	mac.Write(head)
	for _, text := range []string{of.MerchantNo, of.OrderNo} {
		mac.Write(binary.BigEndian.AppendUint32(nil, uint32(len(text))))
		mac.Write([]byte(text))
	}
	return mac.Sum(nil)[:signBytes]
}

// Open returns the link of a token. It returns bellman.ErrNotFound if the token was changed, was
// signed with another secret, or belongs to a deleted link. The caller must check [Link.Over].
func (l *Links) Open(ctx context.Context, token string) (Link, error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) != fixed+signBytes || b[0] != version || base64.RawURLEncoding.EncodeToString(b) != token {
		return Link{}, fmt.Errorf("a link's token: %w", bellman.ErrNotFound)
	}
	ours := func() bool {
		return string(b[1:1+keyBytes]) == string(l.secret.Key("bellman link: which secret")[:keyBytes])
	}
	if !ours() && (!l.secret.Refresh(ctx) || !ours()) {
		return Link{}, fmt.Errorf("a link signed with another secret: %w", bellman.ErrNotFound)
	}
	found, err := l.Get(ctx, bellman.ID(b[1+keyBytes:fixed-8]))
	if err != nil {
		return Link{}, err
	}
	if !hmac.Equal(b[fixed:], l.sign(b[:fixed], &found)) || found.Token != token {
		return Link{}, fmt.Errorf("a link's signature: %w", bellman.ErrNotFound)
	}
	return found, nil
}

var (
	errLong = coded.Errorf("link.long", "is too long")
	errLife = coded.Errorf("link.life", "want 1h to %dd", maxLife/(24*time.Hour))
)

// checkShown reports errors in what a link shows.
func checkShown(wrong *bellman.Invalid, merchantNo, orderNo string) {
	switch {
	case merchantNo == "":
		wrong.Note("merchant_no", coded.Errorf("link.merchant", "is required: want the merchant whose notices it shows"))
	case len(merchantNo) > 4*bellman.MaxName:
		wrong.Note("merchant_no", errLong)
	}
	if len(orderNo) > 4*bellman.MaxName {
		wrong.Note("order_no", errLong)
	}
}

// check returns the errors of a new link.
func check(in *Link, life time.Duration) error {
	var wrong bellman.Invalid
	checkShown(&wrong, in.MerchantNo, in.OrderNo)
	if life < minLife || life > maxLife {
		wrong.Note("life", errLife)
	}
	if in.Reason == "" {
		wrong.Note("reason", coded.Errorf("link.reason", "is required: want why it is made, for the audit record"))
	}
	return wrong.Err()
}
