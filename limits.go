package bellman

import "time"

// Limits of the fields of a task. The API, the CLI and the brokers reject longer values; a store
// accepts them.
const (
	MaxName     = 128              // characters of a queue, a merchant's number, an order's number or an event
	MaxKey      = 255              // bytes of a Key, an Alias or an OrderingKey
	MaxURL      = 2000             // bytes
	MaxRule     = 4000             // characters of a Schedule or a Success
	MaxHeaders  = 64               // names
	MaxTimeout  = 10 * time.Minute // of one attempt
	MaxResponse = 600              // characters that are kept of an answer
	MaxPast     = time.Minute      // how old a time given for the next attempt may be: people type it before they send it

	// MaxConcurrency is the highest limit of concurrent attempts.
	MaxConcurrency = 100_000
)
