package mysql

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A task that is larger than max_allowed_packet is rejected with the field and the setting. The
// others of its batch are added.
func TestTaskLargerThanAPacket(t *testing.T) {
	const packet = 64 << 10
	s, err := Open(t.Context(), ownServer(t, "--max-allowed-packet=64K"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Now().UTC().Truncate(time.Millisecond)
	task := func(bytes int) store.Add {
		body := []byte(strings.Repeat("\x00", bytes)) // the driver escapes each
		return store.Add{Task: &bellman.Task{ID: bellman.NewID(), Queue: "q", Body: body, Status: bellman.Status{Version: 1, Began: now, Due: now, VisibleAt: now, Updated: now}}}
	}
	b := store.Batch{Adds: []store.Add{task(10), task(packet), task(packet + 1), task(20)}}
	if err := s.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	for i := range b.Adds {
		a := &b.Adds[i]
		wrong, refused := errors.AsType[*bellman.Invalid](a.Err)
		if large := len(a.Task.Body) > packet; large != refused || !large && a.Err != nil {
			t.Errorf("a body of %d bytes: %v; want only a body above %d bytes rejected", len(a.Task.Body), a.Err, packet)
		} else if large && (wrong.Fields[0].Field != "body" || !strings.Contains(a.Err.Error(), "65536: raise max_allowed_packet")) {
			t.Errorf("a body of %d bytes: %v; want the field, the limit and the setting", len(a.Task.Body), a.Err)
		}
	}
}
