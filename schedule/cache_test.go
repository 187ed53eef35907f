package schedule

import (
	"fmt"
	"runtime"
	"strings"
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
		t.Error("Parse(soon): no error")
	}
	var parsing sync.WaitGroup
	for i := range 8192 {
		parsing.Go(func() {
			s, err := c.Parse(fmt.Sprintf("%dms", i+1))
			if err != nil {
				t.Error(err)
			} else if gap, _ := s.Gap(0); gap != time.Duration(i+1)*time.Millisecond {
				t.Errorf("Parse(%dms) has a gap of %v", i+1, gap)
			}
		})
	}
	parsing.Wait()
	c.Drop()
	if again, err := c.Parse("0s, 15s*2"); again == first || err != nil {
		t.Errorf("after Drop, the same text is %p, %v; want it parsed again", again, err)
	}
}

// longText returns a schedule of the maximum length, a different one for each i.
func longText(i int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%dms", i+1)
	for n := range maxRuns - 1 {
		fmt.Fprintf(&b, ", %dm%ds%dms", 10+n%2, i%50+1, 100+n)
	}
	return b.String()
}

// A Cache holds a bounded amount of memory and keeps the texts in use, however many and however
// long the texts are.
func TestCacheIsBoundedByCost(t *testing.T) {
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var c Cache
	used, err := c.Parse("wechat_notify")
	if err != nil {
		t.Fatal(err)
	}
	before := live()
	for i := range 4000 {
		if _, err := c.Parse(longText(i)); err != nil {
			t.Fatal(err)
		}
		if s, _ := c.Parse("wechat_notify"); s != used {
			t.Fatalf("after %d texts, a schedule in use was parsed again", i)
		}
	}
	if grown := int64(live()) - int64(before); grown > maxCost*5/4 {
		t.Errorf("4,000 schedules take %d bytes of the heap; want at most %d, as the cache counts", grown, maxCost)
	}
	runtime.KeepAlive(&c)
}

// The number of runs of a schedule is limited. The error names the item and the limit.
func TestMaxRuns(t *testing.T) {
	gaps := make([]string, maxRuns+1)
	for i := range gaps {
		gaps[i] = fmt.Sprintf("%ds", i+1)
	}
	if _, err := Parse(strings.Join(gaps[:maxRuns], ",")); err != nil {
		t.Errorf("%d runs: %v; want no error", maxRuns, err)
	}
	for _, text := range []string{strings.Join(gaps, ","), "@" + strings.Join(gaps, ",")} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), "item 201 ") || !strings.Contains(err.Error(), "at most 200 different gaps") {
			t.Errorf("%.20q… of %d runs: %v; want an error that names item 201 and the limit of 200", text, len(gaps), err)
		}
	}
	if _, err := Parse(strings.Repeat("5m,", 1000) + "5m"); err != nil {
		t.Errorf("1,001 attempts with one gap: %v; want no error, because they are one run", err)
	}
}
