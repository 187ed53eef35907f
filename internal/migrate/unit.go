package migrate

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A unit is what makes one task in the target what it is in the source.
type unit struct {
	add     *store.Add // nil: it is there
	changes []store.Change
	bytes   int
}

// logPage is how many attempts are read at once.
const logPage = 500

// logOf reads the attempts of a task of the source, as far as t knows of them.
func logOf(ctx context.Context, s store.Tasks, t *bellman.Task) ([]bellman.Attempt, error) {
	switch {
	case t.Attempts == 0:
		return nil, nil
	case t.Attempts == 1 && t.Last != nil && t.Last.Number == 1:
		return []bellman.Attempt{*t.Last}, nil
	}
	all, err := log(ctx, s, t.ID)
	return slices.DeleteFunc(all, func(a bellman.Attempt) bool { return a.Number > int(t.Attempts) }), err
}

// log reads all attempts of a task.
func log(ctx context.Context, s store.Tasks, id bellman.ID) (log []bellman.Attempt, err error) {
	for after := 0; ; {
		page, err := s.Attempts(ctx, id, after, logPage)
		if err != nil {
			return nil, err
		}
		log = append(log, page...)
		if len(page) < logPage {
			return log, nil
		}
		after = page[len(page)-1].Number
	}
}

// fresh is a task that the target has not. ok is false if it changed while it was read.
func fresh(t *bellman.Task, log []bellman.Attempt, digest bellman.Digest) (u unit, ok bool) {
	steps := uint32(len(log))
	if steps == 0 && t.State.Ended() {
		steps = 1 // a task begins by waiting
	}
	if steps >= t.Version {
		return u, false
	}
	begin := *t
	begin.Last = nil
	if steps > 0 {
		begin.Status = waiting(t)
	}
	begin.Version = t.Version - steps
	u.add = &store.Add{Task: &begin, Digest: digest, Moved: true}
	u.changes = path(t, begin.Version, log)
	u.bytes = len(t.Body) + len(t.Data) + 512
	return u, true
}

// further brings a task of the target from an older version to t.
func further(t, have *bellman.Task, log, had []bellman.Attempt) (u unit, ok bool) {
	there := make(map[int]bool, len(had))
	for _, a := range had {
		there[a.Number] = true
	}
	var missing []bellman.Attempt
	for _, a := range log {
		if !there[a.Number] {
			missing = append(missing, a)
		}
	}
	if uint32(len(missing)) > t.Version-have.Version {
		return u, false
	}
	return unit{changes: path(t, have.Version, missing)}, true
}

// path are the changes that lead from a version to t, and append log on the way.
func path(t *bellman.Task, from uint32, log []bellman.Attempt) (changes []store.Change) {
	for v := from; v < t.Version; v++ {
		c := store.Change{ID: t.ID, Version: v, To: waiting(t), Ordering: t.Ordering()}
		if left := t.Version - v; int(left) <= len(log) {
			c.Attempt = &log[len(log)-int(left)]
			c.To.Attempts = int32(c.Attempt.Number)
		}
		if v+1 == t.Version {
			c.To = t.Status
		}
		changes = append(changes, c)
	}
	return changes
}

// waiting is a status on the way to that of t: pending, and seen by nobody.
func waiting(t *bellman.Task) bellman.Status {
	at := t.Due
	if at.IsZero() {
		at = t.Updated
	}
	return bellman.Status{Shard: t.Shard, Began: t.Began, Due: at, VisibleAt: at, Updated: t.Updated, Place: t.Place}
}

// differ says in what two tasks differ that should be the same; empty: in nothing.
func differ(a, b *bellman.Task) string {
	x, y := plain(a), plain(b)
	if reflect.DeepEqual(x, y) {
		return ""
	}
	v, w := reflect.ValueOf(x), reflect.ValueOf(y)
	for i := range v.NumField() {
		if !reflect.DeepEqual(v.Field(i).Interface(), w.Field(i).Interface()) {
			return what(v.Type().Field(i).Name, v.Field(i), w.Field(i))
		}
	}
	return ""
}

// what says how the fields of a name differ; of a status, which of its own do.
func what(name string, v, w reflect.Value) string {
	if v.Type() == reflect.TypeFor[bellman.Status]() {
		var parts []string
		for i := range v.NumField() {
			if !reflect.DeepEqual(v.Field(i).Interface(), w.Field(i).Interface()) {
				parts = append(parts, what(name+"."+v.Type().Field(i).Name, v.Field(i), w.Field(i)))
			}
		}
		return strings.Join(parts, "; ")
	}
	const most = 200
	short := func(v reflect.Value) string {
		text := fmt.Sprint(v.Interface())
		if len(text) > most {
			text = text[:most] + "…"
		}
		return text
	}
	return fmt.Sprintf("%s differs: %s in the source, %s in the target", name, short(v), short(w))
}

// plain is a task in the form in which two that mean the same are the same.
func plain(t *bellman.Task) bellman.Task {
	p := *t
	p.Last = nil
	for _, b := range []*[]byte{&p.Body, &p.Data} {
		if *b = bytes.Clone(*b); len(*b) == 0 {
			*b = nil
		}
	}
	if len(p.Header) == 0 {
		p.Header = nil
	}
	for _, at := range []*time.Time{&p.StartAt, &p.Began, &p.Due, &p.VisibleAt, &p.Updated, &p.Finished} {
		if !at.IsZero() {
			*at = time.UnixMilli(at.UnixMilli()).UTC()
		}
	}
	return p
}
