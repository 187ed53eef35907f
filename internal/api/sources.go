package api

import (
	"context"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine/figures"
)

func (a *API) listSources(context.Context, *struct{ Caller }) (*answer[client.Sources], error) {
	out := client.Sources{Sources: []client.Source{}, Intake: a.shownIntake()}
	if a.o.Sources != nil {
		for _, s := range a.o.Sources() {
			out.Sources = append(out.Sources, client.Source{
				Name: s.Name, Into: s.Into, State: s.State, Since: client.At(s.Since), Why: s.Why,
				Stored: s.Stored, Existing: s.Existing, Dead: s.Dead, InHand: s.InHand, Failures: s.Failures,
				LastError: s.LastError, LastErrorAt: optional(s.LastErrorAt),
			})
		}
	}
	return ok(out)
}

// shownIntake returns whether new tasks are accepted.
func (a *API) shownIntake() client.Intake {
	i := figures.Intake{Open: true}
	if a.o.Intake != nil {
		i = a.o.Intake()
	}
	return client.Intake{Open: i.Open, Waiting: i.Waiting, High: i.High, Low: i.Low, Heap: i.Heap, HeapHigh: i.HeapHigh}
}
