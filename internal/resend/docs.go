package resend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// document returns the document of a job.
func document(job Job) store.Doc { return store.DocOf(kind, job.ID.String(), job) }

func parse(doc store.Doc) (Job, error) {
	var job Job
	if err := json.Unmarshal(doc.Value, &job); err != nil {
		return Job{}, fmt.Errorf("read bulk resend %s: %w", doc.Name, err)
	}
	return job, nil
}

// save writes a job together with its audit records, and notes the time.
func (j *Jobs) save(ctx context.Context, job *Job, audits ...store.Audit) error {
	job.Updated = now()
	docs := []store.Doc{document(*job)}
	if job.State != Running && j.leads != nil {
		docs = append(docs, store.Doc{Kind: cancelKind, Name: job.ID.String()})
	}
	if err := j.store.Commit(ctx, &store.Batch{Docs: docs, Audits: audits}); err != nil {
		return fmt.Errorf("keep bulk resend %v: %w", job.ID, err)
	}
	return nil
}

// read reads one job.
func (j *Jobs) read(ctx context.Context, id bellman.ID) (Job, error) {
	doc, err := store.ReadDoc(ctx, j.store, kind, id.String())
	if err != nil {
		return Job{}, fmt.Errorf("read bulk resend %v: %w", id, err)
	}
	return parse(doc)
}

// askedToEnd reports whether another process requested the end of a job.
func (j *Jobs) askedToEnd(ctx context.Context, id bellman.ID) (bool, error) {
	if j.leads == nil {
		return false, nil
	}
	switch _, err := store.ReadDoc(ctx, j.store, cancelKind, id.String()); {
	case errors.Is(err, bellman.ErrNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read whether bulk resend %v was cancelled: %w", id, err)
	}
	return true, nil
}

// all yields all jobs, the oldest first. It ends after an error.
func (j *Jobs) all(ctx context.Context) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		for doc, err := range store.EachDoc(ctx, j.store, kind, "") {
			if err != nil {
				yield(Job{}, fmt.Errorf("read bulk resends: %w", err))
				return
			}
			job, err := parse(doc)
			if err != nil {
				j.log.Error("a bulk resend cannot be read and is skipped", "resend", doc.Name, "err", err)
				continue
			}
			if !yield(job, nil) {
				return
			}
		}
	}
}
