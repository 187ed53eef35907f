package source

import "time"

// A Info is a source of tasks, a queue or stream of a broker, as an operator
// looks at it. Counts are of this process, since it started.
type Info struct {
	Name  string    // CONNECTION/QUEUE, or CONNECTION/STREAM/DURABLE
	Into  string    // the queue of tasks that name none
	State string    // connecting, consuming, paused, stopped
	Since time.Time // when the state began
	Why   string    // why it is paused, or what went wrong while it connects; empty otherwise

	Stored   int64 // messages that became tasks
	Existing int64 // messages that were tasks already
	Dead     int64 // messages that can be no task, and are with the dead letters
	InHand   int   // messages that were taken, and of which the broker was told nothing yet
	Failures int64 // sessions that could not be opened, or broke

	LastError   string    // what went wrong last; empty: nothing did
	LastErrorAt time.Time // zero: nothing did
}
