package api

import (
	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/order/poll"
)

// askPoll does the same as ask for a queue of kind poll.
func (a *API) askPoll(in *client.CreateTask, f *faults) *bellman.Task {
	t := askChannel(in, f)
	bounded(f, "ref_no", in.RefNo, bellman.MaxName)
	bounded(f, "account", in.Account, bellman.MaxName)
	if in.MerchantNo == "" && !f.has("merchant_no") {
		f.add("merchant_no", "is required: the queue is of kind poll")
	}
	askPlan(in, f, t, ownPollEvents, notForPolls)
	ask := poll.Ask{RefNo: in.RefNo, Account: in.Account, ChannelOrderNo: in.ChannelOrderNo}
	ask.Vars = vars(f, in.Vars)
	ask.Notify = notify(f, in.Notify)
	var err error
	if t.Body, err = ask.Encode(); err != nil {
		f.add("", err.Error())
	}
	return t
}

// ownPollEvents is the prefix of the events of tasks that bellman adds for a poll.
const ownPollEvents = "poll."

// notForPolls rejects fields that have no meaning for a refund or transfer.
func notForPolls(in *client.CreateTask, f *faults) {
	const untilTold = "it is asked about until the channel says how it ended"
	reject(f, "the queue is of kind poll", append(notForChannels(in, "query says how", "a refund or transfer"),
		misplaced{"max_age", in.MaxAge != "", untilTold},
		misplaced{"expires", in.Expires != "", untilTold},
		misplaced{"expires_at", !in.ExpiresAt.IsZero(), untilTold},
		misplaced{"code_life", in.CodeLife != "", untilTold},
		misplaced{"amount", in.Amount != 0, "its amount is the text vars.amount"},
		misplaced{"currency", in.Currency != "", "its currency is vars.currency"},
		misplaced{"order_created", !in.OrderCreated.IsZero(), "when its schedule begins is due or delay"})...)
}
