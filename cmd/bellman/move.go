package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/migrate"
	"github.com/bellmanhq/bellman/server"
)

func moveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "move --from STORE --to STORE",
		Short: "Move everything of one store to another",
		Long: `Move everything in one store to a new one: tasks in all states with their attempts,
pauses, merchants, links, bulk resends and audit records. Each schedule continues.

An embedded store belongs to one process: stop its server first. The servers of a
database may run during the first copy. Then the command says that they must stop, waits
until they have stopped, and copies the changes since. Meanwhile no server starts on
either store, and afterwards none starts on the old store. Start the servers with --store
of the new one when the command has ended.

The command can be interrupted, also by kill -9, and repeated: it continues, and nothing
is copied twice. Before its end, --abandon gives the move up, and the servers of the old
store start again.`,
		Example: `  bellman move --from pebble:bellman-data --to postgres://bellman@db/bellman --dry-run
  bellman move --from pebble:bellman-data --to env:NEW_STORE`,
		Args: flagsAlone,
	}
	from := c.Flags().String("from", "", "the store to move: pebble:DIR, postgres://..., mysql://... or redis://..., or env:NAME or file:PATH of that")
	to := c.Flags().String("to", "", "the new store, which must be empty; tables are created")
	dry := c.Flags().Bool("dry-run", false, "count what would be moved, and change nothing")
	abandon := c.Flags().Bool("abandon", false, "give up a move of --from, so that its servers start again")
	c.RunE = func(c *cobra.Command, _ []string) error {
		ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if err := checkMove(*from, *to, *abandon, *dry); err != nil {
			return err
		}
		source, err := server.OpenStore(ctx, *from, server.StoreOptions{Existing: true, Logger: warnings()})
		if server.Missing(err) {
			return fmt.Errorf("--from: %w", err)
		}
		if err = noStore(err); err != nil {
			return err
		}
		if *abandon {
			if err := errors.Join(migrate.Abandon(ctx, source), source.Close()); err != nil {
				return err
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "the move is given up: start the servers of %s again\n", shownStore(*from))
			return err
		}
		target, err := server.OpenStore(ctx, *to, server.StoreOptions{Existing: *dry, Logger: warnings()})
		if *dry && server.Missing(err) {
			target, err = nil, nil // a move would create it
		}
		if err != nil {
			return errors.Join(noStore(err), source.Close())
		}
		o := migrate.Options{From: source, To: target, FromName: shownStore(*from), ToName: shownStore(*to), Kinds: server.Documents()}
		if *dry {
			err = dryMove(ctx, c.OutOrStdout(), o)
		} else {
			err = runMove(ctx, c.OutOrStdout(), c.ErrOrStderr(), o)
		}
		err = errors.Join(err, source.Close())
		if target != nil {
			err = errors.Join(err, target.Close())
		}
		return err
	}
	return c
}

func checkMove(from, to string, abandon, dry bool) error {
	source, err := config.ParseStore(from)
	if from == "" || err != nil {
		return wrong{errors.Join(errors.New("--from: want the store to move, such as pebble:bellman-data"), err)}
	}
	if abandon {
		if to != "" || dry {
			return wrong{errors.New("--abandon takes --from alone")}
		}
		return nil
	}
	target, err := config.ParseStore(to)
	if to == "" || err != nil {
		return wrong{errors.Join(errors.New("--to: want the new store, such as postgres://bellman@db/bellman"), err)}
	}
	if source == target {
		return wrong{errors.New("--from and --to are the same store")}
	}
	return nil
}

// dryMove counts the tasks on both sides, and returns the error with which the move would be
// refused. o.To is nil if the target does not exist yet.
func dryMove(ctx context.Context, out io.Writer, o migrate.Options) error {
	c, err := migrate.Counted(ctx, o.From, o.Kinds)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s\n", o.FromName, counted(c))
	state, err := o.From.State(ctx, "")
	if err != nil {
		return err
	}
	for _, n := range state.Nodes {
		fmt.Fprintf(out, "%s: node %s would have to stop, unless it has: its last beat was at %s\n", o.FromName, n.Name, n.Beat.Format(time.RFC3339))
	}
	if o.To == nil {
		fmt.Fprintf(out, "%s: nothing yet, it would be made\n", o.ToName)
		return migrate.Check(ctx, o)
	}
	if c, err = migrate.Counted(ctx, o.To, o.Kinds); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s\n", o.ToName, counted(c))
	return migrate.Check(ctx, o)
}

func counted(c migrate.Count) string {
	return fmt.Sprintf("%s tasks wait, %s have ended; %s documents, %s audit records", grouped(c.Pending), grouped(c.Ended), grouped(c.Docs), grouped(c.Audits))
}

// runMove moves tasks and reports progress, also at each new phase.
func runMove(ctx context.Context, out, problems io.Writer, o migrate.Options) error {
	progress := progressTo(problems)
	began, shown, last := time.Now(), time.Time{}, ""
	var wrote int64
	o.Report = func(p migrate.Progress) {
		wrote = p.Wrote
		stage := p.Phase + strings.Join(p.Wait, " ")
		if p.Phase == "done" || stage == last && time.Since(shown) < progress.every(200*time.Millisecond) {
			return
		}
		shown, last = time.Now(), stage
		line := fmt.Sprintf("%s: %s of %s tasks, %s written", p.Phase, grouped(p.Seen), grouped(p.Total), grouped(p.Wrote))
		if len(p.Wait) > 0 {
			line = fmt.Sprintf("waiting: stop the servers of %s now; still there: %s", o.FromName, strings.Join(p.Wait, ", "))
		}
		progress.show(line)
	}
	err := migrate.Run(ctx, o)
	progress.clear()
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("stopped; run it again, and it goes on")
	case errors.Is(err, migrate.ErrNotEmpty), errors.Is(err, bellman.ErrConflict): // another run cannot help
		return err
	case err != nil:
		return fmt.Errorf("%w; when that is mended, run it again: nothing is moved twice", err)
	}
	c, err := migrate.Counted(ctx, o.To, o.Kinds)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "moved to %s: %s. %s tasks written in %v. Start the servers with --store of that one\n",
		o.ToName, counted(c), grouped(wrote), time.Since(began).Round(time.Second/10))
	return err
}
