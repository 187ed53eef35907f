package pebble

import (
	"fmt"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

func TestSmoke(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	b := &bellman.Batch{}
	for i := range 10 {
		b.Adds = append(b.Adds, bellman.Add{Task: &bellman.Task{ID: bellman.NewID(), Queue: "q", Key: fmt.Sprint(i), MerchantNo: "m", URL: "http://a:1/",
			Status: bellman.Status{Due: now, Look: now, Version: 1}}})
	}
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); err == nil {
		t.Fatal("opened twice")
	} else {
		t.Log(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	es, err := s.Due(t.Context(), []uint16{0}, bellman.Position{}, now.UnixMilli()+1, 100, nil)
	if err != nil || len(es) != 10 {
		t.Fatal(es, err)
	}
	ts, err := s.Load(t.Context(), es)
	if err != nil || ts[9] == nil || ts[9].MerchantNo != "m" {
		t.Fatal(ts, err)
	}
	d, _ := s.Depths(t.Context())
	t.Log(d, ts[0])
	c := &bellman.Batch{}
	for _, x := range ts {
		c.Changes = append(c.Changes, bellman.Change{ID: x.ID, Version: 1, To: bellman.Status{State: bellman.Succeeded, Finished: now, Attempts: 1}, Attempt: &bellman.Attempt{Number: 1}})
	}
	if err := s.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	l, next, err := s.List(t.Context(), bellman.Filter{MerchantNo: "m"}, bellman.ID{}, 5)
	if err != nil || len(l) != 5 || next.IsZero() || l[0].Last == nil {
		t.Fatal(l, next, err)
	}
	if n, err := s.Prune(t.Context(), bellman.Succeeded, now.Add(time.Second), 7); n != 7 || err != nil {
		t.Fatal(n, err)
	}
	d, _ = s.Depths(t.Context())
	t.Log(d)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
