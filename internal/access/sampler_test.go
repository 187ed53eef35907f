package access

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// One event of each name is let through in a period, and a limited number of all names together.
func TestSampler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Sampler{Every: time.Minute, Most: 10}
		through := 0
		for i := range 1000 {
			for range 2 {
				if _, ok := s.Enter(strconv.Itoa(i)); ok {
					through++
				}
			}
		}
		if through != 10 {
			t.Errorf("%d of 2,000 events of 1,000 names are let through; want 10", through)
		}
		time.Sleep(time.Minute)
		if left, ok := s.Enter("0"); !ok || left != 1981 {
			t.Errorf("a minute later: %t, %d left out; want true, 1981", ok, left)
		}
	})
}
