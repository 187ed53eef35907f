package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A Ref identifies a task by its id, or by its queue and key.
type Ref struct{ path string }

// ByID identifies a task by its id.
func ByID(id string) Ref { return Ref{"/v1/tasks/" + escape(id)} }

// ByKey identifies a task by the key of its creator.
func ByKey(queue, key string) Ref {
	return Ref{"/v1/queues/" + escape(queue) + "/keys/" + escape(key)}
}

// Create creates a task, which is durable when Create returns no error. If the key exists with the
// same content, task is the existing task and created is false. That is also so if Create repeated
// a call whose answer was lost.
func (c *Client) Create(ctx context.Context, in CreateTask) (task *Task, created bool, err error) {
	return put[Task](ctx, c, http.MethodPost, "/v1/tasks", in)
}

// CreateBatch creates up to 1,000 tasks and returns one result per task, in order. An invalid task
// does not affect the others.
func (c *Client) CreateBatch(ctx context.Context, in []CreateTask) ([]BatchResult, error) {
	return c.batch(ctx, Batch{Tasks: in})
}

// TryBatch returns what CreateBatch would return for up to 1,000 tasks, and creates none. A task
// that would be created has an ID of zeros.
func (c *Client) TryBatch(ctx context.Context, in []CreateTask) ([]BatchResult, error) {
	return c.batch(ctx, Batch{Tasks: in, DryRun: true})
}

func (c *Client) batch(ctx context.Context, in Batch) ([]BatchResult, error) {
	var out Batched
	_, err := c.call(ctx, http.MethodPost, "/v1/tasks/batch", nil, in, &out)
	return out.Results, err
}

// Task reads a task with its request and its newest 200 attempts.
func (c *Client) Task(ctx context.Context, ref Ref) (*TaskDetail, error) {
	return one[TaskDetail](ctx, c, http.MethodGet, ref.path, nil, nil)
}

// AttemptsAfter reads up to 200 attempts of a task with numbers above after.
func (c *Client) AttemptsAfter(ctx context.Context, ref Ref, after int) ([]Attempt, error) {
	var d TaskDetail
	_, err := c.call(ctx, http.MethodGet, ref.path, url.Values{"attempts_after": {strconv.Itoa(after)}}, nil, &d)
	return d.AttemptLog, err
}

// Attempt reads one attempt of a task, with its request. A [*Problem] with status 404: the task has
// no such attempt.
func (c *Client) Attempt(ctx context.Context, ref Ref, number int) (*Attempt, error) {
	d, err := one[TaskDetail](ctx, c, http.MethodGet, ref.path, url.Values{"attempt": {strconv.Itoa(number)}}, nil)
	if err != nil {
		return nil, err
	}
	if len(d.AttemptLog) != 1 || d.AttemptLog[0].Number != number {
		return nil, fmt.Errorf("bellman: attempt %d of a task: there is none: the first is 1", number)
	}
	return &d.AttemptLog[0], nil
}

// Resend makes one attempt now, in any state of the task.
func (c *Client) Resend(ctx context.Context, ref Ref, in ResendTask) (*Task, error) {
	return one[Task](ctx, c, http.MethodPost, ref.path+"/resend", nil, in)
}

// Cancel ends a task. An attempt in flight may still arrive.
func (c *Client) Cancel(ctx context.Context, ref Ref, in Because) (*Task, error) {
	return one[Task](ctx, c, http.MethodPost, ref.path+"/cancel", nil, in)
}

// Complete ends a task as succeeded, because the answer came another way.
func (c *Client) Complete(ctx context.Context, ref Ref, in CompleteTask) (*Task, error) {
	return one[Task](ctx, c, http.MethodPost, ref.path+"/complete", nil, in)
}

// Reschedule moves a task's next attempt.
func (c *Client) Reschedule(ctx context.Context, ref Ref, in RescheduleTask) (*Task, error) {
	return one[Task](ctx, c, http.MethodPost, ref.path+"/reschedule", nil, in)
}

// put creates or replaces what a path names, or creates it unless it exists; created reports which.
func put[T any](ctx context.Context, c *Client, method, path string, in any) (out *T, created bool, err error) {
	out = new(T)
	status, err := c.call(ctx, method, path, nil, in, out)
	if err != nil {
		return nil, false, err
	}
	return out, status == http.StatusCreated, nil
}

