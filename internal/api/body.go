package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// A pool keeps buffers for the bodies of requests and answers, up to a size.
type pool struct {
	sync.Pool
	most int
}

var (
	buffers      = pool{most: 64 << 10}
	batchBuffers = pool{most: 1 << 20}
)

func (p *pool) take() *[]byte {
	if b, ok := p.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

func (p *pool) giveBack(b *[]byte) {
	if cap(*b) <= p.most {
		p.Put(b)
	}
}

// firstRoom is the room for a body before its first byte. A longer body gets more as it arrives, so
// that whoever declares a length and then sends nothing takes no memory.
const firstRoom = 64 << 10

// readBody reads the body of a request into b, up to limit bytes.
func readBody(w http.ResponseWriter, r *http.Request, limit int, b []byte) ([]byte, *client.Problem) {
	if r.ContentLength > int64(limit) {
		w.Header().Set("Connection", "close") // instead of reading the rest of a body that is too large
		return b, tooLarge("request", limit)
	}
	b = b[:0]
	whole := int(r.ContentLength) + 1 // one more byte, to see the end; 0: the length is not declared
	if n := min(whole, firstRoom); n > cap(b) {
		b = make([]byte, 0, n)
	}
	for {
		if len(b) == cap(b) {
			more := max(len(b), 512)
			if left := whole - len(b); left > 0 {
				more = min(more, left)
			}
			b = slices.Grow(b, more)
		}
		n, err := r.Body.Read(b[len(b):min(cap(b), limit+1)])
		b = b[:len(b)+n]
		switch {
		case len(b) > limit:
			w.Header().Set("Connection", "close")
			return b, tooLarge("request", limit)
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return b, newProblem(http.StatusBadRequest, "the body could not be read to its end")
		}
	}
}

func tooLarge(what string, limit int) *client.Problem {
	return newProblem(http.StatusRequestEntityTooLarge, fmt.Sprintf("the %s is larger than %d bytes", what, limit))
}

// malformed returns the answer to a body that is no JSON.
func malformed(err error) *client.Problem {
	return newProblem(http.StatusBadRequest, "malformed JSON: "+err.Error())
}

// maxInBatches limits the bytes of all batches in work.
const maxInBatches = 64 << 20

// enterBatch reserves room for a batch. Call leave at its end.
func (a *API) enterBatch(r *http.Request) (leave func(), refused *client.Problem) {
	n := r.ContentLength
	if n < 0 || n > maxBatch {
		n = maxBatch
	}
	return enter(&a.inBatches, n, maxInBatches, time.Second, "too many batches at once: nothing was accepted, try again")
}

// enter adds n to the work that is under way, unless it would be more than most. Call leave at the
// end of the work.
func enter(work *atomic.Int64, n, most int64, retryAfter time.Duration, why string) (leave func(), refused *client.Problem) {
	if work.Add(n) > most {
		work.Add(-n)
		return nil, later(http.StatusTooManyRequests, retryAfter, why)
	}
	return func() { work.Add(-n) }, nil
}
