package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/spf13/cobra"
)

// keyPrefix begins every key that this command makes, so that scanners of repositories and logs recognize
// keys.
const keyPrefix = "bmk_"

func keyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "key",
		Short: "Make a key for the API and the console",
		Args:  flagsAlone,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "new",
		Short: "Print a new random key, and its hash for the configuration",
		Long: `Print a new key of 256 random bits, and its SHA-256. Give the key to the person or
service that uses it, and put the hash into keys of the configuration. bellman does
not store the key.`,
		Example: `  bellman key new`,
		Args:    flagsAlone,
		RunE: func(c *cobra.Command, _ []string) error {
			random := make([]byte, 32)
			rand.Read(random) // never fails: rand.Read ends the program instead
			key := keyPrefix + base64.RawURLEncoding.EncodeToString(random)
			hash := sha256.Sum256([]byte(key))
			_, err := fmt.Fprintf(c.OutOrStdout(), "key:    %s\nsha256: %s\n", key, hex.EncodeToString(hash[:]))
			return err
		},
	})
	return c
}
