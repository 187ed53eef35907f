package bench

import (
	"runtime"
	"time"
)

// watchOthers returns a function that says which share of the CPUs' time other
// programs took since, 0 to 1; −1 where that cannot be known.
func watchOthers() (share func() float64) {
	begun := time.Now()
	all, ours, err := cpuOfAll()
	return func() float64 {
		allNow, oursNow, errNow := cpuOfAll()
		if err != nil || errNow != nil {
			return -1
		}
		others := (allNow - all) - (oursNow - ours)
		return max(0, others.Seconds()/time.Since(begun).Seconds()/float64(runtime.NumCPU()))
	}
}
