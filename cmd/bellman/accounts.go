package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/lines"
)

func accountsCommand() *cobra.Command {
	return family(&cobra.Command{
		Use:   "accounts",
		Short: "Manage accounts at payment channels: whose they are, keys, rates",
		Long: `Manage the registry of accounts at payment channels. An order, refund or transfer
names its account, or is one of its queue's default account. Each attempt asks the
channel with the account's keys as they are then.`,
		Example: `  bellman accounts put shop1 --channel wechatpay --mch-id 1900000001 --serial 5157F09E --private-key apiclient_key.pem --api-v3-key v3.txt --platform-key PUB_KEY_ID_01=pub_key.pem
  bellman accounts rotate shop1 --api-v3-key new.txt --overlap 24h
  bellman accounts export --secrets > accounts.ndjson && bellman accounts import --dry-run accounts.ndjson`,
	},
		accountListCommand(), accountGetCommand(), accountPutCommand(), accountDeleteCommand(), accountRotateCommand(),
		accountImportCommand(), accountExportCommand())
}

var oneAccount = arguments(1, 1, "an account's name")

func accountListCommand() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List accounts", Args: flagsAlone}
	var s client.AccountSearch
	c.Flags().StringVar(&s.Account, "account", "", "beginning of the account's name in orders")
	c.Flags().StringVar(&s.Name, "name", "", "beginning of the name for people")
	most := c.Flags().Int("limit", 50, "most accounts")
	return remoteWithin(c, noLimit, func(ctx context.Context, to *call, _ []string) error {
		all, next, err := upTo(*most, func(limit int, cursor string) (*client.AccountPage, error) {
			s.Limit, s.Cursor = limit, cursor
			return to.Accounts(ctx, s)
		}, func(p *client.AccountPage) ([]client.Account, string) { return p.Accounts, p.NextCursor })
		if err != nil {
			return err
		}
		return to.print(client.AccountPage{Accounts: all, NextCursor: next}, func(t *rows) { t.accounts(all...) })
	})
}

// upTo reads pages until there are that many entries, or no more. of returns the entries of a page,
// and the cursor of the next one.
func upTo[Page, T any](most int, read func(limit int, cursor string) (*Page, error), of func(*Page) ([]T, string)) (all []T, cursor string, err error) {
	if most < 1 {
		return nil, "", wrong{fmt.Errorf("--limit %d: want 1 or more", most)}
	}
	all = []T{}
	for more := true; more && len(all) < most; more = cursor != "" {
		page, err := read(min(most-len(all), 200), cursor)
		if err != nil {
			return nil, "", err
		}
		var entries []T
		entries, cursor = of(page)
		all = append(all, entries...)
	}
	return all, cursor, nil
}

func (t *rows) accounts(all ...client.Account) {
	t.heads("ACCOUNT", "NAME", "CHANNEL", "IDENTITY", "RATE", "SHARED RATE", "KEYS", "STATE")
	for _, a := range all {
		state := "normal"
		if a.Problem != "" {
			state = "unable to ask"
		}
		keys := each(a.Keys, func(k client.AccountKey) string {
			if k.Until == nil {
				return k.Field
			}
			return k.Field + " until " + when(k.Until)
		})
		t.row(a.Account, a.Name, a.Channel, a.Identity, a.Rate, a.Shared, strings.Join(keys, ", "), state)
	}
}

// printAccount prints the account that a call returned, unless it returned an error.
func (to *call) printAccount(a *client.Account, err error) error {
	if err == nil && a.Problem != "" {
		say(to.err, "bellman: the channel cannot be asked for %s: %s", a.Account, a.Problem)
	}
	return show(to, a, err, func(t *rows, a *client.Account) { t.accounts(*a) })
}

func accountGetCommand() *cobra.Command {
	c := &cobra.Command{Use: "get ACCOUNT", Short: "Show an account without its keys", Args: oneAccount}
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		return to.printAccount(to.Account(ctx, args[0]))
	})
}

