package bellman

// An Ordering holds the fields of a task that decide the order of attempts. See [Task.OrderingKey].
type Ordering struct {
	Queue      string
	Key        string
	Supersedes bool
}

// Ordering returns the ordering of a task; nil if it has no ordering key.
func (t *Task) Ordering() *Ordering {
	if t.OrderingKey == "" {
		return nil
	}
	return &Ordering{Queue: t.Queue, Key: t.OrderingKey, Supersedes: t.Supersedes}
}

// ReasonSuperseded is the Reason of a task that a later one of its ordering key ended.
// Its state is Cancelled.
const ReasonSuperseded = "superseded"

// WasSuperseded reports whether a later task of the same ordering key ended this one.
func (s *Status) WasSuperseded() bool {
	return s.State == Cancelled && s.Reason == ReasonSuperseded
}
