package sleep

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if all := For(t.Context(), time.Minute); !all || time.Since(begun) != time.Minute {
			t.Errorf("For() = %v after %v; want true after a minute", all, time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		if all := For(ctx, time.Minute); all || time.Since(begun) != time.Second {
			t.Errorf("For() = %v after %v; want false after a second", all, time.Since(begun))
		}
	})
}

func TestWaker(t *testing.T) {
	w := NewWaker()
	w.Wake()
	w.Wake()
	<-w
	select {
	case <-w:
		t.Error("two calls woke twice")
	default:
	}
}
