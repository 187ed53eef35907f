package order

import (
	"strings"
	"testing"
)

// WeChat Pay is reported to answer 204 to the close of an order that it does not know. Nothing was
// closed: the order that is placed a moment later can be paid. So it is watched and closed again as
// after not_exist.
func TestClosesWhatItDoesNotKnow(t *testing.T) {
	for _, expires := range []bool{true, false} {
		h := newHouse(t, func(r *Rules) { r.ChannelExpires = expires })
		h.channel.query, h.channel.close = reads(NotFound), closes(CloseDone)
		task := h.order()
		h.until(task)
		watch := h.tasks["orders M1/O1/late_watch"]
		if StateOf(task) != "CLOSED" || watch == nil {
			t.Fatalf("%s, watch %v; want it CLOSED and watched", StateOf(task), watch)
		}
		h.attempt(watch)
		h.channel.query = reads(Pending) // it was placed
		var acts []string
		for range 2 {
			acts = append(acts, h.attempt(watch).Action)
		}
		if got := strings.Join(acts, " "); got != "query close" {
			t.Errorf("placed in the watch: %s; want it closed", got)
		}
		h.channel.query = reads(NotFound)
		if log := h.until(watch); watch.Reason != "watched" || log[len(log)-1] != "2h0m0s query" {
			t.Errorf("the watch: %s, %q; want it as long as the code can be paid", watch.Reason, log)
		}
	}

	h := newHouse(t)
	h.channel.query, h.channel.close = reads(NotFound), closes(CloseDone)
	task := toClose(h)
	h.attempt(task)
	h.channel.query = reads(Pending)
	if got := strings.Join(h.until(task), ", "); got != "30m0s query, 30m0s close, 30m0s query, 30m5s query, 30m30s query" || StateOf(task) != "CLOSED" {
		t.Errorf("placed after the close: %s, %s; want it closed again", got, StateOf(task))
	}
}
