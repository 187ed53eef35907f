package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Read returns the stored entry. It returns bellman.ErrNotFound if there is none.
func (r *Registry[T, P, K]) Read(ctx context.Context, id string) (T, error) {
	e, err := r.read(ctx, id)
	if err != nil {
		return e, fmt.Errorf("%s %s: %w", r.kind.Name, id, err)
	}
	return e, nil
}

// A Search selects entries by how their ID and name begin; empty: all.
type Search struct {
	ID, Name string
	Limit    int
}

// List returns up to s.Limit entries after a place; an empty place is the beginning. The order is
// by name if the search has a name, otherwise by ID. next is the place to continue from, and empty
// only at the end.
func (r *Registry[T, P, K]) List(ctx context.Context, s Search, after string) (page []T, next string, err error) {
	if s.Name != "" {
		return r.listNamed(ctx, s, after)
	}
	// A page starts above a name, so the prefix itself is read separately.
	if after < s.ID {
		if m, err := r.read(ctx, s.ID); err == nil {
			page = append(page, m)
		} else if !errors.Is(err, bellman.ErrNotFound) {
			return nil, "", r.listed(err)
		}
		after = s.ID
	}
	if len(page) == s.Limit {
		return page, after, nil
	}
	docs, err := r.store.Docs(ctx, store.DocFilter{Kind: r.kind.Name, After: after}, s.Limit-len(page))
	if err != nil {
		return nil, "", r.listed(err)
	}
	more := len(docs) == s.Limit-len(page)
	for _, d := range docs {
		if !strings.HasPrefix(d.Name, s.ID) {
			return page, "", nil
		}
		m, err := r.parse(d)
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

// listNamed lists by name: it reads the documents of names, and then each entry.
func (r *Registry[T, P, K]) listNamed(ctx context.Context, s Search, after string) (page []T, next string, err error) {
	prefix := fold(s.Name)
	docs, err := r.store.Docs(ctx, store.DocFilter{Kind: r.kind.nameKind(), After: max(prefix, after)}, s.Limit) // no document is named like the prefix itself: each name ends with an ID
	if err != nil {
		return nil, "", r.listed(err)
	}
	for _, d := range docs {
		if !strings.HasPrefix(d.Name, prefix) {
			return page, "", nil
		}
		next = d.Name
		_, id, _ := strings.Cut(d.Name, mark)
		if !strings.HasPrefix(id, s.ID) {
			continue
		}
		switch m, err := r.read(ctx, id); {
		case errors.Is(err, bellman.ErrNotFound): // deleted meanwhile
		case err != nil:
			return nil, "", r.listed(err)
		default:
			page = append(page, m)
		}
	}
	if len(docs) < s.Limit {
		next = ""
	}
	return page, next, nil
}

func (r *Registry[T, P, K]) listed(err error) error {
	return fmt.Errorf("list %ss: %w", r.kind.Name, err)
}
