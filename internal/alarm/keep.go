package alarm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/store"
)

// kind is the kind of the documents of alarms. The name of a document is the alarm's id.
const kind = "alarm"

// Keep is how long an ended alarm is kept, and keepCase one about a [Case]: nobody may look for
// some days.
const (
	Keep     = 24 * time.Hour
	keepCase = 7 * 24 * time.Hour
)

// Kept returns how long the alarm is kept after its end.
func (a *Alarm) Kept() time.Duration {
	if a.Affected != nil {
		return keepCase
	}
	return Keep
}

// pageSize is the number of alarms that are deleted at once.
const pageSize = 200

// A Store keeps the alarms; every [store.Store] is one.
type Store interface {
	store.DocReader

	// Commit is only called with Docs.
	Commit(ctx context.Context, b *store.Batch) error
}

// kept is an alarm as it is in the store.
type kept struct {
	Alarm
	value []byte
	err   error // why value cannot be read; then Alarm has only its ID
}

// List returns the raised alarms and those that ended within the last day, about a case within a
// week: raised ones first, then by start, the newest first. It leaves out alarms that cannot be
// read; [Watch.Run] logs them.
func List(ctx context.Context, s Store) ([]Alarm, error) {
	all, err := load(ctx, s)
	if err != nil {
		return nil, err
	}
	alarms := make([]Alarm, 0, len(all))
	for _, k := range all {
		if k.err == nil {
			alarms = append(alarms, k.Alarm)
		}
	}
	slices.SortFunc(alarms, func(a, b Alarm) int {
		switch {
		case a.Raised() && !b.Raised():
			return -1
		case b.Raised() && !a.Raised():
			return 1
		}
		return cmp.Or(b.Since.Compare(a.Since), strings.Compare(a.ID, b.ID))
	})
	return alarms, nil
}

// load reads all alarms, by their ids. An alarm that cannot be read does not stop the others.
func load(ctx context.Context, s Store) (map[string]*kept, error) {
	all := map[string]*kept{}
	for d, err := range store.EachDoc(ctx, s, kind, "") {
		if err != nil {
			return nil, fmt.Errorf("read alarms: %w", err)
		}
		k := &kept{value: d.Value}
		if k.err = json.Unmarshal(d.Value, &k.Alarm); k.err != nil {
			k.Alarm = Alarm{ID: d.Name}
		}
		all[d.Name] = k
	}
	return all, nil
}

// raised reports whether the alarm is raised. An alarm that cannot be read counts as ended, so its
// condition raises it again, in place of what cannot be read.
func (k *kept) raised() bool { return k != nil && k.err == nil && k.Raised() }

// document returns the document of an alarm, which replaces was.
func document(a *Alarm, was *kept) store.Doc {
	d := store.DocOf(kind, a.ID, a)
	d.Was = []byte{}
	if was != nil {
		d.Was = was.value
	}
	return d
}
