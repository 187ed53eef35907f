package alarm_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/results"
	"github.com/bellmanhq/bellman/rule"
)

var yaml = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// The configuration of the page is valid, and its message to each chat has the form that the chat
// needs, with the sentence of the alarm. A name in the sentence mentions nobody in the chat.
func TestPage(t *testing.T) {
	var event []byte
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.overdue(2 * time.Minute)
		stop := w.run(overdue)
		w.pass(10 * time.Second)
		stop()
		event = bytes.ReplaceAll(w.told[0].task.Body, []byte("queue pay"), []byte(`queue <at user_id=\"all\"></at>`))
		event = bytes.ReplaceAll(event, []byte("队列 pay"), []byte(`队列 <at user_id=\"all\"></at>`))
	})
	for _, tt := range []struct{ page, sentence string }{{"alarms.md", "bellman: ALARM late: "}, {filepath.Join("zh", "alarms.md"), "bellman: 【告警】late："}} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", tt.page))
		if err != nil {
			t.Fatal(err)
		}
		blocks := yaml.FindAllSubmatch(text, -1)
		if len(blocks) != 2 {
			t.Fatalf("%s has %d configurations; want 2", tt.page, len(blocks))
		}
		said := 0
		for _, block := range blocks {
			c, err := config.Parse(block[1])
			if err != nil {
				t.Fatalf("%s: %v", tt.page, err)
			}
			if err := c.Check(); err != nil {
				t.Errorf("%s: %v", tt.page, err)
			}
			for _, q := range c.Queues {
				if q.EventJSON == "" {
					continue
				}
				words, err := rule.CompileValue(q.EventJSON)
				if err != nil {
					t.Fatal(err)
				}
				task, err := results.Queue{Name: q.Name, Words: words}.Tell("x", "k", event)
				if err != nil {
					t.Errorf("%s: %s: %v", tt.page, q.Name, err)
				}
				var message struct {
					MsgType string                   `json:"msgtype"`
					Text    struct{ Content string } `json:"text"`
					Feishu  string                   `json:"msg_type"`
					Content struct{ Text string }    `json:"content"`
				}
				if err := json.Unmarshal(task.Body, &message); err != nil {
					t.Errorf("%s: %s: %v: %s", tt.page, q.Name, err, task.Body)
				}
				// Feishu and WeCom take <at user_id="all"> for everybody; DingTalk has a list of
				// its own for that.
				if strings.Contains(message.Text.Content+message.Content.Text, "<at") != (q.Name == "dingtalk" || q.Name == "ops-alerts") {
					t.Errorf("%s: %s says %s; want no mention", tt.page, q.Name, task.Body)
				}
				if message.MsgType+message.Feishu != "text" || !strings.HasPrefix(message.Text.Content+message.Content.Text, tt.sentence) {
					t.Errorf("%s: %s says %s; want text that begins with %s", tt.page, q.Name, task.Body, tt.sentence)
				}
				said++
			}
		}
		if said != 4 {
			t.Errorf("%s: %d queues say it in words; want 4", tt.page, said)
		}
	}
}
