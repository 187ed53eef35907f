package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/internal/access"
)

var keyFields = []field[access.Key]{
	{name: "name", set: func(k *access.Key, s string) error { return name(&k.Name, s) }},
	{name: "role", set: func(k *access.Key, s string) error { return choice((*string)(&k.Role), s, access.Roles()...) }},
	{name: "sha256", set: func(k *access.Key, s string) error { return hash(&k.SHA256, s) }},
	{name: "queues", read: func(r *reader, path string, n ast.Node, k *access.Key) {
		k.Scope.Queues = r.limit(n, path, func(s string) error { return name(new(string), s) })
	}},
	{name: "merchants", read: func(r *reader, path string, n ast.Node, k *access.Key) {
		k.Scope.Merchants = r.limit(n, path, access.CheckMerchant)
	}},
	{name: "expires", set: func(k *access.Key, s string) (err error) {
		k.Expires, err = access.ParseExpiry(s)
		return err
	}},
	{name: "from", read: func(r *reader, path string, n ast.Node, k *access.Key) {
		k.From = nil
		r.limit(n, path, func(s string) error { return appendPrefix(&k.From, s) })
	}},
}

// limit returns a list that limits a key, whose elements satisfy check. An empty list is a mistake:
// it would not limit anything.
func (r *reader) limit(n ast.Node, path string, check func(string) error) (all []string) {
	noted := len(r.problems)
	for e, text := range r.texts(r.elements(n, path)) {
		err := check(text)
		switch {
		case err != nil:
			r.note(e.value, e.at, err.Error())
		case slices.Contains(all, text):
			r.note(e.value, e.at, fmt.Sprintf("%.40q is in the list already: want it once", text))
		}
		all = append(all, text)
	}
	if len(all) == 0 && len(r.problems) == noted {
		r.note(n, path, "is empty: want at least one element, or leave it out for no limit")
	}
	return all
}

// readKeys replaces the keys. checkKeys checks later that their queues exist: they may come from
// elsewhere.
func readKeys(r *reader, path string, n ast.Node, c *Config) {
	c.Keys = nil
	names, hashes := map[string]bool{}, map[[32]byte]string{}
	for _, e := range r.elements(n, path) {
		var k access.Key
		r.places[e.at] = r.place(e.value)
		switch whole := fill(r, e.value, e.at, keyFields, &k); {
		case !whole:
		case k.Name == "" || k.Role == "" || k.SHA256 == [32]byte{}:
			r.note(e.value, e.at, "is incomplete: want name, role and sha256")
		case names[k.Name]:
			r.note(e.value, e.at+".name", fmt.Sprintf("%q is another key's: want one of its own, for the audit record", k.Name))
		case hashes[k.SHA256] != "":
			r.note(e.value, e.at+".sha256", fmt.Sprintf("is the same as %q has: want another key", hashes[k.SHA256]))
		}
		names[k.Name], hashes[k.SHA256] = true, k.Name
		c.Keys = append(c.Keys, k)
	}
}

// checkKeys checks that the queues of keys exist.
func (c *Config) checkKeys() (ps Problems) {
	for i, k := range c.Keys {
		at := fmt.Sprintf("keys[%d]", i)
		for j, queue := range k.Scope.Queues {
			if !slices.ContainsFunc(c.Queues, func(q Queue) bool { return q.Name == queue }) {
				ps = append(ps, c.problem(fmt.Sprintf("%s.queues[%d]", at, j),
					fmt.Sprintf("%.40q is no queue: want one of %s", queue, strings.Join(queueNames(c.Queues, ""), ", ")), c.places[at]))
			}
		}
	}
	return ps
}

func hash(to *[32]byte, s string) error {
	sum, err := hex.DecodeString(s)
	if err != nil || len(sum) != len(to) {
		return errors.New("want the SHA-256 of the key as 64 hexadecimal digits: bellman key new prints a key and its hash") // the text may be the key
	}
	if why := access.WeakKey([32]byte(sum)); why != "" {
		return errors.New(why)
	}
	*to = [32]byte(sum)
	return nil
}
