package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/internal/demo"
)

func demoCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show bellman at work: a server, a test merchant, and a story",
		Long: `Run a server on a temporary store, with a test merchant on a port of its own, and
show a story over real HTTP. The server then runs until Ctrl-C, for experiments.
--once ends after the story, with status 1 if it failed. Nothing leaves this machine.`,
		Args: flagsAlone,
	}
	once := c.Flags().Bool("once", false, "end when the story is over")
	listen := c.Flags().String("listen", "", "address of the API (default: a free port of 127.0.0.1)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		go func() {
			<-ctx.Done()
			stop() // a second signal ends the process
		}()
		return demo.Run(ctx, demo.Options{Out: c.OutOrStdout(), Listen: *listen, Version: version, Logger: warnings(), Once: *once})
	}
	return c
}
