package merchant

import (
	"fmt"
	"strings"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/registry"
)

// A signError names the wrong field of a Sign.
type signError struct {
	field, problem string
	why            error // the cause; nil: the problem is text only
}

func (e *signError) Error() string { return e.field + ": " + e.problem }

func (e *signError) Unwrap() error { return e.why }

// signer opens the secrets of a merchant and returns its signer; nil for a Sign without a scheme.
func signer(masters *registry.Masters, no string, s *Sign, secrets []registry.Secret) (sign.Signer, error) {
	if s.Scheme == "" {
		return nil, nil
	}
	if len(secrets) == 0 {
		why := coded.Errorf("merchant.no_secret", "is missing: %s needs at least one", s.Scheme)
		return nil, &signError{secretsField, why.Error(), why}
	}
	params, err := sign.ParseParams(s.Params)
	if err != nil {
		return nil, &signError{"sign.params", err.Error(), err}
	}
	c := sign.Config{Scheme: s.Scheme, Serial: s.Serial, Params: params, Header: s.Header, Secrets: make([]sign.Secret, len(secrets))}
	for i := range secrets {
		key, err := masters.Open(no, secretsField, secrets[i].Sealed)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", secretsField, i, err)
		}
		if text := string(key); strings.HasPrefix(text, "env:") || strings.HasPrefix(text, "file:") {
			return nil, &signError{registry.Place(secretsField, i), "names a place, and no key", nil} // no secret was ever sealed
		}
		c.Secrets[i] = sign.NewSecret(string(key))
	}
	made, err := sign.New(c)
	if err != nil {
		field, problem, found := strings.Cut(err.Error(), ": ")
		if !found {
			return nil, fmt.Errorf("sign: %w", err)
		}
		return nil, &signError{"sign." + field, problem, err}
	}
	return made, nil
}
