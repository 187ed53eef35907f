package sim

import (
	"os"
	"strings"
	"testing"
)

// A seed that is run again tells the same story, to the letter: the next time, or now and then
// the time after.
func TestReplay(t *testing.T) {
	if !canTie {
		t.Skip(errUntied)
	}
	const tries = 4
	for _, seed := range []int64{3, 7, 11} {
		told := make(map[string]bool)
		for again := false; !again; {
			said, err := play(t.Context(), os.Args[0], seed, true)
			if strings.Contains(said, errUntied.Error()) {
				t.Skip(said[:strings.IndexByte(said, '\n')])
			}
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, said)
			}
			story, _, _ := strings.Cut(said, "\n--- ") // the rest says how long it took
			if lines := strings.Count(story, "\n"); lines < 100 {
				t.Fatalf("seed %d tells %d lines; want a story", seed, lines)
			}
			if again = told[story]; !again && len(told) == tries-1 {
				t.Fatalf("seed %d tells another story each of %d times", seed, tries)
			}
			told[story] = true
		}
	}
}
