package bench

import (
	"runtime"
	"time"
)

// watchOthers returns a function for the share of CPU time that other programs used since then, 0
// to 1; −1: unknown. The database's time does not count as others'.
func watchOthers(database func() time.Duration) (share func() float64) {
	begun := time.Now()
	all, ours, err := cpuOfAll()
	ours += database()
	return func() float64 {
		allNow, oursNow, errNow := cpuOfAll()
		oursNow += database()
		if err != nil || errNow != nil {
			return -1
		}
		others := (allNow - all) - (oursNow - ours)
		return max(0, others.Seconds()/time.Since(begun).Seconds()/float64(runtime.NumCPU()))
	}
}
