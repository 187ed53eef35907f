package figures

import (
	"math/bits"
	"time"
)

// A histogram counts durations from 16 µs to a day. The width of a bucket is at most a quarter of
// its durations. The zero value is empty.
//
// HdrHistogram would take a hundred times the memory: a node keeps two histograms for each minute
// of a day.
type histogram struct {
	buckets [4*33 + 1]uint32
	max     time.Duration
}

const firstBucket = 16 * time.Microsecond

func bucketOf(d time.Duration) int {
	n := uint64(d / firstBucket)
	if n < 4 {
		return int(n)
	}
	exp := bits.Len64(n) - 3 // n>>exp is 4 to 7
	return min(int(n>>exp)+4*exp, len(histogram{}.buckets)-1)
}

// ceiling returns the upper bound of a bucket.
func ceiling(bucket int) time.Duration {
	bucket++
	if bucket < 8 {
		return time.Duration(bucket) * firstBucket
	}
	exp := bucket/4 - 1
	return time.Duration(uint64(4+bucket%4)<<exp) * firstBucket
}

// record counts a duration. A negative one counts as 0.
func (h *histogram) record(d time.Duration) {
	h.buckets[bucketOf(max(d, 0))]++
	h.max = max(h.max, d)
}

// add adds the counts of another histogram.
func (h *histogram) add(o *histogram) {
	for i, n := range o.buckets {
		h.buckets[i] += n
	}
	h.max = max(h.max, o.max)
}

// percentiles returns each percentile as the upper end of its bucket.
func (h *histogram) percentiles() Percentiles {
	var p Percentiles
	for _, n := range h.buckets {
		p.Count += int64(n)
	}
	if p.Count == 0 {
		return p
	}
	at := func(share float64) time.Duration {
		left := int64(share*float64(p.Count)) + 1
		for i, n := range h.buckets {
			if left -= int64(n); left <= 0 {
				return min(ceiling(i), h.max)
			}
		}
		return h.max
	}
	p.P50, p.P90, p.P99, p.Max = at(0.50), at(0.90), at(0.99), h.max
	return p
}

// Durations are the counts of a histogram in JSON: pairs of a bucket number and its count.
type Durations struct {
	Buckets [][2]uint32   `json:"buckets,omitempty"`
	Max     time.Duration `json:"max_ns"`
}

func (h *histogram) durations() Durations {
	d := Durations{Max: h.max}
	for i, n := range h.buckets {
		if n > 0 {
			d.Buckets = append(d.Buckets, [2]uint32{uint32(i), n})
		}
	}
	return d
}

func (h *histogram) count(d Durations) {
	for _, b := range d.Buckets {
		if int(b[0]) < len(h.buckets) {
			h.buckets[b[0]] += b[1]
		}
	}
	h.max = max(h.max, d.Max)
}
