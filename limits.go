package bellman

import "time"

// Limits on what a task may ask for. Who reads tasks or merchants from outside checks them;
// a store takes more.
const (
	MaxName     = 128              // characters of a queue, a merchant's number, an order's number or an event
	MaxKey      = 255              // bytes of a Key or an OrderingKey
	MaxURL      = 2000             // bytes
	MaxRule     = 4000             // characters of a Schedule or a Success
	MaxHeaders  = 64               // names
	MaxTimeout  = 10 * time.Minute // of one attempt
	MaxResponse = 600              // characters that are kept of an answer
	MaxPast     = time.Minute      // how long ago a time may lie that somebody gives for the next attempt: it was typed before it was sent

	// MaxConcurrency is how many attempts in flight a limit may allow.
	MaxConcurrency = 100_000
)
