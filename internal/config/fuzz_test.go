package config

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/rule"
	"github.com/bellmanhq/bellman/schedule"
)

// No text causes a panic. The result is values that the other parts accept, or problems that each
// name a place in the text and have a message.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"testdata/full.yaml", "testdata/mistakes.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{"", "? a\n: b", "a: &a [*a]", "{<<: {listen: 'x'}}", "queues: {a: &a {<<: *a}}", "--- !!map\n", "- &x\n- *x", "a: |\n  b\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if c == nil {
			t.Fatal("no config")
		}
		c.Check()
		if ps, is := errors.AsType[Problems](err); is {
			lines := strings.Count(string(text), "\n") + strings.Count(string(text), "\r") + 2
			for _, p := range ps {
				if p.Line < 1 || p.Line > lines || p.Column < 1 || p.Text == "" {
					t.Errorf("problem %+v is not in the text, which has at most %d lines", p, lines)
				}
			}
			return
		}
		if err != nil {
			t.Fatalf("an error that is no Problems: %v", err)
		}
		if len(c.Queues) == 0 || !strings.HasPrefix(c.Store, "pebble:") || c.StopTimeout <= 0 {
			t.Errorf("accepted %+v", c)
		}
		for _, q := range c.Queues {
			if _, err := schedule.Parse(q.Schedule); err != nil {
				t.Error(err)
			}
			switch q.Kind {
			case "order":
				if o := q.Order; o.OnExhausted == "" || o.Expires <= 0 || o.GiveUp <= 0 || o.LateWatch < 0 || o.Channel.Kind == "" && o.Query.URL == "" {
					t.Errorf("accepted queue %+v", q)
				}
			case "poll":
				if o := q.Order; o.Channel.Kind == "" && (o.Query.URL == "" || o.States.zero()) || o.Channel.Kind != "" && o.Channel.Of == "" {
					t.Errorf("accepted queue %+v", q)
				}
			default:
				if _, err := rule.Compile(q.Success); err != nil {
					t.Error(err)
				}
			}
			if q.Name == "" || q.Timeout <= 0 || q.MaxAge < 0 || q.Concurrency < 0 || q.PerEndpoint.Rate < 0 {
				t.Errorf("accepted queue %+v", q)
			}
		}
	})
}
