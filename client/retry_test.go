package client_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// answers is a transport with a fixed sequence of answers, the last of which repeats. An answer is
// a status, or 0 for a connection that breaks.
type answers struct {
	status []int
	header http.Header
	body   string          // of every answer; empty: {}
	at     []time.Duration // times of the requests, counted from the first
	begun  time.Time
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.begun.IsZero() {
		a.begun = time.Now()
	}
	a.at = append(a.at, time.Since(a.begun))
	if r.Body != nil {
		if body, err := io.ReadAll(r.Body); err != nil || len(body) == 0 {
			return nil, errors.New("the request was sent without its body")
		}
	}
	status := a.status[min(len(a.at), len(a.status))-1]
	if status == 0 {
		return nil, errors.New("reset by peer")
	}
	return &http.Response{StatusCode: status, Header: a.header, Body: io.NopCloser(strings.NewReader(cmp.Or(a.body, "{}")))}, nil
}

func TestRetries(t *testing.T) {
	list := func(ctx context.Context, c *client.Client) error { _, err := c.Queues(ctx); return err }
	create := func(key string) func(context.Context, *client.Client) error {
		return func(ctx context.Context, c *client.Client) error {
			_, _, err := c.Create(ctx, client.CreateTask{Queue: "q", Key: key})
			return err
		}
	}
	batch := func(keys ...string) func(context.Context, *client.Client) error {
		return func(ctx context.Context, c *client.Client) error {
			var all []client.CreateTask
			for _, k := range keys {
				all = append(all, client.CreateTask{Queue: "q", Key: k})
			}
			_, err := c.CreateBatch(ctx, all)
			return err
		}
	}
	resend := func(ctx context.Context, c *client.Client) error {
		_, err := c.Resend(ctx, client.ByID("1"), client.ResendTask{})
		return err
	}
	tests := []struct {
		name    string
		call    func(context.Context, *client.Client) error
		retries int
		status  []int
		asked   int
		want    int // status of the Problem; 0: success, -1: another error
	}{
		{"without retries", list, 0, []int{429}, 1, 429},
		{"a read", list, 3, []int{503, 0, 502, 200}, 4, 0},
		{"a read that stays refused", list, 3, []int{503}, 4, 503},
		{"a read that is refused for good", list, 3, []int{404}, 1, 404},
		{"a create with a key", create("k"), 3, []int{0, 503, 201}, 3, 0},
		{"a create without", create(""), 3, []int{503}, 1, 503},
		{"a create without, and no answer", create(""), 3, []int{0}, 1, -1},
		{"a create without, that was not taken", create(""), 3, []int{429, 201}, 2, 0},
		{"a batch with keys", batch("a", "b"), 3, []int{504, 200}, 2, 0},
		{"a batch with one that has none", batch("a", ""), 3, []int{504}, 1, 504},
		{"a resend", resend, 3, []int{503}, 1, 503},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answers{status: tt.status}
				c, err := client.New(client.Options{HTTP: &http.Client{Transport: a}, Retries: tt.retries})
				if err != nil {
					t.Fatal(err)
				}
				err = tt.call(t.Context(), c)
				got := client.StatusOf(err)
				if err != nil && got == 0 {
					got = -1
				}
				if got != tt.want || len(a.at) != tt.asked {
					t.Errorf("%d requests, then %v; want %d requests and status %d", len(a.at), err, tt.asked, tt.want)
				}
			})
		})
	}
}

// Pauses between retries grow, and are at least as long as Retry-After, which is waited for up to a
// minute.
func TestRetryPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answers{status: []int{503}}
		c, err := client.New(client.Options{HTTP: &http.Client{Transport: a}, Retries: 8})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Queues(t.Context()); client.StatusOf(err) != 503 {
			t.Fatal(err)
		}
		if !slices.IsSorted(a.at) || len(a.at) != 9 {
			t.Fatalf("requests at %v; want 9", a.at)
		}
		for i := 1; i < len(a.at); i++ {
			full := min(100*time.Millisecond<<(i-1), 5*time.Second)
			if pause := a.at[i] - a.at[i-1]; pause < full/2 || pause > full {
				t.Errorf("pause %d is %v; want half of %v to all of it", i, pause, full)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		a := &answers{status: []int{429, 200}, header: http.Header{"Retry-After": {"7"}}}
		c, err := client.New(client.Options{HTTP: &http.Client{Transport: a}, Retries: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Queues(t.Context()); err != nil || len(a.at) != 2 || a.at[1] != 7*time.Second {
			t.Errorf("requests at %v, then %v; want the retry after 7 s", a.at, err)
		}
	})
	for after, asked := range map[string]int{"60": 2, "61": 1} {
		synctest.Test(t, func(t *testing.T) {
			a := &answers{status: []int{503, 200}, header: http.Header{"Retry-After": {after}}}
			c, err := client.New(client.Options{HTTP: &http.Client{Transport: a}, Retries: 3})
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			_, err = c.Queues(t.Context())
			if len(a.at) != asked || (err == nil) != (asked == 2) || asked == 1 && (client.StatusOf(err) != 503 || time.Since(begun) > 0) {
				t.Errorf("Retry-After %s: requests at %v, then %v after %v; want %d, and if it is one, its error at once", after, a.at, err, time.Since(begun), asked)
			}
		})
	}
}

// A request that cannot be made, or whose answer is not understood, would fail again: the error is
// returned at once.
func TestNoRetriesOfLastingErrors(t *testing.T) {
	for _, tt := range []struct {
		name  string
		call  func(context.Context, *client.Client) error
		asked int
	}{
		{"a task whose json is none", func(ctx context.Context, c *client.Client) error {
			_, _, err := c.Create(ctx, client.CreateTask{Queue: "q", Key: "k", JSON: json.RawMessage("{")})
			return err
		}, 0},
		{"an answer that is no JSON", func(ctx context.Context, c *client.Client) error { _, err := c.Queues(ctx); return err }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answers{status: []int{200}, body: "hello"}
				c, err := client.New(client.Options{HTTP: &http.Client{Transport: a}, Retries: 3})
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				err = tt.call(t.Context(), c)
				if _, is := errors.AsType[*json.SyntaxError](err); !is {
					t.Errorf("%v; want an error of JSON", err)
				}
				if took := time.Since(begun); took > 0 || len(a.at) != tt.asked {
					t.Errorf("%d requests in %v; want %d at once", len(a.at), took, tt.asked)
				}
			})
		})
	}
}
