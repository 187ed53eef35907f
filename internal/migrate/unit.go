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

// A unit is the change that makes one task equal in the target.
type unit struct {
	add     *store.Add // nil: the target has the task
	changes []store.Change
	bytes   int
}

// logPage is the number of attempts in one read.
const logPage = 500

// logOf reads the attempts of a task of the source that t includes.
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

// fresh returns the unit of a task that the target lacks. ok is false if the task changed during
// the read.
func fresh(t *bellman.Task, log []bellman.Attempt, digest bellman.Digest) (u unit, ok bool) {
	steps := uint32(len(log))
	if steps == 0 && t.State.Ended() {
		steps = 1 // a new task is waiting
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

// further returns the unit that updates a task of the target to t.
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

// path returns the changes from a version to t, which also append log.
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

// waiting returns a status to write before the status of t: pending and not due.
func waiting(t *bellman.Task) bellman.Status {
	at := t.Due
	if at.IsZero() {
		at = t.Updated
	}
	return bellman.Status{Shard: t.Shard, Began: t.Began, Due: at, VisibleAt: at, Updated: t.Updated, Place: t.Place}
}

// differ returns the field in which two tasks differ; empty: they are equal.
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

// what returns how fields of a name differ; for a status, which of its own fields do.
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

// plain returns a task in a normal form, in which equal tasks have equal values.
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