// remove deletes what a path names.
func (c *Client) remove(ctx context.Context, path, reason string) error {
	_, err := c.call(ctx, http.MethodDelete, path, search(map[string]string{"reason": reason}, 0), nil, nil)
	return err
}

// search returns a query of the values that are not empty.
func search(values map[string]string, limit int) url.Values {
	q := url.Values{}
	for name, value := range values {
		if value != "" {
			q.Set(name, value)
		}
	}
	if limit != 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return q
}

// Queues reads all queues.
func (c *Client) Queues(ctx context.Context) (*Queues, error) {
	return one[Queues](ctx, c, http.MethodGet, "/v1/queues", nil, nil)
}

// PauseQueue stops attempts of a queue's tasks.
func (c *Client) PauseQueue(ctx context.Context, name string, in Because) error {
	_, err := c.call(ctx, http.MethodPost, "/v1/queues/"+escape(name)+"/pause", nil, in, nil)
	return err
}

// ResumeQueue ends a queue's pause.
func (c *Client) ResumeQueue(ctx context.Context, name string, in Because) error {
	_, err := c.EndQueuePause(ctx, name, in)
	return err
}

// EndQueuePause ends a queue's pause. It returns the queue's name, or none if the queue was
// not paused.
func (c *Client) EndQueuePause(ctx context.Context, name string, in Because) ([]string, error) {
	return c.pausing(ctx, "/v1/queues/"+escape(name)+"/resume", in)
}

// Endpoints reads all endpoints that the servers know.
func (c *Client) Endpoints(ctx context.Context) (*Endpoints, error) {
	return one[Endpoints](ctx, c, http.MethodGet, "/v1/endpoints", nil, nil)
}

// PauseEndpoint stops attempts to a host, a host:port, or one full endpoint
// (https://merchant.example:443). It returns the endpoints that it stopped.
func (c *Client) PauseEndpoint(ctx context.Context, host string, in Because) ([]string, error) {
	return c.pausing(ctx, "/v1/endpoints/"+escape(host)+"/pause", in)
}

// ResumeEndpoint ends the pause of the endpoints that PauseEndpoint would stop.
func (c *Client) ResumeEndpoint(ctx context.Context, host string, in Because) ([]string, error) {
	return c.pausing(ctx, "/v1/endpoints/"+escape(host)+"/resume", in)
}

// pausing makes a call that pauses or resumes. It returns the names that changed.
func (c *Client) pausing(ctx context.Context, path string, in Because) ([]string, error) {
	var out Paused
	_, err := c.call(ctx, http.MethodPost, path, nil, in, &out)
	return out.Names, err
}

// Stats reads figures over the last window, in whole seconds; 0: an hour. They are counted in whole
// minutes, the current one included.
func (c *Client) Stats(ctx context.Context, window time.Duration) (*Stats, error) {
	q := url.Values{}
	if window != 0 {
		q.Set("window", strconv.FormatInt(int64(window/time.Second), 10)+"s")
	}
	return one[Stats](ctx, c, http.MethodGet, "/v1/stats", q, nil)
}

// Backup writes a consistent copy of the embedded store into a new directory
// on the server.
func (c *Client) Backup(ctx context.Context, dir string, why Because) error {
	_, err := c.call(ctx, http.MethodPost, "/v1/backup", nil, Backup{Dir: dir, Reason: why.Reason}, nil)
	return err
}

// Ready returns nil when the server can attempt tasks.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.call(ctx, http.MethodGet, "/readyz", nil, nil, nil)
	return err
}

// Health returns nil when the server's process is alive, ready or not.
func (c *Client) Health(ctx context.Context) error {
	_, err := c.call(ctx, http.MethodGet, "/healthz", nil, nil, nil)
	return err
}

// Metrics reads the server's metrics in the text format of Prometheus.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) {
	var out []byte
	_, err := c.call(ctx, http.MethodGet, "/metrics", nil, nil, &out)
	return out, err
}

// OpenAPI reads the document that describes the server's API.
func (c *Client) OpenAPI(ctx context.Context) ([]byte, error) {
	var out []byte
	_, err := c.call(ctx, http.MethodGet, "/openapi.json", nil, nil, &out)
	return out, err
}

// one makes a call whose answer is a T.
func one[T any](ctx context.Context, c *Client, method, path string, query url.Values, in any) (*T, error) {
	out := new(T)
	if _, err := c.call(ctx, method, path, query, in, out); err != nil {
		return nil, err
	}
	return out, nil
}
