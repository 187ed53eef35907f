package console

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
)

// What keys are made for.
const (
	sessionPurpose = "bellman console: sessions"
	formPurpose    = "bellman console: forms"
	sentPurpose    = "bellman console: forms that were sent"
)

// own is a secret of this process: nobody shares it.
type own []byte

func newOwn() own {
	o := make(own, 32)
	rand.Read(o) // never fails: it ends the program instead
	return o
}

// Key makes a key for a purpose.
func (o own) Key(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, o, nil, purpose, sha256.Size)
	if err != nil {
		panic(err) // of a length that is too long
	}
	return key
}

// Refresh does nothing.
func (o own) Refresh(context.Context) bool { return false }
