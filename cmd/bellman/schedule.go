package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/schedule"
)

func scheduleCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "schedule [NAME|TEXT]",
		Short: "Print a schedule attempt by attempt; without one, the presets",
		Long: `Print a schedule attempt by attempt: offset from the start, gap from the attempt
before, total from the first attempt. Without an argument, list the presets with
their sources.`,
		Example: `  bellman schedule wechat_notify
  bellman schedule "0s, 15s*2, 30s, 5m*; max 30m"`,
		Args: arguments(0, 1, `one preset or text, in quotes: bellman schedule "0s, 15s*2, 30s"`),
	}
	limit := c.Flags().Int("limit", 100, "most attempts to print")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *limit < 1 {
			return wrong{fmt.Errorf("--limit %d: want 1 or more", *limit)}
		}
		if len(args) == 0 {
			return presets(c.OutOrStdout())
		}
		s, err := schedule.Parse(args[0])
		if err != nil {
			return wrong{err}
		}
		return s.WriteTable(c.OutOrStdout(), *limit)
	}
	return c
}

// presets lists the built-in schedules.
func presets(w io.Writer) error {
	t := newRows(w, "NAME", "KIND", "SCHEDULE", "SOURCE")
	for _, p := range schedule.Presets() {
		t.row(p.Name, p.Kind, p.Text, p.Source)
	}
	return t.end()
}
