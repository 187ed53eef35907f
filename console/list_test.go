package console

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/memory"
)

// A slow reader takes a while for each task that it lists, and for each call.
type slowReader struct {
	*memory.Store
	call, row time.Duration
	calls     int
	asked     int // in the largest call
}

func (s *slowReader) List(ctx context.Context, f bellman.Filter, before bellman.ID, limit int) ([]*bellman.Task, bellman.ID, error) {
	s.calls++
	s.asked = max(s.asked, limit)
	tasks, next, err := s.Store.List(ctx, f, before, limit)
	time.Sleep(s.call + time.Duration(len(tasks))*s.row)
	return tasks, next, err
}

// However slow a store is, a page is there in time, and goes on where it stopped: all
// pages together look at each task once.
func TestPagesThatSearchEndInTime(t *testing.T) {
	timeout := bellman.TimedOut
	for _, tt := range []struct {
		name      string
		call, row time.Duration
		most      time.Duration // that one page may take
	}{
		{"quick", 0, time.Microsecond, searchTime},
		{"slow rows", 0, 300 * time.Microsecond, searchTime},
		{"slow calls", 15 * time.Millisecond, 0, searchTime},
		{"a call that takes all the time", 90 * time.Millisecond, 0, 90 * time.Millisecond}, // the store's own bound
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{Store: memory.New()}
			for i := range 1000 {
				log := bellman.Attempt{Started: time.Now(), Result: bellman.Accepted, Status: 200}
				if i == 7 {
					log.Result, log.Status = timeout, 0
				}
				f.add(t, &bellman.Task{Queue: "pay", URL: "https://m.example/n"}, time.Now().Add(time.Duration(i)*time.Second), log)
			}
			store := &slowReader{Store: f.Store, call: tt.call, row: tt.row}
			q := &request{Console: &Console{reader: store}, r: (&http.Request{}).WithContext(t.Context())}
			found, pages := 0, 0
			for before := (bellman.ID{}); ; {
				began := time.Now()
				tasks, next, err := q.read(&wish{Pick: bellman.Pick{Result: &timeout}}, before, pageRows)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > tt.most {
					t.Errorf("%s: a page took %v, want at most %v", tt.name, took, tt.most)
				}
				found += len(tasks)
				pages++
				if next.IsZero() {
					break
				}
				if next == before {
					t.Fatalf("%s: page %d did not go on", tt.name, pages)
				}
				before = next
			}
			if found != 1 {
				t.Errorf("%s: %d pages found %d tasks, want the one that there is", tt.name, pages, found)
			}
			if tt.name == "quick" && (pages != 1 || store.asked > readRows) {
				t.Errorf("quick: %d pages, of %d tasks at once; want one page, of %d at most", pages, store.asked, readRows)
			}
		})
	}
}
