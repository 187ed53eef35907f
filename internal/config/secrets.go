package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/registry"
)

// A keptSecret is a secret outside the configuration, and the place that names it.
type keptSecret struct {
	field  string
	at     place
	secret sign.Secret
	fits   func(string) error // returns the mistake in the secret once it is found; nil: any text is valid
}

// keep remembers a secret that is elsewhere, for CheckSecrets.
func (r *reader) keep(n ast.Node, path, text string) sign.Secret {
	s := sign.NewSecret(text)
	r.places[path] = r.place(n)
	if elsewhere(s) {
		r.kept = append(r.kept, keptSecret{path, r.place(n), s, nil})
	}
	return s
}

// checked does the same as keep, and reports what check finds: now if the secret is in the file, in
// CheckSecrets if it is elsewhere.
func (r *reader) checked(n ast.Node, path, text string, check func(string) error) sign.Secret {
	s := r.keep(n, path, text)
	if elsewhere(s) {
		r.kept[len(r.kept)-1].fits = check
	} else if err := check(text); err != nil {
		r.note(n, path, err.Error())
	}
	return s
}

// secret reads a secret or its place. No problem shows the secret.
func (r *reader) secret(n ast.Node, path string) sign.Secret {
	text, ok := r.scalar(n, path)
	if ok && (text == "" || text == "env:" || text == "file:") {
		r.note(n, path, "names no secret: want env:NAME, file:PATH, or the secret itself")
	}
	return r.keep(n, path, text)
}

// secrets reads a list of secrets.
func (r *reader) secrets(n ast.Node, path string) (all []sign.Secret) {
	for _, e := range r.elements(n, path) {
		all = append(all, r.secret(e.value, e.at))
	}
	return all
}

// oneOrMore reads one secret, or a list of them.
func (r *reader) oneOrMore(n ast.Node, path string) []sign.Secret {
	if _, is := r.resolve(n, path).(*ast.SequenceNode); is {
		return r.secrets(n, path)
	}
	return []sign.Secret{r.secret(n, path)}
}

// readRecipient reads the address of a queue, or its place.
func readRecipient(r *reader, path string, n ast.Node, q *Queue) {
	text, ok := r.scalar(n, path)
	if !ok {
		return
	}
	q.URL = text
	if elsewhere(r.keep(n, path, text)) {
		r.kept[len(r.kept)-1].fits = recipient
	} else if err := recipient(text); err != nil {
		r.note(n, path, err.Error()+"; env:NAME or file:PATH where it holds a secret")
	}
}

// CheckSecrets looks up every env:NAME and file:PATH of the configuration, and returns Problems for
// those that are absent, which have Absent, and for those that are not what their field wants.
func (c *Config) CheckSecrets() error {
	kept := c.kept
	if store := sign.NewSecret(c.Store); elsewhere(store) {
		kept = append([]keptSecret{{"store", c.places["store"], store, func(s string) error {
			_, err := parseStore(s)
			return err
		}}}, kept...)
	}
	var ps Problems
	for _, k := range kept {
		found, err := k.secret.Resolve()
		if err == nil && k.fits != nil {
			if err = k.fits(string(found)); err != nil {
				err = fmt.Errorf("%s: %w", k.secret, err)
			}
		}
		if err != nil {
			p := k.at.problem(k.field, err.Error())
			p.Absent = errors.Is(err, sign.ErrAbsent)
			ps = append(ps, p)
		}
	}
	return ps.Err()
}

// CheckFiles checks the files of connections. It returns Problems if one cannot be read, or if a ca
// has no certificate. A server starts nevertheless, and retries to connect until the files exist.
func (c *Config) CheckFiles() error {
	var ps Problems
	for _, connection := range c.Connections {
		at := "connections." + connection.Name
		if connection.CA != "" {
			text, err := os.ReadFile(connection.CA)
			if err == nil && !x509.NewCertPool().AppendCertsFromPEM(text) {
				err = fmt.Errorf("%s has no certificate: want a file of PEM, with lines BEGIN CERTIFICATE", connection.CA)
			}
			if err != nil {
				ps = append(ps, c.places[at+".ca"].problem(at+".ca", err.Error()))
			}
		}
		if connection.Credentials != "" {
			if _, err := os.ReadFile(connection.Credentials); err != nil {
				ps = append(ps, c.places[at+".credentials"].problem(at+".credentials", err.Error()))
			}
		}
	}
	return ps.Err()
}

// Masters returns the master keys; the first one seals.
func (c *Config) Masters() []sign.Secret {
	if len(c.MasterKeys) == 0 && !c.MasterKey.Equal(sign.Secret{}) {
		return []sign.Secret{c.MasterKey}
	}
	return c.MasterKeys
}

// setMasterKey reads one master key from a variable or flag; readMasterKey, from the file.
func setMasterKey(c *Config, text string) error {
	c.MasterKey = sign.NewSecret(text)
	return masterKey(text)
}

// setMasterKeys reads master keys from a variable, with commas; readMasterKeys, from the file.
func setMasterKeys(c *Config, text string) error {
	c.MasterKeys = nil
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if err := masterKey(part); err != nil {
			return err
		}
		c.MasterKeys = append(c.MasterKeys, sign.NewSecret(part))
	}
	return nil
}

func readMasterKey(r *reader, path string, n ast.Node, c *Config) {
	r.places[path] = r.place(n)
	c.MasterKey = r.masterKey(n, path)
}

func readMasterKeys(r *reader, path string, n ast.Node, c *Config) {
	r.places[path] = r.place(n)
	c.MasterKeys = nil
	for _, e := range r.elements(n, path) {
		c.MasterKeys = append(c.MasterKeys, r.masterKey(e.value, e.at))
	}
}

func (r *reader) masterKey(n ast.Node, path string) sign.Secret {
	text, ok := r.scalar(n, path)
	s := r.keep(n, path, text)
	if elsewhere(s) {
		r.kept[len(r.kept)-1].fits = wholeMasterKey
	}
	if err := masterKey(text); ok && err != nil {
		r.note(n, path, err.Error())
	}
	return s
}

// masterKey returns the mistake in a master key, or in the name of its place.
func masterKey(text string) error {
	switch {
	case text == "", text == "env:", text == "file:":
		return errors.New("names no key: want env:NAME or file:PATH")
	case elsewhere(sign.NewSecret(text)):
		return nil
	}
	return wholeMasterKey(text)
}

// wholeMasterKey returns the mistake in a master key itself.
func wholeMasterKey(text string) error {
	if _, err := registry.ParseMaster(text); err != nil {
		return errors.New("is no master key: want env:NAME or file:PATH of " + strings.TrimPrefix(registry.WantMaster, "want "))
	}
	return nil
}
