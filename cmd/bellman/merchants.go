package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/sleep"
)

func merchantsCommand() *cobra.Command {
	return family(&cobra.Command{
		Use:   "merchants",
		Short: "Manage merchants: address, keys, rules, pauses",
		Long: `Manage the registry of merchants. The settings of a merchant override its queue's
rules at each attempt of a task that names the merchant.`,
		Example: `  bellman merchants put M1001 --url https://merchant.example/notify --scheme standard_webhooks --secret-env MERCHANT_SECRET
  bellman merchants rotate M1001 --generate --overlap 24h
  bellman merchants export > merchants.ndjson && bellman merchants import --dry-run merchants.ndjson`,
	},
		merchantListCommand(), merchantGetCommand(), merchantPutCommand(), merchantDeleteCommand(), merchantRotateCommand(),
		merchantStopCommand("pause", "Stop attempts of a merchant's tasks", named((*client.Client).PauseMerchant)),
		merchantStopCommand("resume", "End a merchant's pause", (*client.Client).EndMerchantPause),
		merchantTestCommand(), merchantImportCommand(), merchantExportCommand(), merchantResealCommand())
}

var oneMerchant = arguments(1, 1, "a merchant's number")

func merchantListCommand() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List merchants", Args: flagsAlone}
	var s client.MerchantSearch
	c.Flags().StringVar(&s.MerchantNo, "merchant-no", "", "beginning of the number")
	c.Flags().StringVar(&s.Name, "name", "", "beginning of the name")
	c.Flags().BoolVar(&s.Paused, "paused", false, "only paused merchants")
	c.Flags().StringVar(&s.State, "state", "", "only merchants in this state: failing, late or paused")
	most := c.Flags().Int("limit", 50, "most merchants")
	return remoteWithin(c, noLimit, func(ctx context.Context, to *call, _ []string) error {
		all, next, err := upTo(*most, func(limit int, cursor string) (*client.MerchantPage, error) {
			s.Limit, s.Cursor = limit, cursor
			return to.Merchants(ctx, s)
		}, func(p *client.MerchantPage) ([]client.Merchant, string) { return p.Merchants, p.NextCursor })
		if err != nil {
			return err
		}
		return to.print(client.MerchantPage{Merchants: all, NextCursor: next}, func(t *rows) { t.merchants(all...) })
	})
}

// merchantState returns the most serious state of a merchant.
func merchantState(m *client.Merchant) string {
	switch {
	case m.Problem != "":
		return "unable to sign"
	case m.Paused != nil:
		return "paused"
	case m.Failing:
		return "failing"
	}
	return "normal"
}

func (t *rows) merchants(all ...client.Merchant) {
	t.heads("MERCHANT", "NAME", "ADDRESS", "SIGN", "SECRETS", "SCHEDULE", "SUCCESS", "STATE", "LAST HOUR", "PENDING", "PAUSED")
	for _, m := range all {
		scheme, secrets := "", ""
		if m.Sign != nil {
			scheme, secrets = m.Sign.Scheme, strings.Join(m.Sign.Secrets, ", ")
		}
		t.row(m.MerchantNo, m.Name, m.NotifyURL, scheme, secrets, cut(m.Schedule, 30), cut(m.Success, 30), merchantState(&m), lastHour(m.Hour), pendingOf(m.Backlog), paused(m.Paused))
	}
}

// lastHour writes the share of accepted attempts, and their number.
func lastHour(h *client.Hour) string {
	if h == nil || h.SuccessRate == nil {
		return ""
	}
	return fmt.Sprintf("%.1f%% of %d", *h.SuccessRate*100, h.Attempts)
}

func pendingOf(b *client.Backlog) string {
	switch {
	case b == nil:
		return ""
	case b.More:
		return fmt.Sprintf("%d+", b.Pending)
	}
	return fmt.Sprint(b.Pending)
}

// printMerchant prints the merchant that a call returned, unless it returned an error.
func (to *call) printMerchant(m *client.Merchant, err error) error {
	if err == nil && m.Problem != "" {
		say(to.err, "bellman: nothing can be signed for %s: %s", m.MerchantNo, m.Problem)
	}
	return show(to, m, err, func(t *rows, m *client.Merchant) { t.merchants(*m) })
}

