package console

import (
	"math"
	"time"

	"github.com/bellmanhq/bellman/engine/figures"
)

// Measures of a small line of the last hour: a column for each two minutes.
const (
	sparkColumns = 30
	sparkColumn  = 4 // width
	sparkHeight  = 22
)

// A spark is the small picture of the attempts of the last hour to one endpoint or merchant.
type spark struct {
	Columns  []sparkBar
	Attempts int64
	Accepted int64
	Bad      int // columns with attempts that were not accepted
}

// A sparkBar is a column: the accepted attempts below, the others above.
type sparkBar struct {
	X       int
	OK, Bad float64 // heights
	Top     float64 // of Bad
	OKTop   float64
}

// newSpark draws the minutes of a Recent. nil: there was no attempt in them.
func newSpark(r *figures.Recent, now time.Time) *spark {
	if r == nil || len(r.Minutes) == 0 {
		return nil
	}
	type sum struct{ n, ok uint32 }
	var sums [sparkColumns]sum
	first := now.Unix()/60 - 2*sparkColumns + 1
	most := uint32(1)
	for _, m := range r.Minutes {
		if m.At < first || m.At >= first+2*sparkColumns {
			continue
		}
		s := &sums[(m.At-first)/2]
		s.n, s.ok = s.n+m.Attempts, s.ok+m.Accepted
		most = max(most, s.n)
	}
	p := &spark{Attempts: r.Attempts, Accepted: r.Accepted}
	for i, s := range sums {
		if s.n == 0 {
			continue
		}
		height := func(n uint32) float64 {
			if n == 0 {
				return 0
			}
			return max(math.Round(10*float64(n)/float64(most)*sparkHeight)/10, 1.5)
		}
		bar := sparkBar{X: i * sparkColumn, OK: height(s.ok), Bad: height(s.n - s.ok)}
		bar.OKTop = sparkHeight - bar.OK
		bar.Top = max(bar.OKTop-bar.Bad, 0)
		if bar.Bad > 0 {
			p.Bad++
		}
		p.Columns = append(p.Columns, bar)
	}
	return p
}
