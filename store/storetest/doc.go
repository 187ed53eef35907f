package storetest

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

var docs = []promise{
	{"documents are set, replaced and deleted", func(t *suite) {
		set := func(value []byte) {
			t.Helper()
			t.commit(&store.Batch{Docs: []store.Doc{{Kind: "pause", Name: "queue/q", Value: value}}})
		}
		for _, value := range []string{`{"who":"ann"}`, `{"who":"bob"}`, `{}`} {
			set([]byte(value))
			got, err := t.s.Docs(t.Context(), store.DocFilter{Kind: "pause"}, 10)
			t.must(err)
			if len(got) != 1 || got[0].Kind != "pause" || got[0].Name != "queue/q" || string(got[0].Value) != value {
				t.Errorf("Docs() = %+v, want %s", got, value)
			}
		}
		set(nil)
		set(nil) // deleting again does nothing
		if got, err := t.s.Docs(t.Context(), store.DocFilter{Kind: "pause"}, 10); len(got) != 0 || err != nil {
			t.Errorf("Docs() = %+v, %v; want none", got, err)
		}
	}},
	{"one document is read by its name", func(t *suite) {
		for _, name := range []string{"a", "ab", "A", "商户", "a/b?c", "a "} {
			t.commit(&store.Batch{Docs: []store.Doc{
				{Kind: "k", Name: name, Value: []byte(name)}, {Kind: "kk", Name: name, Value: []byte("other")}}})
			got, err := store.ReadDoc(t.Context(), t.s, "k", name)
			t.must(err)
			if got.Kind != "k" || got.Name != name || string(got.Value) != name {
				t.Errorf("Doc(%q) = %+v; want that document", name, got)
			}
		}
		for _, name := range []string{"", "b", "aa", "商", "AB"} {
			if got, err := store.ReadDoc(t.Context(), t.s, "k", name); !errors.Is(err, bellman.ErrNotFound) {
				t.Errorf("Doc(%q) = %+v, %v; want ErrNotFound", name, got, err)
			}
		}
		t.commit(&store.Batch{Docs: []store.Doc{{Kind: "k", Name: "a"}}})
		if got, err := store.ReadDoc(t.Context(), t.s, "k", "a"); !errors.Is(err, bellman.ErrNotFound) {
			t.Errorf("Doc() after the deletion = %+v, %v; want ErrNotFound", got, err)
		}
	}},
	{"if one batch sets a document twice, the last value counts", func(t *suite) {
		t.commit(&store.Batch{Docs: []store.Doc{
			{Kind: "k", Name: "a", Value: []byte("1")}, {Kind: "k", Name: "a", Value: []byte("2")},
			{Kind: "k", Name: "b", Value: []byte("1")}, {Kind: "k", Name: "b"},
		}})
		got, err := t.s.Docs(t.Context(), store.DocFilter{Kind: "k"}, 10)
		t.must(err)
		if len(got) != 1 || string(got[0].Value) != "2" {
			t.Errorf("Docs() = %+v, want a with 2", got)
		}
	}},
	{"a document with another value than expected is not written, nor is the rest of the batch", func(t *suite) {
		write := func(value, was []byte) error {
			task := t.task(t0)
			return t.s.Commit(t.Context(), &store.Batch{
				Docs: []store.Doc{{Kind: "k", Name: "beside", Value: value}, {Kind: "k", Name: "a", Value: value, Was: was}},
				Adds: []store.Add{{Task: task, Digest: task.Digest()}}, Audits: []store.Audit{{At: t0, Who: "ann"}}})
		}
		steps := []struct {
			value, was string // empty value: delete; empty was: the document must not exist
			want       error
		}{
			{"1", "0", bellman.ErrConflict}, // the document does not exist
			{"1", "", nil},
			{"2", "", bellman.ErrConflict},
			{"2", "0", bellman.ErrConflict},
			{"2", "1 ", bellman.ErrConflict},
			{"2", "1", nil},
			{"2", "2", nil}, // the same value again
			{"3", "1", bellman.ErrConflict},
			{"", "1", bellman.ErrConflict},
			{"", "2", nil},
			{"", "2", bellman.ErrConflict},
			{"4", "2", bellman.ErrConflict},
			{"4", "", nil},
		}
		have, made := "", 0
		for i, step := range steps {
			var value []byte
			if step.value != "" {
				value = []byte(step.value)
			}
			if err := write(value, []byte(step.was)); !errors.Is(err, step.want) {
				t.Fatalf("step %d: Commit(%q, was %q) = %v, want %v", i+1, step.value, step.was, err, step.want)
			}
			if step.want == nil {
				have = step.value
				made++
			}
			for _, name := range []string{"a", "beside"} {
				doc, err := store.ReadDoc(t.Context(), t.s, "k", name)
				if string(doc.Value) != have || errors.Is(err, bellman.ErrNotFound) != (have == "") || doc.Was != nil {
					t.Fatalf("step %d: Doc(%s) = %+v, %v; want %q", i+1, name, doc, err, have)
				}
			}
		}
		if tasks, _, err := t.s.List(t.Context(), store.Filter{}, bellman.ID{}, 100); len(tasks) != made || err != nil {
			t.Errorf("%d tasks, %v; want %d", len(tasks), err, made)
		}
		if records, err := t.s.Audits(t.Context(), time.Time{}, 100); len(records) != made || err != nil {
			t.Errorf("%d audit records, %v; want %d", len(records), err, made)
		}
	}},
	{"if several change one document at once, no change is lost", func(t *suite) {
		const writers, turns = 4, 10
		errs := make(chan error, writers)
		for range writers {
			go func() { errs <- count(t, turns) }()
		}
		for range writers {
			t.must(<-errs)
		}
		doc, err := store.ReadDoc(t.Context(), t.s, "k", "count")
		if err != nil || len(doc.Value) != writers*turns {
			t.Errorf("Doc() = %d bytes, %v; want %d, one for each turn", len(doc.Value), err, writers*turns)
		}
	}},
	{"documents of a kind are read in the order of their names, in pages", func(t *suite) {
		names := []string{"a", "a/b", "ab", "b", "B", "endpoint/https://a.example:443", "商户"}
		b := &store.Batch{}
		for _, name := range names {
			b.Docs = append(b.Docs, store.Doc{Kind: "pause", Name: name, Value: []byte(name)},
				store.Doc{Kind: "paus", Name: "e" + name, Value: []byte("other")},
				store.Doc{Kind: "pausea", Name: name, Value: []byte("other")})
		}
		t.commit(b)
		slices.Sort(names)
		for _, limit := range []int{1, 2, 100} {
			var got []string
			for after := ""; ; {
				page, err := t.s.Docs(t.Context(), store.DocFilter{Kind: "pause", After: after}, limit)
				t.must(err)
				for _, d := range page {
					if string(d.Value) != d.Name {
						t.Errorf("document %q has value %q", d.Name, d.Value)
					}
					got = append(got, d.Name)
				}
				if len(page) < limit {
					break
				}
				after = page[len(page)-1].Name
			}
			if !slices.Equal(got, names) {
				t.Errorf("pages of %d: %q, want %q", limit, got, names)
			}
		}
	}},
}