func merchantGetCommand() *cobra.Command {
	c := &cobra.Command{Use: "get MERCHANT", Short: "Show a merchant and the results of its newest tasks", Args: oneMerchant}
	stats := c.Flags().Bool("stats", false, "results of its newest tasks")
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		m, err := to.Merchant(ctx, args[0])
		if err != nil || !*stats {
			return to.printMerchant(m, err)
		}
		s, err := to.MerchantStats(ctx, args[0])
		return show(to, s, err, func(t *rows, s *client.MerchantStats) {
			share := func(rate *float64) string {
				if rate == nil {
					return ""
				}
				return fmt.Sprintf("%.1f%%", *rate*100)
			}
			t.heads("MERCHANT", "TASKS", "SINCE", "STATE", "LATEST ATTEMPTS", "ENDED TASKS", "PENDING", "OVERDUE", "RETRYING", "FAILED", "OLDEST OVERDUE")
			t.row(s.MerchantNo, fmt.Sprint(s.Tasks, map[bool]string{true: " or more"}[s.More]), when(s.Since), merchantState(m), share(s.RecentRate), share(s.SuccessRate), s.Pending, s.Overdue, s.Retrying, s.Failed, when(s.Oldest))
		})
	})
}

// A secretFlag names an environment variable or a file that holds a secret, so that the secret does
// not appear in a list of processes.
type secretFlag struct{ env, file string }

func (s *secretFlag) flags(c *cobra.Command) {
	c.Flags().StringVar(&s.env, "secret-env", "", "environment variable with the secret")
	c.Flags().StringVar(&s.file, "secret-file", "", "file with the secret; - is standard input")
}

// read returns the secret; empty: none was named.
func (s *secretFlag) read() (string, error) {
	switch {
	case s.env != "" && s.file != "":
		return "", wrong{errors.New("give --secret-env or --secret-file, not both")}
	case s.env != "":
		text := strings.TrimSpace(os.Getenv(s.env))
		if text == "" {
			return "", wrong{fmt.Errorf("--secret-env: variable %s is not set, or empty", s.env)}
		}
		return text, nil
	case s.file == "":
		return "", nil
	}
	var text string
	err := readKey("secret-file", s.file, &text)
	return text, err
}

func merchantPutCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "put MERCHANT",
		Short: "Register a merchant, or change the given settings",
		Args:  oneMerchant,
	}
	f := c.Flags()
	set := textFlags(f, []textFlag[client.PutMerchant]{
		{"name", "for people", func(m *client.PutMerchant) *string { return &m.Name }},
		{"url", "address for tasks without one", func(m *client.PutMerchant) *string { return &m.NotifyURL }},
		{"schedule", "a preset's name or text; empty: the queue's", func(m *client.PutMerchant) *string { return &m.Schedule }},
		{"success", "a preset's name or an expression; empty: the queue's", func(m *client.PutMerchant) *string { return &m.Success }},
		{"timeout", "timeout of one attempt; empty: the queue's", func(m *client.PutMerchant) *string { return &m.Timeout }},
	})
	scheme := f.String("scheme", "", "signature scheme; empty: the queue's")
	setSign := textFlags(f, []textFlag[client.MerchantSign]{
		{"serial", "serial number of the key, for wechat_rsa", func(s *client.MerchantSign) *string { return &s.Serial }},
		{"params", "what md5_key signs, such as \"order=given case=lower\"", func(s *client.MerchantSign) *string { return &s.Params }},
		{"header", "header of the signature, for t_v1; default Stripe-Signature", func(s *client.MerchantSign) *string { return &s.Header }},
	})
	concurrency := f.Int("concurrency", 0, "attempts in flight to its endpoint; 0: the queue's")
	rate := f.String("rate", "", "attempts to its endpoint, such as 50/s; empty: the queue's")
	reason := f.String("reason", "", "why, for the audit record")
	var secret secretFlag
	secret.flags(c)
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		key, err := secret.read()
		if err != nil {
			return err
		}
		wanted, err := wantedMerchant(ctx, to, args[0])
		if err != nil {
			return err
		}
		wanted.MerchantNo, wanted.Reason = "", *reason
		set(&wanted)
		if f.Changed("concurrency") || f.Changed("rate") {
			var limits client.MerchantLimits
			if wanted.PerEndpoint != nil {
				limits = *wanted.PerEndpoint
			}
			if f.Changed("concurrency") {
				limits.Concurrency = *concurrency
			}
			if f.Changed("rate") {
				limits.Rate = *rate
			}
			wanted.PerEndpoint = &limits
		}
		switch {
		case !f.Changed("scheme"):
		case *scheme == "":
			wanted.Sign = nil
		case wanted.Sign == nil || wanted.Sign.Scheme != *scheme: // the present scheme keeps its settings
			wanted.Sign = &client.MerchantSign{Scheme: *scheme}
		}
		if wanted.Sign != nil {
			setSign(wanted.Sign)
		}
		for _, name := range []string{"serial", "params", "header"} {
			if wanted.Sign == nil && f.Lookup(name).Value.String() != "" {
				return wrong{fmt.Errorf("--%s needs --scheme: the merchant has no signature of its own", name)}
			}
		}
		if key != "" {
			if wanted.Sign == nil {
				return wrong{errors.New("a secret needs --scheme")}
			}
			wanted.Sign.Secrets = []string{key}
		}
		m, _, err := to.PutMerchant(ctx, args[0], wanted)
		return to.printMerchant(m, err)
	})
}

