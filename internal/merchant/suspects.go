package merchant

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman/engine/figures"
)

// Suspects are the merchants that have accepted none of this process's attempts since their last
// success. The zero value is empty. It is safe for concurrent use.
type Suspects struct {
	mu sync.Mutex
	by map[string]*suspect
}

type suspect struct {
	since, last time.Time
	attempts    int
}

const (
	maxSuspects = 10_000 // further ones are ignored
	maxLooks    = 200    // the tasks of this many suspects are read, those with the longest failure first
)

// Attempted notes an attempt, and whether the merchant accepted it.
func (s *Suspects) Attempted(no string, accepted bool, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if accepted {
		delete(s.by, no)
		return
	}
	one := s.by[no]
	if one == nil {
		if len(s.by) >= maxSuspects {
			return
		}
		if s.by == nil {
			s.by = make(map[string]*suspect)
		}
		one = &suspect{since: at}
		s.by[no] = one
	}
	one.last, one.attempts = at, one.attempts+1
}

// Failing returns the suspects that fail according to their newest tasks (see [Recent.Failing]),
// the longest failure first. It forgets suspects that accepted a task at another node, and suspects
// without an attempt within a day.
func (s *Suspects) Failing(ctx context.Context, tasks Lister, now time.Time) (failing []figures.FailingMerchant, err error) {
	for _, f := range s.all(now) {
		if len(failing) == maxLooks {
			break
		}
		recent, err := LookRecent(ctx, tasks, f.MerchantNo, now)
		switch {
		case err != nil:
			return nil, err
		case recent.Failing():
			failing = append(failing, f)
		case recent.Accepted > 0:
			s.Attempted(f.MerchantNo, true, now)
		}
	}
	return failing, nil
}

// all returns the suspects with enough attempts, the longest failure first.
func (s *Suspects) all(now time.Time) (all []figures.FailingMerchant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for no, one := range s.by {
		switch {
		case now.Sub(one.last) > recentWindow:
			delete(s.by, no)
		case one.attempts >= failingAfter:
			all = append(all, figures.FailingMerchant{MerchantNo: no, Since: one.since})
		}
	}
	slices.SortFunc(all, func(a, b figures.FailingMerchant) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.MerchantNo, b.MerchantNo))
	})
	return all
}
