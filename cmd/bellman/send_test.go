package main

import (
	"path/filepath"
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