// wantedMerchant returns what would leave a merchant as it is, or create one. Putting it fails if
// somebody else changes or creates the merchant meanwhile.
func wantedMerchant(ctx context.Context, to *call, no string) (client.PutMerchant, error) {
	was, err := to.Merchant(ctx, no)
	switch {
	case client.StatusOf(err) == 404:
		return client.PutMerchant{Version: "none"}, nil
	case err != nil:
		return client.PutMerchant{}, err
	}
	wanted := was.Wanted()
	wanted.Version = was.Version
	if wanted.Sign != nil {
		wanted.Sign.Secrets = nil // keep the present secrets
	}
	return wanted, nil
}

func merchantDeleteCommand() *cobra.Command {
	c := &cobra.Command{Use: "delete MERCHANT", Short: "End a merchant's registration", Args: oneMerchant}
	return deleteCommand(c, (*client.Client).DeleteMerchant)
}

func merchantRotateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "rotate MERCHANT",
		Short: "Give a merchant a new secret; the old one signs on for a while",
		Args:  oneMerchant,
	}
	var secret secretFlag
	secret.flags(c)
	generate := c.Flags().Bool("generate", false, "make a new secret for standard_webhooks, and print it once")
	overlap := c.Flags().String("overlap", "", "how long the old secrets sign on (default 24h)")
	reason := c.Flags().String("reason", "", "why, for the audit record")
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		key, err := secret.read()
		switch {
		case err != nil:
			return err
		case (key != "") == *generate:
			return wrong{errors.New("rotate: want --secret-env, --secret-file or --generate")}
		case *generate:
			random := make([]byte, 32)
			rand.Read(random) // does not fail
			key = "whsec_" + base64.StdEncoding.EncodeToString(random)
		}
		m, err := to.RotateMerchant(ctx, args[0], client.RotateMerchant{Secret: key, Overlap: *overlap, Reason: *reason})
		switch status := client.StatusOf(err); {
		case !*generate:
		case err == nil:
			fmt.Fprintf(to.err, "the new secret, which is shown only now: %s\n", key)
		case status >= 500, status == 0 && !errors.Is(err, syscall.ECONNREFUSED): // it may have been stored
			fmt.Fprintf(to.err, "bellman: if the server has stored the new secret all the same, it is %s: see bellman merchants get %s, or rotate again\n", key, args[0])
		}
		return to.printMerchant(m, err)
	})
}

// merchantStopCommand returns the command that pauses or resumes a merchant.
func merchantStopCommand(name, short string, do func(*client.Client, context.Context, string, client.Because) ([]string, error)) *cobra.Command {
	c := &cobra.Command{Use: name + " MERCHANT", Short: short, Args: oneMerchant}
	reason := c.Flags().String("reason", "", "why, for the audit record")
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		names, err := do(to.Client, ctx, args[0], client.Because{Reason: *reason})
		if err != nil {
			return err
		}
		return to.stopped(name, args[0], names)
	})
}

func merchantTestCommand() *cobra.Command {
	c := &cobra.Command{Use: "test MERCHANT", Short: "Send a test request to a merchant, and show the result", Args: oneMerchant}
	queue := c.Flags().String("queue", "", "a queue of kind notify; required if there are several")
	reason := c.Flags().String("reason", "", "why, for the audit record")
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		task, err := to.TestMerchant(ctx, args[0], client.TestMerchant{Queue: *queue, Reason: *reason})
		if err != nil {
			return err
		}
		// The test task ends after one attempt. If the merchant is paused, the attempt waits.
		for end := time.Now().Add(15 * time.Second); task.State == "pending" && time.Now().Before(end); {
			if !sleep.For(ctx, 200*time.Millisecond) {
				return ctx.Err()
			}
			d, err := to.Task(ctx, client.ByID(task.ID))
			if err != nil {
				return err
			}
			task = &d.Task
		}
		return show(to, task, nil, (*rows).oneTask)
	})
}

func merchantResealCommand() *cobra.Command {
	c := &cobra.Command{Use: "reseal", Short: "Seal all secrets of merchants and accounts under the newest master key", Args: flagsAlone}
	reason := c.Flags().String("reason", "", "why, for the audit record")
	return remoteWithin(c, noLimit, func(ctx context.Context, to *call, _ []string) error {
		done, err := to.ResealMerchants(ctx, client.Because{Reason: *reason})
		if err != nil {
			return err
		}
		if err := to.print(done, func(t *rows) {
			t.heads("EXAMINED", "RESEALED", "UNREADABLE")
			t.row(done.Examined, done.Resealed, done.Unreadable)
		}); err != nil {
			return err
		}
		if done.Unreadable > 0 {
			return fmt.Errorf("%d merchants and accounts have secrets that cannot be opened, and stay as they are: %s", done.Unreadable, done.FirstError)
		}
		return nil
	})
}
