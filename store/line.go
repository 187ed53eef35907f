package store

// A Line is a hash of a queue and an endpoint. Tasks of one line wait for one another, tasks of
// different lines do not.
type Line uint64

// LineOf returns the line of tasks of this queue that go to this endpoint. It
// is kept on disk and must never change: FNV-1a over queue, a zero byte, endpoint.
func LineOf(queue, endpoint string) Line {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(queue) {
		h = (h ^ uint64(queue[i])) * prime
	}
	h *= prime // the zero byte
	for i := range len(endpoint) {
		h = (h ^ uint64(endpoint[i])) * prime
	}
	return Line(h)
}
