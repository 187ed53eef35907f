package alarm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/internal/results"
	"github.com/bellmanhq/bellman/schedule"
)

// Types of events.
const (
	began = "bellman.alarm.began"
	ended = "bellman.alarm.ended"
)

// data is the data of an event.
type data struct {
	Name     string         `json:"name"`
	When     string         `json:"when"`
	Queue    string         `json:"queue"`    // empty: all queues
	Endpoint string         `json:"endpoint"` // empty: the condition has no endpoint; *: the endpoints beyond mostEndpoints
	Above    float64        `json:"above"`    // seconds or a count
	Value    float64        `json:"value"`    // seconds or a count, when the alarm was raised
	Since    string         `json:"since"`
	Until    string         `json:"until"`            // empty: the alarm is raised
	Reason   string         `json:"reason"`           // why it ended; empty: the alarm is raised
	Date     string         `json:"date,omitempty"`   // the day that a reported alarm is about
	Counts   map[string]int `json:"counts,omitempty"` // what value consists of, by kind
	Text     string         `json:"text"`
	TextZH   string         `json:"text_zh"`

	Credential string `json:"credential,omitempty"` // the certificate or key that expires
	Expires    string `json:"expires,omitempty"`

	Decision *Decision `json:"decision,omitempty"`
	Affected *Case     `json:"affected,omitempty"`
}

