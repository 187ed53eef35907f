package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/config"
)

// keyPrefix begins every key that this command makes, so that scanners of repositories and logs
// recognize keys.
const keyPrefix = "bmk_"

func keyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "key",
		Short: "Make a key for the API and the console",
		Args:  flagsAlone,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(keyNewCommand())
	return c
}

func keyNewCommand() *cobra.Command {
	var k writtenKey
	c := &cobra.Command{
		Use:   "new",
		Short: "Print a new random key, its hash, and its line for the configuration",
		Long: `Print a new key of 256 random bits, its SHA-256, and the lines for keys of the
configuration. Give the key to the person or service that uses it. bellman does not
store the key, and nothing shows it again.

The role says what the key may do, and the other flags limit it. Without a flag there
is no such limit.`,
		Example: `  bellman key new
  bellman key new --name shop --role submit --merchants M1001,M2* --expires 2027-01-31 --from 10.0.0.0/8
  bellman key new --name zhang-wei --role decide`,
		Args: flagsAlone,
		RunE: func(c *cobra.Command, _ []string) error {
			random := make([]byte, 32)
			rand.Read(random) // never fails: rand.Read ends the program instead
			key := keyPrefix + base64.RawURLEncoding.EncodeToString(random)
			hash := sha256.Sum256([]byte(key))
			k.sha256 = hex.EncodeToString(hash[:])
			yaml := "keys:\n  - " + k.yaml(c.Flags().Changed) + "\n"
			parsed, err := config.Parse([]byte(yaml))
			if err != nil {
				return wrong{flagged(err)}
			}
			if end := parsed.Keys[0].Expires; !end.IsZero() && !end.After(time.Now()) {
				c.PrintErrf("bellman: warning: --expires: %s has passed: this key is never valid\n", k.expires)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "key:    %s\nsha256: %s\n\n%s", key, k.sha256, yaml)
			return err
		},
	}
	flags := c.Flags()
	flags.StringVar(&k.name, "name", "NAME", "name in the audit record")
	flags.StringVar(&k.role, "role", string(access.Submit), strings.Join(access.Roles(), ", "))
	flags.StringSliceVar(&k.queues, "queues", nil, "queues that the key may see and use")
	flags.StringSliceVar(&k.merchants, "merchants", nil, "numbers of merchants that the key may see and use, or the beginning of numbers and *")
	flags.StringVar(&k.expires, "expires", "", "last day (UTC) on which the key is valid, or a time")
	flags.StringSliceVar(&k.from, "from", nil, "addresses or networks from which the key may be used")
	return c
}

// A writtenKey is a key as the configuration has it.
type writtenKey struct {
	name, role, sha256, expires string
	queues, merchants, from     []string
}

// yaml returns the key as one line, with the limits that were given. An empty limit, such as one
// from an unset variable of the shell, is written too: the configuration refuses it. Without it the
// key would be unlimited.
func (k *writtenKey) yaml(given func(flag string) bool) string {
	line := fmt.Sprintf("{name: %s, role: %s, sha256: %q", quoted(k.name), quoted(k.role), k.sha256)
	for _, limit := range []struct {
		name   string
		values []string
	}{{"queues", k.queues}, {"merchants", k.merchants}, {"from", k.from}} {
		if given(limit.name) {
			line += fmt.Sprintf(", %s: [%s]", limit.name, strings.Join(each(limit.values, strconv.Quote), ", "))
		}
	}
	if given("expires") {
		line += ", expires: " + quoted(k.expires)
	}
	return line + "}"
}

var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)

// quoted returns a text as a scalar of YAML.
func quoted(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// each returns what of makes of each element of a list.
func each[T, Out any](list []T, of func(T) Out) []Out {
	out := make([]Out, len(list))
	for i, one := range list {
		out[i] = of(one)
	}
	return out
}

// flagged returns the mistakes of a key with the names of its flags instead of its fields.
func flagged(err error) error {
	problems, is := errors.AsType[config.Problems](err)
	if !is {
		return err
	}
	var errs []error
	for _, p := range problems {
		_, field, _ := strings.Cut(p.Field, "].")
		field, _, _ = strings.Cut(field, "[")
		errs = append(errs, fmt.Errorf("--%s: %s", field, p.Text))
	}
	return errors.Join(errs...)
}
