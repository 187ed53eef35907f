package poll

import (
	"fmt"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
)

// Complete applies an outcome from outside: the channel's notice, or what a person looked up. The
// outcome is DONE or FAILED_THERE. After the decision the same outcome again changes nothing, and
// the other one is an [bellman.ErrConflict].
func (h *Handler) Complete(task *bellman.Task, outcome string, now time.Time) (bellman.Verdict, error) {
	r := Reading(max(slices.Index(readingNames, outcome), 0))
	if !r.Decides() {
		return bellman.Verdict{}, &bellman.Invalid{Fields: []bellman.FieldError{{
			Field: "outcome", Problem: fmt.Sprintf("%.40q: want one of %v", outcome, readingNames[Done:])}}}
	}
	w, err := h.read(task)
	switch {
	case err != nil:
		return bellman.Verdict{}, err
	case w.life.State == outcome:
		return bellman.Verdict{}, nil
	case w.life.over():
		return bellman.Verdict{}, coded.Errorf("poll.decided", "%w: the refund or transfer is %s", bellman.ErrConflict, w.life.State)
	}
	var m move
	w.life, m = decide(w.life, answer{reading: r}, now)
	v := bellman.Verdict{Next: m.next}
	if task.State.Ended() {
		v.Next = bellman.Again
	}
	h.follow(&v, w, m, &Answer{})
	return v, nil
}
