package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/bellmanhq/bellman/client"
)

// Some editors begin a file with a byte order mark. It is no part of the first task.
func TestSendFileWithMark(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tasks.ndjson")
	write(t, file, "\ufeff{\"key\":\"a\"}\r\n{\"key\":\"b\"}")
	tasks, err := readTasks(file, func(*client.CreateTask) error { return nil })
	if err != nil || len(tasks) != 2 || tasks[0].Key != "a" || tasks[1].Key != "b" {
		t.Errorf("readTasks: %+v, %v; want a and b", tasks, err)
	}
}

// The results of more tasks than one request takes are one JSON text, also if a later request
// fails.
func TestSendPrintsOneArray(t *testing.T) {
	for _, fails := range []bool{false, true} {
		var calls atomic.Int32
		url := receive(t, func(w http.ResponseWriter, r *http.Request) {
			if calls.Add(1) == 2 && fails {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			var in client.Batch
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				t.Errorf("read a batch: %v", err)
			}
			var out client.Batched
			for _, task := range in.Tasks {
				out.Results = append(out.Results, client.BatchResult{Status: 201, Task: &client.Task{Key: task.Key}})
			}
			if err := json.NewEncoder(w).Encode(out); err != nil {
				t.Errorf("write the results: %v", err)
			}
		})
		c, err := client.New(client.Options{Server: url})
		if err != nil {
			t.Fatal(err)
		}
		var tasks []client.CreateTask
		for i := range client.MaxBatch + 1 {
			tasks = append(tasks, client.CreateTask{Queue: "default", Key: fmt.Sprintf("<%d>", i)})
		}
		var out, want bytes.Buffer
		if err := sendMany(t.Context(), &call{Client: c, out: &out, json: true}, tasks); (err != nil) != fails {
			t.Errorf("sendMany: %v; want an error: %t", err, fails)
		}
		var results []client.BatchResult
		if err := json.Unmarshal(out.Bytes(), &results); err != nil {
			t.Fatalf("the output is no JSON: %v", err)
		}
		sent := map[bool]int{true: client.MaxBatch, false: client.MaxBatch + 1}[fails]
		if len(results) != sent || results[sent-1].Task.Key != fmt.Sprintf("<%d>", sent-1) {
			t.Errorf("%d results are printed; want %d, in their order", len(results), sent)
		}
		if err := (&call{out: &want, json: true}).print(results, nil); err != nil || out.String() != want.String() {
			t.Errorf("the output differs from that of one array: %v", err)
		}
	}
}

// What the notifications of orders say counts for the size of a request: the server takes 16 MiB.
func TestBatchOfOrders(t *testing.T) {
	const size = 100 << 10
	orders := make([]client.CreateTask, 200)
	for i := range orders {
		orders[i].Notify = &client.Notify{JSON: bytes.Repeat([]byte("1"), size)}
	}
	if end := batchEnd(orders, 0); end*size > 16<<20 || end == 0 {
		t.Errorf("%d orders of 100 KiB in one request; want less than 16 MiB", end)
	}
}
