package engine_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// A task that another system attempted before continues where that system left off: at the times of
// that schedule, or at once if those are past.
func TestResume(t *testing.T) {
	const h, m, s = time.Hour, time.Minute, time.Second
	tests := []struct {
		name     string
		schedule string
		maxAge   time.Duration
		attempts int
		last     time.Duration // last attempt, before now
		began    time.Duration // start of the schedule, before now; 0: not given
		at       []time.Duration
		number   int // number of the first attempt here
	}{
		{"roncoo's rule, after two", `{"1":0,"2":1,"3":2,"4":5,"5":15}`, 0, 2, 30 * s, 0, []time.Duration{90 * s, 90*s + 5*m, 90*s + 20*m}, 3},
		{"wechat, before the last", "wechat_notify", 0, 15, h, 0, []time.Duration{5 * h}, 16},
		{"due while no system ran", "0s, 15s*2, 30s", 0, 2, h, 0, []time.Duration{0, 30 * s}, 3},
		{"offsets", "@ 0s, 1m, 10m, 20m", 0, 2, 4 * m, 5 * m, []time.Duration{5 * m, 15 * m}, 3},
		{"an age", "1m*; max 10m", 0, 7, s, 7 * m, []time.Duration{59 * s, 119 * s, 179 * s}, 8},
		{"the task's own age", "1m*", 10 * m, 7, s, 7 * m, []time.Duration{59 * s, 119 * s, 179 * s}, 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				r := &receiver{answer: refuse}
				e, stop := run(t, store, engine.Queue{Name: "q", Handler: r})
				defer stop()
				start := time.Now()
				resume := &bellman.Resume{Attempts: tt.attempts, Last: start.Add(-tt.last)}
				if tt.began > 0 {
					resume.Began = start.Add(-tt.began)
				}
				id := add(t, e, &bellman.Task{Queue: "q", Key: "1", Schedule: tt.schedule, MaxAge: tt.maxAge, Origin: &bellman.Origin{Resume: resume}})
				if task := get(t, store, id); tt.at[0] > 0 && int(task.Attempts) != tt.attempts || task.Resume() != nil {
					t.Errorf("the stored task has %d attempts and Resume %v; want %d and none", task.Attempts, task.Resume(), tt.attempts)
				}
				time.Sleep(tt.at[len(tt.at)-1] + max(30*time.Minute/fewer, 16*time.Minute)) // long enough for another attempt, which must not come
				var at []time.Duration
				for _, seen := range r.times() {
					at = append(at, seen.Sub(start))
				}
				if !slices.Equal(at, tt.at) {
					t.Errorf("attempts were made at %v; want %v", at, tt.at)
				}
				if log := attempts(t, store, id); len(log) == 0 || log[0].Number != tt.number {
					t.Errorf("the log begins with %+v; want number %d", log, tt.number)
				}
				if task := get(t, store, id); task.State != bellman.Failed {
					t.Errorf("the task is %v in the end; want failed", task.State)
				}

				// Adding the same task again finds it, however far the other system has come
				// meanwhile.
				again := e.Add(t.Context(), &bellman.Task{Queue: "q", Key: "1", Schedule: tt.schedule, MaxAge: tt.maxAge, Origin: &bellman.Origin{Resume: &bellman.Resume{Attempts: 1, Last: time.Now()}}})[0]
				if again.Err != nil || !again.Existing || again.ID != id {
					t.Errorf("Add() of the same task again = %+v; want the existing task", again)
				}
			})
		})
	}
}

func TestResumeInvalid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: &receiver{answer: refuse}, Schedule: "0s, 15s"})
		defer stop()
		now := time.Now()
		tests := []struct {
			name  string
			task  bellman.Task
			field string
		}{
			{"none", bellman.Task{Origin: &bellman.Origin{Resume: &bellman.Resume{Last: now}}}, "resume.attempts"},
			{"over", bellman.Task{Origin: &bellman.Origin{Resume: &bellman.Resume{Attempts: 2, Last: now}}}, "resume.attempts"},
			{"too old", bellman.Task{Schedule: "1m*", MaxAge: time.Hour, Origin: &bellman.Origin{Resume: &bellman.Resume{Attempts: 2, Last: now, Began: now.Add(-time.Hour)}}}, "resume.attempts"},
			{"never", bellman.Task{Origin: &bellman.Origin{Resume: &bellman.Resume{Attempts: 1}}}, "resume.last"},
			{"in the future", bellman.Task{Origin: &bellman.Origin{Resume: &bellman.Resume{Attempts: 1, Last: now.Add(time.Hour)}}}, "resume.last"},
			{"the wrong way round", bellman.Task{Origin: &bellman.Origin{Resume: &bellman.Resume{Attempts: 1, Last: now, Began: now.Add(time.Second)}}}, "resume.began"},
			{"and a delay", bellman.Task{Delay: time.Minute, Origin: &bellman.Origin{Resume: &bellman.Resume{Attempts: 1, Last: now}}}, "resume"},
		}
		for _, tt := range tests {
			tt.task.Queue = "q"
			var invalid *bellman.Invalid
			if err := e.Add(t.Context(), &tt.task)[0].Err; !errors.As(err, &invalid) || len(invalid.Fields) != 1 || invalid.Fields[0].Field != tt.field {
				t.Errorf("%s: %v; want an error of the field %s", tt.name, err, tt.field)
			}
		}
	})
}
