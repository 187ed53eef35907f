package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
)

func nodesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "nodes",
		Short: "Show the nodes that share the store: shards, epochs, last heartbeat",
		Long: `Show the nodes that share the store: the shards of each with their epochs, its last
heartbeat, and which node answers.`,
		Args: flagsAlone,
	}
	return remoteCommand(c, func(ctx context.Context, to *call, _ []string) error {
		nodes, err := to.Nodes(ctx)
		return show(to, nodes, err, func(t *rows, nodes *client.Nodes) {
			t.heads("NODE", "ADDRESS", "VERSION", "STATE", "LAST BEAT", "JOINED", "SHARDS", "EPOCHS", "WHICH")
			for _, n := range nodes.Nodes {
				state := map[bool]string{true: "alive", false: "dead"}[n.Alive]
				if n.Self {
					state += ", answers"
				}
				t.row(n.Name, n.Addr, n.Version, state, n.Beat, n.Joined, len(n.Shards), epochs(n.Shards), ranges(n.Shards))
			}
			if len(nodes.Unowned) > 0 {
				t.row("(nobody's)", "", "", "", "", "", len(nodes.Unowned), epochs(nodes.Unowned), ranges(nodes.Unowned))
			}
		})
	})
}

// epochs returns the smallest and the largest epoch of shards.
func epochs(shards []client.Shard) string {
	if len(shards) == 0 {
		return ""
	}
	low, high := shards[0].Epoch, shards[0].Epoch
	for _, s := range shards {
		low, high = min(low, s.Epoch), max(high, s.Epoch)
	}
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d-%d", low, high)
}

// ranges writes sorted shard numbers in the form 0-3,7.
func ranges(shards []client.Shard) string {
	var b strings.Builder
	for i := 0; i < len(shards); i++ {
		first := i
		for i+1 < len(shards) && shards[i+1].Shard == shards[i].Shard+1 {
			i++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, shards[first].Shard)
		if i > first {
			fmt.Fprintf(&b, "-%d", shards[i].Shard)
		}
	}
	return b.String()
}
