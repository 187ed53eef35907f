package config

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/deliver/sign"
)

// A keptSecret is a secret that is kept elsewhere, and where it is named.
type keptSecret struct {
	field  string
	at     place
	secret sign.Secret
}

// keep remembers a secret that is elsewhere, for CheckSecrets.
func (r *reader) keep(n ast.Node, path, text string) sign.Secret {
	s := sign.NewSecret(text)
	if elsewhere(s) {
		r.kept = append(r.kept, keptSecret{path, r.place(n), s})
	}
	return s
}

// CheckSecrets looks up what the configuration names as env:NAME or file:PATH,
// and returns Problems if something is not there. It is for the machine on which
// the server runs.
func (c *Config) CheckSecrets() error {
	kept := c.kept
	if store := sign.NewSecret(c.Store); elsewhere(store) {
		kept = append([]keptSecret{{"store", c.places["store"], store}}, kept...)
	}
	var ps Problems
	for _, k := range kept {
		found, err := k.secret.Resolve()
		if err == nil && k.field == "store" {
			if _, err = parseStore(string(found)); err != nil {
				err = fmt.Errorf("%s: %w", k.secret, err)
			}
		}
		if err != nil {
			ps = append(ps, k.at.problem(k.field, err.Error()))
		}
	}
	return ps.err()
}
