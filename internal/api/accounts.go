package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/account"
	"github.com/bellmanhq/bellman/internal/mask"
)

// A rawAccounts is a client.AccountBatch whose accounts are not decoded yet.
type rawAccounts struct {
	Accounts []json.RawMessage `json:"accounts" nullable:"false" minItems:"1" maxItems:"1000"`
	DryRun   bool              `json:"dry_run,omitempty"`
	Reason   string            `json:"reason,omitempty" maxLength:"500"`
}

var (
	accountsChecker = newChecker[rawAccounts]()
	accountChecker  = newChecker[client.PutAccount]()
)

// An AccountName is an account's name in a path.
type AccountName struct {
	Account string `path:"account" maxLength:"128" doc:"The account's name in orders, escaped."`
}

// An AccountQuery is the query of a list of accounts.
type AccountQuery struct {
	Account string `query:"account" maxLength:"128" doc:"Beginning of the account's name in orders."`
	Name    string `query:"name" maxLength:"100" doc:"Beginning of the name for people, in upper or lower case."`
	Limit   int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor  string `query:"cursor" maxLength:"2000" doc:"The next_cursor of a page of the same search; default: the first page."`
}

// registerAccounts registers the calls about accounts. Keys that are limited to queues or merchants
// cannot make them: an account is of all.
func (a *API) registerAccounts(h part) {
	p := partOf(h, a.o.Accounts != nil, "this server keeps no accounts")
	const path, one = "/v1/accounts", "/v1/accounts/{account}"
	registerPut(p, operation("put-account", http.MethodPut, one, access.MayAdmin, "Register an account at a payment channel, or change all of it. The channel is made once to check the keys. The answer has no key."), a.putAccount)
	register(p, operation("get-account", http.MethodGet, one, access.MayRead, "An account, without its keys."), a.getAccount)
	gone := operation("delete-account", http.MethodDelete, one, access.MayAdmin, "Delete an account. Its orders and refunds stay, and their attempts are blocked until it is registered again.")
	gone.DefaultStatus = http.StatusNoContent
	register(p, gone, a.deleteAccount)
	register(p, operation("list-accounts", http.MethodGet, path, access.MayRead, "Accounts: by the name for people where one is searched by, by the name in orders otherwise."), a.listAccounts)
	register(p, operation("export-accounts", http.MethodGet, "/v1/account-export", access.MayAdmin, "Accounts as PUT takes them back, with their keys sealed: only a server with the same master key can open them."), a.exportAccounts)
	batch := operation("put-accounts", http.MethodPost, path+"/batch", access.MayAdmin, "Register or change up to 1,000 accounts. A wrong one does not stop the others; the same again changes nothing.")
	batch.MaxBodyBytes, batch.SkipValidateBody = maxBatch+1, true
	register(p, batch, a.putAccounts)
	register(p, operation("rotate-account-secrets", http.MethodPost, one+"/secrets", access.MayAdmin, "Give an account new keys. Former ones that decrypt notices or verify answers stay valid for the overlap; requests are signed with the new private key at once."), a.rotateAccount)
}

// onAccount converts the result of an action on one account.
func onAccount[T any](name string, do func() (T, error)) (*answer[T], error) {
	out, err := do()
	return answered(out, missing(err, fmt.Sprintf("account %q", cut(name))))
}

// showAccount masks the address of an account for who cannot put it, as showTo does for merchants.
func showAccount(to *holder, a *client.Account) {
	if to.may&access.MayAdmin == 0 {
		a.URL = mask.URL(a.URL)
	}
}

func (a *API) getAccount(ctx context.Context, in *struct {
	Caller
	AccountName
}) (*answer[client.Account], error) {
	return onAccount(in.AccountName.Account, func() (client.Account, error) {
		out, err := a.o.Accounts.Get(ctx, in.AccountName.Account)
		showAccount(&in.holder, &out)
		return out, err
	})
}

func (a *API) deleteAccount(ctx context.Context, in *struct {
	Caller
	AccountName
	Reason string `query:"reason" maxLength:"500" doc:"Written to the audit record."`
}) (*struct{}, error) {
	_, err := onAccount(in.AccountName.Account, func() (struct{}, error) {
		return struct{}{}, a.o.Accounts.Delete(ctx, in.AccountName.Account, in.by(in.Reason))
	})
	return nil, err
}

