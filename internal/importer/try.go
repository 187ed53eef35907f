package importer

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/bellmanhq/bellman/client"
)

// A Trier says what creating tasks would do. A client implements it.
type Trier interface {
	TryBatch(ctx context.Context, tasks []client.CreateTask) ([]client.BatchResult, error)
}

// Try reports what Run would do now for each row, and imports nothing. If two rows have one key,
// the second one counts as existing.
func Try(ctx context.Context, from Source, at Trier, tell func(Report)) (Counts, error) {
	return Run(ctx, from, &trial{at, map[name][sha256.Size]byte{}}, tell)
}

// name identifies a task.
type name struct{ queue, key string }

// A trial implements Tasks without creating anything.
type trial struct {
	at   Trier
	seen map[name][sha256.Size]byte // the tasks that would be created, or that the caller asked about
}

func (t *trial) CreateBatch(ctx context.Context, tasks []client.CreateTask) ([]client.BatchResult, error) {
	results, err := t.at.TryBatch(ctx, tasks)
	if err != nil || len(results) != len(tasks) {
		return results, err
	}
	for i := range results {
		if results[i].Status != http.StatusCreated {
			continue
		}
		text, err := json.Marshal(&tasks[i])
		if err != nil {
			return nil, fmt.Errorf("write a task as JSON: %w", err)
		}
		sum, of := sha256.Sum256(text), name{tasks[i].Queue, tasks[i].Key}
		switch before, there := t.seen[of]; {
		case !there:
			t.seen[of] = sum
		case before == sum:
			results[i].Status = http.StatusOK
		default:
			results[i] = client.BatchResult{Status: http.StatusConflict, Error: &client.Problem{
				Title: http.StatusText(http.StatusConflict), Status: http.StatusConflict, Detail: "a row before it has its key",
			}}
		}
	}
	return results, nil
}
