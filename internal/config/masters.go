package config

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/deliver/sign"
)

// Masters returns the master keys; the first one seals.
func (c *Config) Masters() []sign.Secret {
	if len(c.MasterKeys) == 0 && !c.MasterKey.Equal(sign.Secret{}) {
		return []sign.Secret{c.MasterKey}
	}
	return c.MasterKeys
}

// setMasterKey reads one master key from a variable or flag.
func setMasterKey(c *Config, text string) error {
	c.MasterKey = sign.NewSecret(text)
	return masterKey(text)
}

// setMasterKeys reads master keys with commas between them.
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

// readMasterKey reads one master key from the file.
func readMasterKey(r *reader, path string, n ast.Node, c *Config) {
	r.places[path] = r.place(n)
	c.MasterKey = r.masterKey(n, path)
}

// readMasterKeys reads several; the first one seals.
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
	const size = 32
	text = strings.TrimSpace(text)
	if key, err := hex.DecodeString(text); err == nil && len(key) == size {
		return nil
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if key, err := encoding.Strict().DecodeString(text); err == nil && len(key) == size {
			return nil
		}
	}
	return errors.New("is no master key: want env:NAME or file:PATH of 32 random bytes in base64 or 64 hexadecimal digits, as `openssl rand -base64 32` writes them")
}
