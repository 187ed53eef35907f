package results_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/results"
	"github.com/bellmanhq/bellman/rule"
)

// chats has the text that the documentation of each chat asks for, and the answers that it shows.
// Each answers with status 200 in every case.
var chats = []struct {
	name     string
	wants    string // TEXT stands for the text
	taken    []string
	refused  []string
	mostText int    // longest TEXT that the chat accepts, in bytes
	opening  string // what < in TEXT becomes, because the chat takes <at user_id="all"> for everybody
}{
	// https://open.dingtalk.com/document/robots/custom-robot-access; 310000: no keyword, 130101:
	// too many a minute.
	{"DingTalk", `{"msgtype":"text","text":{"content":"TEXT"}}`, []string{`{"errcode":0,"errmsg":"ok"}`},
		[]string{`{"errcode":310000,"errmsg":"keywords not in content"}`, `{"errcode":130101,"errmsg":"send too fast"}`, `{}`}, 20_000, "<"},
	// https://developer.work.weixin.qq.com/document/path/91770; 93000: another key, 45009: too many
	// a minute.
	{"WeCom", `{"msgtype":"text","text":{"content":"TEXT"}}`, []string{`{"errcode":0,"errmsg":"ok"}`},
		[]string{`{"errcode":93000,"errmsg":"invalid webhook url"}`, `{"errcode":45009,"errmsg":"api freq out of limit"}`, `{}`}, 2048, "("},
	// https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot; 19024: no keyword, 11232:
	// too many. Older answers had StatusCode; new ones have both.
	{"Feishu, Lark", `{"msg_type":"text","content":{"text":"TEXT"}}`, []string{`{"StatusCode":0,"StatusMessage":"success","code":0,"data":{},"msg":"success"}`},
		[]string{`{"code":19024,"msg":"Key Words Not Found"}`, `{"code":11232,"msg":"frequency limited psm[lark.oapi.app_platform_runtime]appID[1500]"}`, `{"code":9499,"msg":"Bad Request","data":{}}`, `{}`}, 20_000, "("},
}

// The JSON in the table of docs/results.md has the form that each chat's robot expects. The success
// rule of the table tells whether the robot accepted it.
func TestChats(t *testing.T) {
	text := `"bellman: " + string(json.data.queue) + " gave up on order " + string(json.data.order_no) + " of " + string(json.data.merchant_no) + ": " + string(json.data.reason)`
	task := failed()
	task.OrderNo = "<at user_id=all>"
	const said = "bellman: merchant notify gave up on order <at user_id=all> of M1001: attempts_used_up"
	for _, page := range []string{"../../docs/results.md", "../../docs/zh/results.md"} {
		rows := table(t, page)
		if len(rows) != len(chats) {
			t.Fatalf("%s has %d chats; want %d", page, len(rows), len(chats))
		}
		for i, chat := range chats {
			words, err := rule.CompileValue(strings.ReplaceAll(rows[i][0], "TEXT", text))
			if err != nil {
				t.Fatalf("%s, %s: %v", page, chat.name, err)
			}
			r := results.Rules{To: map[bellman.State]results.Queue{bellman.Failed: {Name: "chat", Words: words}}, Shape: shape, Log: slog.New(slog.DiscardHandler)}
			results := r.Ended(task)
			if len(results) != 1 {
				t.Fatalf("%s: %d results; want one", chat.name, len(results))
			}
			var got, want any
			if err := json.Unmarshal(results[0].Body, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(strings.ReplaceAll(chat.wants, "TEXT", strings.ReplaceAll(said, "<", chat.opening))), &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) || len(said) > chat.mostText {
				t.Errorf("%s: %s is sent; want %s", chat.name, results[0].Body, chat.wants)
			}
			if typed := results[0].Header["Content-Type"]; typed != "application/json; charset=utf-8" {
				t.Errorf("%s: the body is sent with the content type %q; want JSON", chat.name, typed)
			}
			success, err := rule.Compile(rows[i][1])
			if err != nil {
				t.Fatalf("%s, %s: %v", page, chat.name, err)
			}
			for want, answers := range map[bool][]string{true: chat.taken, false: chat.refused} {
				for _, body := range answers {
					taken, _ := success.Accepts(&rule.Answer{Status: 200, Body: []byte(body), Attempt: 1})
					if taken != want {
						t.Errorf("%s: the answer %s counts as success: %t; want %t", chat.name, body, taken, want)
					}
				}
			}
		}
	}
}

// table returns event_json and success of each chat on a page.
func table(t *testing.T, page string) (rows [][2]string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, " | ")
		if len(cells) < 3 || !strings.Contains(cells[1], "TEXT") {
			continue
		}
		rows = append(rows, [2]string{strings.Trim(cells[1], "` "), strings.Trim(cells[2], "` ")})
	}
	return rows
}
