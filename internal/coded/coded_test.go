package coded_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/bellmanhq/bellman/internal/coded"
)

// An error has its text, its code, what it is about as the text has it, and what it wraps.
func TestErrorf(t *testing.T) {
	inside := errors.New("want more")
	err := coded.Errorf("item.wrong", "item %d %.3q, 100%% of it: %w", 2, "abcdef", inside)
	if got, want := err.Error(), `item 2 "abc", 100% of it: want more`; got != want {
		t.Errorf("Error() = %q; want %q", got, want)
	}
	if !errors.Is(err, inside) {
		t.Error("what it wraps is not found")
	}
	e, is := errors.AsType[*coded.Error](err)
	if !is || e.Code != "item.wrong" {
		t.Fatalf("it is %#v; want an Error with its code", err)
	}
	if got, want := e.Args(), []any{"2", `"abc"`, inside}; !slices.Equal(got, want) {
		t.Errorf("Args() = %q; want %q", got, want)
	}
	if errors.As(coded.Errorf("none", "no arguments"), &e); len(e.Args()) != 0 {
		t.Errorf("Args() = %q; want none", e.Args())
	}
}
