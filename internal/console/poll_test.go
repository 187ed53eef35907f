package console

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order/poll"
)

// refund adds the task of a refund of order B-1.
func (s *site) refund(t testing.TB, ref string, l poll.Life, status bellman.Status, log ...bellman.Attempt) *bellman.Task {
	t.Helper()
	ask := poll.Ask{RefNo: ref, Vars: map[string]string{"amount": "990"}}
	body, err := ask.Encode()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	status.Data = data
	return s.fake.add(t, &bellman.Task{Kind: bellman.KindPoll, Queue: "refunds", Key: "M1001/B-1/" + ref, MerchantNo: "M1001", OrderNo: "B-1",
		Event: "poll.watch", Schedule: "wechat_refund", Body: body, Status: status}, t0.Add(time.Hour), log...)
}

// A refund stands on its own page and on its order's, with its number and its state.
func TestPollPages(t *testing.T) {
	s := open(t, testKeys...)
	s.story(t)
	at := t0.Add(time.Hour)
	done := s.refund(t, "B-1-R1", poll.Life{Stage: poll.Decided, State: poll.StateDone, DecidedAt: at.Add(time.Minute).UnixMilli(), Requests: 1, FirstAt: 1, RequestAt: 1},
		bellman.Status{State: bellman.Succeeded, Reason: "done", Finished: at.Add(time.Minute)},
		bellman.Attempt{Action: "announce", Due: at, Started: at, Result: bellman.Accepted},
		bellman.Attempt{Action: "request", Reading: "accepted", Due: at, Started: at, Result: bellman.Accepted, Status: 200},
		bellman.Attempt{Action: "query", Reading: "DONE", Due: at.Add(time.Minute), Started: at.Add(time.Minute), Result: bellman.Accepted, Status: 200, Response: `{"status":"SUCCESS"}`})
	waits := s.refund(t, "B-1-R2", poll.Life{Stage: poll.Polling, State: poll.StatePending, Alerts: []string{"used_up"}}, bellman.Status{Due: at.Add(24 * time.Hour)})
	amount := s.refund(t, "B-1-R3", poll.Life{Stage: poll.Polling, State: poll.StatePending, Alerts: []string{"person"}}, bellman.Status{Due: at.Add(24 * time.Hour)})
	stuck := s.refund(t, "B-1-R4", poll.Life{Stage: poll.Decided, State: poll.StateFailedThere, DecidedAt: 1, Alerts: []string{"abnormal"}},
		bellman.Status{State: bellman.Succeeded, Reason: "failed_there", Finished: at}, bellman.Attempt{Action: "query", Due: at, Started: at, Result: bellman.Accepted, Status: 200})
	s.signIn(t, "ops")
	for _, tt := range []struct {
		path, language string
		want           []string
	}{
		{"/tasks/" + done.ID.String(), "en", []string{"Refund or transfer number</dt><dd>B-1-R1", "#order-PAID", ">Done<", "request announced", "request</small>", "Taken", "Refund or transfer</dd>", "What was asked for", ">990<", "refund or transfer queried"}},
		{"/tasks/" + done.ID.String(), "zh-CN", []string{"退款或转账单号</dt><dd>B-1-R1", ">成功<", "登记请求", "发起请求", "已受理", "退款或转账</dd>"}},
		{"/tasks/" + waits.ID.String(), "en", []string{"Not decided", "Somebody must look", "Ask once now", `<option value="FAILED_THERE">Failed at the channel</option>`}},
		{"/tasks/" + amount.ID.String(), "zh-CN", []string{"渠道应答的金额与本任务不同"}},
		{"/tasks/" + stuck.ID.String(), "en", []string{`<input type="hidden" name="outcome" value="FAILED_THERE">`, ">Dealt with</button>"}},
		{"/orders?merchant_no=M1001&order_no=B-1", "en", []string{"#order-CLOSED", "#order-PAID", "B-1-R1", "B-1-R2", "request announced", "Done</span></td>"}},
		{"/tasks?kind=poll", "zh-CN", []string{"B-1-R1", "未出结果"}},
	} {
		got := s.get(t, tt.path, "Accept-Language: "+tt.language)
		for _, want := range tt.want {
			if got.StatusCode != http.StatusOK || !strings.Contains(got.body, want) {
				t.Errorf("%s in %s: %d, without %q", tt.path, tt.language, got.StatusCode, want)
			}
		}
	}

	if got := s.get(t, "/tasks/"+done.ID.String()); strings.Contains(got.body, "Dealt with") {
		t.Error("a refund without an alert can be dealt with")
	}
	page := "/tasks/" + waits.ID.String()
	for _, tt := range []struct {
		outcome, reason string
		status          int
		called          string
	}{
		{"DONE", "seen", http.StatusSeeOther, `complete ` + waits.ID.String() + ` "DONE" "ops" "seen"`},
		{"PAID", "seen", http.StatusUnprocessableEntity, ""},
		{"", "seen", http.StatusUnprocessableEntity, ""},
		{"DONE", "", http.StatusUnprocessableEntity, ""},
	} {
		got := s.post(t, page, page, "action", "complete", "outcome", tt.outcome, "reason", tt.reason)
		if called := s.fake.called(); got.StatusCode != tt.status || called != tt.called {
			t.Errorf("complete as %q: %d, and the engine was asked %q; want %d, %q", tt.outcome, got.StatusCode, called, tt.status, tt.called)
		}
	}
}
