package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/lines"
)

// What somebody wrote in a file, or had a server say, does not control the terminal on which an
// error is printed.
func TestErrorsCannotControlTheTerminal(t *testing.T) {
	var out bytes.Buffer
	const title = "\x1b]0;mine\a" // the title of the window
	report(&out, &cobra.Command{}, &client.Problem{Status: 422, Title: "Unprocessable Entity", Detail: "1 field is wrong",
		Errors: []client.Fault{{Location: "body.headers." + title, Message: "is not a header's name"}}})
	i := fileImport[client.PutAccount]{to: &call{err: &out}, kind: lines.Accounts}
	if err := i.read(t.Context(), strings.NewReader(`{"account":"shop1","platform_keys":{"\u001b]0;mine\u0007":"a","\u001b]0;mine\u0007":"b"}}`)); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, "\x1b") || strings.Count(text, `\x1b]0;mine\a`) != 2 || strings.Count(text, "\n") != 2 {
		t.Errorf("printed %q; want two lines with the characters escaped", text)
	}
}

// JSON does not control the terminal either, and a program reads the same text.
func TestJSONCannotControlTheTerminal(t *testing.T) {
	const text = "茶\u009b2J\u202e\x7f\x1b<"
	var one, many bytes.Buffer
	if err := (&call{out: &one, json: true}).print(client.Task{OrderNo: text}, nil); err != nil {
		t.Fatal(err)
	}
	if err := newLines(&many).Encode(client.Task{OrderNo: text}); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{one.String(), many.String()} {
		var read client.Task
		if err := json.Unmarshal([]byte(out), &read); err != nil || read.OrderNo != text {
			t.Errorf("read %q, %v; want %q", read.OrderNo, err, text)
		}
		if !strings.Contains(out, `"茶\u009b2J\u202e\u007f\u001b<"`) {
			t.Errorf("printed %q; want the characters escaped", out)
		}
	}
}

// Attempts are shown as a part of the schedule only if all of them were scheduled ones.
func TestAttemptsOf(t *testing.T) {
	three := 3
	last := func(trigger string) *client.LastAttempt { return &client.LastAttempt{Trigger: trigger} }
	for _, tt := range []struct {
		name string
		task client.Task
		want string
	}{
		{"none yet", client.Task{State: "pending", MaxAttempts: &three}, "0/3"},
		{"two of three", client.Task{State: "pending", Attempts: 2, Step: 2, MaxAttempts: &three, Last: last("schedule")}, "2/3"},
		{"without end", client.Task{State: "pending", Attempts: 2, Step: 2, Last: last("schedule")}, "2"},
		{"used up", client.Task{State: "failed", Attempts: 3, Step: 3, MaxAttempts: &three, Last: last("schedule")}, "3/3"},
		{"accepted", client.Task{State: "succeeded", Attempts: 2, Step: 1, MaxAttempts: &three, Last: last("schedule")}, "2/3"},
		{"used up, resent once", client.Task{State: "failed", Attempts: 4, Step: 3, MaxAttempts: &three, Last: last("manual")}, "4"},
		{"accepted, resent once", client.Task{State: "succeeded", Attempts: 2, Step: 1, MaxAttempts: &three, Last: last("manual")}, "2"},
		{"restarted", client.Task{State: "pending", Attempts: 3, Step: 1, MaxAttempts: &three, Last: last("schedule")}, "3"},
		{"restarted, more attempts than the schedule has", client.Task{State: "failed", Attempts: 6, Step: 3, MaxAttempts: &three, Last: last("schedule")}, "6"},
		{"resumed, nothing made here", client.Task{State: "pending", Attempts: 2, Step: 2, MaxAttempts: &three}, "2/3"},
	} {
		if got := attemptsOf(&tt.task); got != tt.want {
			t.Errorf("%s: %s; want %s", tt.name, got, tt.want)
		}
	}
}

// The columns of a table stand below each other on a terminal, which shows a Chinese character in
// two columns.
func TestColumnsOfWideCharacters(t *testing.T) {
	var out bytes.Buffer
	rows := newRows(&out, "NAME", "STATE", "WHY")
	rows.row("茶叶店", "ok", "（无）")
	rows.row("Tea\x00", "ok", "none")
	if err := rows.end(); err != nil {
		t.Fatal(err)
	}
	const want = "NAME     STATE  WHY\n" +
		"茶叶店   ok     （无）\n" +
		"Tea\\x00  ok     none\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}
