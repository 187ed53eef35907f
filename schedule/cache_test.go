package schedule

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestCache(t *testing.T) {
	var c Cache
	first, err := c.Parse("0s, 15s*2")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.Parse("0s, 15s*2"); again != first || err != nil {
		t.Errorf("the same text again is %p, %v; want %p", again, err, first)
	}
	if _, err := c.Parse("soon"); err == nil {
		t.Error("soon is a schedule")
	}
	var parsing sync.WaitGroup
	for i := range 2 * maxCached {
		parsing.Go(func() {
			s, err := c.Parse(fmt.Sprintf("%dms", i+1))
			if err != nil {
				t.Error(err)
			} else if gap, _ := s.Gap(0); gap != time.Duration(i+1)*time.Millisecond {
				t.Errorf("Parse(%dms) waits %v", i+1, gap)
			}
		})
	}
	parsing.Wait()
	if n := len(c.parsed); n > maxCached {
		t.Errorf("%d are kept; want %d at most", n, maxCached)
	}
}
