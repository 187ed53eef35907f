package source

import "time"

// An Info describes a source of tasks, a queue or stream of a broker, for operators. Its counts are
// of this process since its start.
type Info struct {
	Name  string    // CONNECTION/QUEUE, or CONNECTION/STREAM/DURABLE
	Into  string    // the queue of tasks that name no queue
	State string    // connecting, consuming, paused, stopped
	Since time.Time // when the state began
	Why   string    // why it is paused, or the last connection error; otherwise empty

	Stored   int64 // messages that became tasks
	Existing int64 // messages whose task existed already
	Dead     int64 // messages that cannot become a task, and are among the dead letters
	InHand   int   // messages that were received and not yet acknowledged
	Failures int64 // sessions that could not be opened, or broke

	LastError   string    // empty: there was none
	LastErrorAt time.Time // zero: there was none
}
