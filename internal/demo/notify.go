package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
)

// paid is the order of the notify scenes.
const paid = "20261120000001"

// notification returns the task that notifies the merchant of the payment.
func notification(s *stage, state string) client.CreateTask {
	return client.CreateTask{
		Queue: "merchant-notify", Key: "M1001/" + paid + "/paid",
		MerchantNo: "M1001", OrderNo: paid, Event: "payment.succeeded",
		URL:  s.merchant.url,
		JSON: json.RawMessage(`{"order_no":"` + paid + `","state":"` + state + `"}`),
	}
}

func notifyScenes() []scene {
	return []scene{
		{"A notification is refused twice, and then accepted.", refusedTwice},
		{"The same key is sent again: it stays one task.", sentTwice},
		{"The merchant lost it: it is sent again by hand.", sentAgain},
	}
}

func refusedTwice(ctx context.Context, s *stage) error {
	s.merchant.answers(paid,
		answer{http.StatusInternalServerError, "busy"}, answer{http.StatusOK, "fail"}, answer{http.StatusOK, "success"})
	task, err := s.add(ctx, "asks to tell that order …0001 is paid", notification(s, "SUCCESS"))
	if err != nil {
		return err
	}
	want := []bellman.Result{bellman.ErrorStatus, bellman.Refused, bellman.Accepted}
	for i, result := range want {
		e, err := s.attempted(ctx, task.ID)
		if err != nil {
			return err
		}
		last := i == len(want)-1
		if e.Attempt.Number != i+1 || e.Attempt.Result != result || e.Task.State.Ended() != last {
			return fmt.Errorf("attempt %d was %s, the task is %s: want attempt %d to be %s", e.Attempt.Number, e.Attempt.Result, e.Task.State, i+1, result)
		}
	}
	return s.agrees(ctx, task.ID, "succeeded", want...)
}

func sentTwice(ctx context.Context, s *stage) error {
	told := s.merchant.times(paid)
	task, created, err := s.create(ctx, "asks for the same once more", notification(s, "SUCCESS"))
	if err != nil {
		return err
	}
	if created || task.ID != s.made[0] {
		return fmt.Errorf("the same key became task %s: want %s", task.ID, s.made[0])
	}
	_, _, err = s.create(ctx, "asks with that key and other content", notification(s, "REFUND"))
	if client.StatusOf(err) != http.StatusConflict {
		return fmt.Errorf("the same key with other content: %v: want 409", err)
	}
	if now := s.merchant.times(paid); now != told {
		return fmt.Errorf("the merchant was told %d times more", now-told)
	}
	s.say("merchant", fmt.Sprintf("was told %d times before, and no more", told), "")
	return nil
}

func sentAgain(ctx context.Context, s *stage) error {
	id := s.made[0]
	s.say("operator", `resends it: "the merchant asked"`, "POST /v1/tasks/{id}/resend")
	_, err := s.client.Resend(ctx, client.ByID(id), client.ResendTask{Mode: "once", Reason: "the merchant asked"})
	if err != nil {
		return err
	}
	e, err := s.attempted(ctx, id)
	if err != nil {
		return err
	}
	if e.Attempt.Trigger != bellman.ByHand || e.Attempt.Result != bellman.Accepted {
		return fmt.Errorf("attempt %d was %s by %s: want it accepted, by hand", e.Attempt.Number, e.Attempt.Result, e.Attempt.Trigger)
	}
	return s.agrees(ctx, id, "succeeded", bellman.ErrorStatus, bellman.Refused, bellman.Accepted, bellman.Accepted)
}

// agrees reads a task through the API and compares its state and the results of its attempts with
// what was observed.
func (s *stage) agrees(ctx context.Context, id, state string, want ...bellman.Result) error {
	task, err := s.client.Task(ctx, client.ByID(id))
	if err != nil {
		return err
	}
	var got, wanted []string
	for _, a := range task.AttemptLog {
		got = append(got, a.Result)
	}
	for _, r := range want {
		wanted = append(wanted, r.String())
	}
	if task.State != state || !slices.Equal(got, wanted) {
		return fmt.Errorf("the record says %s, attempts %v: want %s, %v", task.State, got, state, wanted)
	}
	s.say("operator", fmt.Sprintf("reads the record: %s", task.State), strings.Join(got, ", "))
	return nil
}
