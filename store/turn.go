package store

import "github.com/bellmanhq/bellman"

// A Turn says what stands in the way of a task that has an ordering key.
type Turn struct {
	Before       bellman.ID // the first pending task of its key; zero: it is itself the first
	SupersededBy bellman.ID // a pending task behind it that supersedes it; zero: there is none
}
