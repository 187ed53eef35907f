package merchant

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/store"
)

// Read returns the stored merchant. It returns bellman.ErrNotFound if there is none.
func (r *Registry) Read(ctx context.Context, no string) (Merchant, error) {
	m, err := r.read(ctx, no)
	if err != nil {
		return m, fmt.Errorf("merchant %s: %w", no, err)
	}
	return m, nil
}

// List returns up to s.Limit merchants after a place; an empty place is the beginning. The order is by name if
// the search has a name, otherwise by number. next is the place to continue from, and empty only at the end.
// List ignores s.Paused and s.Sealed.
func (r *Registry) List(ctx context.Context, s client.MerchantSearch, after string) (page []Merchant, next string, err error) {
	if s.Name != "" {
		return r.listNamed(ctx, s, after)
	}
	// A page starts above a name, so the prefix itself is read separately.
	if after < s.MerchantNo {
		if m, err := r.read(ctx, s.MerchantNo); err == nil {
			page = append(page, m)
		} else if !errors.Is(err, bellman.ErrNotFound) {
			return nil, "", fmt.Errorf("list merchants: %w", err)
		}
		after = s.MerchantNo
	}
	if len(page) == s.Limit {
		return page, after, nil
	}
	docs, err := r.store.Docs(ctx, store.DocFilter{Kind: Kind, After: after}, s.Limit-len(page))
	if err != nil {
		return nil, "", fmt.Errorf("list merchants: %w", err)
	}
	more := len(docs) == s.Limit-len(page)
	for _, d := range docs {
		if !strings.HasPrefix(d.Name, s.MerchantNo) {
			return page, "", nil
		}
		m, err := parse(d)
		if err != nil {
			return nil, "", err
		}
		page, next = append(page, m), d.Name
	}
	if !more {
		next = ""
	}
	return page, next, nil
}

// listNamed lists by name: it reads the documents of names, and then each merchant.
func (r *Registry) listNamed(ctx context.Context, s client.MerchantSearch, after string) (page []Merchant, next string, err error) {
	prefix := fold(s.Name)
	docs, err := r.store.Docs(ctx, store.DocFilter{Kind: nameKind, After: max(prefix, after)}, s.Limit) // no document is named like the prefix itself: each name ends with a number
	if err != nil {
		return nil, "", fmt.Errorf("list merchants by name: %w", err)
	}
	for _, d := range docs {
		if !strings.HasPrefix(d.Name, prefix) {
			return page, "", nil
		}
		next = d.Name
		_, no, _ := strings.Cut(d.Name, nameEnd)
		if !strings.HasPrefix(no, s.MerchantNo) {
			continue
		}
		switch m, err := r.read(ctx, no); {
		case errors.Is(err, bellman.ErrNotFound): // deleted meanwhile
		case err != nil:
			return nil, "", fmt.Errorf("list merchants by name: %w", err)
		default:
			page = append(page, m)
		}
	}
	if len(docs) < s.Limit {
		next = ""
	}
	return page, next, nil
}
