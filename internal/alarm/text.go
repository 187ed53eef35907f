package alarm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/schedule"
)

// local formats a time for people, in the time zone of this node.
func local(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -07:00") }

// length formats a number of seconds for people.
func length(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d >= 10*time.Second {
		d = d.Truncate(time.Second)
	}
	return schedule.FormatDuration(d)
}

func count(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// texts describes in one sentence, in English and in Chinese, that an alarm began or ended. chinese
// translates why a case needs action.
func texts(a *Alarm, chinese func(string) string) (en, zh string) {
	of, ofZH := "all queues", "全部队列"
	if a.Queue != "" {
		of, ofZH = "queue "+a.Queue, "队列 "+a.Queue+" "
	}
	n, most := count(a.Value), count(a.Above)
	long, limit := length(a.Value), length(a.Above)
	what, whatZH := a.When, a.When
	say := func(en, zh string, args ...any) { what, whatZH = fmt.Sprintf(en, args...), fmt.Sprintf(zh, args...) }
	switch a.When {
	case Overdue:
		say("a task of %[1]s waited %[3]s beyond its due time, more than %[4]s", "%[2]s的任务逾期 %[3]s，超过 %[4]s", of, ofZH, long, limit)
	case EndpointFailing:
		say("%s fails: its breaker is open, %s %% of its latest attempts failed", "%s 不通：已熔断，最近的尝试有 %s%% 失败", a.Endpoint, n)
		if a.Endpoint == more {
			say("%s more endpoints fail, which are not told one by one", "另有 %s 个端点不通，不再逐个告警", n)
		}
	case OrdersUnknown:
		say("%[3]s orders of %[1]s ended undecided within an hour, more than %[4]s", "一小时内%[2]s有 %[3]s 笔订单未能定案，超过 %[4]s 笔", of, ofZH, n, most)
	case TasksFailed:
		say("%[3]s tasks of %[1]s failed within an hour, more than %[4]s", "一小时内%[2]s有 %[3]s 个任务失败，超过 %[4]s 个", of, ofZH, n, most)
	case StoreSlow:
		say("commits to the store took %s, more than %s", "存储提交耗时 %s，超过 %s", long, limit)
	case Overloaded:
		say("%s nodes take no tasks in: too many are overdue, or too little memory is left", "%s 个节点不再接收任务：逾期过多，或内存不足", n)
	case NodeSilent:
		say("%s nodes that are alive do not say their figures", "%s 个节点活着，但不报告数据", n)
	case OrderDecided:
		d := a.Decision
		say("order %[1]s of merchant %[2]s was decided by hand by %[3]s: %[5]s", "商户 %[2]s 的订单 %[1]s 由 %[4]s 人工定案：%[5]s",
			d.OrderNo, d.MerchantNo, cmp.Or(d.Who, "somebody without a key"), cmp.Or(d.Who, "无密钥者"), d.Reason)
	case CredentialExpires:
		say("%s expires at %s, in %s", "%s 将于 %s 到期，还剩 %s", a.Credential, local(a.Expires), long)
		switch {
		case a.Endpoint == more:
			say("%s more certificates and keys expire soon, which are not told one by one", "另有 %s 个证书或密钥即将到期，不再逐个告警", n)
		case a.Value <= 0:
			say("%s has expired, at %s: replace or remove it", "%s 已于 %s 到期：请更换或删除", a.Credential, local(a.Expires))
		}
	case OrderNeedsAction, AmountMismatch, LatePayment, PaymentWithoutOrder, PollNeedsAction:
		say("more than %[2]s cases of %[1]s within an hour, which are not told one by one", "一小时内 %[1]s 超过 %[2]s 件，不再逐件告警", a.When, n)
		if c := a.Affected; c != nil && c.RefNo != "" {
			say("refund or transfer %[4]s of order %[3]s of merchant %[2]s in queue %[1]s is %[5]s: %[6]s", "队列 %[1]s 中商户 %[2]s 订单 %[3]s 的退款或转账 %[4]s 状态为 %[5]s：%[7]s",
				a.Queue, c.MerchantNo, c.OrderNo, c.RefNo, c.State, c.Why, chinese(c.Why))
		} else if c != nil && c.MerchantNo == "" {
			say("order %[2]s is not in queue %[1]s: %[3]s", "队列 %[1]s 中没有订单 %[2]s：%[4]s", a.Queue, c.OrderNo, c.Why, chinese(c.Why))
		} else if c != nil {
			say("order %[3]s of merchant %[2]s in queue %[1]s is %[4]s: %[5]s", "队列 %[1]s 中商户 %[2]s 的订单 %[3]s 状态为 %[4]s：%[6]s",
				a.Queue, c.MerchantNo, c.OrderNo, c.State, c.Why, chinese(c.Why))
		}
	case ReconcileDifferences:
		say("%[3]s differences between %[1]s and the bill of %[4]s (%[5]s)", "%[2]s与 %[4]s 的账单有 %[3]s 处差异（%[6]s）",
			of, ofZH, n, a.Date, listed(a.Counts, kindsEN), listed(a.Counts, kindsZH))
	case ReconcileFailed:
		say("%[1]s could not be compared with the whole bill of %[4]s in %[3]s tries", "%[2]s与 %[4]s 的账单尝试 %[3]s 次仍未能完整核对", of, ofZH, n, a.Date)
	}
	since, until := local(a.Since), local(a.Until)
	switch {
	case a.Raised():
		return fmt.Sprintf("ALARM %s: %s; since %s", a.Name, what, since), fmt.Sprintf("【告警】%s：%s；始于 %s", a.Name, whatZH, since)
	case a.Reason != "over":
		return fmt.Sprintf("OVER %s: its rule was removed or changed; it had begun at %s (%s)", a.Name, since, what),
			fmt.Sprintf("【解除】%s：规则已删除或修改；始于 %s（%s）", a.Name, since, whatZH)
	}
	return fmt.Sprintf("OVER %s: it lasted from %s to %s (%s)", a.Name, since, until, what), fmt.Sprintf("【解除】%s：从 %s 到 %s（%s）", a.Name, since, until, whatZH)
}

// Words for the kinds of differences between a bill and the orders of its day.
var (
	kindsEN = map[string]string{
		"missing_here": "missing here", "missing_there": "missing in the bill", "amount": "amount", "state": "state", "refund": "refund", "duplicate": "duplicate",
	}
	kindsZH = map[string]string{
		"missing_here": "本地缺失", "missing_there": "账单缺失", "amount": "金额不符", "state": "状态不符", "refund": "退款不符", "duplicate": "重复",
	}
)

// listed lists counts in order of their kinds.
func listed(counts map[string]int, words map[string]string) string {
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s %d", cmp.Or(words[kind], kind), counts[kind]))
	}
	return strings.Join(all, ", ")
}