// count appends a byte to a document in each of its turns, while others do the same.
func count(t *suite, turns int) error {
	for turns > 0 {
		doc, err := store.ReadDoc(t.Context(), t.s, "k", "count")
		if err != nil && !errors.Is(err, bellman.ErrNotFound) {
			return err
		}
		was := append([]byte{}, doc.Value...)
		err = t.s.Commit(t.Context(), &store.Batch{Docs: []store.Doc{{Kind: "k", Name: "count", Value: append(was, '.'), Was: was}}})
		switch {
		case err == nil:
			turns--
		case !errors.Is(err, bellman.ErrConflict):
			return err
		}
	}
	return nil
}

var audits = []promise{
	{"audit records come back as they were given, newest first", func(t *suite) {
		want := store.Audit{At: t0.Add(1500 * time.Microsecond), Who: "ann", Action: "resend", Target: "queue/q", Reason: "merchant asked 商户", From: "2001:db8::1", Job: "batch/1",
			Changes: []store.Changed{{Field: "notify_url", Before: "https://a.example/", After: "https://商户.example/"}, {Field: "name", After: "b"}}}
		t.commit(&store.Batch{Audits: []store.Audit{want}})
		t.commit(&store.Batch{Audits: []store.Audit{{At: t0.Add(-time.Hour), Who: "old"}, {At: t0.Add(time.Hour), Who: "new"}}})
		got, err := t.s.Audits(t.Context(), time.Time{}, 10)
		t.must(err)
		want.At = cut(want.At)
		if len(got) != 3 || got[0].Who != "new" || !reflect.DeepEqual(got[1], want) || got[2].Who != "old" {
			t.Errorf("Audits() = %+v, want new, %+v, old", got, want)
		}
	}},
	{"pages by time return each audit record once", func(t *suite) {
		b := &store.Batch{}
		for i := range 60 {
			b.Audits = append(b.Audits, store.Audit{At: t0.Add(time.Duration(i/4) * time.Millisecond), Who: keyed(i)})
		}
		t.commit(b)
		for _, limit := range []int{1, 3, 4, 10, 100} {
			seen := map[string]bool{}
			var before time.Time
			for {
				page, err := t.s.Audits(t.Context(), before, limit)
				t.must(err)
				if len(page) == 0 {
					break
				}
				for _, a := range page {
					if seen[a.Who] {
						t.Fatalf("limit %d: the record of %s came twice", limit, a.Who)
					}
					seen[a.Who] = true
				}
				before = page[len(page)-1].At
			}
			if len(seen) != 60 {
				t.Errorf("limit %d: %d records, want 60", limit, len(seen))
			}
		}
	}},
}
