package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// compare compares what both stores have.
func (l *likeness) compare() {
	l.Helper()
	ctx := l.Context()
	l.both("Find", func(s store.Store) (any, error) {
		var keys []store.Key
		for _, q := range []string{"q", "Q", "q ", "q\x00", "\xff", ""} {
			for _, k := range odd {
				keys = append(keys, store.Key{Queue: q, Key: k})
			}
		}
		return s.Find(ctx, keys)
	})
	for _, id := range l.pool {
		l.both(fmt.Sprintf("Task(%v)", id), func(s store.Store) (any, error) {
			task, err := s.Task(ctx, id)
			return l.flat(task), err
		})
		l.both(fmt.Sprintf("Attempts(%v)", id), func(s store.Store) (any, error) {
			list, err := s.Attempts(ctx, id, 0, 1000)
			return fmt.Sprintf("%+v", list), err
		})
	}
	l.both("Depths", func(s store.Store) (any, error) {
		d, err := s.Depths(ctx)
		return fmt.Sprintf("%+v", d), err
	})
	for _, kind := range []string{"d", "D", "x"} {
		l.both("Docs", func(s store.Store) (any, error) { return l.docs(s, kind) })
	}
	l.both("Due", l.due)
	for range 3 {
		f := l.filter()
		l.both(fmt.Sprintf("List(%+v)", f), func(s store.Store) (any, error) { return l.list(s, f) })
	}
	l.both("Audits", l.audits)
	for _, q := range []string{"q", "Q", "q ", "q\x00", "\xff"} {
		for _, k := range []string{"", "o", "O", "o ", "\x00"} {
			l.both(fmt.Sprintf("Chain(%q, %q)", q, k), func(s store.Store) (any, error) { return l.chain(s, q, k) })
		}
	}
}

// both compares one read of both stores.
func (l *likeness) both(what string, read func(store.Store) (any, error)) {
	l.Helper()
	if l.Failed() {
		return
	}
	got, err := read(l.s)
	want, wantErr := read(l.model)
	if kindOf(err) != kindOf(wantErr) {
		l.Errorf("%s = %v, want %v", what, err, wantErr)
	} else if !reflect.DeepEqual(got, want) {
		g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want)
		i := 0
		for i < min(len(g), len(w)) && g[i] == w[i] {
			i++
		}
		l.Errorf("%s differs at %d:\n got …%.300s\nwant …%.300s", what, i, g[max(0, i-60):], w[max(0, i-60):])
	}
}

func (l *likeness) docs(s store.Store, kind string) (any, error) {
	var names []string
	for d, err := range store.EachDoc(l.Context(), s, kind, "") {
		if err != nil {
			return nil, err
		}
		names = append(names, fmt.Sprintf("%q=%q", d.Name, d.Value))
	}
	st, err := s.State(l.Context(), kind)
	return fmt.Sprint(names, len(st.Docs)), err
}

// due reads the due index page by page, and the tasks of its entries.
func (l *likeness) due(s store.Store) (any, error) {
	const most = 3
	until := t0.Add(time.Hour).UnixMilli()
	var all []string
	var entries []store.Entry
	for from, last := (store.Position{}), false; !last; {
		page, err := s.Due(l.Context(), []uint16{2, 0, 1}, from, until, most, nil)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			all = append(all, fmt.Sprintf("%+v", e))
		}
		entries = append(entries, page...)
		if last = len(page) < most; !last {
			from = page[most-1].Position()
		}
	}
	tasks, err := s.Load(l.Context(), entries)
	if err != nil {
		return nil, err
	}
	n, err := store.CountDue(l.Context(), s, []uint16{0, 1}, store.Position{}, until, 1000)
	return fmt.Sprint(all, l.flats(tasks), n), err
}

// list reads the tasks of a filter page by page.
func (l *likeness) list(s store.Store, f store.Filter) (any, error) {
	var all []string
	var below bellman.ID
	for range 100 {
		tasks, next, err := s.List(l.Context(), f, below, 2)
		if err != nil {
			return nil, err
		}
		for _, task := range tasks {
			if f.Brief {
				all = append(all, fmt.Sprintf("%v %q %v %v", task.ID, task.Queue, task.State, task.Version))
			} else {
				all = append(all, l.flat(task))
			}
		}
		if below = next; next.IsZero() {
			return all, nil
		}
	}
	return nil, errors.New("endless")
}

func (l *likeness) audits(s store.Store) (any, error) {
	var all []string
	var before time.Time
	for {
		page, err := s.Audits(l.Context(), before, 3)
		if err != nil || len(page) == 0 {
			slices.Sort(all)
			return all, err
		}
		for _, a := range page {
			all = append(all, fmt.Sprintf("%+v", a))
		}
		before = page[len(page)-1].At
	}
}

func (l *likeness) chain(s store.Store, queue, key string) (any, error) {
	c, err := s.Chain(l.Context(), queue, key, bellman.ID{}, 100)
	said := fmt.Sprintf("%+v", c)
	if err != nil {
		return said, err
	}
	for _, id := range l.pool {
		c, err := s.Chain(l.Context(), queue, key, id, 2)
		said += fmt.Sprintf(" %v: %s", c, kindOf(err))
	}
	return said, nil
}

func (l *likeness) filter() (f store.Filter) {
	r := l.rand
	if r.IntN(3) == 0 {
		f.Queue = pick(r, "q", "Q", "q\x00")
	}
	if r.IntN(4) == 0 {
		f.Key = l.text()
	}
	if r.IntN(2) == 0 {
		s := bellman.State(r.IntN(4))
		f.State = &s
	}
	if r.IntN(4) == 0 {
		f.MerchantNo = l.text()
	}
	if r.IntN(4) == 0 {
		f.OrderNo = l.text()
	}
	if r.IntN(6) == 0 {
		f.Event = pick(r, "e", "\x00")
	}
	if r.IntN(4) == 0 {
		f.URLHost = pick(r, "a.example", "A.EXAMPLE:81", "b.example", "x", "a.example:81")
	}
	if r.IntN(4) == 0 {
		f.CreatedFrom = t0.Add(time.Duration(r.IntN(4)) * time.Hour)
	}
	if r.IntN(4) == 0 {
		f.CreatedTo = t0.Add(time.Duration(r.IntN(5)) * time.Hour)
	}
	f.Brief = r.IntN(3) == 0
	return f
}

// flat returns the text of a task, without its place, which two stores give differently.
func (l *likeness) flat(task *bellman.Task) string {
	if task == nil {
		return "none"
	}
	p := plain(task)
	p.Place = 0
	last := "none"
	if task.Last != nil {
		last = fmt.Sprintf("%+v", *task.Last)
	}
	alias := task.Alias()
	p.Origin = nil
	st := p.Status
	p.Status = bellman.Status{}
	before := ""
	if st.Before != nil {
		before = fmt.Sprintf("%+v", *st.Before)
		st.Before = nil
	}
	return fmt.Sprintf("%+v %+v before %s last %s alias %q", p, st, before, last, alias)
}

func (l *likeness) flats(tasks []*bellman.Task) (list []string) {
	for _, task := range tasks {
		list = append(list, l.flat(task))
	}
	return list
}
