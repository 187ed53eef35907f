package merchant

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Read returns a merchant as it is kept now. bellman.ErrNotFound if there is none.
func (r *Registry) Read(ctx context.Context, no string) (Merchant, error) {
	m, err := r.read(ctx, no)
	if err != nil {
		return m, fmt.Errorf("merchant %s: %w", no, err)
	}
	return m, nil
}

// A Search says which merchants a list has. Both fields are how something begins;
// empty: anything. With Name the list is by name, and without by number.
type Search struct {
	No   string
	Name string // in upper or lower case
}

// List returns up to limit merchants of a search that come after a place; empty:
// from the first. next is where to go on, and empty only at the end.
func (r *Registry) List(ctx context.Context, s Search, after string, limit int) (page []Merchant, next string, err error) {
	if s.Name != "" {
		return r.listNamed(ctx, s, after, limit)
	}
	// Names are read from above one, so the prefix itself is looked for apart.
	if after < s.No {
		if m, err := r.read(ctx, s.No); err == nil {
			page = append(page, m)
		} else if !errors.Is(err, bellman.ErrNotFound) {
			return nil, "", fmt.Errorf("list merchants: %w", err)
		}
		after = s.No
	}
	if len(page) == limit {
		return page, after, nil
	}
	docs, err := r.store.Docs(ctx, store.DocFilter{Kind: Kind, After: after}, limit-len(page))
	if err != nil {
		return nil, "", fmt.Errorf("list merchants: %w", err)
	}
	more := len(docs) == limit-len(page)
	for _, d := range docs {
		if !strings.HasPrefix(d.Name, s.No) {
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

// listNamed is List by name: the documents of names say who, and each is read.
func (r *Registry) listNamed(ctx context.Context, s Search, after string, limit int) (page []Merchant, next string, err error) {
	prefix := fold(s.Name)
	docs, err := r.store.Docs(ctx, store.DocFilter{Kind: nameKind, After: max(prefix, after)}, limit) // none is the prefix itself: each has a number behind it
	if err != nil {
		return nil, "", fmt.Errorf("list merchants by name: %w", err)
	}
	for _, d := range docs {
		if !strings.HasPrefix(d.Name, prefix) {
			return page, "", nil
		}
		next = d.Name
		_, no, _ := strings.Cut(d.Name, nameEnd)
		if !strings.HasPrefix(no, s.No) {
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
	if len(docs) < limit {
		next = ""
	}
	return page, next, nil
}
