// Package sharelink makes links that show a merchant's notices to whoever has them: "did
// you send it?" without an account. A link is signed, so that nobody can make one or
// change what it shows; it expires, and it can be revoked. What is shown to whom is
// for the console.
//
// What a link shows is kept in the store as a document, by the link's id. Its token
// has the id, when it expires, which secret signed it, and the signature of these and
// of what it shows; so a link outlives a restart, is good at every node, and nothing
// of the merchant is in its address.
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

// A Store keeps what links show; every [store.Store] does.
type Store interface {
	// Commit is only called with Docs and Audits.
	Commit(ctx context.Context, b *store.Batch) error
	store.DocReader
	List(ctx context.Context, f store.Filter, before bellman.ID, limit int) (tasks []*bellman.Task, next bellman.ID, err error)
}

// A Secret is one that all nodes share.
type Secret interface {
	// Key makes a key for a purpose, the same at every node and after a restart.
	Key(purpose string) []byte

	// Refresh looks whether the secret is another one by now, unless that was done
	// just now. It reports whether it did.
	Refresh(ctx context.Context) bool
}

// How long a link can be good.
const (
	MinLife = time.Hour
	MaxLife = 30 * 24 * time.Hour
)

// Keep is how long it is remembered what an expired link showed.
const Keep = 30 * 24 * time.Hour

// Links makes and reads the links of a store. It is safe for concurrent use.
type Links struct {
	store  Store
	secret Secret
}

// New returns the links of a store, signed with a secret.
func New(store Store, secret Secret) *Links { return &Links{store, secret} }

// A token is a version, which secret signed it, the link's id, when it expires (Unix
// seconds), and the signature.
const (
	version   = 1
	keyBytes  = 4
	fixed     = 1 + keyBytes + 16 + 8
	signBytes = 16
)

// token is that of a link under the secret as it is.
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

// Open reads the link that a token is of. bellman.ErrNotFound where there is none,
// for the token was changed, or signed with another secret, or is of a link that was
// forgotten. Whoever shows something looks whether the link is over.
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
	found, err := l.read(ctx, bellman.ID(b[1+keyBytes:fixed-8]))
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
	errLife = coded.Errorf("link.life", "want 1h to %dd", MaxLife/(24*time.Hour))
)

// checkShown notes what is wrong with what a link is to show.
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

// check says what is wrong with what a link is to show, and for how long.
func check(in *Link, life time.Duration) error {
	var wrong bellman.Invalid
	checkShown(&wrong, in.MerchantNo, in.OrderNo)
	if life < MinLife || life > MaxLife {
		wrong.Note("life", errLife)
	}
	if in.Reason == "" {
		wrong.Note("reason", coded.Errorf("link.reason", "is required: want why it is made, for the audit record"))
	}
	return wrong.Err()
}
