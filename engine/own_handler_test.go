package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// A handler returns a result that does not exist, for example an HTTP status. The attempt is refused, and the node
// goes on.
func TestResultThatDoesNotExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := memory.New()
		r := &receiver{answer: func(_ *bellman.Task, number int) bellman.Verdict {
			return bellman.Verdict{Result: bellman.Result(200 - number), Next: bellman.Next(number / 2)}
		}}
		e, stop := run(t, kept, engine.Queue{Name: "q", Handler: r, Schedule: "0s, 1s"})
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q"})
		time.Sleep(time.Minute)
		log := attempts(t, kept, id)
		if len(log) != 2 || log[0].Result != bellman.Refused || log[1].Result != bellman.Accepted || get(t, kept, id).State != bellman.Succeeded {
			t.Errorf("attempts %+v; want one refused, then one accepted", log)
		}
	})
}