func (a *API) putAccount(ctx context.Context, in *struct {
	Caller
	AccountName
	Body rawBody[client.PutAccount]
}) (*stated[client.Account], error) {
	asked, faulty, refused := accountChecker.read(in.Body.raw, "body", "")
	if refused != nil {
		return nil, refused
	}
	name := in.AccountName.Account
	if asked.Account != "" && asked.Account != name {
		faulty = append(faulty, bellman.FieldError{Field: "account", Problem: "is another one than the path names: leave it out"})
	}
	asked.Account = name
	out, isNew, err := a.o.Accounts.Put(ctx, account.Wanted{PutAccount: asked, Wrong: faulty}, in.by(asked.Reason))
	if err != nil {
		return nil, a.overtaken(err, "body.")
	}
	return put(out, isNew), nil
}

func (a *API) rotateAccount(ctx context.Context, in *struct {
	Caller
	AccountName
	Body client.RotateAccount
}) (*answer[client.Account], error) {
	overlap, refused := overlapOf(in.Body.Overlap)
	if refused != nil {
		return nil, refused
	}
	return onAccount(in.AccountName.Account, func() (client.Account, error) {
		return a.o.Accounts.Rotate(ctx, in.AccountName.Account, in.Body, overlap, in.by(in.Body.Reason))
	})
}

func (a *API) listAccounts(ctx context.Context, in *struct {
	Caller
	AccountQuery
}) (*answer[client.AccountPage], error) {
	return a.accountPage(ctx, &in.holder, &in.AccountQuery, false)
}

func (a *API) exportAccounts(ctx context.Context, in *struct {
	Caller
	AccountQuery
}) (*answer[client.AccountPage], error) {
	if err := a.exporting(ctx, &in.Caller, "accounts"); err != nil {
		return nil, err
	}
	return a.accountPage(ctx, &in.holder, &in.AccountQuery, true)
}

// accountPage returns a page of accounts, with sealed including their sealed keys.
func (a *API) accountPage(ctx context.Context, by *holder, q *AccountQuery, sealed bool) (*answer[client.AccountPage], error) {
	wanted := client.AccountSearch{Account: q.Account, Name: q.Name} // of all its pages
	after, refused := parseCursor(q.Cursor, 0, &wanted)
	if refused != nil {
		return nil, refused
	}
	search := wanted
	search.Limit, search.Sealed = q.Limit, sealed
	page, next, err := a.o.Accounts.List(ctx, search, string(after))
	if err != nil {
		return nil, err
	}
	if page == nil {
		page = []client.Account{}
	}
	for i := range page {
		showAccount(by, &page[i])
	}
	return ok(client.AccountPage{Accounts: page, NextCursor: cursor([]byte(next), &wanted)})
}

func (a *API) putAccounts(ctx context.Context, in *struct {
	Caller
	Body rawBody[client.AccountBatch]
}) (*answer[client.AccountBatched], error) {
	asked, faulty, refused := accountsChecker.read(in.Body.raw, "body", "accounts")
	if refused = unreadBatch(faulty, refused); refused != nil {
		return nil, refused
	}
	all := make([]account.Wanted, len(asked.Accounts))
	unread := make([]*client.Problem, len(all))
	for i, data := range asked.Accounts {
		all[i].PutAccount, all[i].Wrong, unread[i] = accountChecker.read(data, fmt.Sprintf("body.accounts[%d]", i), "")
		if unread[i] != nil {
			all[i].Wrong = []bellman.FieldError{{Problem: unread[i].Detail}}
		}
	}
	results, err := a.o.Accounts.Import(ctx, all, asked.DryRun, in.by(asked.Reason))
	if err != nil {
		return nil, err
	}
	out := client.AccountBatched{Results: make([]client.AccountResult, len(results))}
	for i, r := range results {
		out.Results[i].Account = r.ID
		out.Results[i].Status, out.Results[i].Error = a.imported(&r, unread[i], fmt.Sprintf("body.accounts[%d].", i))
	}
	return ok(out)
}
