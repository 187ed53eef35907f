package sharelink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/store"
)

// kind is the kind of the documents of links; their names are the ids.
const kind = "link"

// forget is the number of documents of one commit: a new link, and old ones that are deleted.
const forget = 200

// Make creates a durable link that shows the notices of in's MerchantNo and OrderNo; in also has
// its Reason and Who. It returns *bellman.Invalid if a field or the lifetime is wrong.
func (l *Links) Make(ctx context.Context, in Link, life time.Duration) (Link, error) {
	if err := check(&in, life); err != nil {
		return Link{}, err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	made := Link{
		ID: bellman.NewID(), MerchantNo: in.MerchantNo, OrderNo: in.OrderNo, Who: in.Who, Reason: in.Reason, From: in.From,
		Made: now, Expires: now.Add(life).Truncate(time.Second),
	}
	b := &store.Batch{
		Docs:   []store.Doc{document(&made)},
		Audits: []store.Audit{store.AuditOf(bellman.By{Who: in.Who, Reason: in.Reason, From: in.From}, now, "link", target(&made))},
	}
	err := l.each(ctx, func(old Link) bool {
		if now.Sub(old.Expires) > Keep {
			b.Docs = append(b.Docs, store.Doc{Kind: kind, Name: old.ID.String()})
		}
		return len(b.Docs) < forget
	})
	if err != nil {
		return Link{}, err
	}
	if err := l.store.Commit(ctx, b); err != nil {
		return Link{}, fmt.Errorf("keep a link: %w", err)
	}
	l.secret.Refresh(ctx) // all nodes must sign with the same secret
	made.Token = l.token(&made)
	return made, nil
}

// Revoke ends a link. A revoked link is returned unchanged. It returns bellman.ErrNotFound if there
// is no such link.
func (l *Links) Revoke(ctx context.Context, id bellman.ID, by bellman.By) (Link, error) {
	found, err := l.Get(ctx, id)
	if err != nil || !found.Revoked.IsZero() {
		return found, err
	}
	found.Revoked = time.Now().UTC().Truncate(time.Millisecond)
	err = l.store.Commit(ctx, &store.Batch{
		Docs:   []store.Doc{document(&found)},
		Audits: []store.Audit{store.AuditOf(by, found.Revoked, "revoke", target(&found))},
	})
	if err != nil {
		return Link{}, fmt.Errorf("revoke link %v: %w", id, err)
	}
	return found, nil
}

// Get returns a link. It returns bellman.ErrNotFound if there is none, or if it expired longer than
// Keep ago.
func (l *Links) Get(ctx context.Context, id bellman.ID) (Link, error) {
	doc, err := store.ReadDoc(ctx, l.store, kind, id.String())
	if err != nil {
		return Link{}, fmt.Errorf("link %v: %w", id, err)
	}
	return l.parse(doc)
}

// List returns up to limit links, the newest first; with a number, only those of that merchant.
func (l *Links) List(ctx context.Context, merchantNo string, limit int) ([]Link, error) {
	var found []Link
	err := l.each(ctx, func(one Link) bool {
		if merchantNo == "" || one.MerchantNo == merchantNo {
			found = append(found, one)
		}
		if len(found) > 2*max(limit, 0) { // ids are ordered by time of creation
			found = append(found[:0], found[len(found)-limit:]...)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	newest := make([]Link, 0, min(len(found), max(limit, 0)))
	for i := len(found) - 1; i >= 0 && len(newest) < limit; i-- {
		newest = append(newest, found[i])
	}
	return newest, nil
}

// Merchants are the registered merchants.
type Merchants interface {
	Get(ctx context.Context, merchantNo string) (client.Merchant, error)
}

// Known reports whether a link to a merchant or order may show something: a notification names it,
// or the merchant is registered and may be about to get its first one. If a few reads do not decide
// that, it returns true. merchants may be nil. It returns *bellman.Invalid if the number is not
// valid.
func (l *Links) Known(ctx context.Context, merchantNo, orderNo string, notice func(*bellman.Task) bool, merchants Merchants) (bool, error) {
	var wrong bellman.Invalid
	if checkShown(&wrong, merchantNo, orderNo); len(wrong.Fields) > 0 {
		return false, &wrong
	}
	var before bellman.ID
	for range 10 {
		tasks, next, err := l.store.List(ctx, store.Filter{MerchantNo: merchantNo, OrderNo: orderNo}, before, 100)
		if err != nil {
			return false, fmt.Errorf("look for tasks of merchant %q: %w", merchantNo, err)
		}
		known := slices.ContainsFunc(tasks, notice)
		if !known && next.IsZero() && orderNo == "" && merchants != nil {
			if _, err = merchants.Get(ctx, merchantNo); err != nil && !errors.Is(err, bellman.ErrNotFound) {
				return false, err
			}
			known = err == nil
		}
		if known || next.IsZero() {
			return known, nil
		}
		before = next
	}
	return true, nil
}

// each yields all links, the oldest first, until one returns false.
func (l *Links) each(ctx context.Context, one func(Link) bool) error {
	for d, err := range store.EachDoc(ctx, l.store, kind, "") {
		if err != nil {
			return fmt.Errorf("read links: %w", err)
		}
		if found, err := l.parse(d); err == nil && !one(found) {
			return nil
		}
	}
	return nil
}

func (l *Links) parse(doc store.Doc) (found Link, err error) {
	if err := json.Unmarshal(doc.Value, &found); err != nil {
		return found, fmt.Errorf("link %s cannot be read: %w", doc.Name, err)
	}
	found.Token = l.token(&found)
	return found, nil
}

func document(l *Link) store.Doc { return store.DocOf(kind, l.ID.String(), l) }

// target returns the name of a link in an audit record, with what it shows.
func target(l *Link) string {
	name := "link/" + l.ID.String() + "/" + l.MerchantNo
	if l.OrderNo != "" {
		name += "/" + l.OrderNo
	}
	return name
}
