package alarm_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// A condition must hold for as long as the rule says. A condition that comes and goes is one alarm,
// which ends when the condition has stayed away.
func TestForAndFlapping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.run(slow)()
		for range 5 { // never for 30 s
			w.slow(2 * time.Second)
			w.pass(20 * time.Second)
			w.slow(0)
			w.pass(20 * time.Second)
		}
		w.expect()
		w.slow(2 * time.Second) // at 200 s: seen at 201 s
		w.pass(time.Minute)
		for range 5 { // never away for a minute
			w.slow(0)
			w.pass(50 * time.Second)
			w.slow(2 * time.Second)
			w.pass(10 * time.Second)
		}
		w.expect("began 3m51s")
		w.slow(0) // at 560 s
		w.pass(2 * time.Minute)
		w.expect("began 3m51s", "ended 10m21s")
	})
}

// An alarm that begins again right after its end lasts until its condition has stayed away again.
func TestBeginsAgainAfterItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := slow
		at.For = 0
		defer w.run(at)()
		w.slow(2 * time.Second)
		w.pass(10 * time.Second)
		w.slow(0)                // seen at 11 s
		w.pass(62 * time.Second) // its end is seen at 71 s
		w.slow(2 * time.Second)
		w.pass(5 * time.Second)
		w.slow(0)
		w.pass(30 * time.Second)
		w.expect("began 6s", "ended 1m11s", "began 1m16s")
		w.pass(time.Minute)
		w.expect("began 6s", "ended 1m11s", "began 1m16s", "ended 2m21s")
	})
}
