package poll

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/order"
)

// Complete applies an outcome from outside: what a person looked up. The outcome is DONE or
// FAILED_THERE. After the decision the same outcome again says that a person has dealt with what the
// alerts were about, such as a refund that is ABNORMAL: the task is [Standing].Alerted no more. The
// other outcome is an [bellman.ErrConflict].
//
// The Detail may be an [order.Told], the channel's notice. It causes a query now, whose answer
// decides, and leaves a record. If the schedule is used up, and the answer does not decide, more
// queries follow soon. After the decision it causes one only if its Reading is the other
// outcome.
func (h *Handler) Complete(task *bellman.Task, c bellman.Completion, now time.Time) (bellman.Verdict, error) {
	if told, ok := c.Detail.(*order.Told); ok {
		return h.told(task, told, now)
	}
	outcome := c.Outcome
	r := Reading(max(slices.Index(readingNames, outcome), 0))
	if !r.Decides() {
		return bellman.Verdict{}, bellman.InvalidField("outcome", fmt.Sprintf("%.40q: want one of %s", outcome, strings.Join(readingNames[Done:], ", ")))
	}
	w, err := h.read(task)
	switch {
	case err != nil:
		return bellman.Verdict{}, err
	case w.life.State == outcome && len(w.life.Alerts) == 0:
		return bellman.Verdict{}, nil
	case w.life.State == outcome:
		w.life.Alerts = nil
		return bellman.Verdict{Data: w.life.encode()}, nil
	case w.life.over():
		return bellman.Verdict{}, coded.Errorf("poll.decided", "%w: the refund or transfer is %s and stays so", bellman.ErrConflict, w.life.State)
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

// told makes a notice cause a query now.
func (h *Handler) told(task *bellman.Task, t *order.Told, now time.Time) (bellman.Verdict, error) {
	w, err := h.read(task)
	if err != nil {
		return bellman.Verdict{}, err
	}
	v := bellman.Verdict{}
	recorded := w.life.Repeats < order.MaxRepeats
	w.life.Repeats = min(w.life.Repeats+1, order.MaxRepeats)
	switch applies := t.Result == order.NoticeApplied; {
	case applies && w.life.doubts(t.Reading):
		w.life.Doubt = t.Reading
		t.Result, v.Due, recorded = order.NoticeApplied, now, true
	case w.life.Stage == Polling && !task.State.Ended():
		t.Result, v.Due = order.NoticeApplied, now
		if applies {
			w.life.Slow = 0
		}
	default:
		t.Result = order.NoticeDuplicate
	}
	v.Data = w.life.encode()
	if recorded {
		v.Follow = []bellman.Task{t.Record(task)}
	}
	return v, nil
}
