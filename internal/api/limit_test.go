package api

import (
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bellmanhq/bellman"
)

// The limit of a task is on what is sent, not on how it is written in JSON.
func TestLimitIsOnWhatIsSent(t *testing.T) {
	const limit = 256 << 10
	quoted := func(inner int) string { return `"` + strings.Repeat("x", inner) + `"` }
	tests := []struct {
		name, field, text string
		sent              int // 0: refused
		detail            string
	}{
		{"body", "body", quoted(limit), limit, ""},
		{"body too large", "body", quoted(limit + 1), 0, "the task's body is larger than 262144 bytes"},
		{"escaped letters", "body", `"` + strings.Repeat(`\u0001`, limit) + `"`, limit, ""},
		{"escaped Chinese", "body", `"` + strings.Repeat(`\u4ed8`, limit/3) + `"`, limit / 3 * 3, ""},
		{"escaped Chinese too large", "body", `"` + strings.Repeat(`\u4ed8`, limit/3+1) + `"`, 0, "the task's body is larger than 262144 bytes"},
		{"json", "json", quoted(limit - 2), limit, ""},
		{"json too large", "json", quoted(limit - 1), 0, "the task's body is larger than 262144 bytes"},
	}
	m := make1(t, Options{})
	for _, tt := range tests {
		task := fmt.Sprintf(`{"queue":"q","url":"http://m/n",%q:%s}`, tt.field, tt.text)
		w := m.do("POST", "/v1/tasks", task)
		if tt.sent == 0 {
			if w.Code != 413 {
				t.Errorf("%s: %d %.200s", tt.name, w.Code, w.Body)
			} else if detail, _ := problemOf(t, w); detail != tt.detail {
				t.Errorf("%s: %q; want %q", tt.name, detail, tt.detail)
			}
		} else if id, err := bellman.ParseID(strings.TrimPrefix(w.Header().Get("Location"), "/v1/tasks/")); err != nil {
			t.Errorf("%s: %d %.200s", tt.name, w.Code, w.Body)
		} else if made, err := m.fake.Task(t.Context(), id); err != nil || len(made.Body) != tt.sent {
			t.Errorf("%s: sends %d bytes, %v; want %d", tt.name, len(made.Body), err, tt.sent)
		}
		w = m.do("POST", "/v1/tasks/batch", `{"tasks":[`+task+`]}`)
		want := `{"results":[{"status":201,`
		if tt.sent == 0 {
			want = `{"results":[{"status":413,`
		}
		if w.Code != 200 || !strings.HasPrefix(w.Body.String(), want) || !strings.Contains(w.Body.String(), tt.detail) {
			t.Errorf("%s in a batch: %d %.200s; want %s", tt.name, w.Code, w.Body, want)
		}
	}
}

// Even so the JSON of a task has an end.
func TestLimitOfJSON(t *testing.T) {
	m := make1(t, Options{})
	task := func(n int) string {
		const start, end = `{"queue":"q","url":"http://m/n"`, `}`
		return start + strings.Repeat(" ", n-len(start)-len(end)) + end
	}
	for n, status := range map[int]int{maxJSON: 201, maxJSON + 1: 413} {
		if w := m.do("POST", "/v1/tasks", task(n)); w.Code != status {
			t.Errorf("%d bytes: %d %s; want %d", n, w.Code, w.Body, status)
		}
		w := m.do("POST", "/v1/tasks/batch", `{"tasks":[`+task(n)+`]}`)
		if want := fmt.Sprintf(`{"results":[{"status":%d,`, status); !strings.HasPrefix(w.Body.String(), want) {
			t.Errorf("%d bytes in a batch: %d %s; want %s", n, w.Code, w.Body, want)
		}
	}
}

// Whoever declares a long body takes no memory before it arrives.
func TestADeclaredBodyTakesNoMemory(t *testing.T) {
	for sent, most := range map[int]int{0: 64 << 10, 100 << 10: 256 << 10} {
		r := httptest.NewRequest("POST", "/v1/tasks", io.MultiReader(strings.NewReader(strings.Repeat(" ", sent)), iotest.ErrReader(io.ErrUnexpectedEOF)))
		r.ContentLength = maxJSON
		b, refused := readBody(httptest.NewRecorder(), r, maxJSON, nil)
		if refused == nil || len(b) != sent || cap(b) > most {
			t.Errorf("%d of %d bytes arrived: %d were read into room for %d, %v; want it refused, and room for %d at most", sent, maxJSON, len(b), cap(b), refused, most)
		}
	}
}
