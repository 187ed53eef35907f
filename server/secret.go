package server

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A secret is shared by all nodes of a store and survives restarts. It is kept in the store, so
// exactly those who can read the store have it. It is safe for concurrent use.
type secret struct {
	store store.Store
	log   *slog.Logger

	mu    sync.Mutex
	value []byte
	read  time.Time // when it was last read
}

// rereadOnce is the shortest time between two reads of a secret.
const rereadOnce = time.Second

// Where the store keeps the secret.
const secretKind, secretName = "cluster", "secret"

type secretDoc struct {
	Secret string `json:"secret"` // 32 bytes, in hexadecimal
}

// newSecret reads the secret, and makes one if there is none.
func newSecret(ctx context.Context, store store.Store, log *slog.Logger) (*secret, error) {
	s := &secret{store: store, log: log}
	err := s.reread(ctx)
	if err == nil && s.value == nil {
		if err = s.make(ctx); err == nil {
			err = s.reread(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the secret that nodes share: %w", err)
	}
	return s, nil
}

// make writes a new secret. If two nodes do so at once, the later secret stays. The other node
// reads it when its signature is rejected, or before it signs for people.
func (s *secret) make(ctx context.Context) error {
	value := make([]byte, 32)
	rand.Read(value) // never fails
	text, err := json.Marshal(secretDoc{hex.EncodeToString(value)})
	if err != nil {
		return err
	}
	return s.store.Commit(ctx, &store.Batch{Docs: []store.Doc{{Kind: secretKind, Name: secretName, Value: text}}})
}

// reread reads the secret from the store.
func (s *secret) reread(ctx context.Context) error {
	doc, err := store.ReadDoc(ctx, s.store, secretKind, secretName)
	switch {
	case errors.Is(err, bellman.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	var d secretDoc
	if err := json.Unmarshal(doc.Value, &d); err != nil {
		return fmt.Errorf("document %s/%s is not what it was: delete it, and start all nodes anew: %w", secretKind, secretName, err)
	}
	value, err := hex.DecodeString(d.Secret)
	if err != nil || len(value) < sha256.Size {
		return fmt.Errorf("document %s/%s has no secret of %d bytes: delete it, and start all nodes anew", secretKind, secretName, sha256.Size)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value, s.read = value, time.Now()
	return nil
}

// Refresh reads the secret again, unless it was read just now. It reports whether it did.
func (s *secret) Refresh(ctx context.Context) bool {
	s.mu.Lock()
	late := time.Since(s.read) > rereadOnce
	if late {
		s.read = time.Now()
	}
	s.mu.Unlock()
	if !late {
		return false
	}
	if err := s.reread(ctx); err != nil {
		s.log.Debug("the secret that nodes share cannot be read", "err", err)
		return false
	}
	return true
}

// bytes returns the secret as it was last read.
func (s *secret) bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}

// Key derives a key for a purpose, by HKDF. The key reveals neither the secret nor other keys.
func (s *secret) Key(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, s.bytes(), nil, purpose, sha256.Size)
	if err != nil {
		panic(err) // only if the length is too large
	}
	return key
}
