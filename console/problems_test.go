package console

import (
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

// What is wrong with a form is said with its labels, and in the language of its page.
func TestProblemsInTheVisitorsWords(t *testing.T) {
	all, err := allLanguages()
	if err != nil {
		t.Fatal(err)
	}
	problemOf := func(_ any, err error) string { return err.Error() }
	for _, tt := range []struct{ field, problem, en, zh string }{
		{"filter", "is empty: want at least one of queue, kind", "Filters: Give at least one filter.", "筛选条件: 请至少填写一个条件。"},
		{"filter.created_from", "is not before created_to, or not before now: want an earlier time", "Created from: Want a time before the end, and before now.", "创建时间从: 应早于结束时间和当前时间。"},
		{"notify_url", "want an absolute URL that begins with https:// or http://", "Told at: Want an absolute URL that begins with https:// or http://.", "通知地址: 应为以 https:// 或 http:// 开头的完整网址。"},
		{"timeout", "20m is out of range: want 1ms to 10m", "Timeout: 20m is out of range: want 1ms to 10m.", "超时: 20m 超出范围：应为 1ms 至 10m。"},
		{"schedule", problemOf(schedule.Parse("wechat")), `Schedule: No schedule is called "wechat": want a preset’s name, or delays such as 0s, 15s*2, 30s.`, `计划: 没有名为 "wechat" 的计划：应为预设名称，或间隔如 0s, 15s*2, 30s。`},
		{"schedule", problemOf(schedule.Parse("0s, 15x")), `Schedule: Item 2, "15x": want a delay such as 15s, 15s*2 or 1h*.`, `计划: 第 2 项 "15x"：应为间隔，如 15s、15s*2 或 1h*。`},
		{"timeout", problemOf(schedule.ParseDuration("soon")), `Timeout: "soon" is no duration: want one such as 5s, 10m or 24h.`, `超时: "soon" 不是时长：应如 5s、10m 或 24h。`},
		{"sign.secrets[2]", "is bad in a way that is new", "Secrets: is bad in a way that is new", "密钥: is bad in a way that is new"},
		{"another", "is required", "another: Is required.", "another: 必填。"},
	} {
		e := &bellman.Invalid{Fields: []bellman.FieldError{{Field: tt.field, Problem: tt.problem}}}
		for code, want := range map[string]string{"en": tt.en, "zh": tt.zh} {
			if got := all[code].invalid(e); got != want {
				t.Errorf("%s: %s, in %s: %q; want %q", tt.field, tt.problem, code, got, want)
			}
		}
	}
	for _, p := range problems {
		for _, l := range all {
			values := []any{}
			for i := range p.says.NumSubexp() {
				values = append(values, string(rune('a'+i)), "X")
			}
			if text := l.say(p.text, values...); strings.ContainsAny(text, "{}") {
				t.Errorf("%s in %s has a place that nothing fills: %s", p.text, l.code, text)
			}
		}
	}
}

// What an attempt was read as is said in words on the line too, as in the table.
func TestTheLineHasNoCodes(t *testing.T) {
	s := open(t)
	task := s.fake.add(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O1", Body: []byte(`{"State":"PENDING"}`), Schedule: "order_poll"}, t0,
		bellman.Attempt{Due: t0, Started: t0, Took: time.Second, Action: "query", Reading: "QUERY_ERROR", Result: bellman.ErrorStatus, Status: 500})
	for _, path := range []string{"/orders?merchant_no=M1&order_no=O1", "/tasks/" + task.ID.String()} {
		got := s.get(t, path, "Accept-Language: zh").body
		if strings.Contains(got, "QUERY_ERROR") || !strings.Contains(got, "错误状态码") {
			t.Errorf("%s has the code of a reading", path)
		}
	}
}