// event returns the event that reports an alarm: its type, its key and its body. One key is reported once. chinese
// translates why a case needs action.
func event(a *Alarm, chinese func(string) string) (typed, key string, body []byte) {
	typed, at, moment := began, a.Since, "began"
	d := data{
		Name: a.Name, When: a.When, Queue: a.Queue, Endpoint: a.Endpoint, Above: a.Above, Value: a.Value,
		Since: stamp(a.Since), Reason: a.Reason, Date: a.Date, Counts: a.Counts, Text: text(a), TextZH: textZH(a, chinese), Decision: a.Decision,
		Credential: a.Credential, Affected: a.Affected,
	}
	if !a.Expires.IsZero() {
		d.Expires = stamp(a.Expires)
	}
	if !a.Raised() {
		typed, at, moment = ended, a.Ended, "ended"
		d.Until = stamp(a.Until)
	}
	key = fmt.Sprintf("alarm/%s/%s/%s", a.ID, stamp(a.Since), moment)
	said, err := json.Marshal(d)
	if err != nil {
		panic(fmt.Errorf("alarm: %w", err)) // cannot fail: text and finite numbers
	}
	body, err = json.Marshal(results.Event{
		SpecVersion: "1.0",
		ID:          key,
		Source:      "bellman/alarms/" + url.PathEscape(a.Name),
		Type:        typed,
		Subject:     a.ID,
		Time:        stamp(at),
		ContentType: "application/json",
		Data:        said,
	})
	if err != nil {
		panic(fmt.Errorf("alarm: %w", err))
	}
	return typed, key, body
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

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

// text describes in one sentence that an alarm began or ended.
func text(a *Alarm) string {
	of := "all queues"
	if a.Queue != "" {
		of = "queue " + a.Queue
	}
	what := a.When
	switch a.When {
	case Overdue:
		what = fmt.Sprintf("a task of %s waited %s beyond its due time, more than %s", of, length(a.Value), length(a.Above))
	case EndpointFailing:
		what = fmt.Sprintf("%s fails: its breaker is open, %s %% of its latest attempts failed", a.Endpoint, count(a.Value))
		if a.Endpoint == more {
			what = fmt.Sprintf("%s more endpoints fail, which are not told one by one", count(a.Value))
		}
	case OrdersUnknown:
		what = fmt.Sprintf("%s orders of %s ended undecided within an hour, more than %s", count(a.Value), of, count(a.Above))
	case TasksFailed:
		what = fmt.Sprintf("%s tasks of %s failed within an hour, more than %s", count(a.Value), of, count(a.Above))
	case StoreSlow:
		what = fmt.Sprintf("commits to the store took %s, more than %s", length(a.Value), length(a.Above))
	case Overloaded:
		what = fmt.Sprintf("%s nodes take no tasks in: too many are overdue, or too little memory is left", count(a.Value))
	case NodeSilent:
		what = fmt.Sprintf("%s nodes that are alive do not say their figures", count(a.Value))
	case OrderDecided:
		d := a.Decision
		what = fmt.Sprintf("order %s of merchant %s was decided by hand by %s: %s", d.OrderNo, d.MerchantNo, cmp.Or(d.Who, "somebody without a key"), d.Reason)
	case CredentialExpires:
		what = fmt.Sprintf("%s expires at %s, in %s", a.Credential, local(a.Expires), length(a.Value))
		switch {
		case a.Endpoint == more:
			what = fmt.Sprintf("%s more certificates and keys expire soon, which are not told one by one", count(a.Value))
		case a.Value <= 0:
			what = fmt.Sprintf("%s has expired, at %s: replace or remove it", a.Credential, local(a.Expires))
		}
	case OrderNeedsAction, AmountMismatch, LatePayment, PaymentWithoutOrder, PollNeedsAction:
		what = fmt.Sprintf("more than %s cases of %s within an hour, which are not told one by one", count(a.Value), a.When)
		if c := a.Affected; c != nil && c.RefNo != "" {
			what = fmt.Sprintf("refund or transfer %s of order %s of merchant %s in queue %s is %s: %s", c.RefNo, c.OrderNo, c.MerchantNo, a.Queue, c.State, c.Why)
		} else if c != nil && c.MerchantNo == "" {
			what = fmt.Sprintf("order %s is not in queue %s: %s", c.OrderNo, a.Queue, c.Why)
		} else if c != nil {
			what = fmt.Sprintf("order %s of merchant %s in queue %s is %s: %s", c.OrderNo, c.MerchantNo, a.Queue, c.State, c.Why)
		}
	case ReconcileDifferences:
		what = fmt.Sprintf("%s differences between %s and the bill of %s (%s)", count(a.Value), of, a.Date, listed(a.Counts, kindsEN))
	case ReconcileFailed:
		what = fmt.Sprintf("the bill of %s for %s could not be had in %s tries", a.Date, of, count(a.Value))
	}
	switch {
	case a.Raised():
		return fmt.Sprintf("ALARM %s: %s; since %s", a.Name, what, local(a.Since))
	case a.Reason != "over":
		return fmt.Sprintf("OVER %s: its rule was removed or changed; it had begun at %s (%s)", a.Name, local(a.Since), what)
	}
	return fmt.Sprintf("OVER %s: it lasted from %s to %s (%s)", a.Name, local(a.Since), local(a.Until), what)
}

// textZH is text in Chinese.
func textZH(a *Alarm, chinese func(string) string) string {
	of := "全部队列"
	if a.Queue != "" {
		of = "队列 " + a.Queue + " "
	}
	what := a.When
	switch a.When {
	case Overdue:
		what = fmt.Sprintf("%s的任务逾期 %s，超过 %s", of, length(a.Value), length(a.Above))
	case EndpointFailing:
		what = fmt.Sprintf("%s 不通：已熔断，最近的尝试有 %s%% 失败", a.Endpoint, count(a.Value))
		if a.Endpoint == more {
			what = fmt.Sprintf("另有 %s 个端点不通，不再逐个告警", count(a.Value))
		}
	case OrdersUnknown:
		what = fmt.Sprintf("一小时内%s有 %s 笔订单未能定案，超过 %s 笔", of, count(a.Value), count(a.Above))
	case TasksFailed:
		what = fmt.Sprintf("一小时内%s有 %s 个任务失败，超过 %s 个", of, count(a.Value), count(a.Above))
	case StoreSlow:
		what = fmt.Sprintf("存储提交耗时 %s，超过 %s", length(a.Value), length(a.Above))
	case Overloaded:
		what = fmt.Sprintf("%s 个节点不再接收任务：逾期过多，或内存不足", count(a.Value))
	case NodeSilent:
		what = fmt.Sprintf("%s 个节点活着，但不报告数据", count(a.Value))
	case OrderDecided:
		d := a.Decision
		what = fmt.Sprintf("商户 %s 的订单 %s 由 %s 人工定案：%s", d.MerchantNo, d.OrderNo, cmp.Or(d.Who, "无密钥者"), d.Reason)
	case CredentialExpires:
		what = fmt.Sprintf("%s 将于 %s 到期，还剩 %s", a.Credential, local(a.Expires), length(a.Value))
		switch {
		case a.Endpoint == more:
			what = fmt.Sprintf("另有 %s 个证书或密钥即将到期，不再逐个告警", count(a.Value))
		case a.Value <= 0:
			what = fmt.Sprintf("%s 已于 %s 到期：请更换或删除", a.Credential, local(a.Expires))
		}
	case OrderNeedsAction, AmountMismatch, LatePayment, PaymentWithoutOrder, PollNeedsAction:
		what = fmt.Sprintf("一小时内 %s 超过 %s 件，不再逐件告警", a.When, count(a.Value))
		if c := a.Affected; c != nil && c.RefNo != "" {
			what = fmt.Sprintf("队列 %s 中商户 %s 订单 %s 的退款或转账 %s 状态为 %s：%s", a.Queue, c.MerchantNo, c.OrderNo, c.RefNo, c.State, chinese(c.Why))
		} else if c != nil && c.MerchantNo == "" {
			what = fmt.Sprintf("队列 %s 中没有订单 %s：%s", a.Queue, c.OrderNo, chinese(c.Why))
		} else if c != nil {
			what = fmt.Sprintf("队列 %s 中商户 %s 的订单 %s 状态为 %s：%s", a.Queue, c.MerchantNo, c.OrderNo, c.State, chinese(c.Why))
		}
	case ReconcileDifferences:
		what = fmt.Sprintf("%s与 %s 的账单有 %s 处差异（%s）", of, a.Date, count(a.Value), listed(a.Counts, kindsZH))
	case ReconcileFailed:
		what = fmt.Sprintf("%s在 %s 的账单尝试 %s 次仍未取得", of, a.Date, count(a.Value))
	}
	switch {
	case a.Raised():
		return fmt.Sprintf("【告警】%s：%s；始于 %s", a.Name, what, local(a.Since))
	case a.Reason != "over":
		return fmt.Sprintf("【解除】%s：规则已删除或修改；始于 %s（%s）", a.Name, local(a.Since), what)
	}
	return fmt.Sprintf("【解除】%s：从 %s 到 %s（%s）", a.Name, local(a.Since), local(a.Until), what)
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
