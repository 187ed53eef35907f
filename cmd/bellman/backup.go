package main

import (
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
)

func backupCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "backup DIR",
		Short: "Copy the embedded store while its server runs",
		Long: `Write a consistent copy of the embedded store into a new directory on the server's
machine. The copy is a complete store: bellman serve --store pebble:DIR.`,
		Args: arguments(1, 1, "a DIR to make: bellman backup /backups/20261120"),
	}
	var r remote
	r.flags(c)
	reason := c.Flags().String("reason", "", "why, for the audit record")
	c.RunE = func(c *cobra.Command, args []string) error {
		server, err := r.client(0)
		if err != nil {
			return err
		}
		dir := args[0]
		if u, err := url.Parse(r.address()); !filepath.IsAbs(dir) && (err != nil || !config.Loopback(u.Host)) {
			return wrong{fmt.Errorf("%s is a path on the server's machine: want an absolute one", dir)}
		}
		if dir, err = filepath.Abs(dir); err != nil {
			return err
		}
		if err := server.Backup(c.Context(), dir, client.Because{Reason: *reason}); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "copied into %s\n", dir)
		return err
	}
	return c
}