// A keyFiles names the files of an account's keys, so that no key appears in a list of processes.
type keyFiles struct {
	one      map[string]*string // by flag
	platform []string           // ID=FILE
	alipay   []string
}

func (k *keyFiles) flags(c *cobra.Command) {
	f := c.Flags()
	k.one = map[string]*string{}
	for _, flag := range [...][2]string{
		{"private-key", "file with the private key; - is standard input"},
		{"api-v3-key", "wechatpay: file with the APIv3 key"},
		{"certificate", "wechatpay: file with the merchant's certificate, in place of --serial"},
		{"app-auth-token", "alipay: file with the token of a merchant that authorised the application"},
		{"app-certificate", "alipay: file with the application's certificate"},
		{"root-certificates", "alipay: file with Alipay's root certificates"},
	} {
		k.one[flag[0]] = f.String(flag[0], "", flag[1])
	}
	f.StringArrayVar(&k.platform, "platform-key", nil, "wechatpay: ID=FILE of a key or certificate of WeChat Pay, or fetch: its certificates are fetched; all of them")
	f.StringArrayVar(&k.alipay, "alipay-public-key", nil, "alipay: file with a key or certificate of Alipay; all of them")
}

// read sets the keys that flags name.
func (k *keyFiles) read(to *client.AccountKeys) error {
	for flag, key := range map[string]*string{
		"private-key": &to.PrivateKey, "api-v3-key": &to.APIv3Key, "certificate": &to.Certificate, "app-auth-token": &to.AppAuthToken,
		"app-certificate": &to.AppCertificate, "root-certificates": &to.RootCertificates,
	} {
		if err := readKey(flag, *k.one[flag], key); err != nil {
			return err
		}
	}
	for _, text := range k.platform {
		id, file, ok := strings.Cut(text, "=")
		key := "fetch"
		switch {
		case text == "fetch":
			id = "certificates"
		case !ok || id == "":
			return wrong{fmt.Errorf("--platform-key %s: want ID=FILE, or the word fetch", text)}
		default:
			if err := readKey("platform-key", file, &key); err != nil {
				return err
			}
		}
		if to.PlatformKeys == nil {
			to.PlatformKeys = map[string]string{}
		}
		to.PlatformKeys[id] = key
	}
	for _, file := range k.alipay {
		var key string
		if err := readKey("alipay-public-key", file, &key); err != nil {
			return err
		}
		to.AlipayPublicKeys = append(to.AlipayPublicKeys, key)
	}
	return nil
}

// readKey reads the key in a file; an empty name leaves it.
func readKey(flag, file string, to *string) error {
	if file == "" {
		return nil
	}
	in, err := openInput(file)
	if err != nil {
		return wrong{fmt.Errorf("--%s: %w", flag, err)}
	}
	defer in.Close()
	const most = 64 << 10
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	if len(text) > most {
		return wrong{fmt.Errorf("--%s: %s is larger than 64 KiB", flag, file)}
	}
	if *to = strings.TrimSpace(string(text)); *to == "" {
		return wrong{fmt.Errorf("--%s: %s is empty", flag, file)}
	}
	return nil
}

func accountPutCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "put ACCOUNT",
		Short: "Register an account, or change the given settings",
		Args:  oneAccount,
	}
	var keys keyFiles
	set := textFlags(c.Flags(), []textFlag[client.PutAccount]{
		{"name", "for people", func(a *client.PutAccount) *string { return &a.Name }},
		{"channel", "wechatpay or alipay", func(a *client.PutAccount) *string { return &a.Channel }},
		{"url", "the provider's address; empty: the usual one", func(a *client.PutAccount) *string { return &a.URL }},
		{"mch-id", "wechatpay: the merchant or service provider", func(a *client.PutAccount) *string { return &a.MchID }},
		{"sub-mch-id", "wechatpay: the sub-merchant", func(a *client.PutAccount) *string { return &a.SubMchID }},
		{"app-id", "the application", func(a *client.PutAccount) *string { return &a.AppID }},
		{"seller-id", "alipay: whose notices are read", func(a *client.PutAccount) *string { return &a.SellerID }},
		{"serial", "wechatpay: of the merchant's certificate", func(a *client.PutAccount) *string { return &a.Serial }},
		{"rate", "requests, such as 300/s; empty: the queue's", func(a *client.PutAccount) *string { return &a.Rate }},
	})
	reason := c.Flags().String("reason", "", "why, for the audit record")
	keys.flags(c)
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		was, err := to.Account(ctx, args[0])
		if err != nil && client.StatusOf(err) != 404 {
			return err
		}
		wanted := client.PutAccount{Version: "none"} // create only: it fails if somebody created the account meanwhile
		if err == nil {
			wanted = was.Wanted()
			wanted.AccountKeys, wanted.Former = client.AccountKeys{}, nil // keep the present keys
			wanted.Version = was.Version
		}
		wanted.Account, wanted.Reason = "", *reason
		set(&wanted)
		if err := keys.read(&wanted.AccountKeys); err != nil {
			return err
		}
		if wanted.Certificate != "" && !c.Flags().Changed("serial") {
			wanted.Serial = "" // the certificate says it
		}
		a, _, err := to.PutAccount(ctx, args[0], wanted)
		return to.printAccount(a, err)
	})
}

func accountDeleteCommand() *cobra.Command {
	c := &cobra.Command{Use: "delete ACCOUNT", Short: "Delete an account; its orders wait until it is registered again", Args: oneAccount}
	return deleteCommand(c, (*client.Client).DeleteAccount)
}

// deleteCommand completes a command that deletes what its argument names.
func deleteCommand(c *cobra.Command, do func(c *client.Client, ctx context.Context, name, reason string) error) *cobra.Command {
	reason := c.Flags().String("reason", "", "why, for the audit record")
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		if err := do(to.Client, ctx, args[0], *reason); err != nil {
			return err
		}
		return to.print(map[string]string{"deleted": args[0]}, func(t *rows) { t.row("deleted", args[0]) })
	})
}

func accountRotateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "rotate ACCOUNT",
		Short: "Give an account new keys; old ones that decrypt or verify stay valid for a while",
		Args:  oneAccount,
	}
	var keys keyFiles
	var in client.RotateAccount
	keys.flags(c)
	c.Flags().StringVar(&in.Serial, "serial", "", "wechatpay: of the certificate of the new private key")
	c.Flags().StringVar(&in.Overlap, "overlap", "", "how long the old keys stay valid (default 24h)")
	c.Flags().StringVar(&in.Reason, "reason", "", "why, for the audit record")
	return remoteCommand(c, func(ctx context.Context, to *call, args []string) error {
		if err := keys.read(&in.AccountKeys); err != nil {
			return err
		}
		return to.printAccount(to.RotateAccount(ctx, args[0], in))
	})
}

func accountImportCommand() *cobra.Command {
	return importLines(lines.Accounts, func(to *call, ctx context.Context, batch []client.PutAccount, dry bool, reason string) ([]imported, error) {
		results, err := to.PutAccounts(ctx, client.AccountBatch{Accounts: batch, DryRun: dry, Reason: reason})
		return each(results, func(r client.AccountResult) imported { return imported{r.Status, r.Error} }), err
	})
}

func accountExportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Write all accounts for an import, one JSON object a line",
		Long: `Write all accounts to standard output, one JSON object a line, for an import. Keys are
left out, and the import keeps existing ones. With --secrets they are written sealed, and
only a server with the same master key can open them.`,
		Args: flagsAlone,
	}
	secrets := c.Flags().Bool("secrets", false, "with sealed keys; needs the role admin")
	var s client.AccountSearch
	c.Flags().StringVar(&s.Account, "account", "", "beginning of the account's name in orders")
	return remoteWithin(c, noLimit, func(ctx context.Context, to *call, _ []string) error {
		s.Limit, s.Sealed = 200, *secrets
		return exportLines(to, to.AllAccounts(ctx, s), func(a *client.Account) client.PutAccount {
			line := a.Wanted()
			if !*secrets {
				line.AccountKeys, line.Former = client.AccountKeys{}, nil
			}
			return line
		})
	})
}
