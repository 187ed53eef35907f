package console

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
)

// Purposes of derived keys.
const (
	sessionPurpose = "bellman console: sessions"
	formPurpose    = "bellman console: forms"
	sentPurpose    = "bellman console: forms that were sent"
)

// own is a secret of this process alone.
type own []byte

func newOwn() own {
	o := make(own, 32)
	rand.Read(o) // never fails: rand.Read ends the program instead
	return o
}

// Key derives a key for a purpose.
func (o own) Key(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, o, nil, purpose, sha256.Size)
	if err != nil {
		panic(err) // only for a length that is too large
	}
	return key
}

// Refresh does nothing.
func (o own) Refresh(context.Context) bool { return false }
