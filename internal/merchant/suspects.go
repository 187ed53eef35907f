package merchant

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman/engine/figures"
)

// Suspects are the merchants that accepted none of the attempts that this process made since
// they last accepted one. The zero value has none. It is safe for concurrent use.
type Suspects struct {
	mu sync.Mutex
	by map[string]*suspect
}

type suspect struct {
	since, last time.Time
	attempts    int
}

const (
	maxSuspects = 10_000 // more are not remembered
	maxLooks    = 200    // suspects of which the tasks are read; they are those of the longest time
)

// Attempted notes an attempt that a merchant accepted or did not.
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

// Failing returns the suspects whose newest tasks say that they fail, as Recent.Failing does, the
// longest first. It forgets suspects that accepted something at another node, and those that were
// not attempted in the latest day.
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

// all returns the suspects with as many attempts as it takes, the longest first.
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
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return strings.Compare(a.MerchantNo, b.MerchantNo)
	})
	return all
}
